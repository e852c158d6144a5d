// The reference memory server of MCP, asked over stdio as a client asks it.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { record } from "./common.mjs";

const servers = ["@modelcontextprotocol/server-memory", "@itseasy21/mcp-knowledge-graph"];
const server = servers
  .map((name) => fileURLToPath(new URL(`../node_modules/${name}/dist/index.js`, import.meta.url)))
  .find(existsSync);

const asked = async (folder, tool, given = {}) => {
  const file = join(folder, "memory.jsonl");
  const env = { ...process.env, MEMORY_FILE_PATH: file };
  const args = [server, "--memory-path", file];
  const client = new Client({ name: "programs", version: "1" });
  await client.connect(new StdioClientTransport({ command: "node", args, env }));
  try {
    const said = await client.callTool({ name: tool, arguments: given });
    if (said.isError) throw new Error(said.content[0].text);
    const [{ text }] = said.content;
    return said.structuredContent ?? (text.startsWith("{") ? JSON.parse(text) : text);
  } finally {
    await client.close();
  }
};

export const write = async (folder, notes) => {
  for (const owner of new Set(notes.map((note) => note.owner))) {
    const observations = notes.filter((note) => note.owner === owner).map((note) => note.text);
    await asked(folder, "create_entities", {
      entities: [{ name: owner, entityType: "person", observations }],
    });
  }
};

const observed = (graph) =>
  graph.entities.flatMap((entity) => entity.observations.map((text) => ({ entity, text })));

export const dump = async (folder) =>
  observed(await asked(folder, "read_graph")).map(({ entity, text }) =>
    record(`${entity.name}/${text}`, text, { owner: entity.name, type: entity.entityType }),
  );

export const search = async (folder, query, limit) =>
  observed(await asked(folder, "search_nodes", { query }))
    .map(({ text }) => text)
    .filter((text) => text.toLowerCase().includes(query.toLowerCase()))
    .slice(0, limit);

export const edit = async (folder, old, text) => {
  await asked(folder, "delete_observations", {
    deletions: [{ entityName: "ann", observations: [old] }],
  });
  await asked(folder, "add_observations", {
    observations: [{ entityName: "ann", contents: [text] }],
  });
};

// mem0's package for Node with its own vector store, a file of SQLite.
import { Memory } from "mem0ai/oss";
import { createServer } from "node:http";
import { join } from "node:path";
import { DIMENSIONS, record, vector } from "./common.mjs";

const answer = (request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    const input = [JSON.parse(body).input].flat();
    const data = input.map((text, index) => ({ object: "embedding", index, embedding: vector(text) }));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ object: "list", data, usage: { prompt_tokens: 1, total_tokens: 1 } }));
  });
};

const open = async (folder) => {
  const server = createServer(answer);
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  const api = { apiKey: "none", model: "words", baseURL: `http://127.0.0.1:${server.address().port}/v1` };
  return new Memory({
    embedder: { provider: "openai", config: api },
    llm: { provider: "openai", config: api },
    vectorStore: {
      provider: "memory",
      config: { collectionName: "memories", dimension: DIMENSIONS, dbPath: join(folder, "vectors.db") },
    },
    historyDbPath: join(folder, "history.db"),
  });
};

const listed = async (memory, owner) =>
  (await memory.getAll({ filters: { user_id: owner }, topK: 100 })).results;

export const write = async (folder, notes) => {
  const memory = await open(folder);
  for (const note of notes) await memory.add(note.text, { userId: note.owner, infer: false });
};

export const dump = async (folder) => {
  const memory = await open(folder);
  const found = [...(await listed(memory, "ann")), ...(await listed(memory, "ben"))];
  return found.map((one) =>
    record(one.id, one.memory, {
      created: one.createdAt ?? null,
      updated: one.updatedAt ?? null,
      metadata: one.metadata,
    }),
  );
};

export const search = async (folder, query, limit) => {
  const memory = await open(folder);
  const found = await memory.search(query, { filters: { user_id: "ann" }, topK: limit });
  return found.results.map((one) => one.memory);
};

export const edit = async (folder, old, text) => {
  const memory = await open(folder);
  const one = (await listed(memory, "ann")).find((found) => found.memory === old);
  await memory.update(one.id, { text });
};

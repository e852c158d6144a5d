// Mastra's knowledge records in a file of libSQL.
import { LibSQLStore } from "@mastra/libsql";
import { join } from "node:path";
import { record } from "./common.mjs";

const scopes = (owner) => ["org:acme", `resource:${owner}`];

const open = async (folder) => {
  const store = new LibSQLStore({ id: "notes", url: `file:${join(folder, "mastra.db")}` });
  await store.init();
  return store.getStore("knowledge");
};

const node = async (knowledge, owner) =>
  knowledge.createNode({ name: "notes", kind: "topic", scope: scopes(owner) });

export const write = async (folder, notes) => {
  const knowledge = await open(folder);
  for (const note of notes) {
    const scope = scopes(note.owner);
    await knowledge.appendKnowledge({
      node: (await node(knowledge, note.owner)).id,
      text: note.text,
      scope,
      resolutionScope: scope,
      defaultScope: scope,
      sourceThreadId: `t-${note.owner}`,
    });
  }
};

const listed = async (knowledge, owner, limit) => {
  const asked = { node: (await node(knowledge, owner)).id, scope: scopes(owner), limit };
  return (await knowledge.listKnowledgeAbout(asked)).records;
};

export const dump = async (folder) => {
  const knowledge = await open(folder);
  const found = [...(await listed(knowledge, "ann", 100)), ...(await listed(knowledge, "ben", 100))];
  return found.map((one) =>
    record(one.id, one.text, { created: one.capturedAt.toISOString(), scope: one.scope }),
  );
};

export const search = async (folder, query, limit) => {
  const knowledge = await open(folder);
  const found = await knowledge.search({ query, scope: scopes("ann"), limit });
  return found.map((one) => one.text ?? one.record?.text ?? one.content ?? JSON.stringify(one));
};

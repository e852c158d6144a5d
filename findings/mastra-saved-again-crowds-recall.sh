#!/usr/bin/env bash
# Packages: @mastra/memory 1.31.0, @mastra/libsql 1.23.1 and @mastra/core 1.71.0.
# Question: a message is saved once more under its id. What does recall hold then?
# One would guess: the same, for the message is replaced.
# What happens: the message is replaced, but its vector is added once more.
# Recall takes two vectors and finds the same message twice. So it shows one, not two.
# Saved again with another text, it still comes for its old words.
# The text shown for them is the new one, which does not hold a word of them.
# Why it matters: a retry, or a chat saved again as a whole, adds a vector each time.
# Recall gets shorter and shorter, until one memory takes every place.
# Seen:
#   saved once:    3 vectors, recall of "tea at four": tea at four | tea was good
#   saved again:   4 vectors, recall of "tea at four": tea at four
#   text changed:  5 vectors, recall of "tea at four": rain in the garden
# Date: 2026-11-30

set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund --ignore-scripts @mastra/core@1.71.0 @mastra/libsql@1.23.1 @mastra/memory@1.31.0

cat >look.mjs <<'JAVASCRIPT'
import { LibSQLStore, LibSQLVector } from "@mastra/libsql";
import { Memory } from "@mastra/memory";

const WORDS = ["tea", "four", "good", "dentist", "rain", "garden"];
const vectorOf = (text) => WORDS.map((word) => (text.includes(word) ? 1 : 0.01));
const embedder = {
  specificationVersion: "v2",
  provider: "words",
  modelId: "words",
  maxEmbeddingsPerCall: 100,
  supportsParallelCalls: false,
  doEmbed: async ({ values }) => ({ embeddings: values.map(vectorOf) }),
};
const vector = new LibSQLVector({ id: "vectors", url: "file:memories.db" });
const memory = new Memory({
  storage: new LibSQLStore({ id: "messages", url: "file:memories.db" }),
  vector,
  embedder,
  options: { lastMessages: 1, semanticRecall: { topK: 2, messageRange: 0, scope: "resource" } },
});
await memory.createThread({ threadId: "chat", resourceId: "user", title: "chat" });

async function save(...messages) {
  await memory.saveMessages({
    messages: messages.map(([id, text]) => ({
      id,
      role: "user",
      threadId: "chat",
      resourceId: "user",
      createdAt: new Date(1700000000000 + 1000 * Number(id)),
      content: { format: 2, parts: [{ type: "text", text }], content: text },
    })),
  });
  const [indexName] = await vector.listIndexes();
  const { count } = await vector.describeIndex({ indexName });
  const { messages: found } = await memory.recall({
    threadId: "chat",
    resourceId: "user",
    vectorSearchString: "tea at four",
    perPage: 0,
  });
  return { count, texts: found.map((message) => message.content.parts[0].text).join(" | ") };
}

const once = await save(["1", "tea at four"], ["2", "tea was good"], ["3", "dentist"]);
const again = await save(["1", "tea at four"]);
const changed = await save(["1", "rain in the garden"]);
const line = ({ count, texts }) => `${count} vectors, recall of "tea at four": ${texts}`;
console.log("saved once:   ", line(once));
console.log("saved again:  ", line(again));
console.log("text changed: ", line(changed));

if (once.count !== 3 || once.texts !== "tea at four | tea was good") {
  throw new Error("DIFFERENT: two memories are not recalled at the beginning.");
}
if (again.count !== 4 || again.texts !== "tea at four") {
  throw new Error("DIFFERENT: saved again, the message takes one place.");
}
if (changed.texts !== "rain in the garden") {
  throw new Error("DIFFERENT: the changed message no longer comes for its old words.");
}
JAVASCRIPT
node look.mjs

// Vectra: a folder with one JSON file of items.
import { LocalIndex } from "vectra";
import { join } from "node:path";
import { record, vector } from "./common.mjs";

const open = (folder) => new LocalIndex(join(folder, "index"));

export const write = async (folder, notes) => {
  const index = open(folder);
  await index.createIndex();
  for (const [number, note] of notes.entries())
    await index.insertItem({
      id: `n${number}`,
      vector: vector(note.text),
      metadata: { text: note.text, user_id: note.owner },
    });
};

export const dump = async (folder) =>
  (await open(folder).listItems()).map((item) =>
    record(item.id, item.metadata.text, { vector: [...item.vector], metadata: item.metadata }),
  );

export const search = async (folder, query, limit) =>
  (await open(folder).queryItems(vector(query), "", limit)).map((one) => one.item.metadata.text);

export const edit = async (folder, old, text) => {
  const index = open(folder);
  const item = (await index.listItems()).find((one) => one.metadata.text === old);
  await index.upsertItem({ ...item, vector: vector(text), metadata: { ...item.metadata, text } });
};

// Orama: a search index in memory, persisted as one JSON file.
import { create, getByID, insert, search as find, update } from "@orama/orama";
import { persist, restore } from "@orama/plugin-data-persistence";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { record, vector, DIMENSIONS } from "./common.mjs";

const schema = { text: "string", user_id: "enum", numbers: `vector[${DIMENSIONS}]` };
const file = (folder) => join(folder, "index.json");
const open = async (folder) => restore("json", readFileSync(file(folder), "utf8"));
const keep = async (folder, index) => writeFileSync(file(folder), await persist(index, "json"));

export const write = async (folder, notes) => {
  const index = create({ schema });
  for (const [number, note] of notes.entries())
    await insert(index, {
      id: `n${number}`,
      text: note.text,
      user_id: note.owner,
      numbers: vector(note.text),
    });
  await keep(folder, index);
};

export const dump = async (folder) => {
  const index = await open(folder);
  const found = [];
  for (let number = 0; number < 20; number += 1) {
    const one = getByID(index, `n${number}`);
    if (one) found.push(record(one.id, one.text, { vector: one.numbers, owner: one.user_id }));
  }
  return found;
};

export const search = async (folder, query, limit) => {
  const asked = { mode: "vector", vector: { value: vector(query), property: "numbers" }, limit };
  return (await find(await open(folder), asked)).hits.map((hit) => hit.document.text);
};

export const edit = async (folder, old, text) => {
  const index = await open(folder);
  const one = (await dump(folder)).find((found) => found.text === old);
  await update(index, one.id, { id: one.id, text, user_id: "ann", numbers: vector(text) });
  await keep(folder, index);
};

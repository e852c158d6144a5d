// libSQL's client on a file, with a table of texts and vectors.
import { createClient } from "@libsql/client";
import { join } from "node:path";
import { record, vector, DIMENSIONS } from "./common.mjs";

const open = (folder) => createClient({ url: `file:${join(folder, "notes.db")}` });

export const write = async (folder, notes) => {
  const db = open(folder);
  await db.execute(
    `CREATE TABLE notes (id TEXT PRIMARY KEY, content TEXT, user_id TEXT, created_at TEXT,
     embedding F32_BLOB(${DIMENSIONS}))`,
  );
  await db.execute("CREATE INDEX notes_vectors ON notes (libsql_vector_idx(embedding))");
  for (const [number, note] of notes.entries())
    await db.execute({
      sql: "INSERT INTO notes VALUES (?, ?, ?, ?, vector32(?))",
      args: [`n${number}`, note.text, note.owner, `2026-01-0${number + 1}T10:00:00Z`,
        JSON.stringify(vector(note.text))],
    });
  db.close();
};

export const dump = async (folder) => {
  const { rows } = await open(folder).execute(
    "SELECT id, content, user_id, created_at, vector_extract(embedding) AS numbers FROM notes",
  );
  return rows.map((row) =>
    record(row.id, row.content, {
      created: row.created_at,
      vector: JSON.parse(row.numbers),
      owner: row.user_id,
    }),
  );
};

export const search = async (folder, query, limit) => {
  const { rows } = await open(folder).execute({
    sql: `SELECT content FROM vector_top_k('notes_vectors', vector32(?), ?) AS found
          JOIN notes ON notes.rowid = found.id`,
    args: [JSON.stringify(vector(query)), limit],
  });
  return rows.map((row) => row.content);
};

export const edit = async (folder, old, text) => {
  await open(folder).execute({
    sql: "UPDATE notes SET content = ? WHERE content = ?",
    args: [text, old],
  });
};

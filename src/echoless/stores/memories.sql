-- Tables of a file of echoless, step by step: an empty line parts statements. What was published
-- stays as it is, but for white space where there is some: `KnownSchema` compares files with it.

-- step 0001_memories
PRAGMA application_id=1164142703 -- "Echo" in ASCII, as in `APPLICATION_ID`

CREATE TABLE memories (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL, namespace TEXT NOT NULL DEFAULT '',
  type TEXT NOT NULL DEFAULT '', tags TEXT NOT NULL DEFAULT '[]', importance,
  access_count INTEGER NOT NULL DEFAULT 0, created_at TEXT, updated_at TEXT,
  last_accessed TEXT, provenance TEXT NOT NULL DEFAULT 'unknown',
  links TEXT NOT NULL DEFAULT '[]', pinned INTEGER NOT NULL DEFAULT 0,
  metadata TEXT NOT NULL DEFAULT '{}', extra TEXT NOT NULL DEFAULT '{}')

CREATE INDEX memories_namespace ON memories(namespace)

-- With row ids: a table without them is an index, which keeps at most a quarter of a page of an
-- entry in its place, so that every vector of 384 dimensions took a page of its own
-- (https://www.sqlite.org/withoutrowid.html).
CREATE TABLE vectors (seq INTEGER NOT NULL REFERENCES memories(seq) ON DELETE CASCADE,
  model TEXT NOT NULL, dimensions INTEGER NOT NULL, data BLOB NOT NULL,
  PRIMARY KEY (seq, model))

-- step 0002_full_text
CREATE VIRTUAL TABLE memories_words USING fts5(content, tags, content='memories',
  content_rowid='seq', tokenize='unicode61 remove_diacritics 2')

CREATE VIRTUAL TABLE memories_trigrams USING fts5(content, tags, content='memories',
  content_rowid='seq', tokenize='trigram')

CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN
  INSERT INTO memories_words(rowid, content, tags) VALUES (new.seq, new.content, new.tags);INSERT
  INTO memories_trigrams(rowid, content, tags) VALUES (new.seq, new.content, new.tags); END

CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN
  INSERT INTO memories_words(memories_words, rowid, content, tags)
  VALUES ('delete', old.seq, old.content, old.tags);INSERT
  INTO memories_trigrams(memories_trigrams, rowid, content, tags)
  VALUES ('delete', old.seq, old.content, old.tags); END

CREATE TRIGGER memories_au AFTER UPDATE OF content, tags ON memories BEGIN
  INSERT INTO memories_words(memories_words, rowid, content, tags)
  VALUES ('delete', old.seq, old.content, old.tags);INSERT
  INTO memories_trigrams(memories_trigrams, rowid, content, tags)
  VALUES ('delete', old.seq, old.content, old.tags);INSERT
  INTO memories_words(rowid, content, tags) VALUES (new.seq, new.content, new.tags);INSERT
  INTO memories_trigrams(rowid, content, tags) VALUES (new.seq, new.content, new.tags); END

-- step 0003_changes
-- the last change of each memory, so that an index can follow
CREATE TABLE memories_changes (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE)

CREATE TRIGGER memories_ci AFTER INSERT ON memories BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES (new.id); END

CREATE TRIGGER memories_cd AFTER DELETE ON memories BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES (old.id); END

CREATE TRIGGER memories_cu AFTER UPDATE ON memories BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES (old.id);
  INSERT OR REPLACE INTO memories_changes (id) VALUES (new.id); END

CREATE TRIGGER vectors_ci AFTER INSERT ON vectors
  WHEN EXISTS (SELECT id FROM memories WHERE seq = new.seq) BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES
  ((SELECT id FROM memories WHERE seq = new.seq)); END

CREATE TRIGGER vectors_cd AFTER DELETE ON vectors
  WHEN EXISTS (SELECT id FROM memories WHERE seq = old.seq) BEGIN
  INSERT OR REPLACE INTO memories_changes (id) VALUES
  ((SELECT id FROM memories WHERE seq = old.seq)); END

-- step 0004_visible
DROP VIEW IF EXISTS visible_memories

-- What is not hidden, for programs that read the file themselves. The table of marks belongs to the
-- ledger, which is made after this one: a view is resolved when it is read
-- (https://sqlite.org/lang_createview.html).
CREATE VIEW visible_memories AS SELECT * FROM memories
  WHERE id NOT IN (SELECT duplicate FROM marks)

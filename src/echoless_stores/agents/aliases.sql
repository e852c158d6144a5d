-- step 0001_aliases
CREATE TABLE aliases (id TEXT PRIMARY KEY, namespace TEXT NOT NULL, survivor TEXT,
  text TEXT NOT NULL, made_at TEXT NOT NULL, given TEXT NOT NULL) WITHOUT ROWID

CREATE INDEX aliases_survivor ON aliases(survivor)

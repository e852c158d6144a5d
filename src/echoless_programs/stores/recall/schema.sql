CREATE TABLE sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT UNIQUE NOT NULL,
  started_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  ended_at DATETIME,
  summary TEXT,
  project TEXT,
  cwd TEXT,
  git_branch TEXT,
  model TEXT,
  source TEXT DEFAULT 'unknown'
)

CREATE TABLE messages (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  session_id TEXT NOT NULL REFERENCES sessions(session_id),
  timestamp DATETIME NOT NULL,
  role TEXT NOT NULL,
  content TEXT NOT NULL,
  project TEXT,
  importance INTEGER DEFAULT 5 CHECK (importance BETWEEN 1 AND 10),
  provenance TEXT CHECK (provenance IN ('verbatim', 'user_authored', 'extracted', 'derived'))
)

CREATE TABLE decisions (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  session_id TEXT REFERENCES sessions(session_id),
  category TEXT,
  decision TEXT NOT NULL,
  reasoning TEXT,
  alternatives TEXT,
  status TEXT DEFAULT 'active',
  confidence TEXT DEFAULT 'medium',
  project TEXT,
  importance INTEGER DEFAULT 5 CHECK (importance BETWEEN 1 AND 10),
  provenance TEXT CHECK (provenance IN ('verbatim', 'user_authored', 'extracted', 'derived'))
)

CREATE TABLE learnings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  session_id TEXT REFERENCES sessions(session_id),
  category TEXT,
  problem TEXT NOT NULL,
  solution TEXT,
  prevention TEXT,
  tags TEXT,
  confidence TEXT DEFAULT 'medium',
  project TEXT,
  importance INTEGER DEFAULT 5 CHECK (importance BETWEEN 1 AND 10),
  provenance TEXT CHECK (provenance IN ('verbatim', 'user_authored', 'extracted', 'derived'))
)

CREATE TABLE breadcrumbs (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  session_id TEXT REFERENCES sessions(session_id),
  content TEXT NOT NULL,
  category TEXT,
  expires_at DATETIME,
  project TEXT,
  importance INTEGER DEFAULT 5 CHECK (importance BETWEEN 1 AND 10),
  provenance TEXT CHECK (provenance IN ('verbatim', 'user_authored', 'extracted', 'derived'))
)

CREATE TABLE loa_entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  title TEXT NOT NULL,
  description TEXT,
  fabric_extract TEXT NOT NULL,
  message_range_start INTEGER REFERENCES messages(id),
  message_range_end INTEGER REFERENCES messages(id),
  parent_loa_id INTEGER REFERENCES loa_entries(id),
  session_id TEXT,
  tags TEXT,
  message_count INTEGER,
  project TEXT,
  importance INTEGER DEFAULT 8 CHECK (importance BETWEEN 1 AND 10),
  provenance TEXT CHECK (provenance IN ('verbatim', 'user_authored', 'extracted', 'derived'))
)

CREATE TABLE procedures (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  title TEXT NOT NULL,
  trigger_context TEXT,
  steps TEXT NOT NULL,
  source_learnings TEXT,
  project TEXT,
  times_observed INTEGER DEFAULT 2,
  confidence TEXT DEFAULT 'medium'
)

CREATE TABLE embeddings (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  source_table TEXT NOT NULL,
  source_id INTEGER NOT NULL,
  model TEXT NOT NULL DEFAULT 'nomic-embed-text',
  dimensions INTEGER NOT NULL DEFAULT 768,
  embedding BLOB NOT NULL,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  UNIQUE (source_table, source_id)
)

CREATE TABLE schema_meta (
  key TEXT PRIMARY KEY,
  value TEXT
)

CREATE TABLE IF NOT EXISTS dedup_lineage (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  created_at DATETIME DEFAULT CURRENT_TIMESTAMP,
  survivor_table TEXT NOT NULL,
  survivor_id INTEGER NOT NULL,
  duplicate_table TEXT NOT NULL,
  duplicate_id INTEGER NOT NULL,
  reason TEXT NOT NULL,
  similarity REAL,
  status TEXT NOT NULL DEFAULT 'marked',
  detail TEXT
)

CREATE UNIQUE INDEX IF NOT EXISTS idx_dedup_lineage_duplicate ON dedup_lineage(duplicate_table, duplicate_id) WHERE status = 'marked'

CREATE INDEX IF NOT EXISTS idx_dedup_lineage_survivor ON dedup_lineage(survivor_table, survivor_id)

CREATE VIRTUAL TABLE messages_fts USING fts5(content, project, content=messages, content_rowid=id)

CREATE TRIGGER messages_ai AFTER INSERT ON messages BEGIN
  INSERT INTO messages_fts(rowid, content, project) VALUES (new.id, new.content, new.project);
END

CREATE TRIGGER messages_ad AFTER DELETE ON messages BEGIN
  INSERT INTO messages_fts(messages_fts, rowid, content, project) VALUES ('delete', old.id, old.content, old.project);
END

CREATE TRIGGER messages_au AFTER UPDATE OF content, project ON messages BEGIN
  INSERT INTO messages_fts(messages_fts, rowid, content, project) VALUES ('delete', old.id, old.content, old.project);
  INSERT INTO messages_fts(rowid, content, project) VALUES (new.id, new.content, new.project);
END

CREATE VIRTUAL TABLE decisions_fts USING fts5(decision, reasoning, project, content=decisions, content_rowid=id)

CREATE TRIGGER decisions_ai AFTER INSERT ON decisions BEGIN
  INSERT INTO decisions_fts(rowid, decision, reasoning, project) VALUES (new.id, new.decision, new.reasoning, new.project);
END

CREATE TRIGGER decisions_ad AFTER DELETE ON decisions BEGIN
  INSERT INTO decisions_fts(decisions_fts, rowid, decision, reasoning, project) VALUES ('delete', old.id, old.decision, old.reasoning, old.project);
END

CREATE TRIGGER decisions_au AFTER UPDATE OF decision, reasoning, project ON decisions BEGIN
  INSERT INTO decisions_fts(decisions_fts, rowid, decision, reasoning, project) VALUES ('delete', old.id, old.decision, old.reasoning, old.project);
  INSERT INTO decisions_fts(rowid, decision, reasoning, project) VALUES (new.id, new.decision, new.reasoning, new.project);
END

CREATE VIRTUAL TABLE learnings_fts USING fts5(problem, solution, tags, project, content=learnings, content_rowid=id)

CREATE TRIGGER learnings_ai AFTER INSERT ON learnings BEGIN
  INSERT INTO learnings_fts(rowid, problem, solution, tags, project) VALUES (new.id, new.problem, new.solution, new.tags, new.project);
END

CREATE TRIGGER learnings_ad AFTER DELETE ON learnings BEGIN
  INSERT INTO learnings_fts(learnings_fts, rowid, problem, solution, tags, project) VALUES ('delete', old.id, old.problem, old.solution, old.tags, old.project);
END

CREATE TRIGGER learnings_au AFTER UPDATE OF problem, solution, tags, project ON learnings BEGIN
  INSERT INTO learnings_fts(learnings_fts, rowid, problem, solution, tags, project) VALUES ('delete', old.id, old.problem, old.solution, old.tags, old.project);
  INSERT INTO learnings_fts(rowid, problem, solution, tags, project) VALUES (new.id, new.problem, new.solution, new.tags, new.project);
END

CREATE VIRTUAL TABLE breadcrumbs_fts USING fts5(content, category, project, content=breadcrumbs, content_rowid=id)

CREATE TRIGGER breadcrumbs_ai AFTER INSERT ON breadcrumbs BEGIN
  INSERT INTO breadcrumbs_fts(rowid, content, category, project) VALUES (new.id, new.content, new.category, new.project);
END

CREATE TRIGGER breadcrumbs_ad AFTER DELETE ON breadcrumbs BEGIN
  INSERT INTO breadcrumbs_fts(breadcrumbs_fts, rowid, content, category, project) VALUES ('delete', old.id, old.content, old.category, old.project);
END

CREATE TRIGGER breadcrumbs_au AFTER UPDATE OF content, category, project ON breadcrumbs BEGIN
  INSERT INTO breadcrumbs_fts(breadcrumbs_fts, rowid, content, category, project) VALUES ('delete', old.id, old.content, old.category, old.project);
  INSERT INTO breadcrumbs_fts(rowid, content, category, project) VALUES (new.id, new.content, new.category, new.project);
END

CREATE VIRTUAL TABLE loa_fts USING fts5(title, description, fabric_extract, tags, project, content=loa_entries, content_rowid=id)

CREATE TRIGGER loa_ai AFTER INSERT ON loa_entries BEGIN
  INSERT INTO loa_fts(rowid, title, description, fabric_extract, tags, project) VALUES (new.id, new.title, new.description, new.fabric_extract, new.tags, new.project);
END

CREATE TRIGGER loa_ad AFTER DELETE ON loa_entries BEGIN
  INSERT INTO loa_fts(loa_fts, rowid, title, description, fabric_extract, tags, project) VALUES ('delete', old.id, old.title, old.description, old.fabric_extract, old.tags, old.project);
END

CREATE TRIGGER loa_au AFTER UPDATE OF title, description, fabric_extract, tags, project ON loa_entries BEGIN
  INSERT INTO loa_fts(loa_fts, rowid, title, description, fabric_extract, tags, project) VALUES ('delete', old.id, old.title, old.description, old.fabric_extract, old.tags, old.project);
  INSERT INTO loa_fts(rowid, title, description, fabric_extract, tags, project) VALUES (new.id, new.title, new.description, new.fabric_extract, new.tags, new.project);
END

CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at DATETIME NOT NULL)

CREATE TABLE agents (id TEXT PRIMARY KEY, name TEXT NOT NULL, description TEXT,
  metadata TEXT DEFAULT '{}', created_at DATETIME NOT NULL, last_active_at DATETIME NOT NULL,
  system_prompt TEXT)

CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT NOT NULL,
  content_type TEXT NOT NULL DEFAULT 'text', memory_tier TEXT NOT NULL DEFAULT 'long_term',
  tags TEXT DEFAULT '[]', metadata TEXT DEFAULT '{}', agent_id TEXT REFERENCES agents(id),
  created_at DATETIME NOT NULL, updated_at DATETIME NOT NULL, expires_at DATETIME,
  importance_score FLOAT DEFAULT 0.5, access_count INTEGER DEFAULT 0,
  last_accessed_at DATETIME, consolidated_from TEXT, namespace TEXT NOT NULL DEFAULT 'default',
  version INTEGER DEFAULT 1, previous_version_id TEXT, schema_id TEXT, structured_content TEXT)

CREATE TABLE memory_links (id TEXT PRIMARY KEY,
  source_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  target_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  link_type TEXT NOT NULL DEFAULT 'related', metadata TEXT DEFAULT '{}',
  created_at DATETIME NOT NULL, cascade_on_update INTEGER DEFAULT 0,
  cascade_on_delete INTEGER DEFAULT 0, strength REAL DEFAULT 1.0,
  UNIQUE(source_id, target_id, link_type))

CREATE TABLE memory_access_log (id TEXT PRIMARY KEY,
  memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  accessed_at DATETIME NOT NULL, access_type TEXT NOT NULL)

CREATE TABLE memory_versions (id TEXT PRIMARY KEY,
  memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  version INTEGER NOT NULL, content TEXT NOT NULL, content_type TEXT NOT NULL,
  tags TEXT DEFAULT '[]', metadata TEXT DEFAULT '{}', created_at DATETIME NOT NULL,
  change_reason TEXT, UNIQUE(memory_id, version))

CREATE TABLE dependency_notifications (id TEXT PRIMARY KEY,
  source_memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  target_memory_id TEXT NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
  notification_type TEXT NOT NULL, metadata TEXT DEFAULT '{}',
  created_at DATETIME NOT NULL, processed_at DATETIME)

CREATE VIRTUAL TABLE memories_fts
  USING fts5(content, content_id UNINDEXED, tokenize='unicode61')

CREATE TRIGGER memories_fts_insert AFTER INSERT ON memories BEGIN
  INSERT INTO memories_fts(content, content_id) VALUES (new.content, new.id); END

CREATE TRIGGER memories_fts_update AFTER UPDATE OF content ON memories BEGIN
  UPDATE memories_fts SET content = new.content WHERE content_id = new.id; END

CREATE TRIGGER memories_fts_delete AFTER DELETE ON memories BEGIN
  DELETE FROM memories_fts WHERE content_id = old.id; END

CREATE INDEX idx_memories_tier ON memories(memory_tier)

CREATE INDEX idx_memories_agent ON memories(agent_id)

CREATE INDEX idx_memories_created ON memories(created_at DESC)

CREATE INDEX idx_memories_expires ON memories(expires_at) WHERE expires_at IS NOT NULL

CREATE INDEX idx_memories_importance ON memories(importance_score, created_at)

CREATE INDEX idx_memories_namespace ON memories(namespace)

CREATE INDEX idx_memories_namespace_tier ON memories(namespace, memory_tier)

CREATE INDEX idx_memories_namespace_created ON memories(namespace, created_at DESC)

CREATE INDEX idx_memories_namespace_importance
  ON memories(namespace, importance_score, created_at)

CREATE INDEX idx_links_source ON memory_links(source_id)

CREATE INDEX idx_links_target ON memory_links(target_id)

CREATE INDEX idx_links_type ON memory_links(link_type)

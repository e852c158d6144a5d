-- What keeps the events of a ledger append-only, and numbers them without gaps: an empty line parts
-- statements, and {at} is the schema with a full stop.

-- step 0001_events
CREATE FUNCTION {at}next_event() RETURNS bigint LANGUAGE plpgsql AS $$
  BEGIN RETURN (SELECT coalesce(max(seq), 0) + 1 FROM {at}events); END $$

ALTER TABLE {at}events ALTER seq SET DEFAULT {at}next_event()

CREATE FUNCTION {at}append_only() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$

CREATE TRIGGER events_no_update BEFORE UPDATE ON {at}events
  FOR EACH STATEMENT EXECUTE FUNCTION {at}append_only()

CREATE TRIGGER events_no_delete BEFORE DELETE ON {at}events
  FOR EACH STATEMENT EXECUTE FUNCTION {at}append_only()

CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON {at}events
  FOR EACH STATEMENT EXECUTE FUNCTION {at}append_only()

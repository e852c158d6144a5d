-- Tables of the ledger, step by step: an empty line parts statements. Words in braces are those of
-- a `Dialect`. What was published stays as it is, but for white space where there is some:
-- `KnownSchema` compares files with it.

-- step 0001_events
CREATE TABLE {at}events (seq {event}, at {text}, run {text}, kind {text}, data {text})

CREATE INDEX events_run ON {at}events(run, kind)

CREATE TABLE {at}images (run {text}, action {whole} NOT NULL, id {text},
  moment {text} CHECK (moment IN ('before', 'after')), body TEXT,
  PRIMARY KEY (run, action, id, moment)){end}

CREATE INDEX images_id ON {at}images(id)

-- step 0002_projections
CREATE TABLE {at}marks (duplicate {key}, survivor {text}, run {text}, verdict {text},
  similarity {real}, evidence {text}, texts {text}){end}

CREATE INDEX marks_survivor ON {at}marks(survivor)

CREATE INDEX marks_run ON {at}marks(run)

CREATE TABLE {at}kept (a {text}, b {text}, print_a {text}, print_b {text},
  PRIMARY KEY (a, b)){end}

CREATE TABLE {at}used_plans (plan {key}, run {text}){end}

CREATE TABLE {at}facts (key {key}, value {text}){end}

-- step 0003_open_runs
-- so that nobody reads the whole ledger for the runs that have not ended
CREATE TABLE {at}open_runs (run {key}){end}

-- step 0004_confirmations
CREATE TABLE {at}confirmations (id {key}, times {whole} NOT NULL, last {text}){end}

CREATE TABLE {at}answers (key {key}, body {text}){end}

-- step 0005_hidden
-- memories that were moved out of their store
CREATE TABLE {at}hidden (seq {number}, id {text} UNIQUE, place {whole} NOT NULL,
  after {text}, body {text})

-- step 0006_reviews
-- answers of people, by what they were asked
CREATE TABLE {at}reviews (key {key}, number {whole} NOT NULL, body {text}){end}

-- step 0007_kept_by_second
-- the primary key of kept pairs is an index by the first memory
CREATE INDEX kept_b ON {at}kept(b)

-- step 0008_updates
-- visible memories whose value a newer memory replaced
CREATE TABLE {at}updates (older {text}, newer {text}, texts {text},
  PRIMARY KEY (older, newer)){end}

CREATE INDEX updates_newer ON {at}updates(newer)

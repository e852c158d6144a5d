-- 0001_events
CREATE TABLE {at}events (seq {event}, at {text}, run {text}, kind {text}, data {text})
CREATE INDEX events_run ON {at}events(run, kind)
CREATE TABLE {at}images (run {text}, action {whole} NOT NULL, id {text}, moment {text} CHECK (moment IN ('before', 'after')), body TEXT, PRIMARY KEY (run, action, id, moment)){end}
CREATE INDEX images_id ON {at}images(id)
-- 0002_projections
CREATE TABLE {at}marks (duplicate {key}, survivor {text}, run {text}, verdict {text}, similarity {real}, evidence {text}, texts {text}){end}
CREATE INDEX marks_survivor ON {at}marks(survivor)
CREATE INDEX marks_run ON {at}marks(run)
CREATE TABLE {at}kept (a {text}, b {text}, print_a {text}, print_b {text}, PRIMARY KEY (a, b)){end}
CREATE TABLE {at}used_plans (plan {key}, run {text}){end}
CREATE TABLE {at}facts (key {key}, value {text}){end}
-- 0003_open_runs: so that nobody reads the whole ledger for the runs that have not ended
CREATE TABLE {at}open_runs (run {key}){end}
-- 0004_confirmations
CREATE TABLE {at}confirmations (id {key}, times {whole} NOT NULL, last {text}){end}
CREATE TABLE {at}answers (key {key}, body {text}){end}
-- 0005_hidden: memories that were moved out of their store
CREATE TABLE {at}hidden (seq {number}, id {text} UNIQUE, place {whole} NOT NULL, after {text}, body {text})
-- 0006_reviews: answers of people, by what they were asked
CREATE TABLE {at}reviews (key {key}, number {whole} NOT NULL, body {text}){end}
-- 0007_kept_by_second: the primary key of kept pairs is an index by the first memory
CREATE INDEX kept_b ON {at}kept(b)

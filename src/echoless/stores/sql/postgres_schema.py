"""Tables of the ledger in PostgreSQL: the migrations of `stores/ledger_schema.py`, by their names.

Texts are compared byte by byte (collation "C"), as SQLite compares them. Events are numbered
without gaps, as SQLite numbers them: a sequence would lose a number with each transaction that is
taken back. Writers take turns, so that no number is given twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from echoless.core.errors import StoreError
from echoless.core.optional import lazy_module
from echoless.core.timestamps import now

if TYPE_CHECKING:
    import sqlalchemy as sa
else:
    sa = lazy_module("sqlalchemy")

TRIGGERS: Final = ("events_no_update", "events_no_delete", "events_no_truncate")
"""Triggers that keep the events append-only."""

_TEXT: Final = 'text COLLATE "C" NOT NULL'

_STEPS: Final[Mapping[str, str]] = {
    "ledger/0001_events": """
CREATE TABLE {schema}.events (
  seq bigint PRIMARY KEY, at {text}, run {text}, kind {text}, data {text});
CREATE FUNCTION {schema}.next_event() RETURNS bigint LANGUAGE plpgsql AS $$
  BEGIN RETURN (SELECT coalesce(max(seq), 0) + 1 FROM {schema}.events); END $$;
ALTER TABLE {schema}.events ALTER seq SET DEFAULT {schema}.next_event();
CREATE INDEX events_run ON {schema}.events (run, kind);
CREATE FUNCTION {schema}.append_only() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN RAISE EXCEPTION 'the ledger is append-only'; END $$;
CREATE TRIGGER events_no_update BEFORE UPDATE ON {schema}.events
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.append_only();
CREATE TRIGGER events_no_delete BEFORE DELETE ON {schema}.events
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.append_only();
CREATE TRIGGER events_no_truncate BEFORE TRUNCATE ON {schema}.events
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.append_only();
CREATE TABLE {schema}.images (
  run {text}, action bigint NOT NULL, id {text},
  moment {text} CHECK (moment IN ('before', 'after')), body text,
  PRIMARY KEY (run, action, id, moment));
CREATE INDEX images_id ON {schema}.images (id);
""",
    "ledger/0002_projections": """
CREATE TABLE {schema}.marks (
  duplicate {text} PRIMARY KEY, survivor {text}, run {text}, verdict {text},
  similarity double precision, evidence {text}, texts {text});
CREATE INDEX marks_survivor ON {schema}.marks (survivor);
CREATE INDEX marks_run ON {schema}.marks (run);
CREATE TABLE {schema}.kept (
  a {text}, b {text}, print_a {text}, print_b {text}, PRIMARY KEY (a, b));
CREATE TABLE {schema}.used_plans (plan {text} PRIMARY KEY, run {text});
CREATE TABLE {schema}.facts (key {text} PRIMARY KEY, value {text});
""",
    "ledger/0003_open_runs": "CREATE TABLE {schema}.open_runs (run {text} PRIMARY KEY);",
    "ledger/0004_confirmations": """
CREATE TABLE {schema}.confirmations (id {text} PRIMARY KEY, times bigint NOT NULL, last {text});
CREATE TABLE {schema}.answers (key {text} PRIMARY KEY, body {text});
""",
    "ledger/0005_hidden": """
CREATE TABLE {schema}.hidden (
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id {text} UNIQUE, place bigint NOT NULL,
  after {text}, body {text});
""",
    "ledger/0006_reviews": """
CREATE TABLE {schema}.reviews (key {text} PRIMARY KEY, number bigint NOT NULL, body {text});
""",
    "ledger/0007_kept_by_second": "CREATE INDEX kept_b ON {schema}.kept (b);",
}


def pending(connection: sa.Connection, schema: str) -> list[str]:
    """Returns the names of migrations a schema lacks, in order.

    Raises:
        StoreError: A newer echoless wrote it.
    """
    table = f"{schema}.migrations"
    done: set[str] = set()
    if connection.exec_driver_sql("SELECT to_regclass(%s)", (table,)).scalar():
        done.update(
            str(name) for (name,) in connection.exec_driver_sql(f"SELECT name FROM {table}")
        )
    unknown = sorted(done - _STEPS.keys())
    if unknown:
        raise StoreError(
            f"The ledger in the schema {schema} was written by a newer echoless (schema step "
            f"{unknown[0]!r} is unknown here). Upgrade echoless to open it."
        )
    return [name for name in _STEPS if name not in done]


def migrate(connection: sa.Connection, schema: str) -> None:
    """Makes the tables a schema lacks; each step together with its record.

    Args:
        connection: In a transaction.
        schema: Of the ledger; it exists.

    Raises:
        StoreError: As `pending`.
    """
    for name in pending(connection, schema):
        connection.exec_driver_sql(
            f"CREATE TABLE IF NOT EXISTS {schema}.migrations"
            f" (name {_TEXT} PRIMARY KEY, applied_at {_TEXT})"
        )
        connection.exec_driver_sql(_STEPS[name].format(schema=schema, text=_TEXT))
        connection.exec_driver_sql(
            f"INSERT INTO {schema}.migrations (name, applied_at) VALUES (%s, %s)", (name, now())
        )

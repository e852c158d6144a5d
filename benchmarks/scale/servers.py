"""Where the stores of a benchmark are: a file, and a PostgreSQL server if an engine needs one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
from tests import postgres_server

from echoless.engines import postgres_session

_TABLE = (
    "CREATE TABLE memories (id text PRIMARY KEY, content text NOT NULL, namespace text,"
    " created_at text, importance double precision, access_count bigint, tags jsonb,"
    " embedding vector({dimensions}))"
)


def results_of(engine: str, url: str, folder: str) -> str:
    """Returns where the results of a job go: the database of the store for workers of Postgres.

    Args:
        engine: Its name.
        url: Of the store.
        folder: For the other engines.
    """
    if engine != "postgres":
        return folder
    return postgres_session.address_beside(url, f"job-{uuid.uuid4().hex[:8]}")


@contextmanager
def stores_of(engines: str, folder: Path, dimensions: int) -> Iterator[Mapping[str, str]]:
    """Yields the URL of an empty store for each engine, by its name.

    Args:
        engines: Names with commas between them.
        folder: For the SQLite file.
        dimensions: Of the vectors.
    """
    urls = dict.fromkeys(engines.split(","), f"sqlite:///{folder}/many.db")
    with ExitStack() as stack:
        if "postgres" in urls:
            server = stack.enter_context(postgres_server.running())
            place = server.database("many")
            with psycopg.connect(server.conninfo("many"), autocommit=True) as connection:
                connection.execute(_TABLE.format(dimensions=dimensions))
                connection.execute("CREATE INDEX ON memories (namespace)")
            urls["postgres"] = f"postgresql://{place}&model=bow@1#memories"
        yield urls

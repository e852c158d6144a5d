"""Where the stores of a benchmark are: a file, and a PostgreSQL server if an engine needs one."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg
from tests import postgres_server

from echoless.engines import postgres_session

_TABLE = (
    "CREATE TABLE memories (id text PRIMARY KEY, content text NOT NULL, namespace text,"
    " created_at text, importance double precision, access_count bigint, tags jsonb,"
    " embedding vector({dimensions}))"
)


@dataclass(frozen=True)
class Stores:
    """Stores that are still empty.

    Attributes:
        urls: Store of each engine, by its name.
        server: Of the PostgreSQL server, if there is one.
    """

    urls: Mapping[str, str]
    server: str | None

    def results_of(self, engine: str, folder: str) -> str:
        """Returns where the results of a new job go: workers of Postgres have a database."""
        if engine != "postgres" or self.server is None:
            return folder
        return postgres_session.address_beside(self.server, f"job-{uuid.uuid4().hex[:8]}")


@contextmanager
def stores_of(
    engines: str, folder: Path, dimensions: int, *, in_file: bool = False
) -> Iterator[Stores]:
    """Yields empty stores.

    Args:
        engines: Names with commas between them.
        folder: For the SQLite file.
        dimensions: Of the vectors.
        in_file: Workers of Postgres read the SQLite file too; only the job is in the database.
    """
    urls = dict.fromkeys(engines.split(","), f"sqlite:///{folder}/many.db")
    with ExitStack() as stack:
        if "postgres" not in urls:
            yield Stores(urls, None)
            return
        server = stack.enter_context(postgres_server.running())
        place = f"postgresql://{server.database('many')}&model=bow@1#memories"
        with psycopg.connect(server.conninfo("many"), autocommit=True) as connection:
            connection.execute(_TABLE.format(dimensions=dimensions))
            connection.execute("CREATE INDEX ON memories (namespace)")
        yield Stores(urls if in_file else {**urls, "postgres": place}, place)

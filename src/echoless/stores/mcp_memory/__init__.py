"""Store in the file of the MCP reference memory server, whose memories are observations."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from echoless.core.errors import StoreNotFound, UsageError
from echoless.core.sqlite import is_sqlite
from echoless.stores import files
from echoless.stores.base import StoreKind
from echoless.stores.mcp_memory.graph_lines import is_graph
from echoless.stores.mcp_memory.observations import ObservationsView

_HEAD = 65_536
"""Bytes of a file that are looked at to recognise it."""


class McpMemoryStore(StoreKind):
    """Kind of the file of `@modelcontextprotocol/server-memory`."""

    summary: ClassVar[str] = "the MCP memory server's memory.jsonl: observations of entities"

    @classmethod
    def open(cls, location: str) -> ObservationsView:
        """Opens an existing file.

        Raises:
            StoreNotFound: Nothing is there.
            UsageError: There is a part behind `#`.
        """
        name, _, part = location.partition("#")
        if part:
            raise UsageError(f"{name} has no part {part!r}. Leave away #{part}.")
        path = Path(name)
        if not path.is_file():
            what = "is a folder, not a file" if path.is_dir() else "does not exist"
            raise StoreNotFound(
                f"{path} {what}. Check the path; the server has it from the "
                "variable MEMORY_FILE_PATH."
            )
        return ObservationsView(path, f"mcp-memory:///{path}")

    @classmethod
    def create(cls, location: str) -> ObservationsView:
        """Opens a file, or makes an empty one."""
        path = Path(location.partition("#")[0])
        if not path.exists():
            files.make_file(path)
        return cls.open(location)

    @classmethod
    def recognises(cls, path: Path) -> bool:
        """Returns whether the first line with text is an entity or a relation of the server."""
        if not path.is_file() or is_sqlite(path):
            return False
        with path.open("rb") as file:
            return is_graph(file.read(_HEAD).decode("utf-8", "replace"))

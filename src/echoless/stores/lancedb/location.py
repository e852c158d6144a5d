"""The location of a table: `FOLDER?map=field:column&model=NAME&hide=move#TABLE`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import quote, unquote

from echoless.core.errors import ForeignStore, StoreNotFound, UsageError
from echoless.stores.field_map import FieldMap, Hiding, read_hiding, read_pairs
from echoless.stores.lancedb.layout import CONTEXT_TABLE

_SUFFIX = ".lance"


@dataclass(frozen=True, slots=True)
class LanceUrl:
    """The parts of a URL after `lancedb:///`.

    Attributes:
        folder: The database.
        table: Name of the table; empty where none was named.
        columns: The map of fields to columns.
        model: Name of the model that made the vectors, or None.
        hide: How memories are hidden, see `field_map.Hiding`.
    """

    folder: Path
    table: str = ""
    columns: FieldMap = field(default_factory=FieldMap)
    model: str | None = None
    hide: Hiding = ""

    @classmethod
    def parse(cls, written: str) -> LanceUrl:
        """Reads a location; an existing folder whose name holds `#` or `?` is taken as it is.

        Raises:
            UsageError: A part is not understood.
        """
        if Path(written).is_dir():
            return cls(Path(written))
        rest, _, table = written.rpartition("#") if "#" in written else (written, "", "")
        table, _, late = table.partition("?")
        folder, _, query = rest.partition("?")
        pairs: list[str] = []
        model = None
        hide: Hiding = ""
        for entry in filter(None, f"{query}&{late}".split("&")):
            key, _, value = entry.partition("=")
            match key:
                case "map":
                    pairs.append(unquote(value))
                case "model":
                    model = unquote(value) or None
                case "hide":
                    hide = read_hiding(value)
                case _:
                    raise UsageError(
                        f"A lancedb URL has no part {key!r}. Known: map=field:column, model=NAME, "
                        "hide=move."
                    )
        return cls(Path(folder), table, read_pairs(pairs, ":"), model, hide)

    @property
    def url(self) -> str:
        """Returns the canonical form."""
        parts = [
            self.columns.query,
            f"model={quote(self.model)}" if self.model else "",
            f"hide={self.hide}" if self.hide else "",
        ]
        query = "?" + "&".join(filter(None, parts)) if any(parts) else ""
        return f"lancedb:///{self.folder}{query}#{self.table}"

    @property
    def sidecar_base(self) -> Path:
        """Returns the path beside the folder for one table: two tables may use the same ids."""
        return self.folder.with_name(f"{self.folder.name}.{self.table}")


def tables_in(folder: Path) -> list[str]:
    """Returns the names of the tables in a folder, by its content alone, sorted."""
    if not folder.is_dir():
        return []
    paths = (each for each in folder.iterdir() if each.suffix == _SUFFIX)
    return sorted(
        each.name.removesuffix(_SUFFIX) for each in paths if (each / "_versions").is_dir()
    )


def existing(location: LanceUrl) -> LanceUrl:
    """Returns the location with the name of its table, which must exist.

    Raises:
        StoreNotFound: There is no such folder or table.
        ForeignStore: The folder holds no tables.
        UsageError: There are several tables and none was named.
    """
    folder = location.folder
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise StoreNotFound(f"{folder} {what}. Check the path.")
    tables = tables_in(folder)
    if not tables:
        raise ForeignStore(f"{folder} holds no LanceDB table. Check the path.")
    table = location.table
    if not table:
        if CONTEXT_TABLE not in tables and len(tables) > 1:
            raise UsageError(
                f"{folder} holds several tables: {', '.join(tables)}. Name one, as in "
                f"lancedb:///{folder}#{tables[0]}."
            )
        table = CONTEXT_TABLE if CONTEXT_TABLE in tables else tables[0]
    if table not in tables:
        raise StoreNotFound(
            f"{folder} has no table {table!r}. It has: {', '.join(tables)}. Check the name."
        )
    return replace(location, table=table)

"""Which column of another program's table holds which field of a memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from echoless.codec import FIELDS
from echoless.errors import UsageError

_HOW: Final = "Write it as field:column, as in ?map=content:body."


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Columns by field, as a person named them.

    Attributes:
        columns: Column by field of a memory; fields that are not named are not in it.
    """

    columns: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.columns)

    def column(self, field: str) -> str | None:
        """The column of a field, or None where none was named."""
        return self.columns.get(field)

    @classmethod
    def of(cls, pairs: Iterable[str]) -> FieldMap:
        """A map from texts such as `content:body` or `content=body`.

        Raises:
            UsageError: A text is no such pair, or names a field memories do not have.
        """
        columns: dict[str, str] = {}
        for pair in pairs:
            name, column = _split(pair)
            if not column:
                raise UsageError(f"{pair!r} maps nothing. {_HOW}")
            if name not in FIELDS:
                raise UsageError(
                    f"Memories have no field {name!r}, so nothing can be mapped to it. "
                    f"They have: {', '.join(FIELDS)}."
                )
            if columns.setdefault(name, column) != column:
                raise UsageError(
                    f"The field {name!r} is mapped twice: {columns[name]!r}, {column!r}."
                )
        return cls(columns)


def _split(pair: str) -> tuple[str, str]:
    """Field and column at the first colon or equals sign; no column where there is neither."""
    at = next((place for place, sign in enumerate(pair) if sign in ":="), len(pair))
    return pair[:at].strip(), pair[at + 1 :].strip()

"""Plug-ins: detectors, encoders, models, stores and verifiers found by entry point."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from echoless.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@lru_cache(maxsize=8)
def _group(kind: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # noqa: PLC0415 - a sixth of the start-up time

    return {entry.name: entry for entry in sorted(entry_points(group=f"echoless.{kind}"))}


def names(kind: str) -> tuple[str, ...]:
    """Names of all plug-ins of a kind, sorted.

    Args:
        kind: `detectors`, `encoders`, `models`, `stores` or `verifiers`.
    """
    return tuple(sorted(_group(kind)))


def load(kind: str, name: str) -> object:
    """The object an entry point names.

    Raises:
        UsageError: There is no plug-in of that name; the message lists those there are.
    """
    entry = _group(kind).get(name)
    if entry is None:
        known = ", ".join(names(kind)) or "none installed"
        raise UsageError(f"Unknown {kind[:-1]} {name!r}. Known {kind}: {known}.")
    loaded: object = entry.load()
    return loaded

"""How an engine is opened by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from echoless.core.errors import UsageError
from echoless.core.optional import lazy_module
from echoless.engines.engine import Engine

if TYPE_CHECKING:
    from echoless.engines import local, postgres_engine
else:  # each brings in what only it needs
    local = lazy_module("echoless.engines.local")
    postgres_engine = lazy_module("echoless.engines.postgres_engine")


ENGINES: Final = ("local", "postgres")
"""Names of the engines."""


def open_engine(name: str, processes: int | None = None) -> Engine:
    """Returns an engine by its name.

    Args:
        name: One of `ENGINES`.
        processes: How many work on this machine; None for one for each core.

    Raises:
        UsageError: The name is unknown, or the engine works with no process.
        MissingExtra: Its library is not installed.
    """
    if processes == 0 and name != "postgres":
        raise UsageError(f"The engine {name!r} needs at least one process.")
    if name == "local":
        return local.LocalEngine(processes)
    if name == "postgres":
        return postgres_engine.PostgresEngine(processes)
    raise UsageError(f"Unknown engine {name!r}. Known: {', '.join(ENGINES)}.")

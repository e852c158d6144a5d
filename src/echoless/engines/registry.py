"""How an engine is opened by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from echoless.core.errors import UsageError
from echoless.core.optional import lazy_module
from echoless.engines.engine import Engine
from echoless.engines.workers import ENGINES, Workers

if TYPE_CHECKING:
    from echoless.engines import local, postgres_engine, ray_cluster
else:  # each brings in what only it needs
    local = lazy_module("echoless.engines.local")
    postgres_engine = lazy_module("echoless.engines.postgres_engine")
    ray_cluster = lazy_module("echoless.engines.ray_cluster")


def open_engine(name: str, workers: Workers) -> Engine:
    """Returns an engine by its name.

    Args:
        name: One of `ENGINES`.
        workers: How many there are, and where.

    Raises:
        UsageError: The name is unknown, or the engine has no such workers.
        MissingExtra: Its library is not installed.
    """
    if workers.count == 0 and name != "postgres":
        raise UsageError(f"The engine {name!r} needs at least one process.")
    if name == "local":
        return local.LocalEngine(workers)
    if name == "ray":
        return ray_cluster.RayEngine(workers)
    if name == "postgres":
        return postgres_engine.PostgresEngine(workers)
    raise UsageError(f"Unknown engine {name!r}. Known: {', '.join(ENGINES)}.")

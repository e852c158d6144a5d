"""Workers of an engine: how many, where, and by which name. It brings in nothing else."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Final

from echoless.core.runtime import THREADS

ENGINES: Final = ("local", "ray", "postgres")
"""Names of the engines."""

ONE_THREAD: Final = {
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    THREADS: "1",
}
"""Environment of a worker: it has a core to itself; more threads would be in others' way."""


@dataclass(frozen=True, slots=True)
class Workers:
    """How many workers there are, and where.

    Attributes:
        count: Workers at a time; None lets the engine choose.
        address: Of a cluster; None for this machine.
    """

    count: int | None = None
    address: str | None = None


def worker_name() -> str:
    """Returns the host and the process of this worker, for reports."""
    return f"{platform.node()}:{os.getpid()}"

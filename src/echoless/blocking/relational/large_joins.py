"""The join of texts for partitions beyond memory, on an engine of relational steps."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from echoless.blocking.relational.engines import DuckDbEngine
from echoless.blocking.relational.wording import RelationalWording
from echoless.core.optional import is_installed

BYTES_OF_A_MEMORY: Final = 3_800
"""Memory that the joins of the profile `safe` take at their peak for a memory of some twenty words,
as measured at a million (`benchmarks/results/scale_huge.md`)."""

BLOCK: Final = 1 << 14
"""Rows whose candidates are compared at a time, at least."""

MOST_BLOCKS: Final = 64
"""Blocks beyond which they are made larger: each reads the postings of all rows once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeJoins:
    """A join of texts on files in place of that in memory; a `detector.Joins`.

    Attributes:
        engine: Runs the relational steps.
        folder: Takes the files while a join runs; where workers are on other machines, one that
            all of them see. The system's own for temporary files by default.
        least: Rows from which a join is done on files.
        block: Rows whose candidates are compared at a time; what fits the number of rows by
            default.

    Raises:
        MissingExtra: No engine is given, and the extra `scale` is not installed.
    """

    engine: DuckDbEngine = field(default_factory=DuckDbEngine)
    folder: Path | None = None
    least: int = 0
    block: int | None = None

    @contextmanager
    def wording(self, texts: Iterable[str], n: int, count: int) -> Iterator[RelationalWording]:
        """Provides the join of texts by their rarest words.

        Args:
            texts: Better survivors first.
            n: Characters of an n-gram.
            count: How many texts there are.
        """
        block = self.block or max(BLOCK, -(-count // MOST_BLOCKS))
        with self._working_folder() as folder:
            yield RelationalWording(texts, n, self.engine, folder, block)

    @contextmanager
    def _working_folder(self) -> Iterator[Path]:
        """Provides an empty folder, which is removed afterwards."""
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix="echoless-join-", dir=self.folder) as name:
            yield Path(name)


def joins_for(memories: int) -> LargeJoins | None:
    """Returns joins on files where those in memory would take half of this machine's memory.

    Args:
        memories: Of the largest partition of a run.

    Returns:
        None where they fit, or where the extra `scale` is not installed.
    """
    least = memory_of_machine() // 2 // BYTES_OF_A_MEMORY
    if memories < least or not (is_installed("duckdb") and is_installed("pyarrow")):
        return None
    return LargeJoins(least=least)


def memory_of_machine() -> int:
    """Returns the bytes of memory of this machine; 8 thousand million where that is not known."""
    if not hasattr(os, "sysconf"):  # pragma: no cover - Windows
        return 8_000_000_000
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")

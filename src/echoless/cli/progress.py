"""A progress bar on standard error for work that takes longer than a moment."""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

DELAY: Final = 0.5
"""Seconds before the bar appears: what ends sooner needs none, and rich is not even imported."""


class Bar:
    """Takes `pipeline.Progress` calls; shows them on a terminal, ignores them elsewhere."""

    def __init__(self, *, quiet: bool = False) -> None:
        """Prepare.

        Args:
            quiet: Never show anything (`--json`).
        """
        self._shown = not quiet and sys.stderr.isatty()
        self._start = monotonic()
        self._stage = ""
        self._progress: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, stage: str, done: int, whole: int) -> None:
        """Show how far a stage is; `whole` is 0 where it is not known."""
        if not self._shown or monotonic() - self._start < DELAY:
            return
        if self._progress is None:
            self._progress = _opened()
        if self._task is None or stage != self._stage:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._stage = stage
            self._task = self._progress.add_task(stage, total=whole or None)
        self._progress.update(self._task, completed=done, total=whole or None)

    def actions(self, done: int, whole: int) -> None:
        """The form `apply` calls."""
        self("writing", done, whole)


def _opened() -> Progress:
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.progress import Progress  # noqa: PLC0415

    progress = Progress(console=Console(stderr=True), transient=True)
    progress.start()
    return progress

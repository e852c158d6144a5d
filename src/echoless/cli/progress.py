"""A progress bar on standard error for work that takes longer than a moment.

One stage at a time: what is done of how much, how fast, and how long it still takes; where the
whole is not known yet, how long it has taken.
"""

from __future__ import annotations

import sys
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

import click

from echoless.cli.options import State
from echoless.core.optional import lazy_module

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from echoless.cli import terminal
else:
    terminal = lazy_module("echoless.cli.terminal")  # rich is slow to load

DELAY: Final = 0.5
"""Seconds before the bar appears: what ends sooner needs none, and rich is not even imported."""

EVERY: Final = 0.1
"""Seconds between two changes of one stage: nobody sees more, and counting must cost nothing."""

ENCODING: Final = "encoding"
"""The stage whose results are kept when the command is interrupted."""


class Bar:
    """Progress bar that takes `pipeline.Progress` calls and shows them on a terminal only.

    With or without a terminal it notes how many texts were encoded, for the message after an
    interruption.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        """Prepares a bar.

        Args:
            quiet: Never show anything (`--json`).
        """
        self._shown = not quiet and sys.stderr.isatty()
        self._start = monotonic()
        self._drawn = 0.0
        self._stage = ""
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        context = click.get_current_context(silent=True)
        self._state = None if context is None else context.ensure_object(State)

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
        """Shows how far a stage is; `whole` is 0 where it is not known."""
        if stage == ENCODING and self._state is not None:
            self._state.encoded = (done, whole)
        if not self._shown:
            return
        present = monotonic()
        if present - self._start < DELAY:
            return
        if stage == self._stage and present - self._drawn < EVERY and done != whole:
            return
        self._drawn = present
        self._show(stage, done, whole)

    def _show(self, stage: str, done: int, whole: int) -> None:
        if self._progress is None:
            self._progress = terminal.start_progress(pace)
        if self._task is None or stage != self._stage:
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._stage = stage
            self._task = self._progress.add_task(stage, total=whole or None)
        self._progress.update(self._task, completed=done, total=whole or None)

    def actions(self, done: int, whole: int) -> None:
        """Shows how far writing is, in the form `apply` calls."""
        self("writing", done, whole)


def pace(done: int, whole: int | None, speed: float | None, left: float | None) -> str:
    """Returns how far a stage is, such as `512 of 2,000, 431 a second, 0:04 left`.

    Args:
        done: Number of things done.
        whole: Number of all things; None where that is not known.
        speed: Things done a second; None where it is not known yet.
        left: Seconds it still takes; None as above.
    """
    parts = [f"{done:,}" if whole is None else f"{done:,} of {whole:,}"]
    if speed:
        parts.append(f"{speed:,.0f} a second" if speed >= 10 else f"{speed:.1f} a second")
    if left is not None and whole is not None:
        minutes, seconds = divmod(round(left), 60)
        hours, minutes = divmod(minutes, 60)
        clock = f"{hours}:{minutes:02}" if hours else f"{minutes}"
        parts.append(f"{clock}:{seconds:02} left")
    return ", ".join(parts)

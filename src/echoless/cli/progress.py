"""A progress bar or log lines on standard error for work that takes longer than a moment.

One stage at a time: what is done of how much, how fast, and how long it still takes; where that is
not known, how long it has taken. A bar on a terminal; lines of the log where there is none.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING, Final, Self

import click

from echoless.cli.options import CommandState
from echoless.core.destination import LOG as DESTINATIONS
from echoless.core.destination import without_password
from echoless.core.masking import OUTPUT
from echoless.core.own_folders import LOG as CACHES
from echoless.core.text import on_one_line, visible

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LOG: Final = logging.getLogger("echoless.progress")

DELAY: Final = 0.5
"""Seconds before the bar appears: what ends sooner needs none, and rich is not even imported."""

EVERY: Final = 0.1
"""Seconds between two changes of one stage: nobody sees more, and counting must cost nothing."""

FIRST_LINE: Final = 2.0
"""Seconds a stage lasts before there is a log line about it."""

NEXT_LINE: Final = 10.0
"""Seconds between two log lines about one stage."""

TICK: Final = 0.5
"""Seconds between two looks at the clock while a stage says nothing."""

ENCODING: Final = "encoding"
"""The stage whose results are kept when the command is interrupted."""


class StageLines:
    """Log lines about stages that last longer than `FIRST_LINE` seconds, at level `info`."""

    def __init__(self) -> None:
        """Starts before the first stage."""
        self._stage = ""
        self._begun = 0.0
        self._first = self._done = self._whole = 0
        self._written: dict[str, float] = {}

    def update(self, stage: str, done: int, whole: int, present: float) -> None:
        """Notes how far a stage is, and writes a line if one is due.

        Args:
            stage: Its name; the one before ends where it is another, or begins again.
            done: Number of things done.
            whole: Number of all things, 0 where that is not known.
            present: Seconds on a clock that never goes back.
        """
        if stage != self._stage or done < self._done:
            self._stage, self._first, self._begun = stage, done, present
        self._done, self._whole = done, whole
        self.tick(present)

    def tick(self, present: float) -> None:
        """Writes a line if one is due, also about a stage that said nothing since."""
        elapsed = present - self._begun
        if not self._stage or elapsed < FIRST_LINE:
            return
        # by name, as two stages may take turns: texts are encoded in the middle of a search
        if present - self._written.get(self._stage, present - NEXT_LINE) < NEXT_LINE:
            return
        self._written[self._stage] = present
        speed = (self._done - self._first) / elapsed if elapsed else 0.0
        left = (self._whole - self._done) / speed if speed and self._whole else None
        words = pace(self._done, self._whole or None, speed or None, left, elapsed)
        LOG.info("%s: %s", self._stage, words)


class Bar:
    """Progress bar that takes calls of `Progress`; a bar on a terminal, log lines elsewhere.

    In both cases it notes how many texts were encoded, for the message after an interruption.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        """Prepares a bar.

        Args:
            quiet: Never show a bar (`--json`). Log lines are written all the same, on standard
                error.
        """
        self._shown = not quiet and sys.stderr.isatty()
        self._start = monotonic()
        self._drawn = 0.0
        self._stage = ""
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._lines = StageLines()
        self._latest: tuple[str, int, int] | None = None
        self._lock, self._ended = Lock(), Event()
        self._ticking: Thread | None = None
        context = click.get_current_context(silent=True)
        self._state = None if context is None else context.ensure_object(CommandState)

    def __enter__(self) -> Self:
        if self._shown or LOG.isEnabledFor(logging.INFO):
            self._ticking = Thread(target=self._tick, name="progress", daemon=True)
            self._ticking.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._ticking is not None:
            self._ticking.join(timeout=1)
        with self._lock:
            if self._progress is not None:
                self._progress.stop()

    def pause(self) -> None:
        """Takes the bar away until the next call, so that other output may be printed."""
        with self._lock:
            if self._progress is not None:
                self._progress.stop()
            self._progress, self._task, self._stage, self._latest = None, None, "", None

    def __call__(self, stage: str, done: int, whole: int) -> None:
        """Shows how far a stage is; `whole` is 0 where it is not known."""
        if stage == ENCODING and self._state is not None:
            self._state.encoded = (done, whole)
        present = monotonic()
        with self._lock:
            self._lines.update(stage, done, whole, present)
            if not self._shown:
                return
            self._latest = (stage, done, whole)
            if present - self._start < DELAY:
                return
            if stage == self._stage and present - self._drawn < EVERY and done != whole:
                return
            self._drawn = present
            self._show(stage, done, whole)

    def _tick(self) -> None:
        """Tells of stages that say nothing themselves, until the end."""
        while not self._ended.wait(TICK):
            with self._lock:
                present = monotonic()
                self._lines.tick(present)
                due = present - self._start >= DELAY
                if due and self._latest is not None and self._latest[0] != self._stage:
                    self._show(*self._latest)

    def _show(self, stage: str, done: int, whole: int) -> None:

        if self._progress is None:
            from echoless.cli import terminal

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


def pace(
    done: int,
    whole: int | None,
    speed: float | None,
    left: float | None,
    elapsed: float | None = None,
) -> str:
    """Returns how far a stage is, such as `512 of 2,000, 431 a second, 0:04 left`.

    Args:
        done: Number of things done.
        whole: Number of all things; None where that is not known.
        speed: Things done a second; None where it is not known yet.
        left: Seconds it still takes; None as above.
        elapsed: Seconds it has taken, said where it is not known how long it still takes.
    """
    parts = [f"{done:,}" if whole is None else f"{done:,} of {whole:,}"]
    if not done and whole is None:
        parts = []
    if speed:
        parts.append(f"{speed:,.0f} a second" if speed >= 10 else f"{speed:.1f} a second")
    if left is not None and whole is not None:
        parts.append(f"{clock(left)} left")
    elif elapsed is not None and elapsed >= 1:
        parts.append(f"{clock(elapsed)} so far")
    return ", ".join(parts)


def clock(seconds: float) -> str:
    """Returns a span of time in minutes and seconds, such as `0:04`, with hours if needed."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# ------------------------------------------------------------------ log


LEVELS: Final = ("debug", "info", "warning", "error")
VARIABLE: Final = "ECHOLESS_LOG_LEVEL"

_LIBRARY: Final = logging.getLogger("echoless")


class _SentenceHandler(logging.Handler):
    """Prints each sentence once and at once, as a destination is named before texts go there."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Prints a sentence."""
        sentence = record.getMessage()
        if sentence not in self._printed:
            self._printed.add(sentence)
            click.echo(visible(OUTPUT.reason(sentence)), err=True)


class _LineHandler(logging.Handler):
    """Prints each record as one line, without secrets, passwords of addresses and hidden signs."""

    def emit(self, record: logging.LogRecord) -> None:
        """Prints a record; a traceback, if it has one, is part of the same line."""
        text = record.getMessage()
        if record.exc_info:
            text += "\n" + "".join(traceback.format_exception(record.exc_info[1]))
        time = datetime.fromtimestamp(record.created, UTC)
        safe = on_one_line(OUTPUT.reason(without_password(text)))
        try:
            click.echo(f"{time:%Y-%m-%dT%H:%M:%SZ} {record.levelname.lower()}: {safe}", err=True)
        except OSError:  # nobody reads standard error any more: no reason to stop the work
            self.setLevel(logging.CRITICAL + 1)


def set_log_level(name: str | None) -> None:
    """Sets from which level records of the library are printed.

    Args:
        name: One of `LEVELS`. None: `info` where standard error is no terminal, so that a job that
            nobody watches says how far it is; else `warning`, as a terminal shows a progress bar.
    """
    chosen = name or ("warning" if sys.stderr.isatty() else "info")
    _LIBRARY.setLevel(chosen.upper())


@contextmanager
def logging_to_stderr() -> Iterator[None]:
    """Prints what the library logs on standard error; puts the loggers back afterwards.

    A command within a command, as in the demo, prints each line once.
    """
    sentences, lines = _SentenceHandler(), _LineHandler()
    handlers: tuple[tuple[logging.Logger, int, logging.Handler], ...] = (
        (DESTINATIONS, logging.INFO, sentences),
        (CACHES, logging.WARNING, sentences),
        (_LIBRARY, logging.WARNING, lines),
    )
    before = [(log, log.handlers, log.level, log.propagate) for log, _, _ in handlers]
    for log, least, handler in handlers:
        log.handlers = [handler]
        log.setLevel(least)
        log.propagate = False
    try:
        yield
    finally:
        for log, outer, level, propagates in before:
            log.handlers = outer
            log.setLevel(level)
            log.propagate = propagates

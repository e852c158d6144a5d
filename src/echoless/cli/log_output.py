"""Log lines of the command line on standard error; standard output holds nothing but results.

Two kinds are written. Sentences about where texts are sent, and what became of caches, are printed
always and once each. All other records of the logger `echoless` are lines with a time and a level,
from the level that `--log-level` or `ECHOLESS_LOG_LEVEL` names.
"""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final

import click

from echoless.core.destination import LOG as DESTINATIONS
from echoless.core.destination import without_password
from echoless.core.masking import OUTPUT
from echoless.core.own_folders import LOG as CACHES
from echoless.core.visible import on_one_line, visible

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

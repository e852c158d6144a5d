"""Limits on how a language model is asked."""

from __future__ import annotations

from dataclasses import dataclass, fields

from echoless.core.choices import SETTINGS, TIMEOUT, WORKERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on one model in one run.

    Attributes:
        workers: Questions on their way at the same time.
        timeout: Seconds for one request; a local model may need more.
    """

    workers: int = WORKERS
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        """Checks that each number is in its range.

        Raises:
            UsageError: A number is out of range.
        """
        for each in fields(self):
            SETTINGS[each.name].check(getattr(self, each.name))

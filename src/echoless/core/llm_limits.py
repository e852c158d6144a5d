"""Limits on the questions, speed and cost of a language model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from echoless.core.choices import SETTINGS, TIMEOUT, WORKERS, Setting
from echoless.core.errors import UsageError

_UNDECLARED: Final = Setting(name="most_questions", kind=int, help="Questions in all.", least=1)
"""The one limit that only Python code sets; the flag `--questions` counts pairs of one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits on one model in one run; None means no limit, or an unknown price.

    Attributes:
        workers: Questions on their way at the same time.
        requests_a_minute: Requests within any 60 seconds, those tried again included.
        tokens_a_minute: Tokens within any 60 seconds, in and out.
        most_questions: Questions in all; what is tried again counts once.
        most_cost: In the currency of the prices, never exceeded: a question whose longest answer
            could exceed it is not asked.
        price_in: Of a million tokens sent.
        price_out: Of a million tokens written.
        timeout: Seconds for one answer; a local model may need more.
    """

    workers: int = WORKERS
    requests_a_minute: int | None = None
    tokens_a_minute: int | None = None
    most_questions: int | None = None
    most_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    timeout: float = TIMEOUT

    def __post_init__(self) -> None:
        """Checks that each number is in its range.

        Raises:
            UsageError: A number is out of range, or a cost is limited whose price is unknown.
        """
        for each in fields(self):
            SETTINGS.get(each.name, _UNDECLARED).check(getattr(self, each.name))
        if self.most_cost is not None and not self.priced:
            raise UsageError(
                "--most-cost needs the prices of a million tokens: --price-in and --price-out."
            )

    @property
    def priced(self) -> bool:
        """Returns whether both prices are known."""
        return self.price_in is not None and self.price_out is not None

    def cost(self, tokens_in: int, tokens_out: int) -> float | None:
        """Returns the cost of so many tokens; None if a price is unknown."""
        if self.price_in is None or self.price_out is None:
            return None
        return (tokens_in * self.price_in + tokens_out * self.price_out) / 1_000_000

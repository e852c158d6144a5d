"""Accounts of one model: what was spent, and limits on requests, tokens and cost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from threading import Lock
from typing import Final

from echoless.core.errors import LimitReached
from echoless.core.llm_limits import Limits
from echoless.core.model import Json
from echoless.models.llm.base import Answer, Prompt

MINUTE: Final = 60.0
"""Seconds of the window in which requests and tokens are counted."""

_CLOSE: Final = 0.001
"""Seconds that are not waited for."""

_BYTES: Final = 2
"""Bytes of a prompt to a token, at least: English has about four, Japanese about three."""

_AROUND: Final = 500
"""Tokens a server adds to a prompt for its schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """Questions to one model, with their tokens and costs.

    Attributes:
        model: Its name.
        questions: Put to it; what was tried again counts once.
        answered: Got an answer, whatever was made of it.
        requests: Sent, those tried again included.
        tokens_in: Of all prompts that were answered.
        tokens_out: Of all answers.
        estimated: Answers whose tokens the server did not tell; theirs are estimated, too high.
        cost: By the prices given; None if a price is unknown.
        left_out: Questions not asked because of a limit.
    """

    model: str
    questions: int = 0
    answered: int = 0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    estimated: int = 0
    cost: float | None = None
    left_out: int = 0

    def to_json(self) -> dict[str, Json]:
        """Returns the figures as in `--json`."""
        return asdict(self) | {"cost": None if self.cost is None else round(self.cost, 6)}

    def line(self) -> str:
        """Returns the counts and costs as one sentence for a person."""
        price = (
            "cost unknown, as no price was given (--price-in, --price-out)"
            if self.cost is None
            else f"cost {self.cost:.4f}"
        )
        guessed = f", tokens of {self.estimated} answers estimated" if self.estimated else ""
        left = f" A limit left out {self.left_out} questions." if self.left_out else ""
        return (
            f"The model {self.model} took {self.requests} requests for {self.questions} questions: "
            f"{self.tokens_in} tokens in, {self.tokens_out} out{guessed}; {price}.{left}"
        )


@dataclass(frozen=True, slots=True)
class Reserved:
    """The most that a question may cost while it is being answered.

    Attributes:
        tokens_in: Estimated from the length of the prompt, too high.
        tokens_out: Its longest answer.
        cost: Of both.
    """

    tokens_in: int
    tokens_out: int
    cost: float


class Governor:
    """Counts what one model uses and holds it within limits; for any number of threads."""

    def __init__(
        self,
        model: str,
        limits: Limits,
        *,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        """Starts with nothing spent.

        Args:
            model: Name of the model.
            limits: What holds.
            clock: Seconds that only grow.
            sleep: Waits so many seconds.
        """
        self._limits, self._clock, self._sleep = limits, clock, sleep
        self._lock = Lock()
        self._spent = Spent(model=model, cost=limits.cost(0, 0))
        self._reserved = 0.0
        self._window: deque[tuple[float, int, int]] = deque()  # when, requests, tokens

    @property
    def spent(self) -> Spent:
        """Returns the questions, tokens and costs so far."""
        with self._lock:
            return self._spent

    def reserve(self, prompt: Prompt) -> Reserved:
        """Reserves the cost of a question before its first request.

        Raises:
            LimitReached: It would be one too many, or could cost too much.
        """
        tokens = _estimate(prompt.whole) + _AROUND
        cost = self._limits.cost(tokens, prompt.longest) or 0.0
        most, most_cost = self._limits.most_questions, self._limits.most_cost
        with self._lock:
            spent, reason = self._spent, ""
            so_far = spent.cost or 0.0
            if most is not None and spent.questions >= most:
                reason = f"The limit of {most} questions is reached"
            elif most_cost is not None and so_far + self._reserved + cost > most_cost:
                reason = (
                    f"The limit of {most_cost:g} on the cost is reached "
                    f"({so_far:.4f} spent, one more question may cost {cost:.4f})"
                )
            if reason:
                self._spent = replace(spent, left_out=spent.left_out + 1)
                raise LimitReached(f"{reason}; what was not asked stays as it is.", requests=0)
            self._spent = replace(spent, questions=spent.questions + 1)
            self._reserved += cost
        return Reserved(tokens, prompt.longest, cost)

    def turn(self, reserved: Reserved) -> None:
        """Waits until the limits of a minute allow one more request, and counts it."""
        while True:
            with self._lock:
                wait = self._wait(reserved.tokens_in)
                if wait <= 0:
                    self._window.append((self._clock(), 1, reserved.tokens_in))
                    self._spent = replace(self._spent, requests=self._spent.requests + 1)
                    return
            self._sleep(wait)

    def _wait(self, tokens: int) -> float:
        """Returns seconds until so many more tokens fit; alone in a window any number fits."""
        now = self._clock()
        most, most_tokens = self._limits.requests_a_minute, self._limits.tokens_a_minute
        while self._window and self._window[0][0] + MINUTE - now < _CLOSE:
            self._window.popleft()
        requests = sum(n for _, n, _ in self._window)
        written = sum(n for _, _, n in self._window)
        free = now
        for at, some_requests, some_tokens in self._window:
            few = most is None or requests < most
            if few and (most_tokens is None or written + tokens <= most_tokens):
                break
            requests, written = requests - some_requests, written - some_tokens
            free = at + MINUTE
        return free - now

    def more_requests(self, requests: int) -> None:
        """Counts requests that were sent besides the one `turn` counted."""
        if requests > 0:
            with self._lock:
                self._window.append((self._clock(), requests, 0))
                self._spent = replace(self._spent, requests=self._spent.requests + requests)

    def settle(self, reserved: Reserved, answer: Answer | None) -> None:
        """Replaces the reservation of a question by its real cost.

        Args:
            reserved: Result of `reserve`.
            answer: None if the model gave no answer; then no tokens are counted.
        """
        with self._lock:
            self._reserved = max(0.0, self._reserved - reserved.cost)
            if answer is None:
                return
            counted = answer.tokens_in is not None and answer.tokens_out is not None
            sent = reserved.tokens_in if answer.tokens_in is None else answer.tokens_in
            came = _estimate(answer.text) if answer.tokens_out is None else answer.tokens_out
            # what was sent is in the window since it was sent
            self._window.append((self._clock(), 0, came))
            spent = self._spent
            tokens_in, tokens_out = spent.tokens_in + sent, spent.tokens_out + came
            self._spent = replace(
                spent,
                answered=spent.answered + 1,
                tokens_in=tokens_in,
                tokens_out=tokens_out,
                estimated=spent.estimated + (not counted),
                cost=self._limits.cost(tokens_in, tokens_out),
            )


def _estimate(text: str) -> int:
    return len(text.encode("utf-8", "replace")) // _BYTES + 1

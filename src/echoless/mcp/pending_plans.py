"""Store of plans between the preview that made them and the call that carries them out."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final, TypeVar

from echoless.core.errors import UsageError

CAPACITY: Final = 64
"""Plans kept at a time; a new one takes the place of the oldest."""

MINUTES: Final = 30
"""How long a plan is kept: long enough to look at it, short enough that the store is still like
it. Records that changed meanwhile are refused by the plan itself."""

ALONE: Final = "Give plan_id alone to act, or leave it out to look. Nothing was written."
"""Told where a plan id came with other arguments."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Pending:
    """A plan with the tool and the client it belongs to, and the end of its time."""

    tool: str
    client: str
    until: float
    content: object


class Plans:
    """Plans by id: a bounded number, for a limited time, each handed out once. Thread-safe."""

    def __init__(
        self,
        *,
        capacity: int = CAPACITY,
        minutes: float = MINUTES,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """Starts without plans.

        Args:
            capacity: At most so many, at least 1.
            minutes: How long each is kept.
            clock: Seconds.
        """
        self._capacity = capacity
        self._seconds = minutes * 60
        self._clock = clock
        self._plans: OrderedDict[str, _Pending] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def minutes(self) -> int:
        """Returns how long a plan is kept."""
        return round(self._seconds / 60)

    def __len__(self) -> int:
        return len(self._plans)

    def keep(self, plan_id: str, tool: str, content: object, *, client: str = "") -> str:
        """Keeps a plan.

        Args:
            plan_id: Its id.
            tool: The tool that made it, the only one that may use it.
            client: The client it was shown, the only one that may use it.
            content: The data the tool needs to carry it out.

        Returns:
            Its id.
        """
        with self._lock:
            self._forget_old()
            self._plans[plan_id] = _Pending(tool, client, self._clock() + self._seconds, content)
            while len(self._plans) > self._capacity:
                self._plans.popitem(last=False)
        return plan_id

    def take(self, plan_id: str, tool: str, kind: type[T], *, client: str = "") -> T:
        """Returns a plan and removes it.

        Args:
            plan_id: Its id.
            tool: The tool that asks.
            kind: Type of its content.
            client: The client that asks.

        Raises:
            UsageError: It is not here, any more or at all, or is another tool's or client's.
        """
        with self._lock:
            self._forget_old()
            plan = self._plans.get(plan_id)
            if plan is None or plan.client != client:
                raise UsageError(
                    f"There is no plan {plan_id!r} here; nothing was written. A plan is used once "
                    f"and kept for {self.minutes} minutes, the latest {self._capacity} of them, "
                    f"for the client it was shown. Call "
                    f"{tool} without plan_id for a new preview."
                )
            if plan.tool != tool or not isinstance(plan.content, kind):
                raise UsageError(
                    f"The plan {plan_id!r} is one of {plan.tool}; nothing was written. Give it to "
                    "that tool."
                )
            del self._plans[plan_id]
            return plan.content

    def _forget_old(self) -> None:
        """Removes the plans whose time is up."""
        now = self._clock()
        for plan_id in [id_ for id_, each in self._plans.items() if each.until <= now]:
            del self._plans[plan_id]

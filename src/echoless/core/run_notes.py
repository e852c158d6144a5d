"""What a run tells: its progress, and what was skipped, limited or replaced (law 9: no silence)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Final, TypeAlias

LOG: Final = logging.getLogger("echoless.run")
"""Takes, at level `debug`, the stages of a run and the sentences about it."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the stage, the steps done, and the number of all steps; 0 if unknown."""


def logged(tell: Progress) -> Progress:
    """Returns a progress that also logs, at level `debug`, when each stage begins.

    Args:
        tell: Called as before.
    """
    stage, begun = "", monotonic()

    def both(name: str, done: int, whole: int) -> None:
        nonlocal stage
        if name != stage:
            stage = name
            LOG.debug("%s begins %.2f s after the start", name, monotonic() - begun)
        tell(name, done, whole)

    return both


class Tally:
    """Reasons with the ids they concern, and sentences about the run; every report prints it."""

    def __init__(self) -> None:
        self._ids: dict[str, list[str]] = {}
        self._notes: dict[str, bool] = {}

    def skip(self, reason: str, *ids: str) -> None:
        """Adds ids under a reason such as `empty` or `vector not comparable`."""
        self._ids.setdefault(reason, []).extend(ids)

    def note(self, *sentences: str, passing: bool = False) -> None:
        """Adds sentences about the whole run, such as the use of a fallback.

        Args:
            sentences: Complete, with their full stops.
            passing: It tells of this run only, such as a file that could not be read: the next one
                over the same memories need not tell it.
        """
        for sentence in sentences:
            LOG.debug("%s", sentence)
            self._notes[sentence] = passing

    def join(self, other: Tally) -> None:
        """Adds all that another tally collected."""
        for reason, ids in other._ids.items():
            self.skip(reason, *ids)
        self._notes.update(other._notes)

    def rename(self, name: Callable[[str], str]) -> None:
        """Gives ids other names: a part of a memory counts as its memory."""
        self._ids = {reason: [*map(name, ids)] for reason, ids in self._ids.items()}

    @property
    def skipped(self) -> Mapping[str, tuple[str, ...]]:
        """Returns ids by reason, both sorted, each id once."""
        return {reason: tuple(sorted(set(self._ids[reason]))) for reason in sorted(self._ids)}

    @property
    def counts(self) -> Mapping[str, int]:
        """Returns the number of ids by reason."""
        return {reason: len(ids) for reason, ids in self.skipped.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """Returns the sentences in the order they came."""
        return tuple(self._notes)

    @property
    def lasting(self) -> tuple[str, ...]:
        """Returns the sentences that also hold for later runs, in the order they came."""
        return tuple(sentence for sentence, passing in self._notes.items() if not passing)

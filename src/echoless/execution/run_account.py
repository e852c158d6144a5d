"""Account of a run: memories left out, with the reason, and the changes of the run itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from echoless.core.model import Memory, fingerprint
from echoless.execution.actions import Action, counted


@dataclass(frozen=True, slots=True)
class Refusal:
    """An action that was not carried out, and why."""

    survivor: str
    ids: tuple[str, ...]
    reason: str


@dataclass(slots=True)
class Account:
    """What a run has left out, and changed, so far.

    Attributes:
        refused: Actions whose records changed since the plan.
        failed: Actions that were rolled back.
        own: Fingerprints of records the run itself changed, those whose links it re-pointed among
            them: before its first change and after its last.
    """

    refused: list[Refusal] = field(default_factory=list)
    failed: list[Refusal] = field(default_factory=list)
    own: dict[str, tuple[str, str]] = field(default_factory=dict)

    def changed(self, before: Memory, after: Memory) -> None:
        """Notes a record the run changed."""
        first, _ = self.own.get(before.id, (fingerprint(before), ""))
        self.own[before.id] = (first, fingerprint(after))

    def expected(self, id_: str, planned: str) -> str:
        """Returns the fingerprint a record must have by now, if it had the planned one before."""
        first, last = self.own.get(id_, (planned, planned))
        return last if first == planned else planned

    def counts(self, actions: Iterable[Action]) -> dict[str, int]:
        """Counts the actions that were carried out, as `Plan.counts` does.

        A survivor may have two actions, one that marks and one that deletes, and one of them may be
        left out; so an action is known by all its ids.
        """
        left_out = {(each.survivor, each.ids) for each in (*self.refused, *self.failed)}
        return counted(a for a in actions if (a.survivor, a.ids) not in left_out)

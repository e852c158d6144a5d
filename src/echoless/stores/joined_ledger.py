"""Ledger in a sidecar, joined with what the store itself shows as hidden.

Where a store hides in a way of its own, its records change before the ledger has their marks, and
other programs may hide or show records too. So the marks are those of both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping

from echoless.stores.ledger import Ledger, Mark


class JoinedLedger(Ledger):
    """Common part of the ledgers that take marks from their store."""

    @abstractmethod
    def joined(self, own: Mapping[str, Mark]) -> Mapping[str, Mark]:
        """Returns the marks that hold, by hidden id.

        Args:
            own: Marks of the sidecar alone.
        """

    def marks(self, run: str | None = None) -> dict[str, Mark]:
        """Returns marks by hidden id, of one run if given."""
        standing = self.joined(self.own_marks())
        return {i: standing[i] for i in sorted(standing) if run in {None, standing[i].run}}

    def has_decisions(self) -> bool:
        """Returns whether any mark or kept pair stands; the store's own are read as a whole."""
        return bool(self.marks()) or super().has_decisions()

    def marks_of(self, ids: Iterable[str]) -> dict[str, Mark]:
        """Returns the marks of some hidden memories, by id."""
        wanted = set(ids)
        return {id_: mark for id_, mark in self.marks().items() if id_ in wanted}

    def marks_about(self, ids: Collection[str]) -> dict[str, Mark]:
        """Returns the marks that name one of some memories; the store's own are read as a whole."""
        wanted = set(ids)
        return {
            id_: mark
            for id_, mark in self.marks().items()
            if id_ in wanted or mark.survivor in wanted
        }

    def own_marks(self) -> dict[str, Mark]:
        """Returns the marks of the sidecar alone."""
        return super().marks()

    def mark(self, marks: Iterable[Mark]) -> None:
        """Writes marks in place of older ones, which another program may have shown again."""
        new = list(marks)
        self.unmark(mark.duplicate for mark in new)
        super().mark(new)

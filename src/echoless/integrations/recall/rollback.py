"""Reverts marks: the row is visible again, and the pair is not planned again."""

from __future__ import annotations

from collections.abc import Sequence

from echoless.core.errors import UsageError
from echoless.execution.recovery import recover, release
from echoless.stores.recall import RecallStore
from echoless.stores.recall.lineage import Entry


def marked_entries(store: RecallStore, numbers: Sequence[int]) -> list[Entry]:
    """Returns rows of `dedup_lineage` by number.

    Raises:
        UsageError: One is not there, or is not marked; nothing was changed.
    """
    known = {entry.id: entry for entry in store.lineage()}
    for number in numbers:
        if number not in known:
            raise UsageError(f"There is no lineage row {number}. No changes were made.")
        status = known[number].status
        if status != "marked":
            raise UsageError(
                f"Lineage row {number} is {status}, not marked, and cannot be reverted. "
                "No changes were made."
            )
    return [known[number] for number in dict.fromkeys(numbers)]


def revert(store: RecallStore, numbers: Sequence[int]) -> list[Entry]:
    """Makes marked rows visible again, all or none.

    Raises:
        UsageError: As `marked_entries`.
    """
    with store.writing():
        recover(store)
        chosen = marked_entries(store, numbers)
        marks = store.ledger.marks()
        with store.transaction():
            release(store, [marks[entry.duplicate] for entry in chosen], why="reverted")
    return chosen

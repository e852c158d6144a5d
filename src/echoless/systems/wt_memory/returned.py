"""Find notes that an earlier run removed and that are there again, as an older export brings them.

The `import` of wt-memory knows a note by the id it was exported with. Of a cluster that was reduced
since, only the survivor's is in the store: the others come back under new ids, with the old one in
their metadata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from echoless.ledger import Ledger
from echoless.model import Memory
from echoless.stores.shodh.record import ORIGINAL
from echoless.undoing import history


def returned(ledger: Ledger, memories: Iterable[Memory]) -> dict[str, int]:
    """How many notes are back, by the run that removed them, latest first."""
    removed = _removed(ledger)
    if not removed:
        return {}
    runs = (removed.get(str(m.metadata.get(ORIGINAL) or m.id)) for m in memories)
    counts = Counter(run for run in runs if run)
    return {run: counts[run] for run in sorted(counts, reverse=True)}


def _removed(ledger: Ledger) -> dict[str, str]:
    """The latest standing run that removed a note, by the note's id."""
    found: dict[str, str] = {}
    for past in history(ledger):
        if past.status != "done" or not past.deleted:
            continue
        done = ledger.done_actions(past.id)
        for event in ledger.events(past.id, "action_started"):
            members = event.data["members"]
            if event.data["action"] in done and isinstance(members, list):
                found.update((str(m["id"]), past.id) for m in members)
    return found

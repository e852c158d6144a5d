"""Is everything in order? Ends interrupted runs, compares marks with events, tests the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from echoless.ledger import Ledger, Mark
from echoless.model import JsonObject
from echoless.recovery import hidden_before, marks_of, outdated, recover, release
from echoless.stores.base import LeavesDrafts, Store, together_with_ledger


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong.

    Attributes:
        kind: `interrupted`, `conflict`, `draft`, `orphan`, `outdated`, `chain`, `ledger` or `file`.
        ids: Runs or memories concerned.
        says: What it is, in one sentence.
        mended: Whether `check` put it right.
    """

    kind: str
    ids: tuple[str, ...]
    says: str
    mended: bool


@dataclass(frozen=True, slots=True)
class Health:
    """What a check found."""

    memories: int
    marks: int
    runs: int
    problems: tuple[Problem, ...]

    @property
    def sound(self) -> bool:
        """Whether nothing is left to mend."""
        return all(problem.mended for problem in self.problems)


def check(store: Store, *, mend: bool = True) -> Health:
    """Check a store and its lineage.

    An interrupted run is finished where its change arrived and rolled back where it did not: that
    carries out or takes back a plan someone approved, and nothing else. A memory hidden behind a
    survivor that is no longer there, or of which one text was rewritten, is shown again.

    Args:
        store: The store.
        mend: False only reports and writes nothing.
    """
    problems = list(_interrupted(store, mend=mend))
    problems += _drafts(store, mend=mend)
    problems += _marks(store, mend=mend)
    problems += _projection(store.ledger)
    problems += _file(store)
    started = {e.run for e in store.ledger.events(kind="run_started")}
    return Health(store.count(), len(store.ledger.marks()), len(started), tuple(problems))


def _interrupted(store: Store, *, mend: bool) -> Iterable[Problem]:
    waiting = store.ledger.open_runs()
    if not waiting:
        return
    if not mend:
        for run in waiting:
            yield Problem("interrupted", (run,), f"Run {run} was interrupted.", mended=False)
        return
    with store.writing():
        for ended in recover(store):
            if ended.outcome == "conflict":
                yield Problem(
                    "conflict",
                    ended.ids,
                    f"Run {ended.run} was interrupted, and {', '.join(ended.ids)} were edited "
                    "since: left as they are. `echoless history` shows how they were.",
                    mended=False,
                )
            else:
                says = f"Run {ended.run} was interrupted; it was {ended.outcome}."
                yield Problem("interrupted", (ended.run,), says, mended=True)


def _drafts(store: Store, *, mend: bool) -> list[Problem]:
    """Drafts of writers that were stopped hold texts that `purge` should reach."""
    if not isinstance(store, LeavesDrafts) or not store.leftovers():
        return []
    if not mend:
        return [_draft_problem(store.leftovers(), mended=False)]
    with store.writing():
        gone = store.remove_leftovers()
    return [_draft_problem(gone, mended=True)] if gone else []


def _draft_problem(drafts: Sequence[Path], *, mended: bool) -> Problem:
    names = tuple(draft.name for draft in drafts)
    says = f"A stopped writer left {', '.join(names)} beside the store"
    return Problem("draft", names, says + ("; removed." if mended else "."), mended=mended)


def _marks(store: Store, *, mend: bool) -> list[Problem]:
    """Law 3: every hidden memory has a visible survivor."""
    marks = store.ledger.marks()
    present = store.get({i for m in marks.values() for i in (m.duplicate, m.survivor)})
    problems: list[Problem] = []
    gone: list[Mark] = []
    stale = outdated(marks.values(), present)
    for mark in stale:
        says = f"{mark.duplicate!r} was hidden behind {mark.survivor!r}, but one of them was "
        says += "rewritten since; it is shown " + ("again." if mend else "by searches.")
        problems.append(Problem("outdated", (mark.duplicate,), says, mended=mend))
    for mark in marks.values():
        if mark.duplicate in present and mark.survivor not in present:
            gone.append(mark)
            says = f"{mark.duplicate!r} was hidden behind {mark.survivor!r}, which is gone; it is "
            problems.append(
                Problem(
                    "orphan",
                    (mark.duplicate,),
                    says + ("shown again." if mend else "not found by searches."),
                    mended=mend,
                )
            )
        elif mark.duplicate not in present:
            gone.append(mark)
        if mark.survivor in marks:
            says = f"{mark.duplicate!r} is hidden behind {mark.survivor!r}, which is hidden itself."
            problems.append(Problem("chain", (mark.duplicate, mark.survivor), says, mended=False))
    if mend and (gone or stale):
        with store.writing(), together_with_ledger(store):
            standing = store.ledger.marks()  # another process may have been quicker
            gone, stale = ([m for m in each if m in standing.values()] for each in (gone, stale))
            release(store, gone, why="one of the two is gone")
            release(store, stale, why="rewritten since")
    return problems


def _projection(ledger: Ledger) -> list[Problem]:
    """Marks must be what the events say."""
    expected = _told(ledger)
    found = {m.duplicate: m.survivor for m in ledger.own_marks().values()}
    differing = sorted(i for i in expected.keys() | found.keys() if expected.get(i) != found.get(i))
    if not differing:
        return []
    says = f"The marks of {', '.join(differing[:5])} are not what the events of the ledger say."
    return [Problem("ledger", tuple(differing), says, mended=False)]


def _told(ledger: Ledger) -> dict[str, str]:
    """Survivor by hidden memory, as the events tell it."""
    expected: dict[str, str] = {}
    started: dict[str, dict[object, JsonObject]] = {}
    for event in ledger.events():
        actions = started.setdefault(event.run, {})
        match event.kind:
            case "action_started":
                actions[event.data["action"]] = event.data
            case "action_done":
                data = actions[event.data["action"]]
                _exchange(expected, hidden_before(data), marks_of(data, event.run))
            case "released":
                expected.pop(str(event.data["duplicate"]), None)
            case "run_undone":
                for data in actions.values():
                    _exchange(expected, marks_of(data, event.run), hidden_before(data))
    return expected


def _exchange(expected: dict[str, str], gone: Iterable[Mark], made: Iterable[Mark]) -> None:
    for mark in gone:
        expected.pop(mark.duplicate, None)
    expected.update((mark.duplicate, mark.survivor) for mark in made)


def _file(store: Store) -> list[Problem]:
    """What the store itself can tell of its files."""
    integrity = getattr(store, "integrity", None)
    if integrity is None:
        return []
    return [Problem("file", (), says, mended=False) for says in integrity()]

"""Checks a store: ends interrupted runs, compares marks with events, tests the file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from echoless.core.destination import command_line
from echoless.core.document import names, records_in, texts_in
from echoless.core.errors import BadRecord, ForeignStore, InputError, LedgerDamaged
from echoless.core.model import JsonObject
from echoless.execution.journal import hidden_before, marks_of
from echoless.execution.recovery import ADD, misplaced, recover, release
from echoless.stores.base import Store, together_with_ledger
from echoless.stores.ledger import Ledger, Mark, outdated
from echoless.stores.ledger_rows import survey

_DAMAGE = (LedgerDamaged, ForeignStore, BadRecord)
"""What a damaged file raises; what says "not now" (locked, full) still ends the check."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of a store.

    Attributes:
        kind: `unfinished`, `interrupted`, `conflict`, `draft`, `orphan`, `outdated`, `chain`,
            `missing`, `lineage`, `ledger`, `record` or `file`.
        ids: Runs or memories concerned.
        says: Description of the fault, in one sentence.
        mended: Whether `check` put it right.
    """

    kind: str
    ids: tuple[str, ...]
    says: str
    mended: bool


@dataclass(frozen=True, slots=True)
class Health:
    """Result of a check.

    Attributes:
        memories: Number of memories; None where they cannot be read.
        marks: Number of hidden ones; None where the ledger cannot be read.
        runs: Number of runs; None where the ledger cannot be read.
        problems: What is wrong, put right or not.
    """

    memories: int | None
    marks: int | None
    runs: int | None
    problems: tuple[Problem, ...]

    @property
    def sound(self) -> bool:
        """Returns whether nothing is left to mend."""
        return all(problem.mended for problem in self.problems)


def check(store: Store, *, mend: bool = True) -> Health:
    """Checks a store and its lineage.

    A write that a program was stopped in is taken back. An interrupted run is finished where its
    change arrived and rolled back where it did not: that carries out or takes back a plan someone
    approved, and nothing else. A memory hidden behind a survivor that is no longer there, or of
    which one text was rewritten, is shown again. Where file or ledger are damaged, what can be read
    is counted and what cannot is told; nothing is mended then.

    Args:
        store: The store.
        mend: False only reports and writes nothing.

    Raises:
        StoreError: The store is locked, full or read-only, or its disk fails.
    """
    unfinished = store.unfinished()
    if unfinished and mend:
        store.take_back()
    problems = [stopped(path, mended=mend) for path in unfinished]
    damage = _damage(store)
    problems += damage
    if not damage:
        problems += _interrupted(store, mend=mend)
        problems += _drafts(store, mend=mend)
        strange, fits = _strange(store)
        problems += strange
        mend = mend and fits  # to show or drop anything by a lineage that does not fit does harm
        of_marks = _marks(store, mend=mend)
        problems += of_marks
        problems += _projection(store.ledger)
        problems += _reviews(store, mend=mend)
        reported = {id_ for each in of_marks for id_ in each.ids}
        problems += _missing(store, reported, mend=mend)
    problems += _file(store)
    marks = runs = None
    if not any(each.kind == "ledger" for each in damage):
        marks = len(store.ledger.marks())
        runs = len({event.run for event in store.ledger.events(kind="run_started")})
    try:
        memories = store.count()
    except _DAMAGE:
        memories = None
    return Health(memories, marks, runs, tuple(problems))


def stopped(path: Path, *, mended: bool) -> Problem:
    """Returns what is reported of a file in which a writer was stopped."""
    became = "that write was taken back" if mended else "`echoless check` takes that write back"
    says = f"A program was stopped in the middle of a write to {path}; {became}. Nothing else is "
    return Problem("unfinished", (), says + "lost.", mended=mended)


def _damage(store: Store) -> list[Problem]:
    """Finds what of ledger and records cannot be read."""
    try:
        faults = survey(store.ledger.database)
        if not faults:
            store.ledger.open_runs()
            store.ledger.marks()
    except InputError as problem:
        faults = [str(problem)]
    problems = [Problem("ledger", (), each, mended=False) for each in faults]
    try:
        for _ in store.scan():
            pass
    except _DAMAGE as problem:
        problems.append(Problem("record", (), str(problem), mended=False))
    return problems


def _strange(store: Store) -> tuple[list[Problem], bool]:
    """Finds what of the lineage does not fit the store, and whether the two belong together."""
    if says := misplaced(store):
        return [Problem("lineage", (), f"T{says[1:]}", mended=False)], False
    back = tuple(store.returned())
    if not back or not set(store.ledger.marks()) <= {*back}:
        return [], True
    says = (
        f"Hidden memories that are in {store.url} as well: {len(back):,}, all of them. Its program "
        "wrote them again, or the store or its lineage was put back from a copy. An undo of their "
        "runs takes the marks back, and writes none of them a second time."
    )
    return [Problem("lineage", back, says, mended=False)], True


def _interrupted(store: Store, *, mend: bool) -> Iterable[Problem]:
    """Ends interrupted runs, or only names them."""
    waiting = store.ledger.open_runs()
    if not waiting:
        return
    if not mend:
        for run in waiting:
            yield Problem("interrupted", (run,), f"Run {run} was interrupted.", mended=False)
        return
    with store.writing():
        for ended in recover(store):
            says = ended.says(store.url)
            if ended.outcome == "conflict":
                says += f" `{command_line('history', store.url, ended.run)}` shows what was done."
                yield Problem("conflict", ended.ids, says, mended=False)
            else:
                yield Problem("interrupted", (ended.run,), says, mended=True)


def _drafts(store: Store, *, mend: bool) -> list[Problem]:
    """Finds drafts of writers that were stopped: they hold texts that `purge` should reach."""
    if not store.leftovers():
        return []
    if not mend:
        return [_draft_problem(store.leftovers(), mended=False)]
    with store.writing():
        gone = store.remove_leftovers()
    return [_draft_problem(gone, mended=True)] if gone else []


def _draft_problem(drafts: Sequence[Path], *, mended: bool) -> Problem:
    """Returns what is reported of drafts beside a store."""
    names = tuple(draft.name for draft in drafts)
    says = f"A stopped writer left {', '.join(names)} beside the store"
    return Problem("draft", names, says + ("; removed." if mended else "."), mended=mended)


def _marks(store: Store, *, mend: bool) -> list[Problem]:
    """Checks that every hidden memory has a visible survivor (law 3)."""
    marks = store.ledger.marks()
    present = store.get({i for m in marks.values() for i in (m.duplicate, m.survivor)})
    problems: list[Problem] = []
    gone: list[Mark] = []
    stale = outdated(marks.values(), present)
    for mark in stale:
        lack = present[mark.survivor].promise.lack(present[mark.duplicate].promise)
        why = f"that one {lack}" if lack else "one of them was rewritten since"
        says = f"{mark.duplicate!r} was hidden behind {mark.survivor!r}, but {why}; it is shown "
        says += "again." if mend else "by searches."
        problems.append(Problem("outdated", (mark.duplicate,), says, mended=mend))
    for mark in marks.values():
        if mark.duplicate in present and mark.survivor not in present:
            gone.append(mark)
            says = f"{mark.duplicate!r} was hidden behind {mark.survivor!r}, which is gone; it is "
            problems.append(
                Problem(
                    "orphan",
                    (mark.duplicate, mark.survivor),
                    says + ("shown again." if mend else "not found by searches."),
                    mended=mend,
                )
            )
        elif mark.duplicate not in present:
            gone.append(mark)
            says = (
                f"{mark.duplicate!r}, hidden behind {mark.survivor!r}, is gone, and no run removed "
            )
            says += "it; its mark " + ("was dropped." if mend else "is left.")
            problems.append(Problem("missing", (mark.duplicate,), says, mended=mend))
        if mark.survivor in marks:
            says = f"{mark.duplicate!r} is hidden behind {mark.survivor!r}, which is hidden itself."
            problems.append(Problem("chain", (mark.duplicate, mark.survivor), says, mended=False))
    if mend and (gone or stale):
        with store.writing(), together_with_ledger(store):
            wrong = [mark.duplicate for mark in (*gone, *stale)]
            standing = store.ledger.marks_of(wrong)  # another process may have been quicker
            gone, stale = (
                [mark for mark in each if standing.get(mark.duplicate) == mark]
                for each in (gone, stale)
            )
            release(store, gone, why="one of the two is gone")
            release(store, stale, why="rewritten or out of force since")
    return problems


def _projection(ledger: Ledger) -> list[Problem]:
    """Checks that the marks are what the events say."""
    expected = _marks_by_events(ledger)
    actual = {m.duplicate: m.survivor for m in ledger.own_marks().values()}
    both = expected.keys() | actual.keys()
    differing = sorted(i for i in both if expected.get(i) != actual.get(i))
    if not differing:
        return []
    says = f"The marks of {names(differing)} are not what the events of the ledger say."
    return [Problem("ledger", tuple(differing), says, mended=False)]


def _reviews(store: Store, *, mend: bool) -> list[Problem]:
    """Checks that the answers of reviews agree with the events, from which they can be rebuilt."""
    try:
        agree = store.ledger.reviews() == store.ledger.reviews_by_events()
    except LedgerDamaged:
        agree = False
    if agree:
        return []
    if mend:
        with store.writing(), store.ledger.transaction():
            store.ledger.count_again()
    says = "The answers of reviews are not what the events of the ledger say; "
    says += "they were made anew from them." if mend else "`echoless check` makes them anew."
    return [Problem("ledger", (), says, mended=mend)]


def _missing(store: Store, reported: AbstractSet[str], *, mend: bool) -> list[Problem]:
    """Finds memories the store remembers and does not hold, though no run removed them; once each.

    Args:
        store: The store.
        reported: Ids that other problems name already.
        mend: Whether to remember that they were reported.
    """
    unexplained = sorted(set(store.gone()) - _removed(store.ledger))
    if unexplained and mend:
        with store.writing(), store.ledger.transaction():
            store.ledger.record("missing", data={"ids": list(unexplained)})
    gone = [id_ for id_ in unexplained if id_ not in reported]
    if not gone:
        return []
    says = (
        f"{len(gone):,} {'memory is' if len(gone) == 1 else 'memories are'} missing that no run "
        f"removed ({names(map(repr, gone))}). If you removed them yourself all is well, and this "
        "is not said again; if not, look for another program that writes to the file."
    )
    return [Problem("missing", tuple(gone), says, mended=False)]


def _removed(ledger: Ledger) -> set[str]:
    """Returns memories that runs may have taken out, or that were reported missing before."""
    removed: set[str] = set()
    for event in ledger.events():
        data = event.data
        if event.kind == "missing":
            removed.update(texts_in(data["ids"]))
        elif event.kind == "action_started" and data["kind"] == ADD:
            removed.update(texts_in(data["added"]))  # taken back by an undo
        elif event.kind == "action_started" and data["kind"] == "delete":
            removed.update(str(member["id"]) for member in records_in(data["members"]))
    return removed


def _marks_by_events(ledger: Ledger) -> dict[str, str]:
    """Returns the survivor of each hidden memory, as the events have it."""
    expected: dict[str, str] = {}
    started: dict[str, dict[object, JsonObject]] = {}
    for event in ledger.events():
        actions = started.setdefault(event.run, {})
        match event.kind:
            case "action_started":
                actions[event.data["action"]] = event.data
            case "action_done":
                data = actions.get(event.data["action"])
                if data is not None:
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
    """Finds what is wrong with the files of the store, where it can check them itself."""
    try:
        faults = [*store.integrity()]
    except _DAMAGE as problem:
        faults = [str(problem)]
    return [Problem("file", (), says, mended=False) for says in faults]

"""Looks at a store where it changed since last time, and keeps a plan of what may be hidden.

Of each store two files lie in one folder: what it held last time, as digests, and the plan that
waits. A plan is replaced by the next one, which holds all of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from echoless.core import timestamps
from echoless.core.errors import InputError, PlanError, StoreError, UsageError
from echoless.core.model import digest, fingerprint
from echoless.core.own_folders import make_own, user_folder
from echoless.core.run_notes import Progress
from echoless.core.settings import Settings
from echoless.core.versions import edition
from echoless.execution.executor import Run
from echoless.execution.plan import Plan, plan_bytes, read_plan
from echoless.stores.base import Scope, Store
from echoless.stores.files import Snapshot, read_bytes, replace_bytes
from echoless.workflows.audit.staleness import come_back
from echoless.workflows.dedupe import pipeline

_FORMAT: Final = 1
"""Of the file of what a store held last time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """What changed in a store, and what is proposed.

    Attributes:
        since: Day of the last time; None for the first.
        changes: How many memories are new, changed and gone since.
        looked: Whether anything changed, so that the store was looked at.
        held: Pairs that only a person can decide.
        again: Memories that say again what was to be forgotten.
        plan: What is proposed; None where nothing is.
        plan_file: Where it waits; None where it does not.
        run: What was carried out; None if nothing was.
    """

    since: str | None
    changes: Mapping[str, int]
    looked: bool
    held: int
    again: Sequence[str]
    plan: Plan | None
    plan_file: Path | None
    run: Run | None


@dataclass(frozen=True, slots=True)
class _State:
    """What a store held at one time.

    Attributes:
        at: When; empty for never.
        rules: Digest of the settings, the stages of an audit, and what was decided.
        memories: Short digest of each memory, by id.
    """

    at: str
    rules: str
    memories: Mapping[str, str]

    @classmethod
    def of(cls, store: Store, settings: Settings) -> _State:
        """Returns what a store holds now; a recall changes none of it."""
        marks = sorted([each.duplicate, each.survivor] for each in store.ledger.marks().values())
        apart = sorted([each.a, each.b] for each in store.ledger.kept())
        rules = digest([settings.digest, edition("audit"), [marks, apart]])
        memories = store.scan(Scope(settings.namespace))
        return cls(timestamps.now(), rules, {m.id: fingerprint(m)[:16] for m in memories})

    @classmethod
    def read(cls, path: Path) -> _State:
        """Returns what was written last time; of what cannot be read nothing is known."""
        with suppress(StoreError, InputError, OSError, ValueError, RecursionError):
            match json.loads(read_bytes(path)):
                case {
                    "echoless_tend": written,
                    "at": str(at),
                    "rules": str(rules),
                    "memories": dict(memories),
                } if written == _FORMAT:
                    return cls(at, rules, memories)
        return cls("", "", {})


def tend(
    store: Store,
    settings: Settings,
    into: Path | None,
    *,
    progress: Progress,
    carry_out: Callable[[Plan], Run] | None = None,
) -> Upkeep:
    """Looks at a store if anything changed since last time, and keeps a plan, or carries it out.

    Args:
        store: Any open store.
        settings: Complete settings.
        into: Folder of the files, which must exist; one of this user's own if None.
        progress: Told how far each stage is.
        carry_out: Carries a plan out at once; None to let it wait.

    Raises:
        UsageError: There is no such folder, or none can be made.
    """
    state_file, plan_file = _files(store, into)
    last, now = _State.read(state_file), _State.of(store, settings)
    looked = (last.rules, last.memories) != (now.rules, now.memories)
    changes = {
        "new": len(now.memories.keys() - last.memories.keys()),
        "changed": sum(last.memories.get(id_, text) != text for id_, text in now.memories.items()),
        "gone": len(last.memories.keys() - now.memories.keys()),
    }
    made, held, run = _waiting(plan_file, store), 0, None
    if looked:
        findings = pipeline.find(store, settings, progress=progress)
        from echoless.workflows.dedupe import updates

        plan = pipeline.plan(findings, updates=updates.out_of_date(findings))
        made, hidden = plan if plan.actions else None, {i for a in plan.actions for i in a.ids}
        held = sum(hidden.isdisjoint((pair.a, pair.b)) for pair in findings.held)
    if made is not None and carry_out is not None:
        run, now = carry_out(made), _State.of(store, settings)
    waits = made if run is None else None
    if looked or run is not None:
        if waits is None:
            plan_file.unlink(missing_ok=True)
        else:  # before the state: a call that stops between the two only looks again
            replace_bytes(plan_file, plan_bytes(waits), Snapshot.of(plan_file))
        data = json.dumps({"echoless_tend": _FORMAT, **asdict(now)})
        replace_bytes(state_file, data.encode("ascii"), Snapshot.of(state_file))
    return Upkeep(
        since=timestamps.day(last.at) if last.at else None,
        changes=changes,
        looked=looked,
        held=held,
        again=[sign.id for sign in come_back(store)] if looked else [],
        plan=made,
        plan_file=plan_file if waits else None,
        run=run,
    )


def drop_waiting(store: Store) -> None:
    """Removes a plan that waits in this user's own folder: it quotes memories."""
    for path in _files(store, None):
        path.unlink(missing_ok=True)


def _files(store: Store, into: Path | None) -> tuple[Path, Path]:
    """Returns the files of what a store held last time, and of the plan that waits."""
    name = _folder(into) / f"tend-{digest(store.identity)[:12]}"
    return name.with_suffix(".last.json"), name.with_suffix(".plan.json")


def _folder(into: Path | None) -> Path:
    """Returns the folder of the files; one that was named must exist.

    Raises:
        UsageError: It does not, or this user's own cannot be made.
    """
    if into is not None:
        if not into.is_dir():
            raise UsageError(f"{into} is no folder. Make it first, or leave out --into.")
        return into
    folder = user_folder("data") / "tend"
    try:
        make_own(folder)
    except OSError as problem:
        raise UsageError(f"Name a folder by --into: {problem}.") from problem
    return folder


def _waiting(path: Path, store: Store) -> Plan | None:
    """Returns the plan that waits; None where there is none, or it was used or edited."""
    with suppress(PlanError):
        plan = read_plan(path)
        if plan.store == store.identity and store.ledger.run_of_plan(plan.id) is None:
            return plan
    return None

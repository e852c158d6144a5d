"""Says what is wrong with a store after a fault; nothing may be lost and undo must be exact."""

from __future__ import annotations

from pathlib import Path

from benchmarks.faults.injection import Ended
from benchmarks.faults.worlds import Picture, World, picture
from echoless import check, history, open_store, undo
from echoless.core.errors import EcholessError
from echoless.execution.rollback import STANDING

_INTERNAL = ("This should not happen", "Traceback (most recent call last)")


def dishonest(ended: Ended) -> str | None:
    """What is wrong with how a command ended, or None: it did it, or said in a sentence why not."""
    if ended.killed:
        return None
    if ended.signal:
        return f"ended by signal {ended.signal}: {ended.said[-300:]}"
    if any(sign in ended.said for sign in _INTERNAL):
        return f"internal error: {ended.said[-400:]}"
    if ended.code not in {0, 1, 3, 4, 5, 6}:
        return f"exit code {ended.code}: {ended.said[-300:]}"
    if ended.code and not ended.said.strip():
        return f"exit code {ended.code} without a word"
    return None


def wrong(world: World, ended: Ended) -> str | None:
    """What is wrong with the world after a command, or None.

    The store must open; `check` must leave it sound; a second `check` must find nothing; what the
    command reported as done must be there; undoing every standing run must give back exactly what
    the store held before.
    """
    try:
        return _wrong(world, ended)
    except EcholessError as problem:
        return f"{type(problem).__name__}: {problem}"


def _wrong(world: World, ended: Ended) -> str | None:
    with open_store(world.url) as store:  # reading goes on before anything is mended
        sum(1 for _ in store.scan())
    problem = _after_check(world)
    if problem is None and ended.code == 0:
        problem = world.proof()
        problem = problem and f"reported as done, but {problem}"
    if problem is None:
        problem = _targets(world, done=ended.code == 0)
    if problem is None:
        problem = _undone(world)
    return problem


def _after_check(world: World) -> str | None:
    with open_store(world.url) as store:
        health = check(store)
        if not health.sound:
            return f"check cannot mend it: {[p.says for p in health.problems if not p.mended]}"
        again = check(store)
        if again.problems:
            return f"a second check finds {[p.says for p in again.problems]}"
    return None


def _targets(world: World, *, done: bool) -> str | None:
    """A new file is whole or not there, and nothing of it lies about half-made."""
    with open_store(world.url) as store:
        held = {m.id: m for m in store.scan()}
    for name in world.targets:
        target = Path(name)
        if not target.exists():
            if done:
                return f"{target.name} is not there"
            continue
        if target.stat().st_size == 0 and not done:
            return f"{target.name} is there and empty"
        if target.suffix == ".md":
            continue
        with open_store(target) as copy:
            if len(held) != copy.count():
                return f"{target.name} holds {copy.count()} of {len(held)} memories"
    return None


def _undone(world: World) -> str | None:
    """Undo everything that stands; then the store must be as it was."""
    purged = False
    with open_store(world.url) as store:
        for run in reversed(history(store.ledger)):
            purged = purged or run.status == "purged"
            if run.status in STANDING:
                undo(store, run.id)
    left = picture(world.url, world.folder, exact=world.exact)
    allowed = (world.before, *world.also, *(world.purged if purged else ()))
    if any(each.is_again(left) for each in allowed):
        return None
    return _differs(world.before, left)


def _differs(before: Picture, left: Picture) -> str:
    then = {m.id: (m, n) for m, n in before.memories}
    now = {m.id: (m, n) for m, n in left.memories}
    lost, new = sorted(then.keys() - now.keys()), sorted(now.keys() - then.keys())
    changed = sorted(i for i in then.keys() & now.keys() if then[i] != now[i])
    if lost:
        return f"LOST {lost}"
    order = before.memories != left.memories and not (changed or new)
    files = before.changed_files(left)
    return f"undo is not exact: changed {changed}, new {new}, order {order}, files {files}"

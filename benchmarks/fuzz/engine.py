"""The loop: make an input from its number, try it, keep the first of each mistake made small."""

from __future__ import annotations

import gc
import importlib
import time
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from benchmarks.fuzz.children import folder, inside, made, put, try_twice
from benchmarks.fuzz.corpus import entries, load, smaller
from benchmarks.fuzz.doors import command
from benchmarks.fuzz.model import Door, Files, Outcome, Target, Wrong
from benchmarks.fuzz.targets import TARGETS, doors_of


@dataclass(slots=True)
class Found:
    """A mistake, and the smallest case that was seen to show it.

    Attributes:
        target: By name.
        number: Of the input.
        wrong: What happened.
        files: The case.
        valid: What it was before it was damaged.
        times: How many inputs showed it.
    """

    target: str
    number: int
    wrong: Wrong
    files: Files
    valid: Files
    times: int = 1


@dataclass(slots=True)
class Tried:
    """All that became of the inputs of one target.

    Attributes:
        target: By name.
        inputs: How many.
        seconds: Wall time, making small included.
        cpu: Seconds of processor time in the children, without what was made small.
        slowest: Seconds of the slowest input.
        peak_mb: Peak memory of the largest, in MB of 10^6 bytes.
        codes: How often each exit code was seen.
        found: By signature.
    """

    target: str
    inputs: int = 0
    seconds: float = 0.0
    cpu: float = 0.0
    slowest: float = 0.0
    peak_mb: float = 0.0
    codes: Counter[int] = field(default_factory=Counter)
    mistakes: dict[tuple[str, str, str], Found] = field(default_factory=dict)


def shares(inputs: int, names: Sequence[str]) -> dict[str, int]:
    """How many inputs each target gets; at least one."""
    whole = sum(TARGETS[name].share for name in names)
    return {name: max(1, round(inputs * TARGETS[name].share / whole)) for name in names}


def prepare(target: Target) -> list[dict[str, bytes]]:
    """Valid cases. Modules are imported and every door is opened once.

    Raises:
        RuntimeError: A valid case does not come through: nothing could be learnt from damaged ones.
    """
    for name in target.warm:
        importlib.import_module(name)
    cases = [made(target, apart=not target.rehearse) for _ in range(target.cases)]
    if target.rehearse:
        for door in target.doors:
            _rehearse(target, door, cases[0])
    for doors in [[door] for door in target.doors] if target.rehearse else [target.doors]:
        outcome = try_twice(cases[0], target, doors)
        if outcome.wrong:
            raise RuntimeError(f"{target.name}: the valid case went wrong: {outcome.wrong[0]}")
        if not set(outcome.codes) <= {0, 3, 9}:  # 3: no run to go back to
            reason = f"{[door.name for door in doors]} ended with {dict(outcome.codes)}"
            raise RuntimeError(f"{target.name}: the valid case is refused: {reason}.")
    gc.collect()
    gc.freeze()  # what is here is not looked through, and so not copied, in every child
    return cases


def _rehearse(target: Target, door: Door, files: Files) -> None:
    with folder() as place:
        put(files, place)
        with inside(place, target):
            if door.talk is not None:
                door.talk(target.store)
            else:
                command(door, target.store, Counter())


def case(
    target: Target, cases: Sequence[Files], seed: str, number: int
) -> tuple[Files, dict[str, bytes], Random]:
    """Input number so and so: the valid case, the damaged one, and the generator for its doors."""
    rng = Random(f"{seed}/{target.name}/{number}")
    valid = cases[number % len(cases)]
    files = dict(valid)
    target.mutate(rng, files)
    return valid, files, rng


def run(name: str, inputs: int, seed: str) -> Tried:
    """Try so many inputs of a target."""
    target, start = TARGETS[name], time.perf_counter()
    tried, cases = Tried(name), prepare(TARGETS[name])
    for number in range(inputs):
        valid, files, rng = case(target, cases, seed, number)
        doors = doors_of(target, rng)
        outcome = try_twice(files, target, doors)
        tried.inputs += 1
        tried.cpu += outcome.cpu
        tried.slowest = max(tried.slowest, outcome.seconds)
        tried.peak_mb = max(tried.peak_mb, outcome.peak_mb)
        tried.codes.update(outcome.codes)
        for wrong in outcome.wrong:
            _note(tried, target, doors, number, wrong, valid, files)
    tried.seconds = time.perf_counter() - start
    return tried


def _note(
    tried: Tried,
    target: Target,
    doors: Sequence[Door],
    number: int,
    wrong: Wrong,
    valid: Files,
    files: Files,
) -> None:
    known = tried.mistakes.get(wrong.signature)
    if known is not None:
        known.times += 1
        return
    small = smaller(valid, files, lambda some: shows(target, doors, wrong, some), wrong)
    tried.mistakes[wrong.signature] = Found(target.name, number, wrong, small, valid)


def shows(target: Target, doors: Sequence[Door], wrong: Wrong, files: Files) -> bool:
    """Whether a case shows the same mistake, by the doors it was found with."""
    through = [door for door in doors if wrong.door in {door.name, f"undo after {door.name}"}]
    outcome = try_twice(files, target, through or doors)
    return any(each.signature == wrong.signature for each in outcome.wrong)


def replay(target: Target, files: Files) -> Outcome:
    """Bring a case in by every door of its target, each finding it as it was."""
    wrong: list[Wrong] = []
    codes: Counter[int] = Counter()
    seconds = cpu = peak = 0.0
    reading = [door for door in target.doors if door.effect == "reads" and door.talk is None]
    waiting = deque([door] for door in target.doors if door not in reading)
    waiting.appendleft(reading)
    while waiting:
        doors = waiting.popleft()
        outcome = try_twice(files, target, doors)
        slow = [each for each in outcome.wrong if each.fault == "hang"]
        if slow and len(doors) > 1:  # all together were too slow: one at a time
            waiting += [[door] for door in doors]
            continue
        wrong += outcome.wrong
        codes.update(outcome.codes)
        seconds, peak = max(seconds, outcome.seconds), max(peak, outcome.peak_mb)
        cpu += outcome.cpu
    return Outcome(tuple(wrong), seconds, cpu, peak, codes)


def replay_all(name: str, place: Path) -> dict[str, Sequence[Wrong]]:
    """What goes wrong with the cases of a target in the corpus, by their path in it."""
    target = TARGETS[name]
    valid = prepare(target)[0]
    mine = (entry for entry in entries(place) if entry.target == name)
    return {each.path: replay(target, load(each, valid, place)).wrong for each in mine}


def all_wrong(tried: Mapping[str, Tried]) -> Iterator[Found]:
    """Everything that was found, by target."""
    for each in tried.values():
        yield from each.mistakes.values()

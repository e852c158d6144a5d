"""Races from a seed: which scene, who starts first, how much later the other, who is killed."""

from __future__ import annotations

import os
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from benchmarks.races.orders import Serial, copied, in_order, outcome, seen
from benchmarks.races.processes import End, Start, apart, together, warm
from benchmarks.races.scenes import Scene, scenes
from benchmarks.races.verdicts import Race, faults
from benchmarks.races.worlds import Kind, World, build

SOON: Final = 0.0005
LATE: Final = 0.2
"""Seconds between the two starts: at least, at most. A quarter of the races start at once, the
others are drawn evenly on a logarithmic scale, as a command takes some ten milliseconds."""

OVERTIME: Final = 1.1
"""A kill comes at up to so many times the usual life of its victim."""


@dataclass(frozen=True, slots=True)
class Run:
    """One race, told.

    Attributes:
        number: From 0.
        scene: Its name.
        ends: How both ended.
        faults: What is wrong; empty where nothing is.
        again: The options that repeat it.
        killed: Whether one of the two was killed.
    """

    number: int
    scene: str
    ends: tuple[End, End]
    faults: tuple[str, ...]
    again: str
    killed: bool


@dataclass(slots=True)
class Track:
    """A world and what its commands do one after the other."""

    world: World
    work: Path
    known: dict[Scene, list[Serial]] = field(default_factory=dict)

    @classmethod
    def made(cls, kind: Kind, folder: Path) -> Self:
        """Prepare the races of a kind of store in an empty folder."""
        place, work = folder / "world", folder / "work"
        place.mkdir(parents=True)
        work.mkdir()
        (folder / "warm").mkdir()
        warm(folder / "warm")

        def building() -> World:
            os.chdir(place)
            return build(kind, place)

        return cls(apart(building, work), work)

    def serials(self, scene: Scene) -> list[Serial]:
        """The orders of a scene, done once."""
        if scene not in self.known:
            self.known[scene] = in_order(self.world, scene, self.work)
        return self.known[scene]


def races(
    track: Track, pair: tuple[str, str], numbers: Iterable[int], *, seed: int, kill: bool = False
) -> Iterator[Run]:
    """Run races of a pair.

    Args:
        track: Where.
        pair: Two commands.
        numbers: Which races; a number gives the same scene and the same moments each time.
        seed: As the numbers.
        kill: Whether one of the two is killed.
    """
    variants = scenes(pair, track.world)
    for number in numbers:
        scene = variants[number % len(variants)]
        yield _race(track, pair, scene, number, seed, kill=kill)


def _race(
    track: Track, pair: tuple[str, str], scene: Scene, number: int, seed: int, *, kill: bool
) -> Run:
    serials = track.serials(scene)
    kind, name = track.world.kind.name, "+".join(pair)
    source = random.Random(f"{seed} {kind} {name} {number} {kill}")
    later = SOON * (LATE / SOON) ** source.random()
    waits = [0.0, later if source.random() < 0.75 else 0.0]
    source.shuffle(waits)
    victim = source.randrange(2) if kill else None
    moment = source.random() * OVERTIME
    starts = [
        Start(
            (*words, "--json"),
            waits[place],
            moment * _life(serials, place) if place == victim else None,
        )
        for place, words in enumerate(scene.words())
    ]
    folder = copied(track.world, track.work)
    ends = together(folder, track.work / "said", starts)
    outcomes = [outcome(end) for end in ends]
    race = Race(scene, ends, outcomes, seen(track.world, scene, folder, track.work), victim)
    again = f"--seed {seed} --pair {name} --store {kind} --nth {number}" + " --kill" * kill
    return Run(
        number,
        scene.name,
        (ends[0], ends[1]),
        tuple(faults(race, serials, track.world)),
        again,
        any(end.code == -9 for end in ends),
    )


def _life(serials: list[Serial], place: int) -> float:
    """Seconds a command usually lives."""
    return max(serial.seconds[place] for serial in serials if place in serial.seconds)

"""What two commands do one after the other: whatever they do at once must be like one of these."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.races.holdings import Seen, look
from benchmarks.races.processes import End, Start, apart, together
from benchmarks.races.scenes import Scene
from benchmarks.races.worlds import World

ORDERS: Final = ((), (0,), (1,), (0, 1), (1, 0))
"""Nothing, each command alone, both in either order."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one command ended.

    Attributes:
        code: Its exit code.
        claim: What it says it did, as numbers and words that do not change from run to run.
    """

    code: int | None
    claim: str


@dataclass(frozen=True, slots=True)
class Serial:
    """One order, done.

    Attributes:
        order: Places of the commands, 0 and 1.
        outcomes: By place.
        seen: The folder after it.
        seconds: How long each command took, by place.
    """

    order: tuple[int, ...]
    outcomes: Mapping[int, Outcome]
    seen: Seen
    seconds: Mapping[int, float]


def in_order(world: World, scene: Scene, work: Path) -> list[Serial]:
    """All orders of a scene, each in a fresh copy of the world."""
    return [_serial(world, scene, order, work) for order in ORDERS]


def _serial(world: World, scene: Scene, order: Sequence[int], work: Path) -> Serial:
    folder = copied(world, work)
    outcomes: dict[int, Outcome] = {}
    seconds: dict[int, float] = {}
    for place in order:
        words = scene.words()[place]
        (end,) = together(folder, work / "said", [Start((*words, "--json"))])
        outcomes[place] = outcome(end)
        seconds[place] = end.seconds
    return Serial(tuple(order), outcomes, seen(world, scene, folder, work), seconds)


def copied(world: World, work: Path) -> Path:
    """A fresh copy of the folder of a world."""
    for name in ("race", "said"):
        shutil.rmtree(work / name, ignore_errors=True)
    return Path(shutil.copytree(world.folder, work / "race"))


def seen(world: World, scene: Scene, folder: Path, work: Path) -> Seen:
    """What lies in a folder; it is checked and undone after that."""

    def looking() -> Seen:
        import os

        os.chdir(folder)
        return look(world, scene)

    return apart(looking, work)


# not the problems of `check`: of two at once both may tell of what one of them mended
_COUNTED: Final = ("shown", "restored", "removed", "refused", "purged", "skipped")
_TOLD: Final = (
    "memories",
    "lineage",
    "counts",
    "answer",
    "sound",
    "marks",
    "runs",
    "confirmations",
)


def outcome(end: End) -> Outcome:
    """The exit code, and what the line of JSON that was printed claims."""
    if not end.said.strip():
        return Outcome(end.code, "")
    try:
        answer = json.loads(end.said)
    except ValueError:
        return Outcome(end.code, f"not JSON: {end.said[:200]}")
    parts = [
        f"{name} {json.dumps(answer[name], sort_keys=True)}" for name in _TOLD if name in answer
    ]
    parts += [f"{name} {len(answer[name])}" for name in _COUNTED if name in answer]
    return Outcome(end.code, ", ".join(parts))

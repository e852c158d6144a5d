"""The registry: every kind of file and message echoless reads, and the doors it comes in by."""

from __future__ import annotations

from random import Random
from typing import Final

from benchmarks.fuzz.files import FILES
from benchmarks.fuzz.foreign import FOREIGN
from benchmarks.fuzz.hostile import HOSTILE
from benchmarks.fuzz.model import Door, Target
from benchmarks.fuzz.stores import STORES
from benchmarks.fuzz.talking import TALKING

TARGETS: Final = {target.name: target for target in (*STORES, *FILES, *TALKING, *FOREIGN, *HOSTILE)}


def doors_of(target: Target, rng: Random) -> list[Door]:
    """Two doors that read, and one that writes."""
    reading = [door for door in target.doors if door.effect == "reads"]
    writing = [door for door in target.doors if door.effect != "reads"]
    chosen = rng.sample(reading, min(2, len(reading)))
    return chosen + (rng.sample(writing, 1) if writing else [])

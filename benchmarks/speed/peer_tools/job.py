"""What every script does alike: read memories, time its parts, stop in time, write what it kept.

    python -m benchmarks.speed.peer_tools.NAME --input IN.jsonl --output OUT.json
        --threshold T [--sweep T,T,…] [--patience SECONDS] [--weights PLACE] --begun TIME

`IN.jsonl` has a memory a line, `id` and `content`, oldest first. Beside `OUT.json`, which says by
threshold what is hidden behind what, `OUT.kept.jsonl` holds what is left at the first threshold.
The last line printed is the account. It ends before the other thresholds are tried.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Final

Behind = Mapping[str, str]
"""Survivor by hidden memory, ids."""
LEAST_SAMPLE: Final = 0.1
"""Share of the patience to be used before an estimate counts."""


class TooLongError(Exception):
    """The whole would take longer than was allowed."""

    def __init__(self, estimate: float, done: int) -> None:
        super().__init__(f"about {estimate:.0f} s, after {done} memories")
        self.estimate, self.done = estimate, done


@dataclass(slots=True)
class Patience:
    """Stops a run that would take too long, by what its first memories took.

    Attributes:
        limit: Seconds the whole may take.
        total: Memories.
        quadratic: Whether a memory costs more the more there are before it.
        clock: Seconds.
    """

    limit: float
    total: int
    quadratic: bool = False
    clock: Callable[[], float] = time.perf_counter
    _begun: float = field(init=False)
    _seen: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._begun = self.clock()

    def check(self, done: int) -> None:
        """Notes that so many memories are done, and decides once there is enough to go by.

        Raises:
            TooLongError: The estimate for all of them is over the limit.
        """
        self.note(done)
        if self._seen[-1][1] >= self.limit * LEAST_SAMPLE and done < self.total:
            self.decide()

    def note(self, done: int) -> None:
        """Notes that so many memories are done."""
        self._seen.append((done, self.clock() - self._begun))

    def decide(self) -> None:
        """Goes on if the estimate is within the limit.

        Raises:
            TooLongError: It is not.
        """
        if (estimate := self.estimate()) > self.limit:
            raise TooLongError(estimate, self._seen[-1][0])

    def estimate(self) -> float:
        """Seconds for all: `a n + b n^2` through the last sample and the one at half of it."""
        done, seconds = self._seen[-1]
        straight = seconds / done * self.total
        half = max((s for s in self._seen if s[0] <= done / 2), default=None)
        if not self.quadratic or half is None:
            return straight
        n, at = half
        bent = (seconds / done - at / n) / (done - n)
        if bent <= 0:
            return straight
        return (seconds / done - bent * done) * self.total + bent * self.total**2


@dataclass(slots=True)
class Job:
    """One run of a script."""

    options: argparse.Namespace
    memories: list[dict[str, str]]
    parts: dict[str, float] = field(default_factory=dict)
    _last: float = field(default_factory=time.perf_counter)

    @property
    def texts(self) -> list[str]:
        """Oldest first."""
        return [memory["content"] for memory in self.memories]

    @property
    def thresholds(self) -> list[float]:
        """The one that is timed, then the others, ascending."""
        others = sorted(float(each) for each in self.options.sweep.split(",") if each)
        return [self.options.threshold, *others]

    def part(self, name: str) -> None:
        """Says that what went by since the last call was this part."""
        now = time.perf_counter()
        self.parts[name] = self.parts.get(name, 0.0) + now - self._last
        self._last = now

    def patience(
        self, *, quadratic: bool = False, clock: Callable[[], float] = time.perf_counter
    ) -> Patience:
        """Made when the slow part begins."""
        return Patience(self.options.patience, len(self.memories), quadratic, clock)

    def keep(self, behind: Behind) -> None:
        """Writes what is left, as a user of the script would."""
        place = Path(self.options.output).with_suffix(".kept.jsonl")
        with place.open("w", encoding="utf-8") as file:
            file.writelines(
                json.dumps(memory, ensure_ascii=False) + "\n"
                for memory in self.memories
                if memory["id"] not in behind
            )
        self.part("write")

    def account(self, tool: str, *packages: str, model: str) -> dict[str, object]:
        """Returns what the run took up to now, start-up included.

        Args:
            tool: As shown; `{version}` in it is that of the first package.
            packages: Whose versions are told.
            model: What made the vectors.
        """
        used = resource.getrusage(resource.RUSAGE_SELF)
        unit = 1 if sys.platform == "darwin" else 1024
        return {
            "tool": tool.format(version=version(packages[0])),
            "versions": {name: version(name) for name in packages},
            "model": model,
            "wall_s": round(time.time() - self.options.begun, 2),
            "cpu_s": round(used.ru_utime + used.ru_stime, 2),
            "peak_mb": round(used.ru_maxrss * unit / 1e6),
            "parts": {name: round(seconds, 2) for name, seconds in self.parts.items()},
        }

    def end(self, account: Mapping[str, object], behind: Mapping[float, Behind]) -> None:
        """Writes the groups by threshold and prints the account."""
        content = {f"{threshold:g}": dict(groups) for threshold, groups in behind.items()}
        Path(self.options.output).write_text(json.dumps(content), "utf-8")
        print(json.dumps(account))

    def cut(self, account: Mapping[str, object], problem: TooLongError) -> None:
        """Prints the account of a run that was stopped."""
        print(
            json.dumps({**account, "estimate_s": round(problem.estimate), "sample": problem.done})
        )


def job(argv: Sequence[str] | None = None) -> Job:
    """Reads the command line and the memories."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--input", required=True)
    add("--output", required=True)
    add("--threshold", type=float, required=True)
    add("--sweep", default="")
    add("--patience", type=float, default=1e9)
    add("--weights", default="")
    add("--begun", type=float, default=time.time())
    options = parser.parse_args(argv)
    started = time.perf_counter()
    lines = Path(options.input).read_text("utf-8").splitlines()
    made = Job(options, [json.loads(line) for line in lines])
    made.parts["read"] = time.perf_counter() - started
    return made


def components(count: int, pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Connected components: the first of each by every other member, places."""
    first = list(range(count))

    def root(place: int) -> int:
        while first[place] != place:
            first[place] = first[first[place]]
            place = first[place]
        return place

    for i, j in pairs:
        low, high = sorted((root(i), root(j)))
        first[high] = low
    return {place: root(place) for place in range(count) if root(place) != place}

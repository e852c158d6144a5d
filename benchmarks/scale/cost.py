"""Time and cost of jobs of 10 million to 100 billion memories: arithmetic from measured rates.

`python -m benchmarks.scale cost`

The rates come from the files of results that other benchmarks wrote; what was not measured is an
assumption, listed with the answer. Each resource gets its own time: all cores, the server that
holds the store, the network of a machine, the object store, the process that hands partitions out.
They overlap, so a job takes as long as the slowest of them, its bottleneck, or as its largest
namespace, which one worker looks at. A schedule of partitions with namespaces of very unequal size,
largest first, gives what is lost at the end, and what lost machines cost.
"""

from __future__ import annotations

import heapq
import json
import math
import random
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from benchmarks.measure import RESULTS, keep
from benchmarks.speed.side_by_side import table
from echoless.engines.job import MEMORIES

CORES: Final = 8
"""Cores of a machine; one worker each. An assumption, as what follows."""

NETWORK: Final = 1.25e9
"""Bytes a second of the network of a machine: 10 Gbit/s."""

SERVER: Final = 1.0e9
"""Bytes a second that the server of a store gives to all workers together."""

OBJECTS: Final = 3_500.0
"""Writes a second that an object store takes under one prefix (S3: 3,500, as documented)."""

PRICE: Final = 0.04
"""Dollars a core and hour: common on-demand prices of 2026 lie between .02 and .06."""

MACHINE_LOST: Final = 1 / 500
"""Machines that are lost an hour, as a share: one in 500, as spot machines of a quiet zone."""

_CASES: Final = ((1e7, 1), (1e7, 4), (1e9, 10), (1e9, 100), (1e11, 100), (1e11, 1000))
"""Memories and machines."""

_READS: Final = 3
"""Times the server of the store reads a row: for a digest, for the look, for a digest after it.
Only the look sends it to a worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What was measured.

    Attributes:
        cpu: Processor seconds a memory, from the store to plan and report, vectors given.
        encode: Processor seconds a memory for the default encoder, where the store has no vectors.
        ask: Processor seconds a memory for the pair model.
        row: Bytes a memory in the store, its vector included.
        result: Bytes a memory in plan and report.
        driver: Processor seconds a partition in the process that hands partitions out.
        worker: Bytes of memory a worker holds at most.
    """

    cpu: float
    encode: float
    ask: float
    row: float
    result: float
    driver: float
    worker: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a job takes.

    Attributes:
        memories: Of the store.
        machines: With `CORES` each.
        seconds: By resource.
        hours: Of the whole job, the end of the schedule and lost machines included.
        bottleneck: The slowest resource.
        core_hours: Of all machines, while it runs.
        read: Bytes read from the store.
        written: Bytes of results.
    """

    memories: float
    machines: int
    seconds: Mapping[str, float]
    hours: float
    bottleneck: str
    core_hours: float
    read: float
    written: float


def measured() -> Rates:
    """Returns the rates of the last runs of the other benchmarks."""
    lines = (RESULTS / "scale_partitions.jsonl").read_text("utf-8").splitlines()
    head, *rows = map(json.loads, lines)
    jobs = [row for row in rows if row["engine"] != "loop" and row["processes"] == 1]
    asked = json.loads((RESULTS / "scale_asked.jsonl").read_text("utf-8"))
    local = [row for row in jobs if row["engine"] == "local"]
    return Rates(
        cpu=_median(local, "cpu_s", "memories"),
        encode=3.6e-3,  # docs/speed.md: 10,000 memories in 18 s on two cores
        ask=asked["cpu_s"] / asked["memories"],
        row=head["sizes"]["sqlite"] / local[0]["memories"],
        result=_median(local, "result_bytes", "memories"),
        driver=_median(jobs, "driver_s", "partitions"),
        worker=max(row["peak_mb"] for row in jobs) * 1e6,
    )


def _median(rows: Sequence[Mapping[str, Any]], what: str, each: str) -> float:
    return float(statistics.median(row[what] / row[each] for row in rows))


def answer(memories: float, machines: int, rates: Rates, largest: float = 1e5) -> Answer:
    """Returns what a job takes.

    Args:
        memories: Of the store.
        machines: With `CORES` each.
        rates: Measured.
        largest: Memories of the largest namespace.
    """
    cores = machines * CORES
    partitions = memories / MEMORIES
    each = rates.cpu + rates.ask
    seconds = {
        "cores": memories * each / cores,
        "store": _READS * memories * rates.row / SERVER,
        "network of a machine": memories * (rates.row + rates.result) / machines / NETWORK,
        "object store": 2 * partitions / OBJECTS,
        "handing out": partitions * rates.driver,
        "largest namespace": largest * each,
    }
    bottleneck = max(seconds, key=lambda name: seconds[name])
    longest = seconds[bottleneck]
    lost = machines * MACHINE_LOST * longest / 3600  # machines
    again = lost * CORES * MEMORIES * each / 2 / cores  # half a partition of each of their workers
    tail = MEMORIES * each
    hours = (longest + again + tail) / 3600
    return Answer(
        memories=memories,
        machines=machines,
        seconds=seconds,
        hours=hours,
        bottleneck=bottleneck,
        core_hours=hours * cores,
        read=memories * rates.row,
        written=memories * rates.result,
    )


def schedule(sizes: Sequence[float], workers: int, each: float, handing: float) -> float:
    """Returns the seconds until the last partition ends, handed out one after the other.

    Args:
        sizes: Memories of each partition, in the order they are handed out.
        workers: That work at a time.
        each: Seconds a memory.
        handing: Seconds to hand one out.
    """
    free = [0.0] * workers
    given = 0.0
    for size in sizes:
        given = max(given + handing, free[0])
        heapq.heapreplace(free, given + size * each)
    return max(free)


def unequal(memories: float, source: random.Random) -> list[float]:
    """Returns partitions of namespaces whose sizes have a long tail, the largest first.

    Sizes are log-normal with a median of 100 and a mean of 200 memories, which is what stores with
    a namespace for each user look like; small ones are packed.
    """
    left, large, small = memories, [], 0.0
    spread = math.sqrt(2 * math.log(2))
    while left > 0:
        size = min(left, source.lognormvariate(math.log(100), spread))
        left -= size
        if size > MEMORIES:
            large.append(size)
        else:
            small += size
    return [*sorted(large, reverse=True), *[MEMORIES] * int(small // MEMORIES)]


def _lines(rates: Rates) -> Iterator[str]:
    """Yields the body of the file of results."""
    yield "Measured:\n"
    yield f"- {rates.cpu * 1e3:.3f} ms of a core a memory, vectors given (`scale_partitions.jsonl`)"
    yield f"- {rates.ask * 1e3:.1f} ms more a memory for the pair model (`scale_asked.jsonl`)"
    yield f"- {rates.encode * 1e3:.1f} ms a memory to encode, only where the store has no vectors"
    yield f"- {rates.row:,.0f} bytes a memory in the store, {rates.result:,.0f} in plan and report"
    yield f"- {rates.driver * 1e3:.2f} ms a partition to hand it out and take its answer"
    yield f"- {rates.worker / 1e6:,.0f} MB a worker at most\n"
    yield "Assumed:\n"
    gigabits = NETWORK * 8 / 1e9
    yield f"- machines of {CORES} cores, {gigabits:.0f} Gbit/s each, ${PRICE} a core and hour"
    yield f"- one server of the store that gives {SERVER / 1e9:.0f} GB/s to all of them together"
    yield f"- an object store that takes {OBJECTS:,.0f} writes a second; two for each partition"
    yield f"- one in {1 / MACHINE_LOST:.0f} machines lost an hour"
    yield "- a largest namespace of 100,000 memories\n"
    head = ["memories", "machines", "cores s", "store s", "network s", "objects s", "handing out s",
            "hours", "bottleneck", "core hours", "$", "read TB", "written TB"]  # fmt: skip
    shown = []
    for memories, machines in (
        (1e7, 1),
        (1e7, 4),
        (1e9, 10),
        (1e9, 100),
        (1e11, 100),
        (1e11, 1000),
    ):
        each = answer(memories, machines, rates)
        shown.append(
            [
                f"{memories:,.0f}",
                str(machines),
                *(f"{each.seconds[name]:,.0f}" for name in list(each.seconds)[:5]),
                f"{each.hours:,.2f}",
                each.bottleneck,
                f"{each.core_hours:,.0f}",
                f"{each.core_hours * PRICE:,.0f}",
                f"{each.read / 1e12:,.2f}",
                f"{each.written / 1e12:,.3f}",
            ]
        )
    yield table(head, shown)
    yield "\n## One billion memories on 100 machines\n"
    one = answer(1e9, 100, rates)
    cores, cost = 100 * CORES, rates.cpu + rates.ask
    sizes = unequal(1e8, random.Random(1))
    scale = 10  # the schedule of a tenth of them, on a tenth of the cores
    end = schedule(sizes, cores // scale, cost, rates.driver * scale)
    even = sum(sizes) * cost / (cores // scale)
    yield (
        f"The bottleneck is: {one.bottleneck}. All resources overlap; the next is "
        f"{sorted(one.seconds, key=lambda name: -one.seconds[name])[1]}. A schedule of "
        f"{len(sizes) * scale:,} partitions with sizes of a long tail (largest namespace "
        f"{max(sizes):,.0f} memories), largest first, takes {end / even:.3f} times what cores "
        "without a pause would."
    )
    shards = math.ceil(one.seconds["store"] / one.seconds["cores"])
    if shards > 1:
        yield (
            f"\nWith {shards} servers or replicas of the store the cores are the bottleneck: "
            f"{one.seconds['cores'] / 3600:.2f} hours."
        )
    bare = answer(1e9, 100, replace(rates, ask=rates.ask + rates.encode))
    yield (
        f"\nWithout vectors in the store every text is encoded once more: cores "
        f"{bare.seconds['cores']:,.0f} s in place of {one.seconds['cores']:,.0f}."
    )


def main(argv: Sequence[str]) -> None:
    """Prints and keeps the answers."""
    command = f"python -m benchmarks.scale cost {' '.join(argv)}".strip()
    keep("scale_cost", "What jobs cost", command, "\n".join(_lines(measured())))

"""Size and load time of the HTML report, by the number of groups.

`measure_report(groups)` makes a store of generated texts with that many groups, reports on it, and
loads the page in Chromium. The findings are made, not found: the cost of an audit is measured in
`benchmarks.speed`. `python -m benchmarks.review_report [--groups 100,5000,50000] [--whole]` prints
a table.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.web import browser as machine

from benchmarks.data import memories as generated
from benchmarks.data import nouns
from echoless import Memory, open_store
from echoless.web.report import EXTENT, report_page
from echoless.workflows.audit.report import Report
from echoless.workflows.audit.report_parts import (
    ReportedGroup,
    ReportedMember,
    ReportedPair,
    Share,
)

LOADS = 3
"""Times a page is loaded; the median counts."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Cost of a report.

    Attributes:
        groups: Groups in the report.
        shown: Groups that are written whole.
        megabytes: Size of the file, 10^6 bytes.
        made_seconds: Time to make the page of a finished audit.
        load_seconds: Time until the browser has loaded and laid it out, the median of `LOADS`.
        elements: Elements of the page.
    """

    groups: int
    shown: int
    megabytes: float
    made_seconds: float
    load_seconds: float
    elements: int


def measure_report(groups: int, *, whole: bool = False) -> Measured:
    """Measure the report on a store with this many groups.

    Args:
        groups: How many; each has two or three copies, and for each fourth there is a newer value.
        whole: Write every group and pair into the file, as `--top` and `--pairs` can ask for.

    Raises:
        RuntimeError: There is no browser on this machine.
    """
    extent = replace(EXTENT, top=groups, pairs=groups) if whole else EXTENT
    with tempfile.TemporaryDirectory() as folder:
        store, file = Path(folder) / "store.jsonl", Path(folder) / "report.html"
        memories, report = made(groups)
        store.write_text("".join(map(_line, memories)), "utf-8")
        with open_store(str(store)) as opened:
            start = time.perf_counter()
            page = report_page(opened, report, extent)
            taken = time.perf_counter() - start
        file.write_text(page, "utf-8")
        seconds, elements = _loaded(file)
    size = len(page.encode()) / 1e6
    return Measured(groups, min(groups, extent.top), size, taken, seconds, elements)


def made(groups: int) -> tuple[Sequence[Memory], Report]:
    """Make memories with a number of groups, and the report on them."""
    source = random.Random(groups)
    memories: list[Memory] = []
    reported: list[ReportedGroup] = []
    pairs: list[ReportedPair] = []
    for first in generated(groups, repeated=0):
        copies = [_changed(first, number, source) for number in range(source.choice((1, 1, 1, 2)))]
        memories += [first, *copies]
        members = tuple(
            ReportedMember(m.id, "duplicate", 0.9, "same in other words", "same-in-other-words")
            for m in copies
        )
        reported.append(ReportedGroup(first.id, "the oldest", members))
        if len(reported) % 4 == 0:
            newer = _changed(first, 9, source)
            memories.append(newer)
            evidence = "value differs; number: 8080 | 9090"
            pairs.append(ReportedPair(first.id, newer.id, "update", "number", 0.93, evidence))
    months = Counter((memory.created_at or "")[:7] for memory in memories)
    by_month = {month: Share(months[month], months[month] // 3) for month in sorted(months)}
    redundant = sum(len(group.members) for group in reported)
    counts = Counter(
        total=len(memories),
        unique=len(memories) - redundant,
        groups=groups,
        redundant=redundant,
        participants=redundant + groups,
        candidates=groups + len(pairs),
        held=len(pairs),
    )
    return memories, Report(
        url="jsonl:///store.jsonl",
        profile="safe",
        groups=tuple(reported),
        held=tuple(pairs),
        counts=counts,
        tokens=len(memories) * 30,
        wasted_tokens=groups * 35,
        by_namespace={"project": Share(len(memories), redundant)},
        by_month=by_month,
        verdicts={"duplicate": groups, "update": len(pairs)},
    )


def _changed(memory: Memory, number: int, source: random.Random) -> Memory:
    """Return a memory with another id and three other words."""
    words = memory.content.split()
    for _ in range(3):
        words[source.randrange(len(words))] = source.choice(nouns())
    return replace(memory, id=f"{memory.id}-{number}", content=" ".join(words))


def _line(memory: Memory) -> str:
    """Return a memory as a line of a JSONL store."""
    fields = {"id": memory.id, "content": memory.content, "created_at": memory.created_at}
    return json.dumps(fields) + "\n"


def _loaded(file: Path) -> tuple[float, int]:
    """Load a page and return the median time in seconds, and its elements."""
    times = []
    with machine.running() as browser:
        for _ in range(LOADS):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            start = time.perf_counter()
            page.goto(file.as_uri(), wait_until="load", timeout=300_000)
            page.evaluate("document.documentElement.scrollHeight")  # after layout
            times.append(time.perf_counter() - start)
            elements = int(page.evaluate("document.getElementsByTagName('*').length"))
            page.close()
    return statistics.median(times), elements


def table_lines(reports: Iterable[Measured]) -> Iterator[str]:
    """Yield a table in Markdown, line by line."""
    yield "| groups | written whole | MB | made in s | loaded in s | elements |"
    yield "|---|---|---|---|---|---|"
    for each in reports:
        yield (
            f"| {each.groups:,} | {each.shown:,} | {each.megabytes:.2f} | "
            f"{each.made_seconds:.2f} | {each.load_seconds:.2f} | {each.elements:,} |"
        )


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.review_report", description=__doc__)
    parser.add_argument("--groups", default="100,5000,50000")
    parser.add_argument("--whole", action="store_true", help="write every group into the file")
    chosen = parser.parse_args(argv)
    sizes = map(int, chosen.groups.split(","))
    for line in table_lines(measure_report(groups, whole=chosen.whole) for groups in sizes):
        print(line)


if __name__ == "__main__":
    main(sys.argv[1:])

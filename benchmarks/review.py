"""How fast a person can go through a large review in a real browser.

`python -m benchmarks.review [--groups 5000] [--answers 500] [--reports 100,5000,50000]`

Makes a store whose review has that many groups, starts `echoless review` on it, and presses keys in
Chromium as fast as the page follows: press, wait for the next card, press. A key's time runs from
the key's event in the page to the first frame that shows the next card as the current one.
Then the classes: five decided one by one, the rest at once. Times of tabs and filters are those the
browser itself notes, from the start of the navigation to the end of loading.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Final

from playwright.sync_api import Browser, Page
from tests.web import browser as machine
from tests.web.review_page import TABS, ReviewPage, enter
from tests.web.review_process import ReviewProcess

from benchmarks.data import stream
from benchmarks.measure import keep
from benchmarks.review_report import Measured, measure_report, table_lines
from benchmarks.speed.filling import fill
from echoless import Memory
from echoless.workflows.review.items import CLASSES, KINDS, SAMPLE

_REPEATS: Final = 7
_CHAINS: Final = 500
_CORES: Final = f"{os.cpu_count()} cores"
_SMALL: Final = 100
"""Groups of the review that the large one is compared with."""

_YIELD: Final = 0.745
"""Groups by source text: a copy in another order of clauses becomes an unsure pair."""

_WATCH: Final = """() => {
    window.keyTimes = [];
    let pressed = 0;
    addEventListener("keydown", () => { pressed = performance.now(); }, true);
    const current = () => document.querySelector("article.item[data-current]")?.dataset.key;
    let known = current();
    new MutationObserver(() => {
        if (current() === known || !current()) return;
        known = current();
        const began = pressed;
        requestAnimationFrame(() => setTimeout(() => keyTimes.push(performance.now() - began), 0));
    }).observe(document.body, {subtree: true, childList: true, attributes: true,
                               attributeFilter: ["data-current"]});
}"""

_NAVIGATION: Final = """() => {
    const times = performance.getEntriesByType("navigation")[0];
    return [times.loadEventEnd, times.responseEnd - times.requestStart];
}"""

Times = Sequence[float]
"""Milliseconds."""


@dataclass(frozen=True, slots=True)
class Loads:
    """How long a page takes to load.

    Attributes:
        times: From the start of each navigation to the end of its loading.
        server: Median from the request to the last byte of the answer, in milliseconds.
    """

    times: Times
    server: float


def main(argv: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.review", description=__doc__)
    parser.add_argument("--groups", type=int, default=5_000)
    parser.add_argument("--answers", type=int, default=500, help="by single keys; at least 20")
    parser.add_argument("--reports", default="100,5000,50000", help="groups of each HTML report")
    chosen = parser.parse_args(argv)
    before = os.getloadavg()[0]
    small = _reviewed(_SMALL, _SMALL // 2)
    measured = _reviewed(chosen.groups, chosen.answers)
    reports = [measure_report(int(size)) for size in chosen.reports.split(",") if size]
    command = f"python -m benchmarks.review {' '.join(argv)}".rstrip()
    keep("review", "A large review in a browser", command, _body(measured, small, reports, before))


def memories(groups: int) -> Iterator[Memory]:
    """Yields memories whose review has about that many groups, with chains and unsure pairs."""
    for number, memory in enumerate(stream(round(groups / _YIELD), repeated=0.0)):
        yield memory
        text = _repeated(memory.content, number % 4)
        yield replace(memory, id=f"r-{number:07d}", content=text, created_at="2026-12-01T08:00:00Z")
    for number, memory in enumerate(stream(_CHAINS, seed=7, repeated=0.0)):
        words = memory.content.split()
        at = next(place for place, word in enumerate(words) if word.isdigit())
        for step in range(3):
            words[at] = str(1_000 + step * 7 + number)
            date = f"2026-{step + 1:02d}-03T08:00:00Z"
            text = " ".join(words)
            yield replace(memory, id=f"v-{number:05d}-{step}", content=text, created_at=date)


def _repeated(text: str, kind: int) -> str:
    """Returns a text again: the same, in other dressing, in another order, or with more."""
    plain = text.rstrip(".")
    first, _, second = plain.partition(", and ")
    match kind:
        case 0:
            return text
        case 1:
            return f"- **{plain}**"
        case 2:
            return f"{second[:1].upper()}{second[1:]}, and {first[:1].lower()}{first[1:]}."
        case _:
            return f"{text} Olga from Graz said so."


def _reviewed(groups: int, answers: int) -> Mapping[str, Any]:
    """Returns the times of one review."""
    with tempfile.TemporaryDirectory() as folder, machine.running() as browser:
        path = Path(folder) / "memories.db"
        fill(path, memories(groups), None)
        environment = {f"ECHOLESS_{name}_DIR": f"{folder}/{name}" for name in ("CACHE", "DATA")}
        start = time.perf_counter()
        store = f"sqlite:///{path}"
        process = ReviewProcess(store, "--set", "semantic=no", environment=environment)
        started = time.perf_counter() - start
        try:
            return {"start": started, **_measured(browser, process, answers)}
        finally:
            process.stop()


def _measured(browser: Browser, process: ReviewProcess, answers: int) -> Mapping[str, Any]:
    """Returns the times of the page, in the order in which a person would come to them."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    enter(context, process.link)
    page = ReviewPage(context.new_page(), process.address)
    page.open("same")
    counts = _counts(page)
    tabs = {f"/{tab}": _loads(page.page, f"{process.address}/{tab}") for tab in TABS}
    filters = {
        query: _loads(page.page, f"{process.address}/same?{query}")
        for query in ("words=karla", "words=olga", "class=says-more", "state=open&page=50")
    }
    seconds, keys = _pressed(page, answers)
    decided, took = _by_classes(page)
    plan = {"/plan, all accepted": _loads(page.page, f"{process.address}/plan", repeats=3)}
    context.close()
    return {
        "browser": browser.version,
        "counts": counts,
        "tabs": {**tabs, **plan},
        "filters": filters,
        "answers": answers,
        "seconds": seconds,
        "keys": keys,
        "decided": decided,
        "took": took,
    }


def _counts(page: ReviewPage) -> Mapping[str, int]:
    """Returns how many items are open, by the name of the tab."""
    badges = {name: page.page.locator(f"#tabs a[href='/{name}'] .badge") for name in KINDS}
    digits = {name: re.sub(r"\D", "", badge.inner_text()) for name, badge in badges.items()}
    return {name: int(each) for name, each in digits.items()}


def _pressed(page: ReviewPage, answers: int) -> tuple[float, Times]:
    """Returns the seconds for so many answers by key, and the milliseconds of each key."""
    page.open("same")
    page.page.evaluate(_WATCH)
    start = time.perf_counter()
    for _ in range(answers):
        page.answer("a")
    seconds = time.perf_counter() - start
    return seconds, list(page.page.evaluate("window.keyTimes"))


def _by_classes(page: ReviewPage) -> tuple[int, float]:
    """Returns how many groups were open, and the seconds until none is, class by class."""
    page.open("same", state="open")
    decided = _counts(page)["same"]
    start = time.perf_counter()
    for name in CLASSES:
        page.open("same", state="open", **{"class": name})
        for _ in range(SAMPLE):
            if page.key:
                page.answer("a")
        if page.key:
            page.page.keyboard.press("A")
            page.page.wait_for_selector("#done")
    seconds = time.perf_counter() - start
    page.open("same", state="open")
    return decided - _counts(page)["same"], seconds


def _loads(page: Page, address: str, repeats: int = _REPEATS) -> Loads:
    """Returns how long a page takes to load, several times."""
    loaded, answered = [], []
    for _ in range(repeats):
        page.goto(address, wait_until="load")
        page.wait_for_function("performance.getEntriesByType('navigation')[0].loadEventEnd > 0")
        whole, server = page.evaluate(_NAVIGATION)
        loaded.append(float(whole))
        answered.append(float(server))
    return Loads(loaded, median(answered))


# ------------------------------------------------------------------ the result


def _body(
    measured: Mapping[str, Any], small: Mapping[str, Any], reports: Sequence[Measured], load: float
) -> str:
    """Returns the tables of the result."""
    counts, keys = measured["counts"], measured["keys"]
    opened, filtered = measured["tabs"].items(), measured["filters"].items()
    ten = [time for place, time in enumerate(keys, 1) if place % 10 == 0]
    ratio = median(keys) / median(small["keys"])
    per_ten_minutes = 600 / measured["seconds"] * measured["answers"]
    return "\n".join(
        [
            f"Chromium {measured['browser']} without a window, 1280 × 800; {_CORES}, with a load",
            f"of {load:.1f} by other work before the run. The review has",
            f"{counts['same']:,} groups, {counts['newer']:,} chains of newer values and",
            f"{counts['unsure']:,} unsure pairs. Its link came {measured['start']:.1f} s after",
            "the command.",
            "",
            f"- **{measured['answers']:,} groups answered by key in {measured['seconds']:.1f} s**,",
            f"  at the pace of the page alone: {per_ten_minutes:,.0f} in ten minutes.",
            f"- **{measured['decided']:,} groups in {measured['took']:.1f} s** by classes:",
            f"  {SAMPLE} of each class by key, its rest at once.",
            f"- A key on {counts['same']:,} groups takes {ratio:.2f} times what it takes on",
            f"  {small['counts']['same']:,}, both measured in this run (medians).",
            "",
            "| milliseconds | times | p50 | p95 | max | p50 of the server alone |",
            "|---|---|---|---|---|---|",
            _row(f"a key to the next card, of {small['counts']['same']:,} groups", small["keys"]),
            _row(f"a key to the next card, of {counts['same']:,} groups", keys),
            _row("of these, to a card on the next page", ten),
            *(_row(f"open {name}", all_.times, all_.server) for name, all_ in opened),
            *(_row(f"filter /same?{name}", all_.times, all_.server) for name, all_ in filtered),
            "",
            "The HTML report (`audit --html`), opened from the disk:",
            "",
            *table_lines(reports),
        ]
    )


def _row(name: str, times: Times, server: float | None = None) -> str:
    """Returns a row of a table: median, 95th percentile and maximum in milliseconds."""
    cuts = quantiles(times, n=100, method="inclusive")
    alone = "" if server is None else f"{server:.0f}"
    measured = f"{cuts[49]:.0f} | {cuts[94]:.0f} | {max(times):.0f}"
    return f"| {name} | {len(times)} | {measured} | {alone} |"


if __name__ == "__main__":
    main(sys.argv[1:])

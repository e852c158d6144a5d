"""How time grows with a text: `python -m benchmarks.growth [--seconds 1] [--only READER ...]`.

Each reader (`readers.py`) gets texts out of its own expressions (`near_misses.py`). A search over
short ones, so many seconds for each reader and in the order of `--seed`, shows where time grows
most. There it is measured at three lengths, one right after the other, in processor time, each
with as many texts as take 50 ms. The exponent is the slope of log time over log length, the larger
of both steps: 1 where twice the text takes twice the time. It is the middle one of three rounds: a
machine that is slow for a while slows all three lengths of a round.

`--check` (`make growth`) ends with 1 where an exponent is above 1.5, and keeps nothing: the square
of a text has 2, and what else a machine does adds up to .3. Else the table goes to
`benchmarks/results/growth.md`, where the goal is 1.2.
"""

from __future__ import annotations

import argparse
import gc
import math
import random
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count, pairwise
from typing import Any, Final, NamedTuple

from benchmarks.growth.near_misses import NearMiss, near_misses
from benchmarks.growth.readers import PIECES, READERS, SOME, Reader
from benchmarks.measure import keep
from echoless.core.text import normalise

MOST: Final = 1.2
"""Largest exponent in the table."""
MOST_CHECKED: Final = 1.5
"""Largest exponent that `--check` lets through: half way between a text and its square."""
SEARCHED: Final = 8_000
"""Characters of the longer text of a search; the shorter one has a quarter."""
LEAST: Final = 0.05
"""Seconds that the texts of one length take together."""
ROUNDS: Final = 3
ATTEMPTS: Final = 5
"""Times that an exponent above `MOST` is measured, as other programs run meanwhile."""
ENDLESS: Final = 5.0
"""Seconds after which a text counts as one that does not end."""
LONG: Final = 0.2
"""Seconds above which a text is measured at half the lengths."""
QUICK: Final = 0.003
"""Seconds for the longer text of a search; a slower reader gets shorter ones."""
LEAST_SEARCHED: Final = 2_000
NOISE: Final = 0.0003
"""Seconds that say nothing in a search."""
AGAIN: Final = 5
"""Texts with the largest share that are looked at twice again."""
_CACHED: Final = 1_000
"""Results from which on a cache holds texts."""
_MOST_TEXTS: Final = 400

_numbers = count()


class Endless(Exception):
    """A text was not read to its end in time."""


class Growth(NamedTuple):
    """What was measured of a reader.

    Attributes:
        reader: Its name.
        tried: Texts of the search.
        text: Where time grows most.
        largest: Characters of the longest.
        seconds: For a text of a quarter, a half and all of that length.
    """

    reader: str
    tried: int
    text: NearMiss
    largest: int
    seconds: Sequence[float]

    @property
    def exponent(self) -> float:
        """The larger slope of log time over log length; infinite without an end.

        Of both steps, as a bound of a reader may come between them.
        """
        if math.inf in self.seconds:
            return math.inf
        some = [max(each, NOISE) for each in self.seconds]
        return max(math.log2(after / before) for before, after in pairwise(some))

    @property
    def row(self) -> str:
        """A row of the table."""
        unit = " \u2026 ".join(f"{part!r}" for part in self.text if part).replace("|", "\\|")
        times = " | ".join(f"{each * 1000:.2f}" for each in self.seconds)
        read = f"{self.reader} | {self.tried:,} | `{unit}` | {self.largest:,}"
        return f"| {read} | {times} | {self.exponent:.2f} |"


@contextmanager
def _limited(limit: float) -> Iterator[None]:
    """Raises `Endless` after so many seconds, also inside an expression.

    By the clock on the wall: a timer of processor time makes that time jump by four milliseconds.
    """

    def stop(_signal: int, _frame: object) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def seconds(reader: Reader, text: NearMiss, size: int, texts: int = 1) -> float:
    """Processor time for a text of a length; each text is a new one, as readers have caches."""
    some = [text.text(size, next(_numbers)) for _ in range(texts)]
    try:
        with _limited(ENDLESS * texts):
            start = time.process_time()
            for each in some:
                reader.read(each)
            return (time.process_time() - start) / texts
    except Endless:
        return math.inf


def texts_of(reader: Reader, seed: str) -> list[NearMiss]:
    """The texts for a reader: known ones first, the others in an order of chance.

    Expressions that a function holds are found where it compiles them: in the cache of `re`.
    """
    re.purge()
    seconds(reader, NearMiss(SOME), 2_000)
    own = [(source, flags) for _, source, flags in vars(re)["_cache"] if isinstance(source, str)]
    made = [*map(NearMiss, PIECES), *near_misses(dict.fromkeys([*reader.sources, *own]))]
    random.Random(seed).shuffle(made)
    return list(dict.fromkeys([*reader.known, *made]))


def slowest(reader: Reader, limit: float, seed: str) -> tuple[int, NearMiss]:
    """How many texts were tried in so many seconds, and where time grows most beyond the length."""
    texts = texts_of(reader, seed)
    size = min(reader.largest, SEARCHED)
    while size > LEAST_SEARCHED and seconds(reader, NearMiss(SOME), size) > QUICK:
        size //= 2

    def share(text: NearMiss) -> float:
        """The share of time that is more than four times that of a quarter of the text."""
        longer = seconds(reader, text, size)
        if longer == math.inf:
            return 1
        return (longer - 4 * seconds(reader, text, size // 4) - NOISE) / max(longer, NOISE)

    shares: dict[NearMiss, float] = {}
    start = time.process_time()
    for text in texts:
        if shares and time.process_time() - start > limit:
            break
        shares[text] = share(text)
    first = sorted(shares, key=lambda text: -shares[text])[:AGAIN]
    return len(shares), max(first, key=lambda text: min(shares[text], share(text), share(text)))


def measured(name: str, tried: int, text: NearMiss) -> Growth:
    """The growth of a reader on one text: the least of the attempts, each its middle round."""
    reader = READERS[name]
    largest = reader.largest
    while (once := seconds(reader, text, largest)) > LONG and largest > SEARCHED // 2:
        largest //= 2
    texts = max(1, min(_MOST_TEXTS, math.ceil(LEAST / max(once, 1e-6))))

    def one_round() -> Growth:
        gc.collect()
        parts = (4, 2, 1)
        times = [seconds(reader, text, largest // part, texts * part) for part in parts]
        return Growth(name, tried, text, largest, times)

    attempts: list[Growth] = []
    while len(attempts) < ATTEMPTS and all(each.exponent > MOST for each in attempts):
        rounds = [one_round() for _ in range(ROUNDS)]
        attempts.append(sorted(rounds, key=lambda each: each.exponent)[len(rounds) // 2])
    return min(attempts, key=lambda each: each.exponent)


def caches() -> list[Any]:
    """The caches of the standard library that hold texts."""
    kind = type(normalise)
    some = (each for each in gc.get_objects() if isinstance(each, kind))
    return [each for each in some if (each.cache_parameters()["maxsize"] or 0) >= _CACHED]


def main() -> None:
    """Search, measure, and keep or check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--only", nargs="*", choices=READERS, default=list(READERS))
    chosen = parser.parse_args()
    found: list[Growth] = []
    held = caches()
    # As `timeit` measures. A collection begins at some number of objects; where that falls between
    # two lengths, time grows there as with the square of a text.
    gc.disable()
    for name in chosen.only:
        gc.collect()
        gc.freeze()  # what was made so far is looked through no more
        reader = READERS[name]
        found.append(measured(name, *slowest(reader, chosen.seconds * reader.weight, chosen.seed)))
        print(found[-1].row, flush=True)
        for each in held:
            each.cache_clear()
    most = MOST_CHECKED if chosen.check else MOST
    above = [growth for growth in found if growth.exponent > most]
    rows = "\n".join(growth.row for growth in found)
    if not chosen.check and chosen.only == list(READERS):
        body = (
            f"{len(found)} readers, {sum(growth.tried for growth in found):,} texts. Above {MOST}: "
            f"{len(above)}. Milliseconds for a quarter, a half and all of so many characters, on "
            "the text where time grows most. Such a text repeats what an expression nearly "
            "matches; what stands before and behind it is told after `\u2026`.\n\n"
            "| reader | texts | repeated | characters | ms | ms | ms | exponent |\n"
            f"| --- | --- | --- | --- | --- | --- | --- | --- |\n{rows}\n"
        )
        keep("growth", "How time grows with a text", "python -m benchmarks.growth", body)
    for growth in above:
        print(f"{growth.reader}: {growth.exponent:.2f} is above {most} on {growth.text}.")
    if chosen.check:
        print(f"{len(found)} readers, {len(above)} with an exponent above {most}.")
        sys.exit(1 if above else 0)


if __name__ == "__main__":
    main()

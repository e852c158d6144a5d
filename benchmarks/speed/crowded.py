"""A store in which much is said many times, from a seed, with what belongs together."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.data import names, nouns
from echoless import Memory

SIZES: Final = (1, 10, 100, 10_000)
"""Memories that say one thing; each size has a quarter of the store."""

Again = Callable[[random.Random, str], str]


def _identical(source: random.Random, text: str) -> str:
    del source
    return text


def _dressed(source: random.Random, text: str) -> str:
    """The same text as a list item, quoted, in bold, without its full stop, widely spaced."""
    kind = source.randrange(6)
    if kind == 4:
        return text.replace(" ", "  ", source.randrange(1, 12))
    return (f"- {text}", f"* {text}", f"> {text}", f"**{text[:-1]}**", "", text[:-1])[kind]


def _nearly(source: random.Random, text: str) -> str:
    """Articles before some of the nouns: 16,000 texts that say one thing."""
    words: list[str] = []
    for word in text.split():
        plain = word.islower() and bool(words) and not words[-1].isdigit()
        words += ["the", word] if plain and source.random() < 0.3 else [word]
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class Told:
    """A memory with the number of what it says."""

    memory: Memory
    cluster: int


def dense(count: int, *, seed: int = 20261122) -> Iterator[Told]:
    """Memories in clusters, in a mixed order."""
    source = random.Random(seed)
    plan: list[int] = []
    for size in SIZES:
        share, whole = count // len(SIZES), min(size, count // len(SIZES))
        plan += [whole] * (share // whole)
    texts: list[tuple[int, str]] = []
    for cluster, size in enumerate(plan):
        text = _sentence(source)
        kinds: Sequence[Again] = (_identical, _dressed, _nearly)
        texts.append((cluster, text))
        texts += [(cluster, source.choice(kinds)(source, text)) for _ in range(size - 1)]
    source.shuffle(texts)
    for number, (cluster, text) in enumerate(texts):
        memory = Memory(
            id=f"m-{number:07d}",
            content=text,
            created_at=f"2026-03-02T08:00:{number % 60:02d}Z",  # of one day: a text may name one
            importance=round(source.random(), 2),
        )
        yield Told(memory, cluster)


def _sentence(source: random.Random) -> str:
    """Nouns around two names and two numbers; a name at each end, so that nothing dangles."""
    one, other = names(source), names(source)
    first, second = (source.sample(nouns(), 6) for _ in range(2))
    numbers = source.randrange(2, 900), source.randrange(2, 900)
    return (
        f"{one} {' '.join(first[:4])} {numbers[0]} {' '.join(first[4:])} and {' '.join(second[:4])}"
        f" {numbers[1]} {' '.join(second[4:])} {other}."
    )

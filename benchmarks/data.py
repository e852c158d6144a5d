"""Memories for benchmarks, from a seed: varied sentences with planted repetition."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from itertools import accumulate

from echoless import Memory

_SYLLABLES = [
    "ba",
    "ko",
    "ri",
    "ten",
    "mo",
    "sal",
    "ve",
    "dun",
    "lar",
    "ki",
    "po",
    "zen",
    "tur",
    "fa",
    "mel",
    "os",
    "gri",
    "ha",
]


@cache
def _vocabulary() -> tuple[list[str], list[int]]:
    """Words of the bundled sample, sorted, with their frequency added up."""
    sample = files("echoless").joinpath("data/sample.jsonl").read_text("utf-8")
    texts = (json.loads(line)["content"] for line in sample.splitlines())
    counts = Counter(
        word for text in texts if text.isascii() for word in re.findall(r"[a-z]{2,}", text.lower())
    )
    words = sorted(counts)
    return words, list(accumulate(counts[word] for word in words))


@cache
def nouns() -> list[str]:
    """Longer words of the sample: names of things for the most part."""
    return [
        word
        for word in _vocabulary()[0]
        if len(word) >= 7 and not word.endswith(("ing", "ed", "ly"))
    ]


def names(source: random.Random) -> str:
    """A name that means nothing."""
    return _name(source)


def memories(count: int, *, seed: int = 20261121, repeated: float = 0.3) -> list[Memory]:
    """Memories with texts of about 20 words.

    Args:
        count: How many.
        seed: Same seed, same memories.
        repeated: Share that repeats an earlier one: byte for byte, in other dressing, in another
            word order, or with one other number (which must stay apart).
    """
    return list(stream(count, seed=seed, repeated=repeated))


def stream(count: int, *, seed: int = 20261121, repeated: float = 0.3) -> Iterator[Memory]:
    """As `memories`, one after the other; only the texts are remembered."""
    source = random.Random(seed)
    texts: list[str] = []
    for number in range(count):
        text = (
            _again(source, source.choice(texts))
            if texts and source.random() < repeated
            else _sentence(source)
        )
        texts.append(text)
        yield Memory(
            id=f"m-{number:07d}",
            content=text,
            namespace=f"project-{number % 3}",
            created_at=f"2026-{1 + number % 12:02d}-{1 + number % 28:02d}T08:00:00Z",
            access_count=source.randrange(5),
            importance=round(source.random(), 2),
            tags=(source.choice(_SYLLABLES),),
        )


def _sentence(source: random.Random) -> str:
    """Two clauses of words as frequent as in real memories, with a name and a number each."""
    first, second = (_clause(source) for _ in range(2))
    return f"{first[0].upper()}{first[1:]}, and {second}."


def _clause(source: random.Random) -> str:
    words, added_up = _vocabulary()
    parts = source.choices(words, cum_weights=added_up, k=source.randrange(6, 11))
    parts.insert(source.randrange(1, 5), _name(source))
    parts.insert(source.randrange(2, 6), str(source.randrange(2, 900)))
    return " ".join(parts)


def _name(source: random.Random) -> str:
    return "".join(source.choice(_SYLLABLES) for _ in range(3)).capitalize()


def _again(source: random.Random, text: str) -> str:
    kind = source.randrange(4)
    if kind == 0:
        return text
    if kind == 1:
        return f"- **{text.rstrip('.')}**"
    if kind == 2:
        first, _, second = text.rstrip(".").partition(", and ")
        return f"{second[:1].upper()}{second[1:]}, and {first[:1].lower()}{first[1:]}."
    words = text.split()
    at = [i for i, word in enumerate(words) if word.isdigit()]
    if at:
        words[source.choice(at)] = str(source.randrange(2, 900))
    return " ".join(words)


def notes(count: int, words: int, *, seed: int = 350) -> list[Memory]:
    """Notes of a fixed number of words; every seventh restates an earlier one, a little changed."""
    source = random.Random(seed)
    made: list[Memory] = []
    for number in range(count):
        if number % 7 == 6:
            text = " ".join(_changed(source, source.choice(made).content.split()))
        else:
            text = " ".join(_word(source) for _ in range(words))
        made.append(
            Memory(
                id=f"n-{number:05d}",
                content=text,
                created_at=f"2026-01-01T00:{number % 60:02d}:00Z",
            )
        )
    return made


def _word(source: random.Random) -> str:
    return "".join(source.choice(_SYLLABLES) for _ in range(source.randrange(1, 4)))


def _changed(source: random.Random, words: list[str]) -> Iterator[str]:
    for word in words:
        yield _word(source) if source.random() < 0.08 else word

"""Turns pairs into the network's input, and draws batches of like length."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import torch
from torch import Tensor

from echoless.matching.fields import fields_of
from training.bases import Base
from training.examples import Example

LONGEST: Final = 192
"""Tokens of a pair with its three special ones; of longer texts each side keeps its head."""

TWICE: Final = 0.02
"""Share of pairs that are one text and itself: else the network never sees what is surely equal."""

MARKS: Final = (
    "- ",
    "* ",
    "\u2705 ",
    "\u2022 ",
    "- [x] ",
    "1. ",
    "> ",
    "### ",
    "  ",
    "\U0001f504 ",
)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A pair as token numbers of each side."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    targets: tuple[float, float, float]
    """NaN where unknown."""

    @property
    def length(self) -> int:
        """Tokens of the pair with its special ones."""
        return len(self.a) + len(self.b) + 3


def marked(text: str, draw: random.Random) -> str:
    """Returns the text with a list mark, without its last stop or with a bold start.

    These change nothing of what a memory says; the network learns to pass over them.
    """
    kind = draw.random()
    if kind < 0.4:
        return draw.choice(MARKS) + text
    if kind < 0.6:
        return text[:-1] if text.endswith((".", "\u3002")) else text + "."
    if kind < 0.8 and " " in text:
        words = text.split(" ")
        most = draw.randint(1, min(3, len(words)))
        return "**" + " ".join(words[:most]) + "** " + " ".join(words[most:])
    return text[:1].lower() + text[1:] if kind < 0.9 else text[:1].upper() + text[1:]


def varied(example: Example, draw: random.Random) -> Example:
    """Returns the pair with its sides in either order, now and then a mark, or one text twice."""
    if draw.random() < TWICE:
        example = Example(example.a, example.a, 1, 1, 0, "twice", example.group)
    a, b = (marked(text, draw) if draw.random() < 0.12 else text for text in (example.a, example.b))
    ab, ba, conflict = example.targets
    if draw.random() < 0.5:
        a, b, ab, ba = b, a, ba, ab
    return replace(example, a=a, b=b, a_entails_b=ab, b_entails_a=ba, conflict=conflict)


def encode(base: Base, examples: Sequence[Example], longest: int = LONGEST) -> list[Encoded]:
    """Returns the pairs as token numbers, each side cut where the pair is longer than `longest`."""
    texts = [fields_of(text).sentence for e in examples for text in (e.a, e.b)]
    encodings = base.tokenizer.encode_batch(texts, add_special_tokens=False)
    out = []
    for place, example in enumerate(examples):
        a, b = cut(encodings[2 * place].ids, encodings[2 * place + 1].ids, longest - 3)
        targets = tuple(float("nan") if value is None else value for value in example.targets)
        out.append(Encoded(tuple(a), tuple(b), targets))
    return out


def cut(a: list[int], b: list[int], most: int) -> tuple[list[int], list[int]]:
    """Returns both without their ends, the longer shortened first, together at most `most`."""
    if len(a) + len(b) <= most:
        return a, b
    half = most // 2
    if len(a) <= half:
        return a, b[: most - len(a)]
    if len(b) <= half:
        return a[: most - len(b)], b
    return a[:half], b[: most - half]


def packed(
    base: Base, pairs: Sequence[Encoded], device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns tokens, sides, shared marks, (batch, length), and targets, (batch, 3)."""
    length = max(pair.length for pair in pairs)
    tokens = np.full((len(pairs), length), base.padding, dtype=np.int64)
    sides = np.zeros_like(tokens)
    shared = np.zeros_like(tokens)
    for row, pair in enumerate(pairs):
        first, second = len(pair.a) + 1, len(pair.a) + 2 + len(pair.b)
        tokens[row, : second + 1] = (base.start, *pair.a, base.end, *pair.b, base.end)
        sides[row, 1:first] = 1
        sides[row, first + 1 : second] = 2
        in_a, in_b = set(pair.a), set(pair.b)
        shared[row, 1:first] = [2 if piece in in_b else 1 for piece in pair.a]
        shared[row, first + 1 : second] = [2 if piece in in_a else 1 for piece in pair.b]
    targets = torch.tensor([pair.targets for pair in pairs], dtype=torch.float32)
    inputs = (torch.from_numpy(each).to(device) for each in (tokens, sides, shared))
    return *inputs, targets.to(device)


def draw_batches(
    base: Base,
    sources: Sequence[tuple[Sequence[Example], float]],
    *,
    batch: int,
    seed: int,
    pool: int = 64,
    share: tuple[int, int] = (0, 1),
) -> Iterator[list[Encoded]]:
    """Yields batches without end: sources by weight, pairs of like length together.

    Args:
        base: Gives the tokenizer.
        sources: Pairs of a source, and its share of what is drawn.
        batch: Pairs a batch.
        seed: Same seed, same batches.
        pool: Batches that are drawn and sorted by length at once.
        share: Number of this worker and how many there are: at each step all workers get other
            pairs of like length, so that none waits for another.
    """
    draw = random.Random(seed)
    shares = [weight for _, weight in sources]
    orders = [Shuffled(pairs, draw) for pairs, _ in sources]
    while True:
        chosen = draw.choices(orders, shares, k=batch * pool)
        encoded = encode(base, [varied(order.next(), draw) for order in chosen])
        encoded.sort(key=lambda pair: pair.length)
        rank, workers = share
        step = batch * workers
        places = list(range(0, len(encoded) - step + 1, step))
        draw.shuffle(places)
        for start in places:
            yield encoded[start + rank : start + step : workers]


class Shuffled:
    """Gives every pair of a source once before any comes again."""

    def __init__(self, pairs: Sequence[Example], draw: random.Random) -> None:
        self.pairs, self.draw, self.order = pairs, draw, list[int]()

    def next(self) -> Example:
        """Returns the next pair."""
        if not self.order:
            self.order = list(range(len(self.pairs)))
            self.draw.shuffle(self.order)
        return self.pairs[self.order.pop()]

"""Makes pairs of memories that say several things, of contrast sets that say one each.

One of the statements is told apart, and the others are said again: what the pair is to each other
hangs on that one alone. Without such pairs a network reads how much two texts have in common, and
merges a memory whose third sentence says the opposite.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, Final

from training.examples import Example, Target

FORMS: Final = (" ", " ", " ", "\n", "\n\n", "\n- ")
"""What stands between two statements."""
KINDS: Final = {"same": 0.3, "conflict": 0.3, "apart": 0.15, "gone": 0.15, "one": 0.1}
"""What becomes of a pair, and how often."""
EQUAL: Final = 0.4
"""Share of pairs whose other statements are said in the same words."""
SHUFFLED: Final = 0.25
"""Share of pairs in which the statements of one side stand in another order."""
LONGEST: Final = 500
"""Characters of all statements of one side."""

Sets = Sequence[Mapping[str, Any]]


def composed(sets: Sets, count: int, *, seed: int) -> list[Example]:
    """Returns pairs of two or three statements of one language.

    Args:
        sets: Contrast sets, as in `read_contrast`.
        count: How many pairs are tried; one whose set has no text of the kind is left out.
        seed: Same seed, same pairs.
    """
    draw = random.Random(seed)
    spoken: dict[str, list[Mapping[str, Any]]] = {}
    for each in sets:
        if each["same"]:
            spoken.setdefault(each["lang"], []).append(each)
    languages = sorted(name for name, own in spoken.items() if len(own) >= 3)
    weights = [len(spoken[name]) for name in languages]
    tried = (one_pair(spoken[draw.choices(languages, weights)[0]], draw) for _ in range(count))
    return [pair for pair in tried if pair is not None]


def one_pair(sets: Sets, draw: random.Random) -> Example | None:
    """Returns one pair; None where its set has no text of the kind, or the texts are long."""
    chosen = draw.sample(list(sets), draw.choice((2, 2, 3)))
    kind = draw.choices([*KINDS], [*KINDS.values()])[0]
    at, equal = draw.randrange(len(chosen)), kind != "same" and draw.random() < EQUAL
    first = [draw.choice([each["base"], *each["same"]]) for each in chosen]
    second = [
        said if equal else draw.choice([t for t in (each["base"], *each["same"]) if t != said])
        for each, said in zip(chosen, first, strict=True)
    ]
    targets: tuple[Target, Target, Target] = (1, 1, 0)
    if kind == "gone":
        del second[at]
        targets = (1, 0, 0)
    elif kind == "one":
        second, targets = [second[at]], (1, 0, 0)
        if draw.random() < 0.5 and (other := text_of(chosen[at], "conflict", draw)):
            second, targets = [other], (0, 0, 1)
    elif kind != "same":
        other = text_of(chosen[at], kind, draw)
        if other is None:
            return None
        second[at] = other
        targets = (0, 0, 1) if kind == "conflict" else (0, 0, 0)
    if draw.random() < SHUFFLED:
        draw.shuffle(second)
    if max(sum(map(len, first)), sum(map(len, second))) > LONGEST:
        return None
    form = draw.choice(FORMS)
    a, b = joined(first, form), joined(second, form if draw.random() < 0.8 else " ")
    return Example(a, b, *targets, f"composed/{kind}", "composed")


def text_of(each: Mapping[str, Any], kind: str, draw: random.Random) -> str | None:
    """Returns a text of a set that conflicts with its base, or is only close to it."""
    if kind == "conflict":
        texts = [other["t"] for other in each["conflict"]]
    else:
        texts = [*(other["t"] for other in each["sibling"]), *each["related"]]
    return draw.choice(texts) if texts else None


def joined(texts: Sequence[str], form: str) -> str:
    """Returns statements as one text."""
    ended = [text if form != " " or text.endswith(STOPS) else f"{text}." for text in texts]
    return ("- " if form == "\n- " and len(texts) > 1 else "") + form.join(ended)


STOPS: Final = (".", "!", "?", "\u3002", "\uff01", "\uff1f")

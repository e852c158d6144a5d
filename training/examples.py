"""Reads labelled pairs of all sources into one form: `Example`."""

from __future__ import annotations

import hashlib
import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rapidfuzz import fuzz, process

from training.notes import digest

LATER: Final = Path(__file__).resolve().parent / "data" / "later"
Target = float | None
"""1 true, 0 false, between them not certain; None unknown: it gives no gradient."""
SURE: Final = 0.5
"""Target from which a text holds the other, inclusive."""
SOFT: Final = {1: 0.8, 0: 0.15}
"""Targets of pairs of which a second reader could say otherwise."""


@dataclass(frozen=True, slots=True)
class Example:
    """Two texts and what is known of them.

    Attributes:
        group: Pairs of one group share texts: a split keeps them on one side.
    """

    a: str
    b: str
    a_entails_b: Target
    b_entails_a: Target
    conflict: Target
    source: str
    group: str

    @property
    def targets(self) -> tuple[Target, Target, Target]:
        """The three in the order of the network's outputs."""
        return self.a_entails_b, self.b_entails_a, self.conflict

    @property
    def mergeable(self) -> bool:
        """Whether one text holds all that the other says."""
        return any(
            side is not None and side >= SURE for side in (self.a_entails_b, self.b_entails_a)
        )


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """Yields the objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)


def read_contrast(path: Path) -> Iterator[Example]:
    """Yields the pairs of contrast sets, one set a line.

    A set is a base text with rewordings (`same`), a text that says less, one that says more, texts
    with another value in the same slot (`conflict`), parallel texts on another subject (`sibling`)
    and texts of the same topic (`related`). Every pair whose relation follows from that is made.
    """
    for number, item in enumerate(lines(path)):
        group = f"{path.stem}:{number}"
        source = f"contrast/{path.stem}"
        full = [item["base"], *item["same"]]
        conflicts = [other["t"] for other in item["conflict"]]
        apart = [*(other["t"] for other in item["sibling"]), *item["related"]]

        def pair(a: str, b: str, ab: Target, ba: Target, conflict: Target) -> Example:
            return Example(a, b, ab, ba, conflict, source, group)  # noqa: B023 (used at once)

        for place, text in enumerate(full):
            yield from (pair(text, other, 1, 1, 0) for other in full[place + 1 :])
            yield from (pair(text, less, 1, 0, 0) for less in item["less"])
            yield from (pair(more, text, 1, 0, 0) for more in item["more"])
            yield from (pair(text, other, 0, 0, 1) for other in conflicts)
            yield from (pair(text, other, 0, 0, 0) for other in apart)
        for more in item["more"]:
            yield from (pair(more, less, 1, 0, 0) for less in item["less"])
            yield from (pair(more, other, 0, 0, 1) for other in conflicts)
            yield from (pair(more, other, 0, 0, 0) for other in apart)


NEAREST: Final = 3
"""Texts of other sets of its story that a text is told apart from."""


def read_across(path: Path) -> Iterator[Example]:
    """Yields the nearest texts of two sets that tell of one story, `group`: never the same fact."""
    stories: dict[str, list[list[str]]] = {}
    for item in lines(path):
        if "group" in item:
            stories.setdefault(item["group"], []).append([item["base"], *item["same"]])
    for story, sets in stories.items():
        for number, own in enumerate(sets):
            others = [text for place, each in enumerate(sets) if place != number for text in each]
            for text in own:
                near = process.extract(text, others, scorer=fuzz.token_set_ratio, limit=NEAREST)
                for other, _, _ in near:
                    yield Example(text, other, 0, 0, None, "across", f"{path.stem}:{story}")


CLASSES: dict[str, tuple[Target, Target, Target]] = {
    "duplicate": (1, 1, 0),
    "update": (0, 0, 1),
    "contradiction": (0, 0, 1),
    "sibling": (0, 0, 0),
    "related": (0, 0, 0),
    "distinct": (0, 0, 0),
    # value_conflicts
    "dup": (1, 1, 0),
    "surface": (1, 1, 0),
    "conflict_same": (0, 0, 1),
    "conflict_cross": (0, 0, 1),
    "unrelated": (0, 0, 0),
    # real notes: C is another value, state or component, so that a conflict is not certain
    "D": (1, 1, 0),
    "C": (0, 0, None),
    "V": (0, 0, 1),
    "R": (0, 0, 0),
    "U": (0, 0, 0),
}


def of_class(name: str | None, item: dict[str, Any]) -> tuple[Target, Target, Target]:
    """Returns the targets of a labelled class; for a text that holds more, of its side."""
    if name in {"Sa", "Sb"}:
        return (1, 0, 0) if name == "Sa" else (0, 1, 0)
    if name in {"subsumes", "extension", "S"}:
        said = item.get("superset") or ("a" if "superset=a" in item.get("why", "") else "b")
        return (1, 0, 0) if said == "a" else (0, 1, 0)
    if name is None:
        return (1, 1, 0) if item["mergeable"] else (0, 0, None)
    return CLASSES[name]


Targets = tuple[Target, Target, Target]


def softened(targets: Targets, *, hard: bool) -> Targets:
    """Returns the targets of a pair, `SOFT` where a second reader could say otherwise."""
    if not hard:
        return targets
    a_in_b, b_in_a, conflict = (None if each is None else SOFT[int(each)] for each in targets)
    return a_in_b, b_in_a, conflict


def read_pairs(path: Path, source: str) -> Iterator[Example]:
    """Yields labelled pairs, one a line: fields `a`, `b` and `class`, `label` or `want`."""
    for number, item in enumerate(lines(path)):
        name = item.get("class") or item.get("label") or item.get("want")
        group = item.get("base") or item.get("frame") or item.get("repo") or number
        targets = softened(of_class(name, item), hard=item.get("hard", False))
        yield Example(item["a"], item["b"], *targets, source, f"{path.stem}:{group}")


def read_revisions(path: Path) -> Iterator[Example]:
    """Yields revisions of notes: fields `old`, `new`, `label`, `sure` and `repo`.

    A quarter of the repositories is left out, they measure: those whose SHA-256 of `history` and
    `owner/name` in small letters leaves no rest when divided by 4.
    """
    for item in lines(path):
        name = "history" + item["repo"].lower()
        if int(hashlib.sha256(name.encode()).hexdigest()[:16], 16) % 4:
            targets = softened(of_class(item["label"], item), hard=not item["sure"])
            yield Example(item["old"], item["new"], *targets, "history", f"history:{item['repo']}")


def later_sets(*, kept: bool) -> list[dict[str, Any]]:
    """Returns the sets of `data/later` that train, or the third of them that measures.

    Those are kept apart whose `base` has a SHA-256 of which the first eight hexadecimal digits
    leave no rest when divided by 3.
    """
    sets = [item for path in sorted(LATER.glob("*.jsonl")) for item in lines(path)]
    digests = [hashlib.sha256(item["base"].encode()).hexdigest()[:8] for item in sets]
    return [s for s, d in zip(sets, digests, strict=True) if (int(d, 16) % 3 == 0) == kept]


def read_digested(labels: Path, pairs: Path) -> Iterator[Example]:
    """Yields close pairs without labels that have one elsewhere, by the digests of their texts.

    Those whose id ends in 3, a tenth, are left out: they measure.
    """
    known = {(item["a"], item["b"]): item for item in lines(labels) if item["id"][-1] != "3"}
    for example in read_unlabelled(pairs):
        if item := known.get((digest(example.a), digest(example.b))):
            targets = softened(of_class(item["label"], item), hard=item.get("hard", False))
            yield Example(example.a, example.b, *targets, "close", f"close:{item['id']}")


def read_public(path: Path) -> Iterator[Example]:
    """Yields the public pairs: fields `a`, `b`, `ab`, `ba`, `c` and their set's name, `src`."""
    for number, item in enumerate(lines(path)):
        targets = item["ab"], item["ba"], item["c"]
        yield Example(item["a"], item["b"], *targets, f"public/{item['src']}", f"public:{number}")


def read_unlabelled(path: Path) -> Iterator[Example]:
    """Yields pairs without labels: fields `a` and `b`, one a line; `.xz` is opened."""
    with (lzma.open if path.suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
        for number, line in enumerate(file):
            item = json.loads(line)
            yield Example(item["a"], item["b"], None, None, None, "unlabelled", f"u:{number}")

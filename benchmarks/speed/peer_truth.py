"""Memories of which it is known what says the same and what must stay apart."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Final, Literal

from benchmarks import matching
from benchmarks.data import names, stream

Kind = Literal["same", "apart", "other"]
SEED: Final = 20261125
LABELLED_SHARE: Final = 0.4
"""Most memories of a store that come from labelled pairs."""
PLANTED_SHARE: Final = 0.2
"""Memories that are a copy or a look-alike of another; half of each."""
PLANTED: Final = "planted"
NEVER: Final = Path(__file__).parents[1] / "never_seen"
LOOK_ALIKES: Final = frozenset(
    {"update", "contradiction", "sibling", "conflict_same", "conflict_cross", "V", "C"}
)


@dataclass(frozen=True, slots=True)
class KnownPair:
    """Two memories and what is known of them.

    Attributes:
        a: Place of one memory.
        b: Place of the other.
        of: Set the pair belongs to.
        kind: `same` may end in one group; `apart` must not, the two differ in a value, a name, a
            state or a negation; `other` is neither asked for nor allowed, or is allowed only one
            way round (one text holds the other), and is not counted.
        how: The label, or how the pair was made.
    """

    a: int
    b: int
    of: str
    kind: Kind
    how: str


@dataclass(frozen=True, slots=True)
class Truth:
    """A store with its truth.

    Attributes:
        texts: Oldest first.
        pairs: What is known.
        holds: Pairs of places where one text says all that the other says: may stand for it.
    """

    texts: Sequence[str]
    pairs: Sequence[KnownPair]
    holds: Sequence[tuple[int, int]] = field(default=())

    @property
    def sets(self) -> list[str]:
        """Names of the sets, in order of appearance."""
        return list(dict.fromkeys(pair.of for pair in self.pairs))


@dataclass(slots=True)
class _Draft:
    """A truth under way; equal texts of labelled pairs are one memory."""

    texts: list[str] = field(default_factory=list)
    pairs: list[KnownPair] = field(default_factory=list)
    holds: list[tuple[int, int]] = field(default_factory=list)
    at: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        if text not in self.at:
            self.at[text] = len(self.texts)
            self.texts.append(text)
        return self.at[text]


def build(size: int, folders: Mapping[str, Sequence[Path]]) -> Truth:
    """Makes a store of so many memories; the same arguments give the same store.

    Labelled pairs come first, at most four tenths of the store; a tenth are copies of other
    memories in another dressing, a tenth differ from another memory in one value or a negation;
    the rest are sentences that say what no other says.

    Args:
        size: How many memories.
        folders: Files of labelled pairs by name of the set.
    """
    draft, source = _Draft(), random.Random(SEED)
    rows = [(name, row) for name, files in folders.items() for row in _rows(files)]
    source.shuffle(rows)
    for name, row in rows[: int(size * LABELLED_SHARE / 2)]:
        a, b = draft.place(row.a), draft.place(row.b)
        if row.gold == "holds":
            draft.holds.append((a, b))
        draft.pairs.append(KnownPair(a, b, name, _kind(row), row.label))
    planted = int(size * PLANTED_SHARE)
    mass = size - len(draft.texts) - planted
    first = len(draft.texts)
    draft.texts += islice(_mass(source), mass)
    for number, base in enumerate(source.sample(range(first, first + mass), planted)):
        how, changed, kind = _planted(source, draft.texts[base], number % 2 == 0)
        draft.pairs.append(KnownPair(base, len(draft.texts), PLANTED, kind, how))
        draft.texts.append(changed)
    return _shuffled(draft, source)


def never_seen() -> dict[str, list[Path]]:
    """Pairs that were written by others after the judge was finished: English, and the rest."""
    files = sorted([*NEVER.glob("written*/*.jsonl")])
    return {
        "English": [path for path in files if path.stem.endswith("_en")],
        "five other languages": [path for path in files if not path.stem.endswith("_en")],
    }


def real_notes(data: Path) -> dict[str, list[Path]]:
    """Labelled pairs of real notes; empty where the folder does not hold them."""
    path = data / "real_notes" / "dev.jsonl"
    return {"real notes": [path]} if path.is_file() else {}


def _rows(files: Sequence[Path]) -> Iterator[matching.Row]:
    for path in files:
        yield from matching.read(path)


def _kind(row: matching.Row) -> Kind:
    if row.gold == "same":
        return "same"
    return "apart" if row.label in LOOK_ALIKES else "other"


def _mass(source: random.Random) -> Iterator[str]:
    """Sentences with a date, a port, a version or an owner each; no two say the same."""
    for memory in stream(10**9, seed=SEED, repeated=0.0):
        yield f"{_value(source)}: {memory.content}"


def _value(source: random.Random) -> str:
    return source.choice(
        [
            f"Since {_date(source)}",
            f"Port {_port(source)}",
            f"Version {_version(source)}",
            f"Owner {names(source)}",
        ]
    )


def _date(source: random.Random) -> str:
    month, day = source.randrange(1, 13), source.randrange(1, 29)
    return f"{source.randrange(2021, 2027)}-{month:02d}-{day:02d}"


def _port(source: random.Random) -> str:
    return str(source.randrange(1024, 65536))


def _version(source: random.Random) -> str:
    return ".".join(str(source.randrange(20)) for _ in range(3))


def _exchanged(text: str) -> str:
    value, _, clauses = text.rstrip(".").partition(": ")
    first, _, second = clauses.partition(", and ")
    return f"{value}: {second[:1].upper()}{second[1:]}, and {first[:1].lower()}{first[1:]}."


_COPIES: Final[Mapping[str, Callable[[str], str]]] = {
    "byte for byte": str,
    "bold list item": lambda text: f"- **{text.rstrip('.')}**",
    "prefix": lambda text: f"Note to self: {text}",
    "clauses exchanged": _exchanged,
    "case and spaces": lambda text: "  ".join(text.rstrip(".").lower().split(" ")),
}
_VALUES: Final[Mapping[str, tuple[re.Pattern[str], Callable[[random.Random], str]]]] = {
    "date": (re.compile(r"(?<=Since )[\d-]+"), _date),
    "port": (re.compile(r"(?<=Port )\d+"), _port),
    "version": (re.compile(r"(?<=Version )[\d.]+\d"), _version),
    "name": (re.compile(r"(?<=Owner )\w+"), names),
}


def _planted(source: random.Random, text: str, copy: bool) -> tuple[str, str, Kind]:
    if copy:
        how = source.choice(list(_COPIES))
        return how, _COPIES[how](text), "same"
    if source.random() < 0.2:
        return "negation", text.replace(", and ", ", and not ", 1), "apart"
    for how, (pattern, value) in _VALUES.items():
        if match := pattern.search(text):
            other = value(source)
            while other == match.group():
                other = value(source)
            return how, text[: match.start()] + other + text[match.end() :], "apart"
    raise AssertionError(text)


def _shuffled(draft: _Draft, source: random.Random) -> Truth:
    order = list(range(len(draft.texts)))
    source.shuffle(order)
    place = {old: new for new, old in enumerate(order)}
    return Truth(
        texts=[draft.texts[old] for old in order],
        pairs=[replace(pair, a=place[pair.a], b=place[pair.b]) for pair in draft.pairs],
        holds=[(place[a], place[b]) for a, b in draft.holds],
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a tool made of a store.

    Attributes:
        same: By set: pairs that say the same and ended in one group, and all such pairs.
        merged: By set: look-alikes that ended in one group, and all look-alikes.
        by_how: Pairs in one group and all pairs, by set and label.
        removed: Memories no longer shown.
        wrongly: Of those, memories of the mass behind one that says something else, or labelled
            ones behind the mass. Texts of two labelled pairs may happen to say the same: of those
            only look-alikes are known to be wrong, and they stand in `merged`.
    """

    same: Mapping[str, tuple[int, int]]
    merged: Mapping[str, tuple[int, int]]
    by_how: Mapping[str, tuple[int, int]]
    removed: int
    wrongly: int


def outcome(truth: Truth, behind: Mapping[int, int]) -> Outcome:
    """Returns how a grouping fits the truth.

    Args:
        truth: The store.
        behind: Survivor by hidden memory, places; a survivor may be hidden itself.
    """
    group = [_root(behind, place) for place in range(len(truth.texts))]
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    for pair in truth.pairs:
        joined = group[pair.a] == group[pair.b]
        for key in ((pair.of, pair.kind), (pair.of, f"how {pair.how}")):
            counts[key][0] += joined
            counts[key][1] += 1
    cluster, labelled = _clusters(truth), _labelled(truth)
    return Outcome(
        same={of: _share(counts[of, "same"]) for of in truth.sets},
        merged={of: _share(counts[of, "apart"]) for of in truth.sets},
        by_how={
            f"{of}: {how.removeprefix('how ')}": _share(share)
            for (of, how), share in sorted(counts.items())
            if how.startswith("how ")
        },
        removed=len(behind),
        wrongly=sum(
            cluster[place] != cluster[group[place]]
            and not (place in labelled and group[place] in labelled)
            for place in behind
        ),
    )


def _share(share: Sequence[int]) -> tuple[int, int]:
    hit, of = share
    return hit, of


def _root(behind: Mapping[int, int], place: int) -> int:
    while place in behind:
        place = behind[place]
    return place


def _labelled(truth: Truth) -> set[int]:
    return {place for pair in truth.pairs if pair.of != PLANTED for place in (pair.a, pair.b)}


def _clusters(truth: Truth) -> list[int]:
    """The first memory of those that say the same, by place."""
    first: dict[int, int] = {}
    joined = [(p.a, p.b) for p in truth.pairs if p.kind == "same"] + list(truth.holds)
    for a, b in joined:
        low, high = sorted((_root(first, a), _root(first, b)))
        if low != high:
            first[high] = low
    return [_root(first, place) for place in range(len(truth.texts))]

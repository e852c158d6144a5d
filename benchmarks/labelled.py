"""Labelled pairs and rated pairs: the data sets the judge is measured on.

A data set that is not there, and a line that cannot be used, is said in the report.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast

from echoless.core.model import Side

Class: TypeAlias = Literal[
    "duplicate", "subsumes", "update", "contradiction", "sibling", "related", "distinct"
]
CLASSES: Final[tuple[Class, ...]] = (
    "duplicate",
    "subsumes",
    "update",
    "contradiction",
    "sibling",
    "related",
    "distinct",
)
_RANK: Final[Mapping[str, int]] = {name: place for place, name in enumerate(CLASSES)}
MERGEABLE: Final = ("duplicate", "subsumes")
APART: Final = ("update", "contradiction", "sibling")
_CLASS_OF_KIND: Final[Mapping[str, Class]] = {
    "dup": "duplicate",
    "surface": "duplicate",
    "extension": "subsumes",
    "unrelated": "distinct",
}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A pair with what it is labelled as.

    Attributes:
        id: Unique in its set.
        lang: Language of a.
        a: One text.
        b: The other.
        label: One of the seven classes, or None where the set only says "conflict".
        kind: `dup`, `surface`, `extension`, `conflict_same`, …, `unrelated`, or empty.
        mergeable: Whether one may stand for both.
        why: As in the set; of duplicates the sub-kind comes first, of subsumes the side.
        difference: Kind of the difference that decides the label, or None.
        part: File or category inside the set.
    """

    id: str
    lang: str
    a: str
    b: str
    label: Class | None
    kind: str
    mergeable: bool
    why: str
    difference: str | None
    part: str

    @property
    def name(self) -> str:
        """What the pair is called in an error list."""
        return self.kind or self.label or "unlabelled"

    @property
    def subkind(self) -> str | None:
        """Of a duplicate: `paraphrase`, `voice`, …; None where the set does not say."""
        head, colon, _ = self.why.partition(":")
        return head.strip() if self.label == "duplicate" and colon else None

    @property
    def superset(self) -> Side | None:
        """Of a subsumes pair: the side that says more; None where it is not known."""
        if self.label != "subsumes":
            return None
        if self.why.startswith("superset="):
            return "a" if self.why.startswith("superset=a") else "b"
        if self.kind == "extension":
            return "a" if len(self.a) > len(self.b) else "b"
        return None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Labelled pairs of one origin.

    Attributes:
        name: As shown.
        rows: The pairs.
        problems: Lines that could not be used, and why.
    """

    name: str
    rows: tuple[Labelled, ...]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rated:
    """Public pairs in bands that are not our classes.

    Attributes:
        name: As shown.
        pairs: The two texts.
        bands: For each pair, its band, for example `score < 3` or `entailment`.
        order: Bands in the order to show them.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    bands: tuple[str, ...]
    order: tuple[str, ...] = field(default=())


def in_order(names: Iterable[str]) -> list[str]:
    """Distinct names: the seven classes first, then the rest by name."""
    return sorted(set(names), key=lambda name: (_RANK.get(name, len(_RANK)), name))


def labelled_sets(data: Path, folders: Sequence[Path]) -> list[Dataset]:
    """Every labelled set there is: those of the data directory, and one for each folder."""
    sets = []
    for name, file in (("memory_pairs", "dev.jsonl"), ("value_conflicts", "en_dev.jsonl")):
        path = data / name / file
        sets.append(_dataset(name, [path]) if path.is_file() else _absent(name, path))
    for folder in folders:
        files = sorted(folder.glob("*.jsonl"))
        sets.append(_dataset(folder.name, files) if files else _absent(folder.name, folder))
    return sets


def _absent(name: str, path: Path) -> Dataset:
    return Dataset(name, (), (f"{path} holds nothing to read",))


def _dataset(name: str, files: Iterable[Path]) -> Dataset:
    rows: list[Labelled] = []
    problems: list[str] = []
    for path in files:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if not line.strip():
                continue
            try:
                rows.append(_row(json.loads(line), path, number))
            except (ValueError, KeyError) as problem:
                problems.append(f"{path.name}:{number} left out: {problem!r}")
    return Dataset(name, tuple(rows), tuple(problems))


def _row(record: Mapping[str, str | bool | None], path: Path, number: int) -> Labelled:
    kind = str(record.get("kind") or record.get("label") or "")
    label = cast("Class | None", record.get("class") or _CLASS_OF_KIND.get(kind))
    if label is not None and label not in CLASSES:
        raise ValueError(f"unknown class {label!r}")
    if label is None and not kind.startswith("conflict"):
        raise ValueError("neither a class nor a kind")
    mergeable = label in MERGEABLE
    if record.get("mergeable", mergeable) is not mergeable:
        raise ValueError(f"class {label} with mergeable={record['mergeable']}")
    difference = record.get("difference")
    return Labelled(
        id=str(record.get("id", f"{path.stem}:{number}")),
        lang=str(record.get("lang", "en")),
        a=str(record["a"]),
        b=str(record["b"]),
        label=label,
        kind=kind,
        mergeable=mergeable,
        why=str(record.get("why", "")),
        difference=None if difference is None else str(difference),
        part=str(record.get("cat", path.stem)),
    )


STS_BANDS: Final = ("score >= 4.5", "3 to 4.5", "score < 3")
JNLI_BANDS: Final = ("entailment", "neutral", "contradiction")


def rated_sets(data: Path) -> Iterator[Rated]:
    """STSb German and Japanese by score, JNLI by label; those that are there."""
    folder = data / "multilingual"
    for lang in ("de", "ja"):
        path = folder / f"stsb-{lang}-dev.csv"
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as file:
                lines = list(csv.reader(file))
            pairs = tuple((one, other) for one, other, _ in lines)
            bands = tuple(_band(float(score)) for _, _, score in lines)
            yield Rated(f"STSb {lang} dev", pairs, bands, STS_BANDS)
    path = folder / "jnli-valid-v1.3.json"
    if path.is_file():
        records = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        pairs = tuple((str(r["sentence1"]), str(r["sentence2"])) for r in records)
        yield Rated("JNLI valid", pairs, tuple(str(r["label"]) for r in records), JNLI_BANDS)


def _band(score: float) -> str:
    if score >= 4.5:
        return STS_BANDS[0]
    return STS_BANDS[1] if score >= 3 else STS_BANDS[2]

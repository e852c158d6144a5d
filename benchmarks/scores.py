"""Figures from labels and decisions. Pure: no judge, no file, no clock."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.labelled import APART, CLASSES, Labelled, Rated, in_order
from echoless.core.model import Duplicate, Subsumes, Verdict, verdict_name


@dataclass(frozen=True, slots=True)
class Share:
    """Hits of so many; a share of nothing has no value."""

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """0 to 1."""
        return self.hits / self.of if self.of else None


@dataclass(frozen=True, slots=True)
class MergeScores:
    """How good the decision to merge is.

    Attributes:
        precision: Mergeable among merged.
        recall: Merged among mergeable.
        wrong: Merged, for each class or kind that must stay apart.
        apart: Merged among updates, contradictions, siblings and conflicts of any kind.
        found: Merged, for each mergeable class and kind.
        subkinds: Merged, for each sub-kind of duplicate.
    """

    precision: Share
    recall: Share
    wrong: Mapping[str, Share]
    apart: Share
    found: Mapping[str, Share]
    subkinds: Mapping[str, Share]


@dataclass(frozen=True, slots=True)
class VerdictScores:
    """How good the verdict is beyond the merge.

    Attributes:
        macro_f1: Mean of F1 over the classes that occur; `unsure` is a miss. None without classes.
        f1: By class.
        confusion: Verdicts counted, by class (or kind, where there is no class).
        difference_apart: Named difference as labelled, of update, contradiction and sibling pairs.
        difference_all: The same of all pairs not mergeable that have a label for it.
        subsumes: Pairs labelled subsumes that were called so.
        direction: The same with the right superset, where it is known.
    """

    macro_f1: float | None
    f1: Mapping[str, float]
    confusion: Mapping[str, Mapping[str, int]]
    difference_apart: Share
    difference_all: Share
    subsumes: Share
    direction: Share


@dataclass(frozen=True, slots=True)
class Scores:
    """Everything about one method on one set; `verdict` is None for tools that only merge."""

    pairs: int
    merge: MergeScores
    verdict: VerdictScores | None = None


def merges(verdict: Verdict) -> bool:
    """Whether the verdict lets one memory stand for both."""
    return isinstance(verdict, Duplicate | Subsumes)


def evaluate(rows: Sequence[Labelled], verdicts: Sequence[Verdict]) -> Scores:
    """All figures of verdicts, wherever they come from."""
    merged = [merges(verdict) for verdict in verdicts]
    return Scores(len(rows), merge_scores(rows, merged), verdict_scores(rows, verdicts))


def evaluate_merges(rows: Sequence[Labelled], merged: Sequence[bool]) -> Scores:
    """All figures of a tool that merges or does not."""
    return Scores(len(rows), merge_scores(rows, merged))


def merge_scores(rows: Sequence[Labelled], merged: Sequence[bool]) -> MergeScores:
    """Precision and recall of merging, and where it goes wrong."""
    both = list(zip(rows, merged, strict=True))
    return MergeScores(
        precision=share(row.mergeable for row, m in both if m),
        recall=share(m for row, m in both if row.mergeable),
        wrong=_by(both, lambda row: () if row.mergeable else _names(row)),
        apart=share(m for row, m in both if _held_apart(row)),
        found=_by(both, lambda row: _names(row) if row.mergeable else ()),
        subkinds=_by(both, lambda row: (row.subkind,) if row.subkind else ()),
    )


def _names(row: Labelled) -> tuple[str, ...]:
    return tuple(name for name in (row.label, row.kind) if name)


def _held_apart(row: Labelled) -> bool:
    return row.label in APART or row.kind.startswith("conflict")


def _by(
    both: Sequence[tuple[Labelled, bool]], names: Callable[[Labelled], Iterable[str]]
) -> dict[str, Share]:
    outcomes: dict[str, list[bool]] = defaultdict(list)
    for row, merged in both:
        for name in names(row):
            outcomes[name].append(merged)
    return {name: share(outcomes[name]) for name in sorted(outcomes)}


def share(hits: Iterable[bool]) -> Share:
    """How many of them are true."""
    counted = Counter(hits)
    return Share(counted[True], counted.total())


def verdict_scores(rows: Sequence[Labelled], verdicts: Sequence[Verdict]) -> VerdictScores:
    """Seven classes, named differences, and which side says more."""
    both = list(zip(rows, verdicts, strict=True))
    confusion: dict[str, Counter[str]] = defaultdict(Counter)
    for row, verdict in both:
        confusion[row.label or row.kind][verdict_name(verdict)] += 1
    f1 = class_f1([(r.label, verdict_name(v)) for r, v in both if r.label])
    subsumed = [(row, v) for row, v in both if row.label == "subsumes"]
    return VerdictScores(
        macro_f1=sum(f1.values()) / len(f1) if f1 else None,
        f1=f1,
        confusion={name: dict(confusion[name]) for name in in_order(confusion)},
        difference_apart=share(_named(r, v) for r, v in both if r.label in APART and r.difference),
        difference_all=share(_named(r, v) for r, v in both if not r.mergeable and r.difference),
        subsumes=share(isinstance(v, Subsumes) for _, v in subsumed),
        direction=share(
            isinstance(v, Subsumes) and v.superset == row.superset
            for row, v in subsumed
            if row.superset
        ),
    )


def class_f1(named: Sequence[tuple[str, str]]) -> dict[str, float]:
    """F1 of each class that occurs, from (class, verdict) pairs."""
    gold = Counter(label for label, _ in named)
    said = Counter(verdict for _, verdict in named)
    right = Counter(label for label, verdict in named if label == verdict)
    return {c: 2 * right[c] / (gold[c] + said[c]) for c in CLASSES if gold[c]}


def _named(row: Labelled, verdict: Verdict) -> bool:
    kind = verdict.evidence.difference
    return kind is not None and kind.value == row.difference


def band_shares(rated: Rated, merged: Sequence[bool]) -> dict[str, Share]:
    """Pairs merged in each band."""
    both = list(zip(rated.bands, merged, strict=True))
    return {band: share(m for b, m in both if b == band) for band in rated.order}


def grouped(
    rows: Sequence[Labelled], key: Callable[[Labelled], str]
) -> Mapping[str, Sequence[int]]:
    """Places of rows by a key, for figures of a language or a part."""
    places: dict[str, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        places[key(row)].append(place)
    return {name: places[name] for name in sorted(places)}

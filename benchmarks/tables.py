"""Scores as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from benchmarks.clusters import ClusterScores
from benchmarks.labelled import CLASSES, in_order
from benchmarks.scores import MergeScores, Scores, Share, VerdictScores

Rows = Mapping[str, Scores]
"""Scores by method."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_cell(c) for c in line)} |" for line in lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def shown(share: Share | None) -> str:
    """`0.384 (78/203)`, or a dash."""
    if share is None or share.value is None:
        return "-"
    return f"{share.value:.3f} ({share.hits}/{share.of})"


def number(value: float | None) -> str:
    """Three places, or a dash."""
    return "-" if value is None else f"{value:.3f}"


def summary_table(
    sets: Mapping[str, Rows], store: Mapping[str, ClusterScores], missing: Mapping[str, str]
) -> str:
    """One row a method: the figures to read first; and what could not be measured, with why."""
    head = ["method"]
    for name in sets:
        head += [f"{name}: precision", "recall", "wrong of must-stay-apart"]
    methods = list(dict.fromkeys(m for rows in [*sets.values(), store] for m in rows))
    head += ["store: facts lost", "copies found"]
    rows = [[method, *_summary_cells(method, sets, store)] for method in methods]
    gaps = [[name, f"missing: {why}", *["-"] * (len(head) - 2)] for name, why in missing.items()]
    return table(head, [*rows, *gaps])


def _summary_cells(
    method: str, sets: Mapping[str, Rows], store: Mapping[str, ClusterScores]
) -> Iterator[str]:
    for rows in sets.values():
        merge = rows[method].merge if method in rows else None
        yield number(merge.precision.value if merge else None)
        yield number(merge.recall.value if merge else None)
        yield shown(merge.apart if merge else None)
    score = store.get(method)
    yield str(score.facts_lost) if score else "-"
    yield number(score.copies.value if score else None)


def merge_table(rows: Rows) -> str:
    """Precision, recall and what was wrongly merged, for each method."""
    wrong = _keys(score.merge.wrong for score in rows.values())
    head = ["method", "precision", "recall", "wrong of must-stay-apart", *wrong]
    return table(head, ([name, *_merge_cells(s.merge, wrong)] for name, s in rows.items()))


def _merge_cells(merge: MergeScores, wrong: Sequence[str]) -> Iterator[str]:
    yield shown(merge.precision)
    yield shown(merge.recall)
    yield shown(merge.apart)
    for name in wrong:
        yield shown(merge.wrong.get(name))


def found_table(rows: Rows) -> str:
    """Recall for each mergeable class, kind and sub-kind of duplicate."""
    kinds = _keys(s.merge.found for s in rows.values())
    subkinds = _keys(s.merge.subkinds for s in rows.values())
    return table(
        ["method", *kinds, *subkinds],
        (
            [
                name,
                *(shown(s.merge.found.get(k)) for k in kinds),
                *(shown(s.merge.subkinds.get(k)) for k in subkinds),
            ]
            for name, s in rows.items()
        ),
    )


def split_table(name: str, splits: Mapping[str, Mapping[str, Scores]]) -> str:
    """Figures of each language or part.

    Args:
        name: What the split is by.
        splits: Scores by method, then by language or part.
    """
    head = [name, "method", "pairs", "precision", "recall", "wrong of must-stay-apart", "macro-F1"]
    values = _keys(splits.values())
    return table(
        head,
        (
            [value, method, *_split_cells(by[value])]
            for value in values
            for method, by in splits.items()
            if value in by
        ),
    )


def _split_cells(score: Scores) -> Sequence[str]:
    merge, verdict = score.merge, score.verdict
    f1 = number(verdict.macro_f1 if verdict else None)
    return [str(score.pairs), *map(shown, (merge.precision, merge.recall, merge.apart)), f1]


def verdict_table(rows: Rows) -> str:
    """Seven classes and named differences, for the methods that give verdicts."""
    verdicts = {name: s.verdict for name, s in rows.items() if s.verdict is not None}
    classes = [c for c in CLASSES if any(c in v.f1 for v in verdicts.values())]
    head = [
        "judge",
        "macro-F1",
        *(f"F1 {c}" for c in classes),
        "difference named (update, contradiction, sibling)",
        "difference named (all not mergeable)",
        "subsumes called so",
        "with the right side",
    ]
    return table(head, ([name, *_verdict_cells(v, classes)] for name, v in verdicts.items()))


def _verdict_cells(verdict: VerdictScores, classes: Sequence[str]) -> Iterator[str]:
    yield number(verdict.macro_f1)
    for name in classes:
        yield number(verdict.f1.get(name))
    for share in (
        verdict.difference_apart,
        verdict.difference_all,
        verdict.subsumes,
        verdict.direction,
    ):
        yield shown(share)


def confusion_table(verdict: VerdictScores) -> str:
    """Classes down, verdicts across."""
    said = [*CLASSES, "unsure"]
    return table(
        ["class \\ verdict", *said],
        (
            [name, *(str(counts.get(verdict_, 0)) for verdict_ in said)]
            for name, counts in verdict.confusion.items()
        ),
    )


def cluster_table(rows: Mapping[str, ClusterScores]) -> str:
    """A store, each method."""
    head = [
        "method",
        "B-cubed precision",
        "B-cubed recall",
        "recall in clusters",
        "hidden",
        "copies found",
        "memories in mixed groups",
        "facts lost",
        "supersets behind their subset",
        "supersets hidden at all",
    ]
    return table(
        head,
        (
            [
                name,
                *map(number, (s.precision, s.recall, s.recall_clustered)),
                str(s.hidden),
                shown(s.copies),
                str(s.mixed),
                str(s.facts_lost),
                shown(s.supersets_lost),
                shown(s.supersets_hidden),
            ]
            for name, s in rows.items()
        ),
    )


def band_table(rows: Mapping[str, Mapping[str, Share]]) -> str:
    """Share of rated pairs merged, each method."""
    bands = list(dict.fromkeys(band for shares in rows.values() for band in shares))
    return table(
        ["method", *bands],
        ([name, *(shown(shares.get(band)) for band in bands)] for name, shares in rows.items()),
    )


def _keys(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    return in_order(name for mapping in mappings for name in mapping)

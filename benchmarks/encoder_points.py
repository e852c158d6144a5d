"""What the cosine of an encoder is worth: average precision, and the share it finds by threshold.

    python -m benchmarks.encoder_points --encoder fast [--data ../shared/data]

The tables of ADR 0002 and ADR 0026. *AP all* asks for mergeable pairs among all labelled pairs,
*AP easy* leaves out updates, contradictions and siblings. By cosine, the share at or above of the
mergeable pairs, of those (*hard*), and of related and distinct ones (*easy*). *Candidates* are
pairs of the store within a namespace at or above the cosine, for each memory; *gold pairs* is the
share of pairs of one cluster among them. The whole road, profile `safe`: copies hidden of those
that should be, and facts lost.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks import clusters
from benchmarks.encoders import Missing, open_for_benchmark
from benchmarks.labelled import Labelled, labelled_sets
from benchmarks.measure import keep
from echoless.models.encoders.base import Encoder

Floats = npt.NDArray[np.float32]
POINTS: Final = tuple(round(0.30 + 0.05 * step, 2) for step in range(13))
HARD: Final = frozenset({"update", "contradiction", "sibling"})
EASY: Final = frozenset({"related", "distinct"})


@dataclass(frozen=True, slots=True)
class Pairs:
    """Labelled pairs with their cosines."""

    rows: Sequence[Labelled]
    cosines: Floats

    def precision(self, language: str | None, *, easy: bool) -> float:
        """Average precision of the cosine for the mergeable pairs, ties counted against it."""
        used = [
            (float(cosine), row.mergeable)
            for row, cosine in zip(self.rows, self.cosines, strict=True)
            if language in {None, row.lang} and (row.mergeable or not easy or row.label in EASY)
        ]
        used.sort(key=lambda each: (-each[0], each[1]))
        right = np.cumsum([mergeable for _, mergeable in used])
        places = np.flatnonzero([mergeable for _, mergeable in used])
        return float(np.mean(right[places] / (places + 1))) if len(places) else float("nan")

    def share(self, point: float, labels: frozenset[str] | None, language: str | None) -> float:
        """Share of the mergeable pairs (labels None) or of those classes at or above a cosine."""
        chosen = [
            float(cosine) >= point
            for row, cosine in zip(self.rows, self.cosines, strict=True)
            if (row.mergeable if labels is None else row.label in labels)
            and language in {None, row.lang}
        ]
        return sum(chosen) / max(1, len(chosen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", action="append", required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("/tmp/echoless-vectors"))
    parser.add_argument("--tokenizer", type=Path)
    parser.add_argument("--no-road", action="store_true", help="leave out the grouping")
    parser.add_argument("--store", action="store_true", help="keep the result")
    chosen = parser.parse_args()
    body = "\n\n".join(_measured(name, chosen) for name in chosen.encoder)
    if chosen.store:
        command = " ".join(f"--encoder {name}" for name in chosen.encoder)
        keep("encoder_points", "Encoders by threshold",
             f"python -m benchmarks.encoder_points {command}", body)  # fmt: skip
    else:
        print(body)


def _measured(name: str, chosen: argparse.Namespace) -> str:
    encoder = open_for_benchmark(name, chosen.cache, chosen.tokenizer)
    if encoder is None or isinstance(encoder, Missing):
        return f"{name}: {encoder}"
    lines = [f"## `{name}` ({encoder.model})", ""]
    names = ("memory_pairs", "pairs")
    for each in labelled_sets(chosen.data, [Path(__file__).parent / "pairs"]):
        if each.name in names and each.rows:
            pairs = Pairs(each.rows, _cosines(encoder, each.rows))
            lines += [_precisions(each.name, pairs), ""]
            if each.name == "memory_pairs":
                lines += _points(pairs, _within(encoder, chosen.data, each.rows))
                if not chosen.no_road:
                    lines += ["", _road(name, chosen.data, each.rows)]
    return "\n".join(lines)


def _cosines(encoder: Encoder, rows: Sequence[Labelled]) -> Floats:
    one, other = (_unit(encoder, [getattr(row, side) for row in rows]) for side in ("a", "b"))
    cosines: Floats = np.einsum("ij,ij->i", one, other)
    return cosines


def _unit(encoder: Encoder, texts: Sequence[str]) -> Floats:
    rows = np.asarray(encoder.encode(texts), dtype=np.float32)
    units: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return units


def _precisions(name: str, pairs: Pairs) -> str:
    languages = [x for x in ("en", "de", "ja") if any(row.lang == x for row in pairs.rows)]
    easy = " / ".join(f"{pairs.precision(x, easy=True):.3f}" for x in languages)
    return (
        f"{name}, {len(pairs.rows):,} pairs: AP all {pairs.precision(None, easy=False):.3f}, "
        f"AP easy {pairs.precision(None, easy=True):.3f} ({' / '.join(languages)}: {easy})"
    )


def _within(
    encoder: Encoder, data: Path, rows: Sequence[Labelled]
) -> tuple[int, Floats, npt.NDArray[np.bool_]] | None:
    """Memories of the store, cosines of all pairs within a namespace, and whether they are gold."""
    gold = clusters.read_store(data, rows)
    if gold is None:
        return None
    cosines, same = [], []
    for ids in gold.namespaces.values():
        matrix = _unit(encoder, [gold.texts[each] for each in ids])
        upper = np.triu_indices(len(ids), 1)
        numbers = {each: at for at, each in enumerate(sorted(set(gold.clusters.values())))}
        of = np.array([numbers[gold.clusters[each]] for each in ids])
        cosines.append((matrix @ matrix.T)[upper])
        same.append((of[:, None] == of)[upper])
    return len(gold.texts), np.concatenate(cosines), np.concatenate(same)


def _points(pairs: Pairs, within: tuple[int, Floats, npt.NDArray[np.bool_]] | None) -> list[str]:
    lines = [
        "| cosine | mergeable | en | de | ja | hard | easy | gold pairs | candidates a memory |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for point in POINTS:
        shares = [pairs.share(point, None, x) for x in (None, "en", "de", "ja")]
        shares += [pairs.share(point, HARD, None), pairs.share(point, EASY, None)]
        cells = [f"{share:.3f}" for share in shares]
        if within is not None:
            count, cosines, same = within
            above = cosines >= point
            cells += [f"{above[same].mean():.3f}", f"{above.sum() / count:.2f}"]
        lines.append(f"| {point:.2f} | {' | '.join(cells)} |")
    return lines


def _road(name: str, data: Path, rows: Sequence[Labelled]) -> str:
    gold = clusters.read_store(data, rows)
    assert gold is not None
    start = time.process_time()
    scores = clusters.score(gold, clusters.by_echoless(gold, name))
    return (
        f"The whole road on the store of 1,200 memories: {scores.copies.hits} of "
        f"{scores.copies.of} copies hidden, {scores.facts_lost} facts lost, B-cubed precision "
        f"{scores.precision:.4f}, recall of clustered {scores.recall_clustered:.4f} "
        f"({time.process_time() - start:.1f} s of processor time)"
    )


if __name__ == "__main__":
    main()

"""Bring the cosines of other models onto the scale of the built-in one.

    python -m benchmarks.calibrations [--encoder minilm --encoder e5 ...] [--write]

Prints the lines of `CALIBRATIONS` in `src/echoless/vectors/calibration.py`, and what the judge
makes of the labelled pairs with them. Anchors: quantiles of the model's cosines against the same
quantiles of the reference's, over the labelled pairs and as many pairs of texts put together at
random. Needs the built-in encoder; see `benchmarks/encoders.py` for the others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.encoders import Missing, open_for_benchmark
from benchmarks.labelled import Labelled, labelled_sets
from benchmarks.measure import keep
from echoless.judge import FullJudge
from echoless.judge.align import _may_match, align, reading_of
from echoless.judge.compare import compare
from echoless.judge.meaning import Meaning
from echoless.model import Memory, Pair, merges
from echoless.vectors.base import Encoder
from echoless.vectors.calibration import Calibration, shipped_calibration

Floats: TypeAlias = npt.NDArray[np.float64]

QUANTILES: Final = (0.05, 0.30, 0.55, 0.75, 0.92)
"""Where labelled and random pairs together are matched: the second lies among random pairs, the
rest among labelled ones."""

LANGUAGES: Final = ("en", "de", "ja")
READS: Final = 0.70
"""Share of mergeable pairs of a language that must be closer than 99 of 100 random pairs of it."""

FALSE_WORDS: Final = 0.02
"""Share of exclusive words no lexicon keeps apart that may become one."""

TRUE_WORDS: Final = 0.25
"""Share of synonyms that has to be found for that risk."""

WORDS: Final = Path(__file__).with_name("words.jsonl")
PLAIN: Final = Calibration(((0.0, 0.0), (1.0, 1.0)), None, "cosines as they are")


@dataclass(frozen=True, slots=True)
class Words:
    """What word vectors tell.

    Attributes:
        threshold: The least cosine at which few exclusive pairs become one; None if too few
            synonyms are left there.
        least: That cosine, whatever is left there.
        same: Share of synonyms at or above it.
        shipped: Shares of synonyms and of exclusive pairs at or above the shipped threshold.
    """

    threshold: float | None
    least: float
    same: float
    shipped: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Judged:
    """What the judge makes of labelled pairs, by language.

    Attributes:
        precision: Mergeable among merged.
        recall: Merged among mergeable.
        merged: How many.
    """

    precision: float
    recall: float
    merged: int


class Measure:
    """The labelled data, and the reference's view of it."""

    def __init__(self, rows: Sequence[Labelled], reference: Encoder) -> None:
        self.rows = rows
        self.words = [json.loads(line) for line in WORDS.read_text("utf-8").splitlines()]
        self.reference = reference

    def chosen(self, languages: Sequence[str]) -> list[tuple[str, str]]:
        """Labelled pairs of some languages, and as many of their texts put together at random."""
        own = [(row.a, row.b) for row in self.rows if row.lang in languages]
        return own + self.strangers(languages)

    def strangers(self, languages: Sequence[str]) -> list[tuple[str, str]]:
        """Texts of one language put together at random, seeded."""
        pairs = []
        for language in languages:
            mine = [row for row in self.rows if row.lang == language]
            shifts = np.random.default_rng(7).integers(1, len(mine), size=len(mine)).tolist()
            others = [mine[(at + shift) % len(mine)] for at, shift in enumerate(shifts)]
            pairs += [(row.a, other.b) for row, other in zip(mine, others, strict=True)]
        return pairs

    def reads(self, encoder: Encoder) -> dict[str, float]:
        """For each language, the share of mergeable pairs closer than 99 of 100 strangers."""
        found = {}
        for language in LANGUAGES:
            apart = cosines(encoder, self.strangers((language,)))
            same = [(r.a, r.b) for r in self.rows if r.lang == language and r.mergeable]
            found[language] = float((cosines(encoder, same) > np.quantile(apart, 0.99)).mean())
        return found

    def anchors(
        self, encoder: Encoder, languages: Sequence[str]
    ) -> tuple[tuple[float, float], ...]:
        """Quantiles of the model against those of the reference."""
        pairs = self.chosen(languages)
        mine = np.quantile(cosines(encoder, pairs), QUANTILES)
        theirs = np.quantile(cosines(self.reference, pairs), QUANTILES)
        line = [(round(float(x), 3), round(float(y), 3)) for x, y in zip(mine, theirs, strict=True)]
        return (*line, (1.0, 1.0))

    def stretch(self, encoder: Encoder, languages: Sequence[str]) -> float:
        """Median of the widest gap of a pair by the reference, over that of the model."""
        return round(self._gap(self.reference, languages) / self._gap(encoder, languages), 2)

    def _gap(self, encoder: Encoder, languages: Sequence[str]) -> float:
        meaning = Meaning(encoder, PLAIN)
        widest = []
        for row in self.rows:
            if row.lang in languages:
                a, b = reading_of(row.a).facts, reading_of(row.b).facts
                found = align(row.a, row.b, compare(a, b), meaning)
                widest.append(max((*found.gap_a, *found.gap_b), default=0.0))
        return float(np.median([gap for gap in widest if gap > 0]))

    def word(self, encoder: Encoder, languages: Sequence[str]) -> Words:
        """The word threshold, over words that the judge would ask the vectors about."""
        chosen = [w for w in self.words if w["lang"] in languages and _asked(w["a"], w["b"])]
        closeness = cosines(encoder, [(w["a"], w["b"]) for w in chosen])
        same = np.array([w["same"] for w in chosen])
        wrong = np.sort(closeness[~same])[::-1]
        least = round(float(wrong[int(FALSE_WORDS * len(wrong))]) + 0.001, 3)
        found = float((closeness[same] >= least).mean())
        own = shipped_calibration(encoder.model)
        now = own.word if own and own.word is not None else 1.0
        at_shipped = float((closeness[same] >= now).mean()), float((closeness[~same] >= now).mean())
        return Words(least if found >= TRUE_WORDS else None, least, found, at_shipped)

    def judged(self, encoder: Encoder, calibration: Calibration) -> dict[str, Judged]:
        """The judge with a calibration, by language."""
        judge = FullJudge(Meaning(encoder, calibration))
        verdicts = judge.judge_all([_pair(row) for row in self.rows])
        merged = np.array([merges(verdict) for verdict in verdicts])
        good = np.array([row.mergeable for row in self.rows])
        found = {}
        for language in ("all", *LANGUAGES):
            here = np.array([language in {"all", row.lang} for row in self.rows])
            hits, all_merged = int((merged & good & here).sum()), int((merged & here).sum())
            found[language] = Judged(
                hits / max(1, all_merged), hits / int((good & here).sum()), all_merged
            )
        return found


def _pair(row: Labelled) -> Pair:
    a, b = Memory(id="a", content=row.a), Memory(id="b", content=row.b)
    return Pair(a, b, {"semantic": 0.5})


def _asked(a: str, b: str) -> bool:
    """Whether the judge would leave it to the word vectors to make these two words one."""
    one, other = reading_of(a), reading_of(b)
    if len(one.words) != 1 or len(other.words) != 1:
        return False
    left = compare(one.facts, other.facts).only_a
    return bool(left) and _may_match(one.words[0], other.words[0], one.facts, other.facts)


def cosines(encoder: Encoder, pairs: Sequence[tuple[str, str]]) -> Floats:
    """Cosine of each pair."""
    rows = Meaning(encoder, PLAIN)
    rows.prepare({text for pair in pairs for text in pair})
    left, right = rows.rows([a for a, _ in pairs]), rows.rows([b for _, b in pairs])
    made: Floats = np.einsum("ij,ij->i", left, right).astype(np.float64)
    return made


# ------------------------------------------------------------------ the report


def _calibrated(measure: Measure, encoder: Encoder) -> tuple[Calibration, list[str]]:
    """The calibration of a model, and lines about how it came about."""
    reads = measure.reads(encoder)
    languages = [language for language, share in reads.items() if share >= READS]
    words = measure.word(encoder, languages)
    calibration = Calibration(
        measure.anchors(encoder, languages),
        words.threshold,
        f"quantiles of labelled and random pairs ({', '.join(languages)})",
        measure.stretch(encoder, languages),
        None if len(languages) == len(LANGUAGES) else frozenset(languages),
    )
    shares = ", ".join(f"{language} {share:.2f}" for language, share in reads.items())
    said = [
        f"- mergeable pairs closer than 99 of 100 strangers: {shares}",
        f"- {_about_words(words)}",
        f"- stretch: {calibration.stretch}",
    ]
    return calibration, said


def _about_words(words: Words) -> str:
    return (
        f"words: {FALSE_WORDS:.0%} of exclusive pairs become one at {words.least:.3f}, where "
        f"{words.same:.0%} of synonyms are found; threshold {words.threshold}"
    )


def _line(name: str, made: Calibration) -> str:
    read = made.languages and f", languages=frozenset({sorted(made.languages)})"
    return (
        f'"{name}": Calibration({made.anchors}, {made.word}, "{made.source}", '
        f"stretch={made.stretch}{read or ''}),"
    )


def judged_rows(name: str, judged: dict[str, Judged]) -> Iterator[str]:
    """Lines of a table: precision / recall (merged) by language."""
    cells = (f"{j.precision:.3f} / {j.recall:.3f} ({j.merged})" for j in judged.values())
    yield f"| {name} | " + " | ".join(cells) + " |"


def report(names: Sequence[str], data: Path, cache: Path) -> Iterator[str]:
    """The page, line by line."""
    reference = open_for_benchmark("use", cache, None)
    if reference is None or isinstance(reference, Missing):
        raise SystemExit("the built-in encoder is not installed")
    sets = labelled_sets(data, [Path("benchmarks/pairs")])
    rows = [row for each in sets if each.name != "value_conflicts" for row in each.rows]
    measure = Measure(rows, reference)
    yield f"{len(rows)} labelled pairs, {len(measure.words)} pairs of words."
    words, own = measure.word(reference, LANGUAGES), shipped_calibration(reference.model)
    assert own is not None
    yield f"\n## {reference.model}, the reference\n"
    yield f"- {_about_words(words)}"
    yield f"- shipped {own.word}: {words.shipped[0]:.0%} of synonyms, {words.shipped[1]:.1%} wrong"
    shares = ", ".join(f"{k} {share:.2f}" for k, share in measure.reads(reference).items())
    yield f"- mergeable pairs closer than 99 of 100 strangers: {shares}"
    table = [*judged_rows("use", measure.judged(reference, own))]
    for name in names:
        encoder = open_for_benchmark(name, cache, None)
        if encoder is None or isinstance(encoder, Missing):
            yield f"- {name} left out: {encoder.reason if encoder else 'no encoder'}"
            continue
        made, said = _calibrated(measure, encoder)
        yield f"\n## {encoder.model}\n"
        yield from said
        yield f"\n```python\n{_line(encoder.model.partition('@')[0].lower(), made)}\n```"
        raw = Calibration(PLAIN.anchors, None, "raw")
        short = encoder.model.partition("@")[0]
        table += judged_rows(f"{short}, not calibrated", measure.judged(encoder, raw))
        table += judged_rows(f"{short}, calibrated", measure.judged(encoder, made))
    yield "\n## The judge on the labelled pairs: precision / recall (merged)\n"
    yield "| encoder | all | en | de | ja |\n| --- | --- | --- | --- | --- |"
    yield from table
    yield "\nThe weights are fitted on these pairs with the reference, and the anchors on them too:"
    yield "compare the lines with each other only."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--encoder", action="append", help="minilm, e5, model2vec:FOLDER, …")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--cache", type=Path, default=Path("/tmp/echoless-benchmark-vectors"))
    parser.add_argument("--write", action="store_true", help="keep the page in results/")
    chosen = parser.parse_args()
    names = chosen.encoder or ["minilm", "e5"]
    body = "\n".join(report(names, chosen.data, chosen.cache))
    if not chosen.write:
        print(body)
        return
    command = " ".join(
        ["python -m benchmarks.calibrations --write", *(f"--encoder {n}" for n in names)]
    )
    keep("calibrations", "Calibrations of encoders", command, body)


if __name__ == "__main__":
    main()

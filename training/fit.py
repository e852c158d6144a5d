"""Fits the decision: `python -m training.fit --data FOLDER --weights FOLDER --out decision.json`.

It reads labelled pairs that the pair model was not trained on, asks rules and model about each, and
fits logistic models over both. How well that carries over is measured by leaving out one source
after another.
"""

from __future__ import annotations

import argparse
import json
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, get_args

import numpy as np

from echoless.core.model import Contradiction, Memory, Pair, Update, Verdict, merges
from echoless.core.profiles import MergeUse
from echoless.core.run_notes import Tally
from echoless.matching.decision import features, rule_features
from echoless.matching.judge import DOUBTED
from echoless.matching.pair_model import PairScorer, Scores, open_network
from echoless.matching.rule_judge import SETTLED, RuleJudge
from echoless.matching.rules import forbidden
from training.corpora import development
from training.examples import Example, read_pairs
from training.notes import digest
from training.scores import recall_at

RIDGE: Final = 3.0
"""Weight of the penalty on weights of standardised features."""
FOLDS: Final = 5
"""Parts of the rows; each is judged by a model of the others when probabilities are calibrated."""
USES: Final = get_args(MergeUse)
MERGE: Final = (0.85, 0.74, 0.60)
"""Thresholds of the uses: of merged notes 95, 90 and 86 of 100 are right (`docs/quality.md`)."""
KEPT: Final = 0.985
"""Share of the pairs that are the same or conflict that `ask` lets through."""


@dataclass(frozen=True, slots=True)
class Row:
    """A labelled pair with all that is known of it."""

    source: str
    example: Example
    verdict: Verdict
    plain: dict[str, float]
    scores: Scores | None

    @property
    def barred(self) -> bool:
        """Whether the rules forbid a merge."""
        return not merges(self.verdict) and forbidden(self.verdict.evidence, self.plain["letters"])

    @property
    def values(self) -> dict[str, float]:
        """All features; without scores those of the rules."""
        return self.plain if self.scores is None else features(self.plain, self.scores)


def rows_of(sets: dict[str, list[Example]], weights: Path) -> Iterator[Row]:
    """Yields each pair with the verdict of the rules and the scores of the model."""
    judge = RuleJudge()
    scorer = PairScorer(lambda: open_network(weights))
    for source, examples in sets.items():
        pairs = [
            Pair(Memory(id="a", content=e.a), Memory(id="b", content=e.b), {"lexical": 0.5})
            for e in examples
        ]
        verdicts = judge.judge_all(pairs)
        scores = scorer.score([(e.a, e.b) for e in examples], Tally(), threads=2)
        for example, verdict, score in zip(examples, verdicts, scores, strict=True):
            plain = rule_features(example.a, example.b, verdict)
            yield Row(source, example, verdict, plain, score)


def confirmed(path: Path, weights: Path, conflict: dict) -> dict:
    """Returns a model of which conflicts of the rules the pair model confirms, or doubts.

    It learns from what the two say of pairs without labels, so it only orders questions.

    Args:
        path: Close pairs (`a`, `b`) in JSON Lines, packed with xz.
        weights: Folder of the pair model.
        conflict: The model of conflicts, as it is stored.
    """
    judge, pairs = RuleJudge(), []
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            sides = (Memory(id=side, content=line[side]) for side in "ab")
            if isinstance(
                judge.judge(pair := Pair(*sides, {"lexical": 0.5})), Update | Contradiction
            ):
                pairs.append(Example(pair.a.content, pair.b.content, None, None, None, "close", ""))
    rows = [row for row in rows_of({"close": pairs}, weights) if row.scores is not None]
    told = (chances(conflict, rows) >= DOUBTED).astype(float)
    print(f"{len(rows)} conflicts of the rules, {told.mean():.2f} of them confirmed or doubted")
    return model_of(rows, told, plain=True)


def fitted(
    values: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, float]:
    """Returns weights and bias of a logistic model: Newton's method with a ridge.

    Args:
        values: Features, (n, k).
        targets: 0 or 1, (n,).
        weights: Of the rows, (n,).
    """
    mean, spread = values.mean(0), values.std(0) + 1e-9
    rows = np.c_[(values - mean) / spread, np.ones(len(values))]
    ridge = np.full(rows.shape[1], RIDGE)
    ridge[-1] = 0.0
    solution = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-(rows @ solution)))
        slope = rows.T @ (weights * (chance - targets)) + ridge * solution
        curve = (rows * (weights * chance * (1 - chance))[:, None]).T @ rows + np.diag(ridge)
        step = np.linalg.solve(curve, slope)
        solution -= step
        if np.abs(step).max() < 1e-6:
            break
    plain = solution[:-1] / spread
    return plain, float(solution[-1] - plain @ mean)


def table(rows: Sequence[Row], names: Sequence[str], *, plain: bool = False) -> np.ndarray:
    """Returns the features of rows, (n, k), in the order of `names`."""
    return np.array(
        [[(r.plain if plain else r.values).get(name, 0.0) for name in names] for r in rows]
    )


def balanced(rows: Sequence[Row], shares: dict[str, float]) -> np.ndarray:
    """Returns row weights: each source counts by its share, whatever its size."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.source] = counts.get(row.source, 0) + 1
    whole = len(rows) / sum(shares.get(source, 1.0) for source in counts)
    return np.array([shares.get(r.source, 1.0) * whole / counts[r.source] for r in rows])


SHARES: Final = {
    "notes": 3.0,
    "store_pairs": 3.0,
    "real_errors": 0.3,
    "heldout_de": 0.5,
    "heldout_ja": 0.5,
}


def model_of(rows: Sequence[Row], targets: np.ndarray, *, plain: bool = False) -> dict:
    """Returns a fitted logistic model as it is stored."""
    names = sorted({name for row in rows for name in (row.plain if plain else row.values)})
    weights, bias = fitted(table(rows, names, plain=plain), targets, balanced(rows, SHARES))
    return {
        "weights": {n: round(float(w), 4) for n, w in zip(names, weights, strict=True)},
        "bias": round(bias, 4),
    }


def chances(model: dict, rows: Sequence[Row], *, plain: bool = False) -> np.ndarray:
    """Returns the probabilities that a stored model gives."""
    names = sorted(model["weights"])
    weights = np.array([model["weights"][name] for name in names])
    return 1 / (1 + np.exp(-(table(rows, names, plain=plain) @ weights + model["bias"])))


def calibrated(model: dict, rows: Sequence[Row], targets: np.ndarray) -> dict:
    """Returns a model whose probabilities are shares that one would count on notes.

    Each fifth of the groups is judged by a model of the others; slope and bias that make these
    log odds true on notes (Platt, 1999) are put into the weights.
    """
    fold = np.array([int(digest(f"{r.source} {r.example.group}")[:8], 16) % FOLDS for r in rows])
    logits = np.zeros(len(rows))
    for one in range(FOLDS):
        rest = [row for row, part in zip(rows, fold, strict=True) if part != one]
        clipped = np.clip(chances(model_of(rest, targets[fold != one]), rows), 1e-6, 1 - 1e-6)
        logits[fold == one] = np.log(clipped / (1 - clipped))[fold == one]
    real = np.array([row.source == "notes" and not row.barred for row in rows])
    slope, bias = fitted(logits[real, None], targets[real], np.ones(real.sum()))
    for low in np.arange(0, 1, 0.1):
        probabilities = 1 / (1 + np.exp(-(logits * slope[0] + bias)))
        within = real & (probabilities >= low) & (probabilities < low + 0.1)
        print(f"  {low:.1f}: {targets[within].mean():.2f} of {within.sum()}")
    return {
        "weights": {n: round(w * float(slope[0]), 4) for n, w in model["weights"].items()},
        "bias": round(model["bias"] * float(slope[0]) + bias, 4),
    }


def described(rows: Sequence[Row], merged: np.ndarray) -> str:
    """Returns precision, recall and the share of conflicts merged as a line."""
    positive = np.array([r.example.mergeable for r in rows])
    conflicts = np.array([r.example.conflict == 1 for r in rows])
    right = (merged & positive).sum()
    precision = right / max(1, merged.sum())
    recall = right / max(1, positive.sum())
    wrong = (merged & conflicts).sum() / max(1, conflicts.sum())
    return (
        f"P {precision:.3f} R {recall:.3f} conflicts {wrong:.3f} ({positive.sum()} of {len(rows)})"
    )


def report(rows: Sequence[Row]) -> None:
    """Prints what each source scores when the decision was fitted on the others."""
    groups: dict[str, list[int]] = {}
    for place, row in enumerate(rows):
        groups.setdefault(row.source, []).append(place)
    every = np.arange(len(rows))
    whole = np.zeros(len(rows))
    for places in groups.values():
        rest = np.setdiff1d(every, places)
        train = [rows[place] for place in rest]
        model = model_of(train, np.array([float(r.example.mergeable) for r in train]))
        whole[places] = chances(model, [rows[place] for place in places])
    veto = np.array([row.barred for row in rows])
    for source, places in groups.items():
        some = [rows[place] for place in places]
        positive = np.array([r.example.mergeable for r in some])
        print(source)
        for threshold in (0.5, 0.6, 0.7, 0.8, 0.9):
            merged = (whole[places] >= threshold) & ~veto[places]
            print(f"  {threshold}: {described(some, merged)}")
        scores = np.where(veto[places], 0.0, whole[places])
        print(
            "  recall at .90 and .97:",
            recall_at(positive, scores, 0.9),
            recall_at(positive, scores, 0.97),
        )
        rules = np.array([r.verdict.__class__.__name__ in {"Duplicate", "Subsumes"} for r in some])
        print(f"  rules alone: {described(some, rules)}")


def main() -> None:
    """Fits, prints what carries over, and writes the decision."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, nargs="*", default=[])
    parser.add_argument("--notes", type=Path, help="labelled notes that were not trained on")
    parser.add_argument("--more", type=Path, nargs="*", default=[], help="further labelled pairs")
    parser.add_argument("--close", type=Path, required=True, help="close pairs without labels")
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--merge", type=float, nargs=3, default=MERGE, metavar=USES)
    parser.add_argument("--review", type=float, default=0.55)
    parser.add_argument("--alarm", type=float, default=0.7)
    chosen = parser.parse_args()
    sets = development(chosen.data)
    if chosen.notes:
        sets["notes"] = list(read_pairs(chosen.notes, "notes"))
    sets |= {path.stem: list(read_pairs(path, path.stem)) for path in chosen.more}
    every = list(rows_of(sets, chosen.weights))
    open_ = [r for r in every if r.verdict.evidence.rule not in SETTLED and r.scores is not None]
    print(f"{len(every)} pairs, {len(open_)} that the model is asked about")
    report(open_)
    same = np.array([float(r.example.mergeable) for r in open_])
    matters = np.array([float(r.example.mergeable or r.example.conflict == 1) for r in open_])
    prior = model_of(open_, matters, plain=True)
    # Parallel statements (label C) conflict in no real note that was read; elsewhere it is open.
    known = [r for r in open_ if r.example.conflict is not None or r.source == "notes"]
    conflicts = np.array([float(r.example.conflict == 1) for r in known])
    conflict = model_of(known, conflicts)
    print("conflicts, threshold: precision and recall on notes, on the other sets")
    alarms, real = chances(conflict, known), np.array([r.source == "notes" for r in known])
    for threshold in (0.5, 0.6, 0.7, 0.8, 0.9):
        flagged = alarms >= threshold
        shares = [
            (conflicts[flagged & some].mean(), flagged[(conflicts == 1) & some].mean())
            for some in (real, ~real)
        ]
        print(f"  {threshold}: " + ", ".join(f"{p:.2f} {r:.2f}" for p, r in shares))
    low = np.quantile(chances(prior, open_, plain=True)[matters == 1], 1 - KEPT)
    asked = chances(prior, open_, plain=True) >= low
    print(f"ask {low:.4f}: {asked.mean():.2f} of the pairs")
    stored = {
        "ask": round(float(low), 4),
        "merge": dict(zip(USES, chosen.merge, strict=True)),
        "review": chosen.review,
        "alarm": chosen.alarm,
        "prior": prior,
        "same": calibrated(model_of(open_, same), open_, same),
        "conflict": conflict,
        "confirmed": confirmed(chosen.close, chosen.weights, conflict),
    }
    if chosen.out:
        chosen.out.write_text(json.dumps(stored, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()

"""Fit the weights of the judge on labelled pairs and write `src/echoless/judge/weights.json`.

    python -m benchmarks.fit [--data DIR] [--pairs DIR ...] [--write]

Logistic regression with ridge penalty, weights bound to the sign their feature may have (L-BFGS-B,
Byrd, Lu, Nocedal, Zhu 1995, as in scipy). Only pairs that reach the score are learned from: what
rules merge or veto is not. Deterministic. `fit` is also the hook of `benchmarks.quality --fit`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from benchmarks.deciding import Decide
from benchmarks.labelled import Labelled, labelled_sets
from echoless.judge import FullJudge
from echoless.judge.apart import (
    APART_NAMES,
    SUPERSET_NAMES,
    apart_features,
    superset_features,
)
from echoless.judge.compare import Comparison, compare
from echoless.judge.decide import settled
from echoless.judge.facts import facts_of
from echoless.judge.features import NAMES, SIGNS
from echoless.judge.meaning import Meaning
from echoless.judge.scorecard import Score, Scorecard
from echoless.judge.weighing import Weighed, weigh
from echoless.vectors.base import Encoder
from echoless.vectors.cache import open_cache
from echoless.vectors.calibration import shipped_calibration

Floats: TypeAlias = npt.NDArray[np.float64]

DATA: Final = Path("../shared/data")
"""Where the store lies that strangers are taken from."""

MERGE: Final = 0.72
"""Probability from which pairs are merged: the least at which, cross-validated, precision on
memory_pairs is .98 or more (see `benchmarks/results/quality.md`)."""

REVIEW: Final = 0.40
"""Probability from which a person is asked."""

_LOOKED_AT: Final = 0.50
"""Cosine from which the detector proposes a pair."""

_RIDGE: Final = 2.0
_RIDGE_APART: Final = 3.0
_TEMPLATED: Final = 0.5
"""Weight of a templated pair (value_conflicts): few frames, many fillings."""

_APART: Final = ("update", "contradiction", "sibling", "related", "distinct")


@dataclass(frozen=True, slots=True)
class Seen:
    """A labelled pair as the score sees it.

    Attributes:
        row: The pair.
        weighed: What the decision knows of it.
        blind: The same without an encoder.
        plain: The words alone decide; nothing is learned from it.
    """

    row: Labelled
    weighed: Weighed
    blind: Weighed
    plain: bool


_MEANINGS: dict[str, Meaning] = {}


def _meaning(encoder: Encoder) -> Meaning:
    if encoder.model in _MEANINGS:
        return _MEANINGS[encoder.model]
    calibration = shipped_calibration(encoder.model)
    if calibration is None:
        raise SystemExit(f"{encoder.model} has no calibration")
    _MEANINGS[encoder.model] = Meaning(encoder, calibration, cache=open_cache())
    return _MEANINGS[encoder.model]


_SEEN: dict[tuple[str, str], Seen] = {}


def see(row: Labelled, meaning: Meaning) -> Seen:
    """Align a pair; remembered, since folds share their pairs."""
    key = (row.a, row.b)
    if key not in _SEEN:
        a, b = sorted((row.a, row.b))
        fa, fb = facts_of(a), facts_of(b)
        plainly = compare(fa, fb)
        near = meaning.similarity(a, b)
        plain = settled(plainly, near) or _held(plainly)
        _SEEN[key] = Seen(row, weigh(a, b, plainly, meaning), weigh(a, b, plainly, None), plain)
    return _SEEN[key]


def _held(found: Comparison) -> bool:
    """Whether a rule speaks before anything is weighed."""
    if found.two_sided:
        return False
    return bool(found.opposites or found.cased or found.directed)


def strangers(data: Path, meaning: Meaning) -> list[Labelled]:
    """Pairs of the store that look alike and lie in different gold clusters.

    What a detector proposes in a store is mostly neither the same nor a conflict; the labelled
    pairs have too little of it. Pairs labelled in `dev.jsonl` are left to their labels.
    """
    folder = data / "memory_pairs"
    if not (folder / "dev_store.jsonl").is_file():
        return []
    lines = (folder / "dev.jsonl").read_text("utf-8").splitlines()
    labelled = {frozenset((r["a"], r["b"])) for r in map(json.loads, lines)}
    spaces: dict[str, list[tuple[str, str]]] = {}
    for line in (folder / "dev_store.jsonl").read_text("utf-8").splitlines():
        r = json.loads(line)
        spaces.setdefault(r["namespace"], []).append((r["content"], r["cluster"] or r["id"]))
    found = []
    for memories in spaces.values():
        rows = meaning.rows([text for text, _ in memories])
        for i, j in zip(*np.nonzero(np.triu(rows @ rows.T >= _LOOKED_AT, 1)), strict=True):
            (a, one), (b, other) = memories[i], memories[j]
            if one != other and frozenset((a, b)) not in labelled:
                found.append(
                    Labelled(
                        f"{i}-{j}", "en", a, b, None, "conflict_store", False, "", None, "store"
                    )
                )
    return found


def fit(rows: Sequence[Labelled], encoder: Encoder | None) -> Decide:
    """A judge fitted on these pairs."""
    if encoder is None:
        return FullJudge().judge_all
    return FullJudge(_meaning(encoder), learn(rows, encoder)).judge_all


def learn(rows: Sequence[Labelled], encoder: Encoder) -> Scorecard:
    """The weights these pairs give."""
    meaning = _meaning(encoder)
    more = strangers(DATA, meaning)
    seen = [see(row, meaning) for row in (*rows, *more) if row.a != row.b]
    return Scorecard(
        same=_same(seen),
        merge=MERGE,
        review=REVIEW,
        superset=_superset(seen),
        apart=_apart(seen),
    )


def _same(seen: Sequence[Seen]) -> Score:
    learned = [
        s for s in seen if not s.plain and not s.weighed.against and s.weighed.found.comparable
    ]
    x = np.array([s.weighed.values for s in learned])
    y = np.array([s.row.mergeable for s in learned])
    weights = np.array([_TEMPLATED if s.row.kind and not s.row.label else 1.0 for s in learned])
    return _fitted(x, y, weights, np.array([SIGNS[name] for name in NAMES]), _RIDGE)


def _superset(seen: Sequence[Seen]) -> Score:
    rows: list[tuple[float, ...]] = []
    labels: list[bool] = []
    for s in seen:
        if not s.row.mergeable or s.plain or not s.weighed.found.comparable:
            continue
        sides = superset_features(s.weighed.found)
        ordered = sides if s.row.a <= s.row.b else sides[::-1]
        for side, told in zip("ab", ordered, strict=True):
            rows.append(told)
            labels.append(s.row.superset == side)
    x, y = np.array(rows), np.array(labels)
    free = np.zeros(len(SUPERSET_NAMES), dtype=int)
    return _fitted(x, y, np.ones(len(y)), free, _RIDGE)


def _apart(seen: Sequence[Seen]) -> dict[str, Score]:
    """One score for each class, fitted together as a softmax."""
    chosen = [s for s in seen if not s.plain and s.row.label in _APART]
    # Each pair twice: a judge without an encoder names what it keeps apart too.
    views = [(s.row, w) for s in chosen for w in (s.weighed, s.blind)]
    x = np.array([apart_features(w.found, w.values, w.against) for _, w in views])
    y = np.array([_APART.index(str(row.label)) for row, _ in views])
    means, spread = x.mean(0), x.std(0) + 1e-9
    z = (x - means) / spread
    size, classes = len(APART_NAMES), len(_APART)
    hot = np.eye(classes)[y]

    def loss(flat: Floats) -> tuple[float, Floats]:
        w, bias = flat[: size * classes].reshape(size, classes), flat[size * classes :]
        logits = z @ w + bias
        logits -= logits.max(1, keepdims=True)
        p = np.exp(logits)
        p /= p.sum(1, keepdims=True)
        value = -float((hot * np.log(p + 1e-12)).sum()) + _RIDGE_APART * float((w**2).sum()) / 2
        grad = z.T @ (p - hot) + _RIDGE_APART * w
        return value, np.concatenate([grad.ravel(), (p - hot).sum(0)])

    best = minimize(loss, np.zeros((size + 1) * classes), jac=True, method="L-BFGS-B")
    w, bias = best.x[: size * classes].reshape(size, classes), best.x[size * classes :]
    return {
        name: _rounded(w[:, k] / spread, float(bias[k] - (w[:, k] / spread) @ means), means)
        for k, name in enumerate(_APART)
    }


def _fitted(
    x: Floats, y: npt.NDArray[np.bool_], weights: Floats, signs: npt.NDArray[np.int_], ridge: float
) -> Score:
    means, spread = x.mean(0), x.std(0) + 1e-9
    z, target = (x - means) / spread, np.where(y, 1.0, -1.0)

    def loss(w: Floats) -> tuple[float, Floats]:
        margin = target * (z @ w[:-1] + w[-1])
        value = float(
            (weights * np.logaddexp(0.0, -margin)).sum() + ridge * (w[:-1] ** 2).sum() / 2
        )
        slope = -weights * target / (1.0 + np.exp(margin))
        return value, np.append(z.T @ slope + ridge * w[:-1], slope.sum())

    bounds = [(0.0 if s > 0 else None, 0.0 if s < 0 else None) for s in signs] + [(None, None)]
    best = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, bounds=bounds, method="L-BFGS-B")
    raw = best.x[:-1] / spread
    return _rounded(raw, float(best.x[-1] - raw @ means), means)


def _rounded(weights: Floats, bias: float, means: Floats) -> Score:
    """Four decimals: what is shipped is what was fitted, and it can be read."""
    return Score(
        round(bias, 4),
        tuple(round(float(w), 4) + 0.0 for w in weights),
        tuple(round(float(m), 4) for m in means),
    )


def document(card: Scorecard, about: dict[str, str | int]) -> str:
    """The file as shipped."""

    def told(score: Score, names: Sequence[str]) -> dict[str, object]:
        return {
            "bias": score.bias,
            "weights": dict(zip(names, score.weights, strict=True)),
            "means": dict(zip(names, score.means, strict=True)),
        }

    whole = {
        "about": about,
        "same": {"merge": card.merge, "review": card.review, **told(card.same, NAMES)},
        "superset": told(card.superset, SUPERSET_NAMES),
        "apart": {name: told(score, APART_NAMES) for name, score in card.apart.items()},
    }
    return json.dumps(whole, indent=1) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--pairs", type=Path, action="append", default=None)
    parser.add_argument("--write", action="store_true", help="write weights.json")
    options = parser.parse_args()
    from echoless.vectors.use import UniversalSentenceEncoder  # noqa: PLC0415

    encoder = UniversalSentenceEncoder()
    sets = labelled_sets(options.data, options.pairs or [Path("benchmarks/pairs")])
    rows = [row for each in sets for row in each.rows]
    card = learn(rows, encoder)
    about: dict[str, str | int] = {
        "made by": "python -m benchmarks.fit --write",
        "on": ", ".join(f"{each.name} ({len(each.rows)})" for each in sets),
        "encoder": encoder.model,
        "date": date.today().isoformat(),  # noqa: DTZ011
    }
    if options.write:
        target = Path("src/echoless/judge/weights.json")
        target.write_text(document(card, about), encoding="utf-8")
    for name, weight in sorted(
        zip(NAMES, card.same.weights, strict=True), key=lambda each: -abs(each[1])
    ):
        print(f"{weight:9.4f}  {name}")


if __name__ == "__main__":
    main()

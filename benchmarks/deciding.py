"""Verdicts on labelled pairs: with one judge, or out of fold with one fitted for each fold.

Kept apart from `scores.py`, which does not care where verdicts come from.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TypeAlias, cast

import numpy as np

from benchmarks.labelled import Labelled
from echoless.judge import FullJudge
from echoless.judge.opening import open_meaning
from echoless.model import Memory, Pair, Verdict
from echoless.text import char_ngrams, is_blank
from echoless.vectors.base import Encoder

Texts: TypeAlias = tuple[str, str]
Decide: TypeAlias = Callable[[Sequence[Pair]], Sequence[Verdict]]
Fit: TypeAlias = Callable[[Sequence[Labelled], Encoder | None], Decide]
"""Makes a judge from training pairs: the hook of `--fit MODULE:FUNCTION`."""


def judge_with(encoder: Encoder | None) -> Decide:
    """The judge as it ships, with an encoder or without one.

    A model without calibration judges as if there were none, as everywhere.
    """
    return FullJudge(open_meaning(encoder)).judge_all


def fit_named(name: str) -> Fit:
    """The function `MODULE:FUNCTION` names."""
    module, _, function = name.partition(":")
    return cast("Fit", getattr(import_module(module), function))


class Signals:
    """What the detectors would have measured; texts are compared once for all encoders."""

    def __init__(self) -> None:
        self._text: dict[Texts, Mapping[str, float]] = {}
        self._grams: dict[str, Counter[str]] = {}

    def pairs(self, texts: Sequence[Texts], encoder: Encoder | None) -> list[Pair]:
        """Pairs as the pipeline would hand them to a judge."""
        near = [None] * len(texts) if encoder is None else cosines(texts, encoder)
        made = []
        for (a, b), similarity in zip(texts, near, strict=True):
            signals = dict(self._of_text(a, b))
            if similarity is not None:
                signals["semantic"] = min(1.0, max(0.0, similarity))
            made.append(Pair(Memory(id="a", content=a), Memory(id="b", content=b), signals))
        return made

    def _of_text(self, a: str, b: str) -> Mapping[str, float]:
        key = (a, b) if a < b else (b, a)
        if key not in self._text:
            ratio = difflib.SequenceMatcher(None, *key, autojunk=False).ratio()
            self._text[key] = {"sequence": ratio, "lexical": self._lexical(*key)}
        return self._text[key]

    def _lexical(self, a: str, b: str) -> float:
        x, y = (self._grams.setdefault(t, Counter(char_ngrams(t))) for t in (a, b))
        dot = sum(n * y[gram] for gram, n in x.items())
        norm = sum(n * n for n in x.values()) * sum(n * n for n in y.values())
        return dot / float(norm) ** 0.5 if norm else 0.0


def cosines(texts: Sequence[Texts], encoder: Encoder) -> list[float]:
    """Cosine of each pair; 0 where a text is blank."""
    known = sorted({text for pair in texts for text in pair if not is_blank(text)})
    if not known:
        return [0.0] * len(texts)
    rows = np.asarray(encoder.encode(known), dtype=np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    at = {text: place for place, text in enumerate(known)}
    return [float(rows[at[a]] @ rows[at[b]]) if a in at and b in at else 0.0 for a, b in texts]


def texts_of(rows: Sequence[Labelled]) -> list[Texts]:
    """The two texts of each row."""
    return [(row.a, row.b) for row in rows]


def out_of_fold(
    rows: Sequence[Labelled], signals: Signals, encoder: Encoder | None, fit: Fit, folds: int
) -> list[Verdict]:
    """Verdicts of judges that never saw the pair, nor any pair that shares a text with it.

    Args:
        rows: Pairs of all sets together.
        signals: For the pairs.
        encoder: Given to the fit and to the signals.
        fit: Makes a judge from the pairs of all other folds.
        folds: How many, at least 2.

    Returns:
        One verdict for each row, in order.
    """
    places = folds_of(rows, folds)
    given: dict[int, Verdict] = {}
    for fold in range(folds):
        held = [i for i, place in enumerate(places) if place == fold]
        decide = fit([row for i, row in enumerate(rows) if places[i] != fold], encoder)
        verdicts = decide(signals.pairs(texts_of([rows[i] for i in held]), encoder))
        given.update(zip(held, verdicts, strict=True))
    return [given[i] for i in range(len(rows))]


def folds_of(rows: Sequence[Labelled], folds: int) -> list[int]:
    """A fold for each row: rows that share a text share a fold, whatever their order.

    Largest components first into the emptiest fold; templates that share texts stay together.
    """
    parent: dict[str, str] = {}

    def root(text: str) -> str:
        while parent.setdefault(text, text) != text:
            parent[text] = parent[parent[text]]
            text = parent[text]
        return text

    for row in rows:
        one, other = sorted((root(row.a), root(row.b)))
        parent[other] = one  # the smallest text names the component
    names = [root(row.a) for row in rows]
    sizes = Counter(names)
    filled = [0] * folds
    place: dict[str, int] = {}
    for name in sorted(sizes, key=lambda n: (-sizes[n], hashlib.sha256(n.encode()).digest())):
        place[name] = filled.index(min(filled))
        filled[place[name]] += sizes[name]
    return [place[name] for name in names]

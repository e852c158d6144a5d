"""Verdicts on labelled pairs by the judge as it ships.

Kept apart from `scores.py`, which does not care where verdicts come from.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from benchmarks.labelled import Labelled
from echoless.core.model import Memory, Pair, Verdict
from echoless.core.run_notes import Tally
from echoless.core.text import char_ngrams, is_blank
from echoless.matching.judge import open_learned
from echoless.matching.rule_judge import RuleJudge
from echoless.models.encoders.base import Encoder

Texts: TypeAlias = tuple[str, str]
Decide: TypeAlias = Callable[[Sequence[Pair]], Sequence[Verdict]]


def judge_with(encoder: Encoder | None) -> Decide:
    """The judge as it ships: with an encoder the pair model is asked, as in a run."""
    if encoder is None:
        return RuleJudge().judge_all
    return open_learned(Tally(), cache=False).judge_all


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

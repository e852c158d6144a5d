"""What belongs to a model: where to begin looking, and what its cosines mean to the judge."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OperatingPoint:
    """Where to begin looking.

    Attributes:
        cosine: 0 to 1, inclusive.
        source: Where the figure comes from, in one sentence.
    """

    cosine: float
    source: str


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the cosines of a model mean to the judge.

    The judge's weights are fitted on one scale, that of the built-in encoder. The cosines of
    another model are brought onto it by a line through a few anchors.

    Attributes:
        anchors: (cosine of the model, cosine on the reference scale), both rising.
        word: Cosine of the model from which two words mean the same, inclusive; None where its
            word vectors do not tell synonyms from opposites.
        source: Where the figures come from, in one sentence.
        stretch: By what a difference of two cosines of the model is multiplied to be one on the
            reference scale: how much closer a word is to one text than to another.
        languages: Those the model reads (`en`, `de`, `ja`); None for all the judge knows. It says
            nothing of texts in others.
    """

    anchors: tuple[tuple[float, float], ...]
    word: float | None
    source: str
    stretch: float = 1.0
    languages: frozenset[str] | None = None

    def __post_init__(self) -> None:
        lines = zip(self.anchors, self.anchors[1:], strict=False)
        if len(self.anchors) < 2 or any(x >= u or y >= v for (x, y), (u, v) in lines):
            raise ValueError(f"anchors are two or more and rise in both: {self.anchors}")
        if not self.stretch > 0:
            raise ValueError(f"a stretch is above 0: {self.stretch}")

    def reference(self, cosine: float) -> float:
        """The cosine on the reference scale, 0 to 1; constant beyond the outer anchors."""
        return min(1.0, max(0.0, _along(self.anchors, cosine)))

    def cosine(self, reference: float) -> float:
        """The cosine of the model that stands where `reference` stands on the reference scale."""
        return _along(tuple((y, x) for x, y in self.anchors), reference)


def _along(line: tuple[tuple[float, float], ...], at: float) -> float:
    """The height of a line through points at one place; constant beyond its ends."""
    left = line[0]
    if at <= left[0]:
        return left[1]
    for right in line[1:]:
        if at <= right[0]:
            share = (at - left[0]) / (right[0] - left[0])
            return left[1] + share * (right[1] - left[1])
        left = right
    return left[1]

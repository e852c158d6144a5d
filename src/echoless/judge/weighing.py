"""Weigh two texts that the words alone do not decide: alignment, vetoes, score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from echoless.judge.align import Alignment, Asked, align_all, reading_of
from echoless.judge.compare import Comparison
from echoless.judge.facts import Facts
from echoless.judge.features import features
from echoless.judge.meaning import Meaning
from echoless.judge.reading import reading
from echoless.judge.surface import turning_difference
from echoless.judge.vetoes import Veto, vetoes
from echoless.model import Memory


@dataclass(frozen=True, slots=True)
class Weighed:
    """What is known of a pair when the decision falls.

    Attributes:
        found: The alignment by words and by meaning.
        against: What forbids a merge, the most telling first.
        values: Features, in the order of `features.NAMES`.
    """

    found: Alignment
    against: tuple[Veto, ...]
    values: tuple[float, ...]


def asked(
    memories: tuple[Memory, Memory],
    facts: tuple[Facts, Facts],
    found: Comparison,
    similarity: float = 0.0,
) -> Asked:
    """Two memories as they are weighed, with these facts.

    Args:
        memories: Both sides.
        facts: Of each; relative days may have been made absolute.
        found: Their alignment by words.
        similarity: Cosine of the texts where there is no encoder but someone knows it, else 0.
    """
    a, b = (reading(m.content, told) for m, told in zip(memories, facts, strict=True))
    return Asked(a, b, found, similarity)


def weigh(
    text_a: str,
    text_b: str,
    plainly: Comparison,
    meaning: Meaning | None,
    *,
    similarity: float = 0.0,
) -> Weighed:
    """Weigh two texts.

    Args:
        text_a: One text.
        text_b: The other.
        plainly: Their alignment by words.
        meaning: Vectors of a calibrated encoder, or None.
        similarity: Cosine of the texts where there is no encoder but someone knows it.

    Raises:
        EncoderError: The encoder failed.
    """
    pair = Asked(reading_of(text_a), reading_of(text_b), plainly, similarity)
    return weigh_all([pair], meaning)[0]


def weigh_all(pairs: Sequence[Asked], meaning: Meaning | None) -> list[Weighed]:
    """Weigh many pairs, in their order: the same as one by one, only sooner.

    Raises:
        EncoderError: The encoder failed.
    """
    return [_weighed(found) for found in align_all(pairs, meaning)]


def _weighed(found: Alignment) -> Weighed:
    against = vetoes(found)
    turned = turning_difference(found.a.text, found.b.text)
    if turned is not None:
        against = (*against, Veto(*turned))
    return Weighed(found, against, features(found))

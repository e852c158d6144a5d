"""A verdict as bytes, and back without loss; the verdicts on a batch with their bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from math import isfinite
from sys import intern
from typing import Any, Final, TypeAlias

from echoless.core.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Distinct,
    Duplicate,
    Evidence,
    Pair,
    Related,
    Sibling,
    Side,
    Subsumes,
    Unsure,
    Update,
    Verdict,
)

_Plain: TypeAlias = Duplicate | Contradiction | Sibling | Related | Distinct | Unsure
_PLAIN: Final[dict[str, type[_Plain]]] = {
    "d": Duplicate,
    "c": Contradiction,
    "b": Sibling,
    "r": Related,
    "i": Distinct,
    "u": Unsure,
}
_SIDED: Final[dict[str, type[Subsumes | Update]]] = {"s": Subsumes, "w": Update}
_LETTERS: Final = {kind: letter for letter, kind in _PLAIN.items()}
_KINDS: Final = {kind.value: kind for kind in DifferenceKind}
_SIDES: Final[dict[object, Side]] = {"a": "a", "b": "b"}


def packed(verdict: Verdict) -> bytes:
    """Returns a verdict without what the detectors measured: that belongs to the run."""
    match verdict:
        case Subsumes(superset=side):
            letter = "s" + side
        case Update(newer=side):
            letter = "w" + side
        case _:
            letter = _LETTERS[type(verdict)]
    evidence = verdict.evidence
    differences = [[d.kind.value, d.a, d.b] for d in evidence.differences]
    fields = [letter, evidence.rule, evidence.note, evidence.veto, evidence.chance, differences]
    return json.dumps(fields, separators=(",", ":")).encode("ascii")


def unpacked_all(data: Sequence[bytes], pairs: Iterable[Pair]) -> list[Verdict | None]:
    """Returns the verdicts on some pairs, read at once, each as `unpacked`.

    Args:
        data: Results of `packed`.
        pairs: With what the detectors of this run measured, in the same order.
    """
    try:
        fields = json.loads(b"[%b]" % b",".join(data))
    except (ValueError, RecursionError):
        fields = []
    if len(fields) != len(data):
        return [unpacked(each, *pair.best) for each, pair in zip(data, pairs, strict=True)]
    return [_verdict(each, *pair.best) for each, pair in zip(fields, pairs, strict=True)]


def unpacked(data: bytes, how: str, similarity: float) -> Verdict | None:
    """Returns the verdict, with what the detectors of this run measured; None if it is none.

    Args:
        data: Result of `packed`.
        how: Detector that saw the pair closest.
        similarity: 0 to 1, its similarity.
    """
    try:
        return _verdict(json.loads(data), how, similarity)
    except (ValueError, RecursionError):
        return None


def _verdict(fields: Any, how: str, similarity: float) -> Verdict | None:
    """Returns the verdict of what was read of its bytes; None if it is none."""
    try:
        letter, rule, note, veto, chance, named = fields
        known = chance is None or (isinstance(chance, float) and isfinite(chance))
        texts = isinstance(rule, str) and isinstance(note, str)
        if not (known and texts and isinstance(veto, bool)):
            return None
        differences = tuple(
            [Difference(_KINDS[kind], _strings(a), _strings(b)) for kind, a, b in named]
        )
        evidence = Evidence(intern(rule), how, similarity, differences, note, veto, chance)
        return _of(letter, evidence)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _of(letter: str, evidence: Evidence) -> Verdict:
    plain = _PLAIN.get(letter)
    if plain is not None:
        return plain(evidence)
    side = _SIDES[letter[1:]]
    return _SIDED[letter[0]](evidence, side)


def _strings(side: list[object]) -> tuple[str, ...]:
    return tuple([intern(str(each)) for each in side])  # most are words that many pairs name

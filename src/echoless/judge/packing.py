"""A verdict as bytes that only who has both texts can read, and back without loss.

What a verdict names are words of the texts, and a cache of verdicts must hold none. So they are
sealed with a key made of the two texts: whoever asks about a pair has its texts, and with them the
key; the file alone tells nothing. (Keys made of the content itself: Douceur and others, Reclaiming
Space from Duplicate Files, 2002.) A checksum tells a damaged entry from a whole one.
"""

from __future__ import annotations

import json
from hashlib import blake2b, shake_128
from math import isfinite
from typing import Final, TypeAlias
from zlib import crc32

from echoless.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Distinct,
    Duplicate,
    Evidence,
    Related,
    Sibling,
    Side,
    Subsumes,
    Unsure,
    Update,
    Verdict,
)

_HALF: Final = 32
_CHECK: Final = 4
_Plain: TypeAlias = Duplicate | Contradiction | Sibling | Related | Distinct | Unsure
_PLAIN: Final[dict[str, type[_Plain]]] = {
    "d": Duplicate,
    "c": Contradiction,
    "b": Sibling,
    "r": Related,
    "i": Distinct,
    "u": Unsure,
}
_LETTERS: Final = {kind: letter for letter, kind in _PLAIN.items()}
_KINDS: Final = {kind.value: kind for kind in DifferenceKind}
_SIDES: Final[dict[object, Side]] = {"a": "a", "b": "b"}


def text_print(text: str) -> bytes:
    """64 bytes that stand for a text: the first half names it, the second seals what is told of it.

    Neither half tells anything of the other.
    """
    return blake2b(text.encode("utf-8", "surrogatepass")).digest()


def pair_key(a: bytes, b: bytes, *others: str) -> bytes:
    """16 bytes that name a pair of texts, from their prints and whatever else tells it apart."""
    told = "\0".join(others).encode("utf-8", "surrogatepass")
    return blake2b(a[:_HALF] + b[:_HALF] + told, digest_size=16).digest()


def packed(verdict: Verdict) -> bytes:
    """A verdict without what the detectors measured: that belongs to the run."""
    match verdict:
        case Subsumes(superset=side, narrows=narrows):
            letter = ("n" if narrows else "s") + side
        case Update(newer=side):
            letter = "w" + side
        case _:
            letter = _LETTERS[type(verdict)]
    told = verdict.evidence
    differences = [[d.kind.value, d.a, d.b] for d in told.differences]
    fields = [letter, told.rule, told.note, told.veto, told.chance, differences]
    return json.dumps(fields, separators=(",", ":")).encode("ascii")


def unpacked(data: bytes, how: str, similarity: float) -> Verdict | None:
    """The verdict, with what the detectors of this run measured; None if it is none.

    Args:
        data: As `packed` made it.
        how: Detector that saw the pair closest.
        similarity: 0 to 1, its similarity.
    """
    try:
        letter, rule, note, veto, chance, named = json.loads(data)
        if not _sound(rule, note, veto, chance):
            return None
        differences = tuple([_difference(*each) for each in named])
        return _of(letter, Evidence(rule, how, similarity, differences, note, veto, chance))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _of(letter: str, evidence: Evidence) -> Verdict:
    plain = _PLAIN.get(letter)
    if plain is not None:
        return plain(evidence)
    side = _SIDES[letter[1:]]
    if letter[0] == "w":
        return Update(evidence, side)
    return Subsumes(evidence, side, {"s": False, "n": True}[letter[0]])


def _sound(rule: object, note: object, veto: object, chance: object) -> bool:
    """Whether fields are of the kind they are written as."""
    known = chance is None or (isinstance(chance, float) and isfinite(chance))
    return known and isinstance(rule, str) and isinstance(note, str) and isinstance(veto, bool)


def _difference(kind: str, a: list[object], b: list[object]) -> Difference:
    sides = tuple([str(each) for each in a]), tuple([str(each) for each in b])
    return Difference(_KINDS[kind], *sides)


def sealed(data: bytes, key: bytes, a: bytes, b: bytes) -> bytes:
    """Data that only the prints of both texts open.

    Args:
        data: Anything.
        key: Any bytes that never seal anything else: two texts sealed alike betray each other.
        a: Print of the first text.
        b: Print of the second.
    """
    return _mixed(crc32(data).to_bytes(_CHECK, "little") + data, key, a, b)


def opened(data: bytes, key: bytes, a: bytes, b: bytes) -> bytes | None:
    """What was sealed; None if it is damaged or belongs to another pair."""
    plain = _mixed(data, key, a, b)
    body = plain[_CHECK:]
    return body if crc32(body).to_bytes(_CHECK, "little") == plain[:_CHECK] else None


def _mixed(data: bytes, key: bytes, a: bytes, b: bytes) -> bytes:
    size = len(data)
    stream = shake_128(a[_HALF:] + b[_HALF:] + key).digest(size)
    whole = int.from_bytes(data, "little") ^ int.from_bytes(stream, "little")
    return whole.to_bytes(size, "little")

"""Measures cosines of the pairs of a store, and finds pairs worth a question.

Most pairs have nothing to do with each other; a memory in other wording is surely the same; pairs
that the words neither merge nor keep apart only meaning can decide, so only they are worth a
question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from echoless.core.errors import InputError
from echoless.core.model import Memory, Pair, merges
from echoless.core.text import content_key
from echoless.matching.facts import facts_of
from echoless.matching.rule_judge import RuleJudge
from echoless.matching.rules import forbidden
from echoless.models.encoders.base import Encoder
from echoless.models.encoders.chunking import split_parts
from echoless.models.encoders.vector_cache import VectorCache
from echoless.models.encoders.vectorizer import TextVectors

SAMPLE: Final = 1_500
"""Memories looked at; a million pairs tell what strangers are, and more would only take time."""

LEAST: Final = 10
"""Distinct short memories below which nothing is learned."""

UNREAD: Final = 0.4
"""Share of the way from strangers to equal texts at which the median pair of a language lies that
a model cannot read: it sees that the language is the same, and little else. Measured in the
development store: Japanese .80 for potion and .54 for MiniLM, .29 for e5, .05 for USE; German .33
for MiniLM, which finds German paraphrases."""

_RESTATED: Final = 150
_BAND: Final = 0.03
_BAND_LEAST: Final = 400
_STRANGE: Final = 0.15
"""Share of the way from strangers to equal texts below which nobody need be asked: one pair in a
thousand is the same there."""

_ASKED_OF_ONE: Final = 2
"""Questions about one memory: more would teach about it, not about the model."""

_DECIMALS: Final = 6
_LIST: Final = re.compile(r"\b(\w{3,}), (\w{3,}),? (and|or|und|oder) (\w{3,})\b")


@dataclass(frozen=True, slots=True)
class Undecided:
    """A pair only meaning can decide.

    Attributes:
        a: The memory with the smaller id.
        b: The other.
        cosine: Of the two.
    """

    a: Memory
    b: Memory
    cosine: float


class StorePairs:
    """The pairs of a store with their cosines by one encoder.

    Attributes:
        memories: Those looked at.
        languages: The languages of the store that the model reads.
        left_out: Memories in languages it does not read, or that too few memories have.
        cosines: Of all pairs within a namespace.
    """

    def __init__(
        self, memories: Iterable[Memory], encoder: Encoder, cache: VectorCache | None
    ) -> None:
        """Encodes a sample of the memories: distinct texts, each short enough for one vector.

        The sample is a fixed draw in the order of the digests of the texts, whatever the order of
        the memories. Of equal texts in a namespace the one with the smaller id takes part. Memories
        in languages the model does not read are left out; if it reads none, all take part.

        Raises:
            InputError: There are too few to learn from.
            EncoderError: The encoder failed.
        """
        self._vectors = TextVectors(encoder, cache)
        distinct: dict[tuple[str, str], Memory] = {}
        for memory in sorted(memories, key=lambda each: each.id):
            if is_short(memory.content):
                distinct.setdefault((memory.namespace, memory.content), memory)
        drawn = sorted(distinct.values(), key=lambda each: (content_key(each.content), each.id))
        self.memories = drawn[:SAMPLE]
        if len(self.memories) < LEAST:
            raise InputError(
                f"There are {len(self.memories)} distinct memories of up to 40 words to learn "
                f"from, and {LEAST} are needed. Calibrate on a larger store."
            )
        self._i, self._j, self.cosines = self._pairs()
        self.languages = self._readable_languages()
        self.left_out = 0
        readable = [m for m in self.memories if facts_of(m.content).language in self.languages]
        if LEAST <= len(readable) < len(self.memories):
            self.left_out = len(self.memories) - len(readable)
            self.memories = readable
            self._i, self._j, self.cosines = self._pairs()
        self._open: dict[int, bool] = {}

    @property
    def stranger(self) -> float:
        """Returns the median cosine: of two memories that have nothing to do with each other."""
        return min(0.99, float(np.median(self.cosines)))

    def strangers(self, many: int = 100) -> list[float]:
        """Returns cosines of arbitrary pairs, evenly spread over the lower 95 percent."""
        cosines: list[float] = np.quantile(self.cosines, np.linspace(0.0, 0.95, many)).tolist()
        return cosines

    def restated(self) -> list[float]:
        """Returns cosines of memories with themselves in other wording."""
        chosen = self.memories[:_RESTATED]
        texts = [(memory.content, other) for memory in chosen for other in restated(memory.content)]
        return self.cosines_of(texts)

    def cosines_of(self, texts: Sequence[tuple[str, str]]) -> list[float]:
        """Returns cosines of pairs of texts."""
        if not texts:
            return []
        left = self._vectors.rows([one for one, _ in texts])
        right = self._vectors.rows([other for _, other in texts])
        cosines: list[float] = np.einsum("ij,ij->i", left, right).round(_DECIMALS).tolist()
        return cosines

    def at_least(self, cosine: float) -> int:
        """Returns how many pairs a detector with this threshold proposes."""
        return int((self.cosines >= cosine).sum())

    def band(self) -> tuple[float, float]:
        """Returns the lowest and highest cosine of the pairs worth a question."""
        many = min(len(self.cosines), max(_BAND_LEAST, int(_BAND * len(self.cosines))))
        top = np.partition(self.cosines, len(self.cosines) - many)[-many:]
        floor = self.stranger + _STRANGE * (1.0 - self.stranger)
        return max(floor, float(top.min())), float(top.max())

    def nearest(
        self, target: float, passed: frozenset[tuple[str, str]], used: Mapping[str, int]
    ) -> Undecided | None:
        """Returns the undecided pair closest to a cosine, or None.

        Args:
            target: The cosine.
            passed: Pairs of content keys not to ask about again.
            used: How often each memory was asked about.
        """
        low, _ = self.band()
        inside = np.flatnonzero(self.cosines >= low)
        order = inside[np.argsort(np.abs(self.cosines[inside] - target), kind="stable")]
        for place in order.tolist():
            a, b = self._memories_at(place)
            if used.get(a.id, 0) >= _ASKED_OF_ONE or used.get(b.id, 0) >= _ASKED_OF_ONE:
                continue
            if text_keys(a, b) in passed or not self._is_open(place):
                continue
            return Undecided(a, b, float(self.cosines[place]))
        return None

    def undecided(self) -> list[Undecided]:
        """Returns all pairs of the band that only meaning can decide."""
        places = np.flatnonzero(self.cosines >= self.band()[0]).tolist()
        return [
            Undecided(*self._memories_at(place), float(self.cosines[place]))
            for place in places
            if self._is_open(place)
        ]

    def _readable_languages(self) -> frozenset[str]:
        """Returns languages of enough memories whose unrelated pairs the model holds apart."""
        of_memory = np.array([facts_of(memory.content).language for memory in self.memories])
        ceiling = self.stranger + UNREAD * (1.0 - self.stranger)
        languages = set()
        for language in sorted(set(of_memory.tolist())):
            inside = (of_memory[self._i] == language) & (of_memory[self._j] == language)
            enough = inside.sum() >= LEAST
            if enough and float(np.median(self.cosines[inside])) < ceiling:
                languages.add(str(language))
        return frozenset(languages)

    def _memories_at(self, place: int) -> tuple[Memory, Memory]:
        """Returns the two memories of a pair, the smaller id first."""
        one, other = self.memories[int(self._i[place])], self.memories[int(self._j[place])]
        return (one, other) if one.id < other.id else (other, one)

    def _is_open(self, place: int) -> bool:
        """Checks whether only meaning can decide a pair; each pair is checked once."""
        if place not in self._open:
            a, b = self._memories_at(place)
            self._open[place] = undecided(a.content, b.content)
        return self._open[place]

    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Returns pairs within a namespace as two rows of places, and their cosines."""
        rows = self._vectors.rows([memory.content for memory in self.memories])
        places: dict[str, list[int]] = {}
        for place, memory in enumerate(self.memories):
            places.setdefault(memory.namespace, []).append(place)
        left, right, parts = [], [], []
        for name in sorted(places):
            own = np.array(places[name], dtype=np.int64)
            i, j = np.triu_indices(len(own), 1)
            left.append(own[i])
            right.append(own[j])
            parts.append((rows[own] @ rows[own].T)[i, j].astype(np.float64).round(_DECIMALS))
        cosines = np.concatenate(parts)
        if len(cosines) < LEAST:
            raise InputError(
                f"There are {len(cosines)} pairs within one namespace to learn from, and {LEAST} "
                "are needed. Calibrate on a larger store."
            )
        return np.concatenate(left), np.concatenate(right), cosines


def is_short(text: str) -> bool:
    """Checks whether one vector stands for the text, to detector and judge alike."""
    return len(split_parts(text)) == 1


def text_keys(a: Memory, b: Memory) -> tuple[str, str]:
    """Returns the key of a pair of texts."""
    return content_key(a.content), content_key(b.content)


def undecided(text_a: str, text_b: str) -> bool:
    """Checks whether only meaning can decide a pair: words do not merge it, and no veto holds."""
    first, second = sorted((text_a, text_b))
    a, b = facts_of(first), facts_of(second)
    if a.normal == b.normal or a.capped or b.capped or not a.tokens or not b.tokens:
        return False
    pair = Pair(Memory(id="a", content=first), Memory(id="b", content=second), {"lexical": 0.0})
    verdict = RuleJudge().judge(pair)
    letters = fuzz.ratio(first, second) / 100
    return not merges(verdict) and not forbidden(verdict.evidence, letters)


def restated(text: str) -> Iterator[str]:
    """Yields other spellings of a text, all with the same meaning."""
    plain = text.strip().rstrip(".。!")
    yield f"Note: {text.strip()}"
    yield f"[2026-01-31 10:15] {text.strip()}"
    yield f"- {plain[:1].lower()}{plain[1:]}"
    swapped = _LIST.sub(r"\4, \2 \3 \1", text)
    if swapped != text:
        yield swapped


def used_of(pairs: Iterable[tuple[str, str]]) -> Counter[str]:
    """Returns how often each memory occurs in pairs of ids."""
    return Counter(id_ for pair in pairs for id_ in pair)

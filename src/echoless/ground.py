"""What the memories of a store tell about an encoder by themselves.

Most pairs are strangers; a memory in another dressing is surely the same; pairs that the words
neither merge nor keep apart only meaning can decide, so only they are worth a question.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rapidfuzz import fuzz

from echoless.errors import InputError
from echoless.matching.facts import facts_of
from echoless.matching.rule_judge import RuleJudge
from echoless.matching.rules import forbidden
from echoless.model import Memory, Pair, merges
from echoless.text import content_key
from echoless.vectors.base import Encoder
from echoless.vectors.cache import VectorCache
from echoless.vectors.parts import split_parts
from echoless.vectors.text_vectors import TextVectors

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


class Ground:
    """Cosines of the pairs of a store, by one encoder.

    Attributes:
        memories: Those looked at.
        languages: Those of them the model reads.
        left_out: Memories in languages it does not read, or that too few memories have.
        cosines: Of all pairs within a namespace.
    """

    def __init__(
        self, memories: Iterable[Memory], encoder: Encoder, cache: VectorCache | None
    ) -> None:
        """Encode a sample of the memories: distinct texts that one vector stands for.

        Raises:
            InputError: There are too few to learn from.
            EncoderError: The encoder failed.
        """
        self._vectors = TextVectors(encoder, cache)
        self.memories = _sampled(memories)
        if len(self.memories) < LEAST:
            raise InputError(
                f"There are {len(self.memories)} distinct memories of up to 40 words to learn "
                f"from, and {LEAST} are needed. Calibrate on a larger store."
            )
        self._i, self._j, self.cosines = self._pairs()
        self.languages = self._read()
        self._leave_out_unread()
        self._open: dict[int, bool] = {}

    @property
    def stranger(self) -> float:
        """The median cosine: of two memories that have nothing to do with each other."""
        import numpy as np  # noqa: PLC0415

        return min(0.99, float(np.median(self.cosines)))

    def strangers(self, many: int = 100) -> list[float]:
        """Cosines of pairs at random, evenly from the lower 95 of 100."""
        import numpy as np  # noqa: PLC0415

        found: list[float] = np.quantile(self.cosines, np.linspace(0.0, 0.95, many)).tolist()
        return found

    def restated(self) -> list[float]:
        """Cosines of memories with themselves in another dressing."""
        chosen = self.memories[:_RESTATED]
        said = [(memory.content, other) for memory in chosen for other in restated(memory.content)]
        return self.cosines_of(said)

    def cosines_of(self, texts: Sequence[tuple[str, str]]) -> list[float]:
        """Cosines of pairs of texts."""
        import numpy as np  # noqa: PLC0415

        if not texts:
            return []
        left = self._vectors.rows([one for one, _ in texts])
        right = self._vectors.rows([other for _, other in texts])
        made: list[float] = np.einsum("ij,ij->i", left, right).round(_DECIMALS).tolist()
        return made

    def at_least(self, cosine: float) -> int:
        """How many pairs a detector with this threshold proposes."""
        return int((self.cosines >= cosine).sum())

    def band(self) -> tuple[float, float]:
        """Lowest and highest cosine of the pairs worth a question."""
        import numpy as np  # noqa: PLC0415

        many = min(len(self.cosines), max(_BAND_LEAST, int(_BAND * len(self.cosines))))
        top = np.partition(self.cosines, len(self.cosines) - many)[-many:]
        floor = self.stranger + _STRANGE * (1.0 - self.stranger)
        return max(floor, float(top.min())), float(top.max())

    def nearest(
        self, target: float, passed: frozenset[tuple[str, str]], used: Mapping[str, int]
    ) -> Undecided | None:
        """The undecided pair closest to a cosine.

        Args:
            target: The cosine.
            passed: Pairs of content keys not to ask about again.
            used: How often each memory was asked about.
        """
        import numpy as np  # noqa: PLC0415

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
        """All pairs of the band that only meaning can decide."""
        import numpy as np  # noqa: PLC0415

        places = np.flatnonzero(self.cosines >= self.band()[0]).tolist()
        return [
            Undecided(*self._memories_at(place), float(self.cosines[place]))
            for place in places
            if self._is_open(place)
        ]

    def _read(self) -> frozenset[str]:
        """Languages of enough memories whose strangers the model holds apart."""
        import numpy as np  # noqa: PLC0415

        spoken = np.array([facts_of(memory.content).language for memory in self.memories])
        ceiling = self.stranger + UNREAD * (1.0 - self.stranger)
        found = set()
        for language in sorted(set(spoken.tolist())):
            inside = (spoken[self._i] == language) & (spoken[self._j] == language)
            enough = inside.sum() >= LEAST
            if enough and float(np.median(self.cosines[inside])) < ceiling:
                found.add(str(language))
        return frozenset(found)

    def _leave_out_unread(self) -> None:
        """Learn from languages the model reads; with none of them it is a poor model for all."""
        kept = [m for m in self.memories if facts_of(m.content).language in self.languages]
        self.left_out = 0
        if len(kept) >= LEAST and len(kept) < len(self.memories):
            self.left_out = len(self.memories) - len(kept)
            self.memories = kept
            self._i, self._j, self.cosines = self._pairs()

    def _memories_at(self, place: int) -> tuple[Memory, Memory]:
        one, other = self.memories[int(self._i[place])], self.memories[int(self._j[place])]
        return (one, other) if one.id < other.id else (other, one)

    def _is_open(self, place: int) -> bool:
        if place not in self._open:
            a, b = self._memories_at(place)
            self._open[place] = undecided(a.content, b.content)
        return self._open[place]

    def _pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Pairs within a namespace, and their cosines."""
        import numpy as np  # noqa: PLC0415

        rows = self._vectors.rows([memory.content for memory in self.memories])
        places: dict[str, list[int]] = {}
        for place, memory in enumerate(self.memories):
            places.setdefault(memory.namespace, []).append(place)
        left, right, found = [], [], []
        for name in sorted(places):
            own = np.array(places[name], dtype=np.int64)
            i, j = np.triu_indices(len(own), 1)
            left.append(own[i])
            right.append(own[j])
            found.append((rows[own] @ rows[own].T)[i, j].astype(np.float64).round(_DECIMALS))
        cosines = np.concatenate(found)
        if len(cosines) < LEAST:
            raise InputError(
                f"There are {len(cosines)} pairs within one namespace to learn from, and {LEAST} "
                "are needed. Calibrate on a larger store."
            )
        return np.concatenate(left), np.concatenate(right), cosines


def _sampled(memories: Iterable[Memory]) -> list[Memory]:
    """Distinct texts of one part, in the order of their digests: a fixed draw, whatever the order.

    A memory whose text another one of its namespace repeats is left to the one with the smaller id.
    """
    distinct: dict[tuple[str, str], Memory] = {}
    for memory in sorted(memories, key=lambda each: each.id):
        if is_short(memory.content):
            distinct.setdefault((memory.namespace, memory.content), memory)
    drawn = sorted(distinct.values(), key=lambda each: (content_key(each.content), each.id))
    return drawn[:SAMPLE]


def is_short(text: str) -> bool:
    """Whether one vector stands for the text, to detector and judge alike."""
    return len(split_parts(text)) == 1


def text_keys(a: Memory, b: Memory) -> tuple[str, str]:
    """What a pair of texts is known by."""
    return content_key(a.content), content_key(b.content)


def undecided(text_a: str, text_b: str) -> bool:
    """Whether only meaning can decide a pair: the words do not merge it, and no veto stands."""
    first, second = sorted((text_a, text_b))
    a, b = facts_of(first), facts_of(second)
    if a.normal == b.normal or a.capped or b.capped or not a.tokens or not b.tokens:
        return False
    pair = Pair(Memory(id="a", content=first), Memory(id="b", content=second), {"lexical": 0.0})
    verdict = RuleJudge().judge(pair)
    letters = fuzz.ratio(first, second) / 100
    return not merges(verdict) and not forbidden(verdict.evidence, letters)


def restated(text: str) -> Iterator[str]:
    """The text as other writers dress it; every one says the same."""
    plain = text.strip().rstrip(".。!")
    yield f"Note: {text.strip()}"
    yield f"[2026-01-31 10:15] {text.strip()}"
    yield f"- {plain[:1].lower()}{plain[1:]}"
    swapped = _LIST.sub(r"\4, \2 \3 \1", text)
    if swapped != text:
        yield swapped


def used_of(pairs: Iterable[tuple[str, str]]) -> Counter[str]:
    """How often each memory occurs in pairs of ids."""
    return Counter(id_ for pair in pairs for id_ in pair)

"""Conformance suite for detectors: inherit it, define how yours is made, and run pytest.

```python
from echoless.blocking.detectors import Detector, DetectorOptions
from tests.conformance.detectors import DetectorConformance
from mypackage import SoundexDetector


class TestSoundex(DetectorConformance):
    example = ("The cat sat on the mat.", "The kat satt on the mat.")

    def make(self) -> Detector:
        return SoundexDetector(DetectorOptions())
```
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Final

from echoless.blocking.detector import Detector
from echoless.core.model import Candidate, Memory
from echoless.core.run_notes import Tally

PLAIN_TEXTS: Final = (
    "The nightly backup of the tracker database runs at 02:00 UTC.",
    "The nightly backup of the tracker database runs at 03:00 UTC.",
    "the nightly backup of the tracker database runs at 02:00 utc",
    "**The nightly backup** of the tracker database runs at 02:00 UTC.",
    "At 02:00 UTC the backup of the tracker database runs every night.",
    "User prefers tabs over spaces in every Go file.",
    "User prefers tabs over spaces in each Go file.",
    "User prefers spaces over tabs in every Go file.",
    "Der Schlüssel für den Keller hängt neben der Tür.",
    "Der Schlüssel zum Keller hängt links neben der Tür.",
    "決済サーバーを止める前に、加盟店へ停止の通知を送る。",
    "決済サーバーを止めた後に、加盟店へ停止の通知を送る。",
    "Never restart the queue while a migration runs.",
)

ODD_TEXTS: Final = (
    "",
    " \t\n\u3000",
    "\u200b\ufeff",
    "***",
    ".",
    "\0",
    "\ud800",
    "a lone \udfff surrogate in a sentence of words",
    "e\u0301\u0301\u0301\u0301",
    "\u202eright to left\u202c",
    "👩‍👩‍👧‍👦 👩‍👩‍👧‍👦",
    "𠮷野家で𝒎𝒂𝒕𝒉",
    "ﬁﬂﬀ Ⅷ ½ ①",
    "İıſẞß",
    "สวัสดีครับ ภาษาไทย",
    "مرحبا بالعالم",
    "a",
    "a" * 3_000,
    "word " * 700,
    "\r\n" * 40 + "x",
)


def memories_of(texts: Sequence[str]) -> list[Memory]:
    """Returns one memory for each text, ids in the order of the texts."""
    return [Memory(id=f"m{number:05d}", content=text) for number, text in enumerate(texts)]


class DetectorConformance(ABC):
    """Tests that every detector passes.

    Attributes:
        example: Two texts the detector has to propose when they are among `PLAIN_TEXTS`.
        threshold: The threshold `make` uses, if it should be checked on every pair.
    """

    example: ClassVar[tuple[str, str]]
    threshold: ClassVar[float | None] = None

    @abstractmethod
    def make(self) -> Detector:
        """Makes a new detector."""

    def propose(self, memories: Sequence[Memory]) -> list[Candidate]:
        """Returns all pairs a new detector proposes."""
        return list(self.make().detect(memories, Tally()))

    def corpus(self) -> list[Memory]:
        """Returns plain and odd texts without empty ones or repeats, and the example."""
        odd = [text for text in ODD_TEXTS if text.strip()]
        return memories_of(list(dict.fromkeys([*PLAIN_TEXTS, *self.example, *odd])))

    def test_it_has_a_name(self) -> None:
        """Checks that evidence can name it."""
        assert self.make().name

    def test_the_example_is_found(self) -> None:
        """Checks that the example is proposed."""
        memories = self.corpus()
        ids = {memory.content: memory.id for memory in memories}
        wanted = tuple(sorted(ids[text] for text in self.example))
        assert wanted in {(pair.a, pair.b) for pair in self.propose(memories)}

    def test_pairs_are_ordered_and_carry_its_name(self) -> None:
        """Checks the order of ids, that they are of the input, and the detector's name."""
        memories = self.corpus()
        ids = {memory.id for memory in memories}
        name = self.make().name
        for pair in self.propose(memories):
            assert pair.a < pair.b
            assert {pair.a, pair.b} <= ids
            assert pair.how == name

    def test_each_pair_comes_once(self) -> None:
        """Checks that no pair is proposed twice."""
        pairs = [(pair.a, pair.b) for pair in self.propose(self.corpus())]
        assert len(pairs) == len(set(pairs))

    def test_similarity_lies_between_0_and_1(self) -> None:
        """Checks that similarities are 0 to 1, and none is below the threshold given."""
        for pair in self.propose(self.corpus()):
            assert 0.0 <= pair.similarity <= 1.0
            assert self.threshold is None or pair.similarity >= self.threshold

    def test_order_of_input_does_not_matter(self) -> None:
        """Checks that memories in any order give the same pairs and similarities."""
        memories = self.corpus()
        expected = sorted(self.propose(memories))
        for seed in range(4):
            shuffled = list(memories)
            random.Random(seed).shuffle(shuffled)
            assert sorted(self.propose(shuffled)) == expected

    def test_one_detector_can_be_used_twice(self) -> None:
        """Checks that one run does not change the next."""
        memories = self.corpus()
        detector = self.make()
        first = list(detector.detect(memories, Tally()))
        list(detector.detect(memories[:5], Tally()))
        assert list(detector.detect(memories, Tally())) == first

    def test_what_is_skipped_is_told(self) -> None:
        """Checks that ids in the tally are of the input, and that none is in a pair."""
        memories = self.corpus()
        tally = Tally()
        paired = {id_ for p in self.make().detect(memories, tally) for id_ in (p.a, p.b)}
        skipped = {id_ for ids in tally.skipped.values() for id_ in ids}
        assert skipped <= {memory.id for memory in memories} - paired

    def test_odd_unicode_is_no_error(self) -> None:
        """Checks that empty texts, NUL, lone surrogates, rare scripts and long runs are fine."""
        self.propose(memories_of(ODD_TEXTS))
        for text in ODD_TEXTS:
            self.propose(memories_of([text, PLAIN_TEXTS[0]]))

    def test_nothing_gives_nothing(self) -> None:
        """Checks that no memories and a single one give no pair."""
        assert self.propose([]) == []
        assert self.propose(memories_of(PLAIN_TEXTS[:1])) == []

    def test_memories_are_left_as_they_were(self) -> None:
        """Checks that the given sequence is not reordered or changed."""
        memories = self.corpus()[::-1]
        before = list(memories)
        self.propose(memories)
        assert memories == before

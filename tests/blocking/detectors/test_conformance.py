"""Every detector of this package passes the suite shipped for plug-ins."""

from typing import ClassVar

from echoless.blocking.detectors import Detector, DetectorOptions, open_detector
from echoless.core.model import Candidate, JsonObject, Memory
from echoless.core.run_notes import Tally
from tests.conformance.detectors import PLAIN_TEXTS, DetectorConformance, memories_of


class Opened(DetectorConformance):
    detector: ClassVar[str]
    settings: ClassVar[JsonObject] = {}

    def make(self) -> Detector:
        options = DetectorOptions(threshold=self.threshold, settings=self.settings)
        return open_detector(self.detector, options)


class TestExact(Opened):
    detector = "exact"
    example = ("no two texts of the corpus are equal", "so the example is replaced below")

    def corpus(self) -> list[Memory]:
        return memories_of([*PLAIN_TEXTS, *PLAIN_TEXTS[:3], *PLAIN_TEXTS[:1]])

    def test_the_example_is_found(self) -> None:
        found: list[Candidate] = list(self.make().detect(self.corpus(), Tally()))
        assert [(p.a, p.b, p.similarity) for p in found] == [
            ("m00000", "m00013", 1.0),
            ("m00000", "m00016", 1.0),
            ("m00013", "m00016", 1.0),
            ("m00001", "m00014", 1.0),
            ("m00002", "m00015", 1.0),
        ]


class TestNormalised(Opened):
    detector = "normalised"
    example = ("Use `ruff` for **linting**.", "Use ruff for\u00a0linting")


class TestSequence(Opened):
    detector = "sequence"
    threshold = 0.75
    example = ("abcde 👩‍👩‍👧", "abcdf 👩‍👩‍👧")


class TestLexical(Opened):
    detector = "lexical"
    threshold = 0.3
    example = ("The deploy key expires in March.", "In March the deploy key will expire.")

import difflib
import math
from itertools import combinations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from echoless.blocking.detector import DetectorOptions
from echoless.blocking.detectors import sequence
from echoless.blocking.detectors.sequence import SequenceDetector, ratio
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.text import is_blank
from tests.conformance.detectors import memories_of

A = "The stop hook fires on every Stop event, so extraction runs many times per session."
B = "The stop hook fires on every Stop event so extraction runs many times per session"
C = "The stop hook fires on every Stop event, so extraction runs many times in each session."
D = "Use SQLite WAL mode for the tracker database because readers must not block the writer."

ALPHABETS = st.sampled_from(["ab", "abcd ", "aé\u0301𝒂👩\u200d", "ab\ud800\udfff\0"])
TEXT = ALPHABETS.flatmap(lambda alphabet: st.text(alphabet, max_size=24))
LONG = st.text("ab c", min_size=190, max_size=260)
THRESHOLDS = st.sampled_from([0.05, 0.5, 0.6, 2 / 3, 0.75, 0.8, 0.95, 1.0])


def reference(a: str, b: str) -> float:
    return max(
        difflib.SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in ((a, b), (b, a))
    )


def pairs(texts: list[str], options: DetectorOptions) -> dict[tuple[str, str], float]:
    found = list(SequenceDetector(options).detect(memories_of(texts), Tally()))
    made = {(p.a, p.b): p.similarity for p in found}
    assert len(made) == len(found)
    return made


def options(threshold: float | None = None, *, inclusive: bool = True) -> DetectorOptions:
    return DetectorOptions(threshold=threshold, inclusive=inclusive)


@given(TEXT, TEXT)
@example("dbcba", "bcdba")
@example("", "")
def test_the_ratio_is_the_larger_direction_of_difflib(a: str, b: str) -> None:
    assert ratio(a, b) == ratio(b, a) == reference(a, b)


@given(st.lists(TEXT, max_size=9), THRESHOLDS, st.booleans())
@example(["aaaaaab", "aaaaaaaaaaa"], 2 / 3, True)
@example(["\u200d", "\u200d"], 0.05, False)
@settings(max_examples=150)
def test_the_screen_changes_no_answer(texts: list[str], threshold: float, inclusive: bool) -> None:
    strict = min(threshold, 0.95)
    chosen = threshold if inclusive else strict
    filled = [memory for memory in memories_of(texts) if not is_blank(memory.content)]
    ratios = {(a.id, b.id): ratio(a.content, b.content) for a, b in combinations(filled, 2)}
    passing = {
        ids: value
        for ids, value in ratios.items()
        if value > chosen or (inclusive and value == chosen)
    }
    assert pairs(texts, options(chosen, inclusive=inclusive)) == passing


@given(st.lists(LONG, min_size=2, max_size=4), THRESHOLDS)
@settings(max_examples=40)
def test_long_texts_are_compared_without_the_junk_rule(texts: list[str], threshold: float) -> None:
    memories = memories_of(texts)
    wanted = {
        (a.id, b.id): value
        for a, b in combinations(memories, 2)
        if (value := reference(a.content, b.content)) >= threshold
    }
    assert pairs(texts, options(threshold)) == wanted


@given(st.lists(TEXT, max_size=9), THRESHOLDS)
def test_small_blocks_change_no_answer(texts: list[str], threshold: float) -> None:
    whole = pairs(texts, options(threshold))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence, "BLOCK_ROWS", 2)
        patch.setattr(sequence, "BLOCK_CELLS", 6)
        assert pairs(texts, options(threshold)) == whole


def test_the_ratio_of_known_texts() -> None:
    assert [round(ratio(*p), 4) for p in ((A, B), (A, C), (B, C))] == [0.9878, 0.9529, 0.9405]
    assert ratio(A, D) < 0.25
    text = (
        "The deploy script copies build artefacts to the staging host "
        "before running database migrations. "
    ) * 5
    other = text.replace("staging", "testing", 1).replace("copies", "moves", 1)
    assert round(ratio(text, other), 4) == 0.9907


@pytest.mark.parametrize(
    ("a", "b", "threshold", "inclusive", "found"),
    [
        ("abcd", "abce", 0.75, True, True),
        ("abcd", "abce", 0.75, False, False),
        ("abcd", "abce", 0.74, False, True),
        ("abcde", "abcdf", 0.75, False, True),
        ("dbcba", "bcdba", 0.75, False, True),
        ("bcdba", "dbcba", 0.75, False, True),
        ("same", "same", 1.0, True, True),
        ("ab", "cd", 0.0, False, False),
    ],
)
def test_a_threshold_is_inclusive_or_strict_as_asked(
    a: str, b: str, threshold: float, inclusive: bool, found: bool
) -> None:
    assert bool(pairs([a, b], options(threshold, inclusive=inclusive))) is found


def test_the_default_threshold_is_three_quarters_inclusive() -> None:
    assert pairs(["abcd", "abce"], DetectorOptions()) == {("m00000", "m00001"): 0.75}


def test_contents_are_compared_as_they_are() -> None:
    assert not pairs(["ABCD EFGH", "abcd efgh"], DetectorOptions())


def test_empty_texts_are_counted_and_never_a_pair() -> None:
    tally = Tally()
    detector = SequenceDetector(options())
    assert not list(detector.detect(memories_of(["", "", "  \n", "ok"]), tally))
    assert tally.counts == {"empty": 3}


def test_a_thousand_short_texts_take_few_exact_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    monkeypatch.setattr(
        sequence, "_ratio_below", lambda a, b, bound: counted.append(bound) or ratio(a, b)
    )
    texts = [f"{math.sin(n):.15f} {math.cos(n * n):.15f}" for n in range(1000)]
    memories = [Memory(id=str(n), content=text) for n, text in enumerate(texts)]
    list(SequenceDetector(DetectorOptions(threshold=0.9)).detect(memories, Tally()))
    assert len(counted) < 1000


def test_many_near_copies_take_few_exact_ratios(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    monkeypatch.setattr(
        sequence, "_ratio_below", lambda a, b, bound: counted.append(bound) or ratio(a, b)
    )
    memories = memories_of([f"{A} {B} {n % 97}" for n in range(400)])
    detector = SequenceDetector(DetectorOptions(threshold=0.9))
    blocks = list(detector.propose(memories, Tally(), 3))
    assert sum(len(block.one) for block in blocks) == 3 * 397 + 3
    assert {int(one) for block in blocks for one in block.one} == {0, 1, 2}
    assert len(counted) == 3 * 397 + 3

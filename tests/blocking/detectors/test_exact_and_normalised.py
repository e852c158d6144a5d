from itertools import combinations, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.blocking.detector import DetectorOptions
from echoless.blocking.detectors.exact import ExactDetector, NormalisedDetector
from echoless.blocking.pair_scores import CASE_FOLDED, CASE_KEPT
from echoless.core.model import Memory
from echoless.core.run_notes import Tally
from echoless.core.text import is_blank, normalise
from tests.conformance.detectors import memories_of

TEXTS = st.lists(
    st.sampled_from(["a", "A", "a.", "a ", "**a**", "b", "B", '"b"', "ｂ", "***", " ", "ß", "SS"]),
    max_size=12,
)


def exact(texts: list[str]) -> set[tuple[str, str, float]]:
    found = ExactDetector(DetectorOptions()).detect(memories_of(texts), Tally())
    return {(p.a, p.b, p.similarity) for p in found}


def normalised(
    texts: list[str], options: DetectorOptions | None = None
) -> dict[tuple[str, str], float]:
    detector = NormalisedDetector(options or DetectorOptions())
    return {(p.a, p.b): p.similarity for p in detector.detect(memories_of(texts), Tally())}


@given(TEXTS)
def test_exact_proposes_every_pair_of_equal_texts_and_no_other(texts: list[str]) -> None:
    told = [m for m in memories_of(texts) if not is_blank(m.content)]
    wanted = {(a.id, b.id, 1.0) for a, b in combinations(told, 2) if a.content == b.content}
    assert exact(texts) == wanted


def test_exact_proposes_all_pairs_among_copies_not_a_star() -> None:
    assert exact(["x"] * 4) == {
        (f"m{a:05d}", f"m{b:05d}", 1.0) for a, b in combinations(range(4), 2)
    }


def test_exact_does_not_hold_the_pairs_in_memory() -> None:
    memories = [Memory(id=f"{n:06d}", content="same") for n in range(20_000)]  # 2e8 pairs
    found = ExactDetector(DetectorOptions()).detect(memories, Tally())
    assert len(list(islice(found, 10))) == 10


def test_a_threshold_changes_nothing_for_exact() -> None:
    detector = ExactDetector(DetectorOptions(threshold=0.2))
    assert len(list(detector.detect(memories_of(["x", "x"]), Tally()))) == 1


def test_empty_texts_are_counted_by_exact() -> None:
    tally = Tally()
    assert not list(ExactDetector(DetectorOptions()).detect(memories_of(["", "", " "]), tally))
    assert tally.counts == {"empty": 3}


@given(TEXTS)
def test_normalised_tells_its_two_tiers_apart(texts: list[str]) -> None:
    wanted = {}
    for a, b in combinations(memories_of(texts), 2):
        if normalise(a.content, fold_case=True) == normalise(b.content, fold_case=True) != "":
            same = normalise(a.content) == normalise(b.content)
            wanted[a.id, b.id] = CASE_KEPT if same else CASE_FOLDED
    assert normalised(texts) == wanted


@pytest.mark.parametrize(
    "other",
    [
        "Use “ruff” for linting",
        '- Use "ruff" for linting.',
        '## Use "ruff" for **linting**',
        'Use\u00a0"ruff"\u3000for\tlinting',
        'Ｕｓｅ "ruff" for linting',
        'Use "ru\u200bff" for linting',
        '> Use "ruff" for\nlinting.',
    ],
)
def test_dressing_makes_no_difference(other: str) -> None:
    assert normalised(['Use "ruff" for linting', other]) == {("m00000", "m00001"): 1.0}


def test_case_alone_gives_the_lower_tier() -> None:
    assert normalised(["Enable TLS", "enable tls"]) == {("m00000", "m00001"): 0.999}


@pytest.mark.parametrize(
    "options", [DetectorOptions(threshold=1.0), DetectorOptions(threshold=0.999, inclusive=False)]
)
def test_a_threshold_can_leave_out_the_folded_tier(options: DetectorOptions) -> None:
    assert list(normalised(["Enable TLS", "enable tls", "Enable TLS."], options)) == [
        ("m00000", "m00002")
    ]


def test_nothing_but_dressing_is_counted_and_never_a_pair() -> None:
    tally = Tally()
    detector = NormalisedDetector(DetectorOptions())
    assert not list(detector.detect(memories_of(["\u200b", " ", "\u200b﻿"]), tally))
    assert tally.counts == {"nothing but dressing": 3}

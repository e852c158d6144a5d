"""Pairs worth judging: all within the budget, a star of each memory's best partners beyond it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.blocking import pair_budget as looking
from echoless.blocking.detectors import Proposed
from echoless.blocking.pair_budget import Search
from echoless.blocking.pair_scores import Closest, Measured, gathered
from echoless.core.model import Candidate, Memory, candidate
from echoless.core.profiles import DetectorUse, Profile
from echoless.core.run_notes import Tally

STARS = Profile(name="stars", summary="", detectors=())
EVERYTHING = DetectorUse("everything")
CLOSEST = Profile(name="closest", summary="", detectors=(), grouping="closest")


def memories(count: int) -> list[Memory]:
    return [Memory(id=f"m-{at:05d}", content=f"text {at}") for at in range(count)]


class Everything:
    """Proposes all pairs of the memories, in one measure; in bulk as the contract says."""

    name = "everything"

    def __init__(self) -> None:
        self.asked: list[int | None] = []
        self.told = 0

    def propose(
        self, memories: Sequence[Memory], tally: Tally, most: int | None = None
    ) -> Iterator[Proposed]:
        self.asked.append(most)
        for at in range(1, len(memories)):
            one = np.arange(at if most is None else min(at, most))
            self.told += len(one)
            yield Proposed(one, np.full(len(one), at), np.full(len(one), 0.95))

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        raise AssertionError("a bulk detector is asked in bulk")


class OneByOne:
    """Neighbours by id, and the two ends; as objects only."""

    name = "one-by-one"

    def detect(self, memories: Sequence[Memory], tally: Tally) -> Iterator[Candidate]:
        for one, other in pairwise(memories):
            yield candidate(one.id, other.id, self.name, 0.5)
        yield candidate(memories[-1].id, memories[0].id, self.name, 1 / 3)


def test_signals_of_several_detectors_come_together_by_pair_in_the_order_of_the_ids() -> None:
    some = memories(8)
    search = Search(STARS, [some[:5], some[5:]], Tally())
    everything = Everything()
    for part in (some[:5], some[5:]):
        search.look("everything", everything, [part])
        search.look("one-by-one", OneByOne(), [part])
    signals = search.signals()
    assert everything.asked == [None, None]
    assert list(signals) == sorted(signals)
    assert len(signals) == len(list(signals)) == 10 + 3
    assert signals["m-00000", "m-00004"] == {"everything": 0.95, "one-by-one": 1 / 3}
    assert signals["m-00005", "m-00006"] == {"everything": 0.95, "one-by-one": 0.5}
    assert signals["m-00000", "m-00002"] == {"everything": 0.95}
    assert dict(signals.items()) == {pair: signals[pair] for pair in signals}
    assert ("m-00004", "m-00005") not in signals
    with pytest.raises(KeyError):
        signals["m-00004", "m-00000"]
    assert search.left_out == 0
    assert signals.crowds is None


def test_beyond_the_budget_each_memory_keeps_its_best_partners_and_is_called_crowded() -> None:
    some = memories(100)
    search = Search(STARS, [some], Tally(), order=lambda part: part[::-1])
    everything = Everything()
    search.look("everything", everything, [some])
    signals = search.signals()
    assert everything.asked == [None, looking.PAIRS_PER_MEMORY]
    assert len(signals) == 30 * 70 + sum(range(30))
    assert ("m-00000", "m-00099") in signals, "the best survivor stands last by id"
    assert ("m-00000", "m-00001") not in signals
    assert signals.crowds is not None
    assert signals.crowds.cut.sum() == 70
    assert signals.crowds.crowded.sum() == 97
    assert signals.crowds.rank.tolist() == list(range(100))[::-1]


def test_a_large_partition_is_never_asked_for_all_its_pairs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(looking, "WHOLE_UP_TO", 50)
    some, everything = memories(100), Everything()
    Search(STARS, [some], Tally()).look("everything", everything, [some])
    assert everything.asked == [30]
    assert everything.told < 30 * 100


def test_groups_that_are_no_stars_get_the_closest_pairs_of_all_and_are_told_the_rest() -> None:
    some, tally = memories(100), Tally()
    search = Search(CLOSEST, [some], tally)
    search.look("everything", Everything(), [some])
    assert len(search.signals()) == 3_000
    assert search.left_out == 100 * 99 // 2 - 3_000
    (note,) = tally.notes
    assert note.startswith("everything: of 4,950 pairs among 100 memories the 3,000 closest")


def test_pairs_that_touch_no_wanted_memory_are_left_out() -> None:
    some = memories(6)
    search = Search(STARS, [some], Tally(), touching={"m-00002"})
    search.look("everything", Everything(), [some])
    assert all("m-00002" in pair for pair in search.signals())
    assert len(search.signals()) == 5


similar = st.floats(0, 1, allow_nan=False)


@given(st.dictionaries(st.integers(0, 400), similar, max_size=400), st.integers(1, 20))
def test_the_closest_are_kept_whatever_the_blocks(told: dict[int, float], budget: int) -> None:
    closest = Closest(budget)
    keys = list(told)
    for start in range(0, len(keys), 7):
        some = keys[start : start + 7]
        closest.add(np.array(some, dtype=np.int64), np.array([told[key] for key in some]))
    kept, similarity = closest.pairs()
    best = sorted(told.items(), key=lambda item: (-item[1], item[0]))[:budget]
    assert sorted(zip(kept.tolist(), similarity.tolist(), strict=True)) == sorted(best)
    assert closest.seen == len(told)


@given(
    st.lists(
        st.dictionaries(
            st.tuples(st.integers(0, 8), st.integers(1, 9)).filter(lambda p: p[0] < p[1]), similar
        ),
        max_size=3,
    ),
    st.data(),
)
def test_signals_are_what_a_dictionary_of_dictionaries_would_be(
    told: list[dict[tuple[int, int], float]], data: st.DataObject
) -> None:
    ids = [f"m-{at}" for at in range(10)]
    plain: dict[tuple[str, str], dict[str, float]] = {}
    found = []
    for number, pairs in enumerate(told):
        keys = np.array([a * 10 + b for a, b in pairs], dtype=np.int64)
        found.append(Measured(f"d{number}", keys, np.array(list(pairs.values()), dtype=float)))
        for (a, b), similarity in pairs.items():
            plain.setdefault((ids[a], ids[b]), {})[f"d{number}"] = similarity
    signals = gathered(ids, found)
    assert list(signals) == sorted(plain)
    assert dict(signals) == plain
    assert dict(signals.items()) == plain
    rows = sorted(data.draw(st.sets(st.integers(0, max(0, len(plain) - 1))))) if plain else []
    some = signals.some(np.array(rows, dtype=np.int64))
    assert dict(some) == {pair: plain[pair] for pair in (sorted(plain)[row] for row in rows)}

"""How much work a store makes, in counts and not in seconds: a guard that cannot flake."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from importlib.resources import files

import pytest

from echoless.blocking import pair_budget as looking
from echoless.blocking.candidates import Preference, candidates
from echoless.blocking.pair_scores import PairSignals
from echoless.clustering.assign import best_first, fold
from echoless.core.json_codec import memory_from_json
from echoless.core.model import Memory
from echoless.core.profiles import DetectorUse
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.stores.live import MemoryList
from echoless.workflows.dedupe.pipeline import find

SETTINGS = resolve(Choices(encoder="none"))


def proposed(memories: list[Memory], settings: Settings = SETTINGS) -> PairSignals:
    by_id = {memory.id: memory for memory in memories}
    profile = settings.profile
    copies = fold(memories, profile, set(), set(), Tally())
    order = best_first(by_id, copies, profile, set())
    found = candidates(
        by_id, copies, settings, Tally(), lambda *_: None, None, Preference(order=order)
    )
    assert found.left_out == 0
    return found.signals


def test_the_sample_makes_as_many_candidates_as_ever() -> None:
    lines = files("echoless").joinpath("data/sample.jsonl").read_text("utf-8").splitlines()
    sample = [memory_from_json(json.loads(line)) for line in lines]
    found = Counter(name for signals in proposed(sample).values() for name in signals)
    assert found == {"lexical": 806, "normalised": 5}


@pytest.mark.parametrize("size", [500, 2_000])
def test_a_class_of_copies_in_other_dressing_makes_candidates_as_it_has_members(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(looking, "WHOLE_UP_TO", 100)
    text = "the gateway of the north site answers on port"
    class_ = [Memory(id=f"m-{at:05d}", content=f"{text}{' ' * (at + 1)}8443") for at in range(size)]
    profile = replace(SETTINGS.profile, detectors=(DetectorUse("normalised"),))
    signals = proposed(class_, replace(SETTINGS, profile=profile))
    by_form = sum("normalised" in measured for measured in signals.values())
    assert by_form == 30 * size - 30 * 31 // 2
    assert signals.crowds is not None
    assert signals.crowds.cut.sum() == size - 30


def test_a_class_of_thousands_of_identical_texts_makes_no_candidate_and_one_group() -> None:
    same = [Memory(id=f"m-{at:05d}", content="The port is 8443.") for at in range(5_000)]
    assert len(proposed(same)) == 0
    (group,) = find(MemoryList(same), SETTINGS).groups
    assert len(group.members) == 4_999

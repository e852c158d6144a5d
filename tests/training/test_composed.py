"""Several statements are told apart by the one that is told apart, in any order and form."""

from __future__ import annotations

import pytest
from training.composed import composed

SETS = [
    {
        "lang": "en",
        "base": f"The {thing} is open on {day}.",
        "same": [f"On {day} the {thing} is open."],
        "conflict": [{"t": f"The {thing} is closed on {day}."}],
        "sibling": [{"t": f"The other {thing} is open on {day}."}],
        "related": [f"The {thing} has two doors."],
    }
    for thing, day in (("shop", "Monday"), ("bank", "Tuesday"), ("pool", "Friday"))
]
GERMAN = [{**each, "lang": "de", "base": "Der Laden ist offen."} for each in SETS[:2]]


def test_the_label_is_that_of_the_one_statement_that_differs() -> None:
    pairs = composed(SETS, 400, seed=1)
    kinds = {pair.source.rpartition("/")[2] for pair in pairs}
    assert kinds == {"same", "conflict", "apart", "gone", "one"}
    for pair in pairs:
        closed = "closed" in pair.b
        other = "other" in pair.b or "two doors" in pair.b
        less = pair.b.count(" is ") + pair.b.count("two doors") < pair.a.count(" is ")
        wanted = (0, 0, 1) if closed else (0, 0, 0) if other else (1, 0, 0) if less else (1, 1, 0)
        assert pair.targets == wanted, pair
        assert "closed" not in pair.a


@pytest.mark.parametrize("seed", [1, 2])
def test_a_seed_gives_the_same_pairs(seed: int) -> None:
    assert composed(SETS, 20, seed=seed) == composed(SETS, 20, seed=seed)


def test_statements_of_one_language_stand_together() -> None:
    assert all("Laden" not in pair.a for pair in composed([*SETS, *GERMAN], 50, seed=1))

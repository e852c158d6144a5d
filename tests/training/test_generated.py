"""Generated pairs: one thing changed or nothing, with the label that follows."""

from __future__ import annotations

import random

from training.generated import denial, exchanged, generated, number, opposite, unchanged

GROUPS = [
    (
        "en",
        [
            "The backup of `orders` goes to /srv/a before 5 minutes have passed.",
            "Always run the linter; Ana and the reviewer in Bern check 12 files.",
            "The cache is enabled on Monday, and Max must not restart it.",
        ],
    )
]


def test_the_same_seed_gives_the_same_pairs() -> None:
    assert generated(GROUPS, 80, seed=4) == generated(GROUPS, 80, seed=4)


def test_no_pair_that_must_stay_apart_is_one_text_twice() -> None:
    for pair in generated(GROUPS, 300, seed=1):
        assert pair.mergeable or pair.a != pair.b or pair.conflict != 1


def test_a_change_changes_one_thing() -> None:
    draw = random.Random(1)
    text = "It takes 5 minutes."
    changed = number(text, draw, ())
    assert changed is not None
    assert changed != text
    assert changed.startswith("It takes ")
    assert opposite("The cache is enabled.", draw, ()) == "The cache is disabled."
    assert denial("It is ready.", draw, ()) == "It is not ready."
    assert exchanged("Copies `one` then `two`.", draw, ()) == "Copies `two` then `one`."


def test_nothing_to_change_gives_nothing() -> None:
    draw = random.Random(1)
    assert number("no digits", draw, ()) is None
    assert exchanged("a, b", draw, ()) is None
    assert unchanged("x", draw, ()) is None

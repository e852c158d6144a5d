"""Other letters of a name make another one; other letters of a word are a slip."""

from __future__ import annotations

import random
import re

from training.near_names import FRAMES, framed, name, near, near_names, slip

from echoless.matching.fields import fields_of


def test_a_near_name_is_another_name_and_nearly_alike() -> None:
    draw = random.Random(1)
    for _ in range(500):
        first = name(draw)
        other = near(first, draw)
        assert other.casefold() != first.casefold()
        assert set(first.casefold()) & set(other.casefold())


def test_a_pair_is_the_same_exactly_where_the_names_are() -> None:
    draw = random.Random(2)
    wordings = [wording for frame in FRAMES for wording in frame[:2]]
    patterns = [re.compile(re.escape(w).replace(r"\{n\}", r"`?([^\s`,]+?)`?")) for w in wordings]

    def names(text: str) -> set[str]:
        return {m[1] for p in patterns if (m := p.fullmatch(text))}

    for _ in range(500):
        a, b, forth, back, conflict = framed(draw)
        same = bool(names(a) & names(b))
        assert (forth, back) == ((1, 1) if same else (0, 0)), (a, b)
        assert conflict == 0 if same else conflict in {1, None}


def test_a_slip_leaves_all_but_one_word() -> None:
    draw = random.Random(3)
    text = "The parcels are delivered by the courier on Tuesday."
    for _ in range(100):
        made = slip(text, draw)
        if made is not None:
            pairs = zip(text.split(), made.split(), strict=True)
            assert sum(a != b for a, b in pairs) == 1
    assert slip("No, I am 5.", draw) is None


def test_the_same_seed_gives_the_same_pairs_and_both_kinds() -> None:
    texts = ["The parcels are delivered by the courier.", "Wir liefern die Pakete morgens aus."]
    made = near_names(texts, 300, seed=4)
    assert made == near_names(texts, 300, seed=4)
    assert len(made) == 300
    assert {pair.mergeable for pair in made} == {True, False}
    assert all(fields_of(pair.a).sentence for pair in made)

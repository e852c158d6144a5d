"""Long texts are cut into parts, and nothing is lost on the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.core.text import is_blank, words
from echoless.models.encoders import vectorizer as parts
from echoless.models.encoders.vectorizer import PART_WORDS, split_parts


def solid(text: str) -> str:
    return "".join(text.split())


@given(st.text(alphabet=st.sampled_from("ab .!?\n。決済 é…/"), max_size=1_500))
def test_parts_hold_every_character_in_order(text: str) -> None:
    found = split_parts(text, limit=7)
    assert solid("".join(found)) == solid(text) or is_blank(text)
    assert not any(is_blank(part) for part in found)


@given(st.text(max_size=400))
def test_the_same_text_is_cut_the_same_way(text: str) -> None:
    assert split_parts(text, limit=9) == split_parts(text, limit=9)


def test_a_short_text_is_one_part() -> None:
    assert split_parts("  The deploy key expires in March. Ask Ada.\n") == (
        "The deploy key expires in March. Ask Ada.",
    )


def test_a_blank_text_has_no_parts() -> None:
    assert split_parts(" \n\u200b") == ()


def test_a_long_text_is_cut_at_sentence_ends_into_about_equal_parts() -> None:
    sentence = "The nightly backup of tracker {} runs at two."
    text = " ".join(sentence.format(n) for n in range(12))
    parts = split_parts(text)
    assert len(parts) == 3
    assert all(part.endswith("two.") for part in parts)
    assert {len(words(part)) for part in parts} <= set(range(25, PART_WORDS + 1))


def test_list_lines_are_ends_too() -> None:
    text = "\n".join(f"- item number {n} of the list without a stop" for n in range(20))
    assert all(part.startswith("- item") for part in split_parts(text))


def test_japanese_counts_two_characters_a_word() -> None:
    sentence = "決済サーバーを止める前に加盟店へ通知を送る。"
    assert len(split_parts(sentence * 3)) == 1
    parts = split_parts(sentence * 9)
    assert len(parts) == 3
    assert all(part.endswith("。") and len(part) <= 2 * PART_WORDS for part in parts)


def test_a_sentence_without_an_end_is_cut_between_words() -> None:
    parts = split_parts("word " * 700)
    assert all(len(part.split()) <= PART_WORDS for part in parts)
    assert sum(len(part.split()) for part in parts) == 700


def test_a_run_without_spaces_is_cut_too() -> None:
    parts = split_parts("決済" * 500)
    assert max(map(len, parts)) <= 2 * PART_WORDS
    assert max(map(len, split_parts("QUJD" * 5_000))) <= 10 * PART_WORDS


@given(st.text(st.characters(max_codepoint=126), max_size=400), st.integers(1, 12))
def test_the_short_way_for_ascii_gives_the_parts_of_the_long_way(text: str, limit: int) -> None:
    short = split_parts(text, limit=limit)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_plainly_short", lambda *_: False)
        assert split_parts(text, limit=limit) == short

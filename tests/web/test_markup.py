"""Texts of memories as markup: masked, escaped, with hidden characters and differences visible."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.core.masking import OUTPUT
from echoless.core.text import escapes, visible
from echoless.web.markup import FIRST, MOST, compared, identifier, line, passage, reason
from tests.web.conftest import SECRET, PageReader

ALLOWED = {"div", "del", "ins", "span", "bdi", "details", "summary", "p", "wbr"}
TEXTS = st.text(
    st.sampled_from("ab <>&\"'\n\t/\u202e\u200b\u200d\ud83dé日本ا") | st.characters(codec=None),
    max_size=60,
)


@pytest.fixture(autouse=True)
def _masked() -> Iterator[None]:
    OUTPUT.begin(shown=False)
    yield
    OUTPUT.begin()


def plain(markup: str) -> str:
    """What a person sees of markup: its text without the words for a screen reader."""
    seen = re.sub(r'<span class="unseen">[^<]*</span>', "", markup)
    reader = PageReader(seen)
    assert reader.foreign == []
    assert reader.elements.keys() <= ALLOWED
    return "".join(reader.texts)


@given(TEXTS)
def test_the_text_of_a_passage_is_the_visible_text_and_nothing_else(text: str) -> None:
    assert plain(passage(text)) == visible(OUTPUT.text(text))


@given(TEXTS, TEXTS)
def test_a_difference_shows_both_texts_whole_and_tears_no_escape_apart(old: str, new: str) -> None:
    both = compared(old, new)
    for text, markup in ((old, both.old), (new, both.new)):
        masked = OUTPUT.text(text)
        assert plain(markup) == visible(masked)
        whole = re.findall(r'<span class="escape">(.*?)</span>', markup)
        assert whole == [escape for _, escape in escapes(masked)]
    assert both.same == (old == new)


@given(TEXTS)
def test_an_id_and_a_line_stay_on_one_line(text: str) -> None:
    for markup in (identifier(text), line(text), reason(text)):
        assert "\n" not in markup
        assert "\t" not in markup
        plain(markup)


def test_words_of_one_text_are_struck_through_or_underlined_and_named_for_a_screen_reader() -> None:
    both = compared("The port is 8080 today.", "The port is 9090 today.")
    assert '<del><span class="unseen"> (only here: </span>8080' in both.old
    assert '<ins><span class="unseen"> (only here: </span>9090' in both.new
    assert "<ins>" not in both.old
    assert both.whole
    assert not both.alike


def test_the_marks_say_what_goes_and_what_stays_or_that_nothing_is_chosen() -> None:
    texts = "The port is 8080 today.", "The port is 9090 today."
    left = compared(*texts, ("ins", "del"))
    assert (left.old.count("<ins>"), left.new.count("<del>")) == (1, 1)
    asked = compared(*texts, ("mark", "mark"))
    assert (asked.old.count("<mark>"), asked.new.count("<mark>")) == (1, 1)


def test_texts_with_less_than_half_of_their_words_in_common_are_plain() -> None:
    texts = "Ann takes the bus to work.", "The depot is closed on Sundays."
    both = compared(*texts)
    assert (plain(both.old), plain(both.new)) == texts
    assert "<del>" not in both.old


def test_texts_that_differ_in_white_space_alone_are_said_to_have_no_other_word() -> None:
    both = compared("one  two\n", "one two")
    assert both.alike
    assert not both.same


def test_two_secrets_have_different_marks_so_that_the_difference_is_seen() -> None:
    both = compared(f"The key is {SECRET}.", f"The key is {SECRET[:-1]}B.")
    assert SECRET[4:] not in both.old + both.new
    assert "<del>" in both.old


def test_a_secret_at_the_place_where_a_text_is_cut_is_not_halved() -> None:
    for before in range(MOST - len(SECRET) - 2, MOST + 2):
        markup = passage("x" * (before - 1) + " " + SECRET + " end" * 10)
        assert SECRET[:10] not in markup


def test_a_long_text_is_folded_at_white_space_and_a_longer_one_cut_with_a_sentence() -> None:
    folded = passage("word " * 1_000)
    assert folded.count("<details") == 1
    assert re.search(r"Show 3,\d{3} characters more", folded)
    assert plain(folded).replace(re.findall(r"Show [\d,]+ characters more", folded)[0], "") == (
        "word " * 1_000
    )
    cut = passage("word " * 10_000)
    assert "The text has 50,000 characters; the last 30,000 are not shown." in cut
    assert len(cut) < MOST + 1_000
    assert "<details" not in passage("word " * (FIRST // 5))


def test_many_changes_and_hidden_characters_take_no_more_than_a_moment() -> None:
    old = " ".join(f"a{at}\u200b" for at in range(4_000))
    new = " ".join(f"b{at}\u200b" for at in range(4_000))
    both = compared(old, new)
    assert not both.whole
    assert len(both.old) > MOST

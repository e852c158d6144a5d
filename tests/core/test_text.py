from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.core.text import (
    char_ngrams,
    is_blank,
    normalise,
    token_estimate,
    unreadable,
    words,
)
from echoless.core.timestamps import instant


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("**Bold** and `code`.", "Bold and code"),
        ("# Title\n\n- item", "Title item"),
        ("> a quote", "a quote"),
        ("“typographic” ‘quotes’", "\"typographic\" 'quotes'"),
        ('"the whole text"', "the whole text"),
        ("non\u00a0breaking\u2003space", "non breaking space"),
        ("ｆｕｌｌ width １２", "full width 12"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("文末。", "文末"),
    ],
)
def test_dressing_makes_no_difference(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("TLS", "tls"),
        ("10²", "102"),
        ("1½ l", "11/2 l"),
        ("- [ ] open", "- [x] open"),
        ("~~no~~", "no"),
        ("__init__", "init"),
        ("- 5 °C", "5 °C"),
        ("> 5", "5"),
        ("a_b", "ab"),
        ("2*3*4", "234"),
        ("wait...", "wait"),
        ("-v", "v"),
    ],
)
def test_what_carries_meaning_stays(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(st.text())
def test_any_text_is_read_without_failing(text: str) -> None:
    assert normalise(text, fold_case=True) == normalise(text, fold_case=True)
    assert isinstance(words(text), tuple)
    char_ngrams(text)
    is_blank(text)
    unreadable(text)
    assert token_estimate(text) >= 0


def test_scripts_without_spaces_become_bigrams() -> None:
    assert words("東京は cat 晴れ") == ("東京", "京は", "cat", "晴れ")
    assert char_ngrams("東京")[0] == " 東"


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("1970-01-01T00:00:01Z", 10**9),
        ("1970-01-01 00:00:01", 10**9),
        ("1970-01-01T01:00:01+01:00", 10**9),
        ("1970-01-01T00:00:00.000000001+00:00", 1),
        ("1970-01-02", 86_400 * 10**9),
        ("1750000000", 1_750_000_000 * 10**9),
        ("1750000000000", 1_750_000_000 * 10**9),
        ("1750000000.5", 1_750_000_000_500_000_000),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_times_are_read_as_instants(text: str | None, nanoseconds: int | None) -> None:
    assert instant(text) == nanoseconds


def test_the_loose_form_drops_case_quotes_and_the_white_space_of_ecmascript() -> None:
    from echoless.core.text import loose

    assert loose('\u00a0 Don\'t\ufeff  "Go"\n') == "dont go"
    assert loose("a\u0085b\x1cc") == "a\u0085b\x1cc"


def test_lengths_and_numbered_ids() -> None:
    from echoless.core.text import numbered, utf16_length

    assert utf16_length("a😀") == 3
    assert sorted(["m#10", "m#9", "a#11", "m"], key=numbered) == ["a#11", "m", "m#9", "m#10"]

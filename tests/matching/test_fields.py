"""Fields around a note's sentence: marks, status, date, markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.matching.fields import Status, fields_of


@pytest.mark.parametrize(
    "text",
    [
        "Added a queue adapter",
        "- Added a queue adapter",
        "* [x] Added a queue adapter",
        "\u2705 Added a queue adapter",
        "\u2705 **Added** a `queue` adapter",
        "DONE: Added a queue adapter",
        "3. Added a queue adapter (done)",
        "### \u2714\ufe0f Added a queue adapter",
        "2025-03-02: Added a queue adapter",
        "[2025-03-02] Added a queue adapter \u2705",
    ],
)
def test_marks_markup_and_a_date_in_front_are_no_part_of_the_sentence(text: str) -> None:
    assert fields_of(text).sentence == "Added a queue adapter"


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("[x] ship it", Status.DONE),
        ("[ ] ship it", Status.OPEN),
        ("\U0001f504 ship it", Status.ACTIVE),
        ("WIP: ship it", Status.ACTIVE),
        ("TODO: ship it", Status.OPEN),
        ("\u274c ship it", Status.FAILED),
        ("\u5b8c\u4e86: \u51fa\u8377", Status.DONE),
        ("\U0001f680 ship it", None),
        ("ship it", None),
    ],
)
def test_marks_and_words_tell_a_status(text: str, status: Status | None) -> None:
    assert fields_of(text).status is status


@pytest.mark.parametrize(
    "text", ["-5 \u00b0C outside", "Status: ok", "[1] Smith 2019", "3.5 GB free"]
)
def test_what_only_looks_like_a_mark_stays(text: str) -> None:
    assert fields_of(text).sentence == text


@given(st.text(min_size=1, max_size=200))
def test_every_text_has_a_sentence(text: str) -> None:
    assert fields_of(text).sentence


@given(st.text(alphabet="-*+#>[]xX \u2705\u274c1.:", min_size=1, max_size=40))
def test_a_text_of_only_marks_is_kept(text: str) -> None:
    assert fields_of(text).sentence

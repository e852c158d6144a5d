"""Tellings of one piece of work are the same, or conflict where one is planned and one is done."""

from __future__ import annotations

import random

import pytest
from training.planned import planned_or_done, work

TASK = "- [ ] Add a retry to the upload queue."
DONE_WORDS = ("added", "introduced", "implemented", "completed", "(done)", "finished")


def is_done(text: str) -> bool:
    """Whether one of the words of done work stands in a telling."""
    return any(word in text.casefold() for word in DONE_WORDS)


def test_tellings_conflict_where_one_is_done_and_one_is_planned() -> None:
    seen = set()
    for seed in range(300):
        a, b, ab, ba, conflict = planned_or_done(TASK, random.Random(seed))
        same = is_done(a) == is_done(b)
        assert (ab, ba, conflict) == ((1, 1, 0) if same else (0, 0, 1)), (a, b)
        assert "retry to the upload queue" in a
        assert "retry to the upload queue" in b
        seen.add((is_done(a), is_done(b)))
    assert len(seen) == 4


@pytest.mark.parametrize(
    "text",
    [
        "The queue retries three times.",
        "Addition of a retry",
        "Fix",
        "**Test file**: `tests/test_queue.py`",
        "Added a retry\nand a test",
    ],
)
def test_a_text_that_does_not_begin_with_a_verb_of_work_is_left_alone(text: str) -> None:
    assert work([text]) == []
    if "\n" not in text and "**" not in text:
        with pytest.raises(ValueError, match="No verb of work"):
            planned_or_done(text, random.Random(1))


@pytest.mark.parametrize("text", ["Fixed the parser", "  - set up CI", "✅ Rolled out `v2`"])
def test_marks_and_case_before_the_verb_do_not_matter(text: str) -> None:
    assert work([text]) == [text]

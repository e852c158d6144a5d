import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.core.text_difference import LONGEST, changed_ranges, word_difference

short = st.text(alphabet="ab 1.-茶\n", max_size=40)


def unchanged(text: str, ranges: tuple[tuple[int, int], ...]) -> str:
    left = "".join(c for at, c in enumerate(text) if not any(a <= at < b for a, b in ranges))
    return "".join(left.split())


@given(short, short)
def test_two_texts_agree_outside_of_the_changed_ranges(old: str, new: str) -> None:
    changed = changed_ranges(old, new)
    assert changed.whole
    assert unchanged(old, changed.old) == unchanged(new, changed.new)


def test_ranges_point_into_the_texts_as_they_are() -> None:
    old, new = "Ports:\n\n  8080 is open", "Ports: 8081 is open now"
    changed = changed_ranges(old, new)
    assert [old[a:b] for a, b in changed.old] == ["8080"]
    assert [new[a:b] for a, b in changed.new] == ["8081", "now"]


def test_a_text_too_long_to_compare_says_so() -> None:
    long = "word " * (LONGEST + 1)
    changed = changed_ranges(long, long + "x")
    assert not changed.whole
    assert all(end <= len(long) for _, end in changed.old)


def test_texts_of_one_word_again_and_again_are_not_compared_by_difflib(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its time grows with the pairs of equal words: ten seconds for these."""
    monkeypatch.setattr("difflib.SequenceMatcher", None)
    old = " ".join(f"a{at} same" for at in range(700)) + " tail"
    new = " ".join(f"b{at} same" for at in range(700)) + " tail"
    changed = changed_ranges(old, new)
    assert len(changed.old) == len(changed.new) == 700
    assert [old[a:b] for a, b in changed.old[:2]] == ["a0", "a1"]
    assert [new[a:b] for a, b in changed.new[:2]] == ["b0", "b1"]
    parts = word_difference(old, new)
    assert [part.change for part in parts if part.change][:4] == ["old", "new", "old", "new"]

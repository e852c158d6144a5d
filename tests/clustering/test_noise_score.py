"""What stands behind a text is taken off, and what breaks off is found."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.clustering.noise_score import Junk, cleanliness, peeled, sentences
from echoless.matching.languages import language_of

JUNK = [
    *("…", " [truncated]", "（以下略）", "\ufffd", " #tag", " #zwei #three", " [auto-saved]"),
    *(" 【自動保存済み】", " (2026-01-05)", " [saved at 2026-01-05 10:00]"),
    *(" Saved 2026-01-05, 10:00 Uhr.", "\nNotiz: gespeichert am 05.01.2026"),
    *(" -- sent by agent 7", " — Claude", " – written by GPT #4", "\n--\nfrom Ben"),
    *("\nエージェントより", " End of the handover.", "\n引き継ぎここまで。", " === end ==="),
    *(" (source: x, session_id: 5)", " session_id=5 ts=3", ' {"session_id": 3}'),
]  # fmt: skip
BODY = "The gateway of the north site answers on port 8443."


@pytest.mark.parametrize("end", JUNK)
def test_what_stands_behind_a_text_comes_off(end: str) -> None:
    rest, found = peeled(f"{BODY}{end}")
    assert rest == BODY
    assert found


@given(st.text("ab .!?。！\n\t-", max_size=9))
def test_sentences_are_those_of_the_whole_look(text: str) -> None:
    parts = re.findall(
        r"[^\n]+?(?:[.!?]{1,8}(?=\s|$)|[。！？]{1,8}|$|(?=\n))\s*",
        text,
    )
    assert sentences(text) == parts


@pytest.mark.parametrize("end", [",", " -", " because", " oder.", " weil", " (see", "、", "を"])
def test_a_text_that_breaks_off_is_cut_off(end: str) -> None:
    told = cleanliness(f"{BODY[:-1]} and this goes on for quite a while{end}")
    assert Junk.CUT_OFF in told.kinds


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_language_is_told_with_and_without_letters_beyond_ascii(ascii_only: bool) -> None:
    end = "" if ascii_only else " „x“"
    assert language_of(f"Der Server steht im Keller und ist NICHT laut{end}") == "de"
    assert language_of(f"The server is in the cellar and NOT loud{end}") == "en"

"""Words agree, and what stands between them does not: never merged, in three languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory
from echoless.core.model import Duplicate, Pair, Subsumes, Unsure, Verdict, flipped
from echoless.matching.guards import judge_named

APART = [
    ("The donor's blood type is O+.", "The donor's blood type is O-."),
    ("The bond has grade A.", "The bond has grade A-."),
    ("The probe reads −12 degrees.", "The probe reads 12 degrees."),
    ("The driver is written in C.", "The driver is written in C++."),
    ("The plugin is written in C#.", "The plugin is written in C."),
    ("The total is price + discount.", "The total is price - discount."),
    ("if (!ready) start();", "if (ready) start();"),
    ("Show it when a && b hold.", "Show it when a || b hold."),
    ("The pattern is [a-z]+ here.", "The pattern is [a-z]* here."),
    ("The interval is [0, 1) here.", "The interval is (0, 1] here."),
    ("The job runs at 0 0 * * 1 now.", "The job runs at 0 0 1 * * now."),
    ("Restaurant rating: ★★★", "Restaurant rating: ★★★★★"),
    ("Feedback on the menu: 👍", "Feedback on the menu: 👎"),
    ("The deployment of node 4 ❌", "The deployment of node 4"),
    ("Is the migration finished?", "The migration is finished."),
    ("Der Zugriff ist erlaubt?", "Der Zugriff ist erlaubt."),
    ("サーバーは東京にある？", "サーバーは東京にある。"),
    ("1. open the valve\n2. close the door", "1. close the door\n2. open the valve"),
    ("| a | b |\n|---|---|\n| 1 | 2 |", "| b | a |\n|---|---|\n| 1 | 2 |"),
    ("He prefers seats at the window.", "She prefers seats at the window."),
    ("I owe you a lunch.", "You owe me a lunch."),
    ("Er arbeitet von zu Hause.", "Sie arbeitet von zu Hause."),
    ("佐藤さんが田中さんに鍵を渡した。", "佐藤さんに田中さんが鍵を渡した。"),
    ("本番環境にデプロイした", "本番環境にデプロイする"),
    ("The report is due in March.", "The report is due since March."),
    ("We hold about 40 licences.", "We hold 40 licences."),
    ("Das Kabel liegt auf dem Server.", "Das Kabel liegt unter dem Server."),
    ("Ask IT to reset the badge.", "Ask it to reset the badge."),
    ("The US team owns it.", "The us team owns it."),
    ("Ich habe Ihnen geschrieben.", "Ich habe ihnen geschrieben."),
    ("We no\u200bw deploy daily.", "We now deploy daily."),
    ("The code is \u202e123.", "The code is 123."),
    ("Tom said: the office moves to Leeds.", "The office moves to Leeds."),
    ("The office moves to Leeds. Just kidding.", "The office moves to Leeds."),
    ("Das Büro zieht nach Bonn. War ein Scherz.", "Das Büro zieht nach Bonn."),
    ("お茶は禁止です。これは間違いです。", "お茶は禁止です。"),
    ("Project Apollo: use tabs.", "Use tabs."),
]

SAME = [
    ("- **Backups** run at `02:15`.", "Backups run at 02:15"),
    ("Fact #3: Backups run at 02:15.", "Backups run at 02:15."),
    ("The budget is $500.", "The budget is 500 $."),
    ("Backups run at 02:15. #ops #nightly", "Backups run at 02:15."),
    ("The share is 25 %.", "The share is 25%."),
]


def verdict(one: str, other: str) -> Verdict:
    signals = {"semantic": 0.99, "lexical": 0.99}
    return judge_named("full").judge(
        Pair(Memory(id="a", content=one), Memory(id="b", content=other), signals)
    )


@pytest.mark.parametrize(("one", "other"), APART)
def test_what_stands_between_the_words_keeps_apart(one: str, other: str) -> None:
    assert not isinstance(verdict(one, other), Duplicate | Subsumes)
    assert not isinstance(verdict(other, one), Duplicate | Subsumes)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_dressing_does_not(one: str, other: str) -> None:
    assert isinstance(verdict(one, other), Duplicate)


@given(st.text(), st.text())
def test_any_two_texts_are_judged_and_the_sides_only_change_places(one: str, other: str) -> None:
    assert isinstance(verdict(one, one), Duplicate | Unsure)
    assert verdict(one, other) == flipped(verdict(other, one))

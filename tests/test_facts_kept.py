"""What a merged text must keep, and the merge that cannot lose anything."""

from __future__ import annotations

import pytest

from echoless.facts_kept import all_sentences, lost_facts, names


@pytest.mark.parametrize(
    ("sources", "text", "lost"),
    [
        (["Build 42 passed."], "The build passed.", ("42",)),
        (["Build 42 passed.", "Build 41 failed."], "Builds 41 and 42 ran.", ()),
        (["Port 8080, then 8,081"], "Ports 8080 and 8081", ("8,081",)),
        (["On 2026-01-02 at 10:30"], "On 2026-01-02", ("10:30",)),
        (["Edited src/app.py."], "Edited the app.", ("src/app.py",)),
        (["Edited src/app.py."], "src/app.py was edited.", ()),
        (["See config.yaml"], "See config.yml", ("config.yaml",)),
        (["Look in /etc/hosts"], "Look in etc", ("/etc/hosts",)),
        (["It does not run."], "It runs.", ("not",)),
        (["It doesn't run."], "It never runs.", ()),
        (["Er läuft nicht."], "Er läuft.", ("nicht",)),
        (["\uff14\uff12 apples"], "42 apples", ()),
        ([], "Anything 1", ()),
    ],
)
def test_what_is_lost_is_named(sources: list[str], text: str, lost: tuple[str, ...]) -> None:
    found = lost_facts(sources, text)
    assert (*found.numbers, *found.names, *found.negations) == lost
    assert bool(found) == bool(lost)
    assert found.line() == ", ".join(lost)


def test_names_are_told_once_in_order_and_without_final_dots() -> None:
    assert names("See b.txt and a/c.md. Then b.txt, 1/2 and and/or.") == (
        "b.txt",
        "a/c.md",
        "and/or",
    )


@pytest.mark.parametrize(
    ("texts", "merged"),
    [
        (["One. Two.", "two.  Three"], "One. Two. Three"),
        (["Build 41 passed", "Build 42 passed"], "Build 41 passed. Build 42 passed"),
        (["a\nb", "A", ""], "a. b"),
        (["Version 1.2 of app.py is out."], "Version 1.2 of app.py is out."),
        (["会議は三時。部屋は二号室。", "会議は三時。"], "会議は三時。 部屋は二号室。"),
        ([], ""),
    ],
)
def test_all_distinct_sentences_in_order(texts: list[str], merged: str) -> None:
    assert all_sentences(texts) == merged
    assert not lost_facts(texts, merged)

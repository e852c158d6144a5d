"""What a merged text must keep, and the merge that cannot lose anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.workflows.consolidation.fact_check import (
    added_facts,
    all_sentences,
    lost_facts,
    names,
    persons,
)
from tests.laws.worlds import quick


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


@pytest.mark.parametrize(
    ("sources", "text", "lost"),
    [
        # values in words, and with another unit
        (["Retries are capped at three."], "Retries are capped.", "three"),
        (["The index takes 5 GB."], "The index takes 5 MB.", "5 GB"),
        (["Der Kurs kostet zwölf Euro."], "Der Kurs kostet Geld, ein paar Euro.", "zwölf Euro"),
        # days and times
        (["Backups run on Fridays."], "Backups run.", "Fridays"),
        (["Das Treffen ist am Montag."], "Das Treffen findet statt.", "Montag"),
        (["会議は月曜日です。"], "会議があります。", "月曜日"),
        # names and identifiers
        (["Ask Priya about the VPN."], "Ask somebody about the VPN.", "Priya"),
        (["Anna likes green tea."], "Somebody likes green tea.", "Anna"),
        (["Frau Petersen holt das Rad."], "Sie holt das Rad.", "Petersen"),
        (["田中さんは緑茶が好きです。"], "彼は緑茶が好きです。", "田中"),
        (["The cache is Redis, behind nginx."], "The cache is behind nginx.", "Redis"),
        (["Set MAX_BATCH on the worker."], "Set the batch size on the worker.", "MAX_BATCH"),
        (["ログはDatadogに送る。"], "ログは外部に送る。", "Datadog"),
        # denials, each of them
        (
            ["Never deploy on Fridays.", "The API is not public."],
            "The API is not public. Deploy on Fridays.",
            "Never",
        ),
        (["Er trinkt keinen Kaffee und keinen Tee."], "Er trinkt Kaffee und Tee.", "keinen"),
        (["ログに個人情報は記録しない。"], "ログに個人情報を記録する。", "ない"),
        # decisions
        (["We decided to keep SQLite."], "We keep SQLite.", "decided"),
        (["Das Team hat entschieden, Redis zu behalten."], "Das Team behält Redis.", "entschieden"),
        (["Redisを使うと決定した。"], "Redisを使う。", "決定"),
        (["Kafka was rejected."], "There was talk of Kafka.", "rejected"),
        # what two nearly equal sources differ in
        (
            ["User prefers dark mode in the editor", "User prefers light mode in the editor"],
            "User prefers dark mode in the editor",
            "light",
        ),
        (["The flag is enabled by default."], "The flag is disabled by default.", "enabled"),
        # a text that is about something else
        (["The user prefers dark mode."], "SKIP", "user, prefers, dark, mode"),
        (["Das Sofa steht im Keller."], "Alles wurde gelöscht.", "Sofa, steht, Keller"),
    ],
)
def test_what_a_reader_would_miss_is_named(sources: list[str], text: str, lost: str) -> None:
    found = lost_facts(sources, text)
    assert set(lost.split(", ")) <= set(found.line().split(", "))


@pytest.mark.parametrize(
    ("sources", "text"),
    [
        (
            ["Anna moved the standup to 9:30.", "The standup was moved to 9:30 by Anna Meier."],
            "Anna Meier moved the standup to 9:30.",
        ),
        (
            ["We decided to keep SQLite.", "SQLite stays, no Postgres for now."],
            "It was decided that SQLite stays; no Postgres for now.",
        ),
        (
            ["Deploys never happen on Fridays.", "Do not deploy on Friday after 14:00."],
            "Deploys never happen on Fridays, and not on a Friday after 14:00 either.",
        ),
        (
            ["The tests need Docker.", "Tests need Docker 24 and about five minutes."],
            "The tests need Docker 24 and about 5 minutes.",
        ),
        (
            ["Port is 8080.", "The port was changed to 9090 on 2026-02-01."],
            "The port was 8080 and was changed to 9090 on 2026-02-01.",
        ),
        (
            ["User prefers dark mode", "User prefers light mode"],
            "The user prefers dark mode; another memory says light mode.",
        ),
        (
            ["Das Treffen ist am Montag um 10 Uhr.", "Montags um 10:00 trifft sich das Team."],
            "Das Team trifft sich montags: Das Treffen ist am Montag um 10 Uhr (10:00).",
        ),
        (
            ["Samir trinkt keinen Kaffee.", "Samir mag Tee, aber nie Kaffee."],
            "Samir mag Tee, trinkt aber nie Kaffee.",
        ),
        (
            ["田中さんは月曜日に休む。", "田中さんは毎週月曜日は休みです。"],
            "田中さんは毎週月曜日に休む。",
        ),
        (
            ["ログにはDatadogを使うと決めた。", "ログはDatadogに送る。"],
            "ログにはDatadogを使い、Datadogに送ると決めた。",
        ),
        (
            ["A pull request closes 2 tickets at most."],
            "A pull request closes at most two tickets.",
        ),
        (
            [
                "The staging database is wiped on Sundays.",
                "Staging DB gets wiped every Sunday night.",
            ],
            "The staging database (DB) gets wiped every Sunday night.",
        ),
    ],
)
def test_a_good_merge_loses_nothing_and_adds_nothing(sources: list[str], text: str) -> None:
    assert lost_facts(sources, text).line() == ""
    assert added_facts(sources, text) == ()


@pytest.mark.parametrize(
    ("sources", "text", "added"),
    [
        (["The port is open."], "The port 8080 is open.", ("8080",)),
        (["Anna likes tea."], "Anna likes tea, says Priya.", ("Priya",)),
        (["The config was edited."], "The config in etc/app.toml was edited.", ("etc/app.toml",)),
        (["Three of them came."], "All three came.", ()),
    ],
)
def test_what_no_source_says_is_named(sources: list[str], text: str, added: tuple[str]) -> None:
    assert added_facts(sources, text) == added


def test_persons_are_told_by_what_stands_beside_them() -> None:
    assert persons("Mr. Abara has the key. It is with Dr Weiß. Anna has another.") == (
        "Abara",
        "Weiß",
        "Anna",
    )
    assert persons("Frau Strauß mag ナウマン様 und 山田さん") == ("Strauß", "ナウマン", "山田")
    assert persons("User has a dog. This is it. Everybody wants tea.") == ()


def test_two_spellings_of_a_file_name_are_two_files() -> None:
    texts = ["See /srv/Data now.", "See /srv/data now."]
    assert all_sentences(texts) == "See /srv/Data now. See /srv/data now."


@quick
@given(told=st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_all_sentences_never_lose_a_fact(told: list[str]) -> None:
    assert not lost_facts(told, all_sentences(told))

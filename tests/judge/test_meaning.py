"""The judge with its encoder: what is said in other words, and what only sounds alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless.judge import FullJudge
from echoless.judge.features import NAMES, SIGNS
from echoless.judge.opening import open_meaning
from echoless.judge.scorecard import scorecard
from echoless.model import Duplicate, Memory, Pair, Subsumes, Unsure, Verdict, flipped, merges
from echoless.vectors.use import UniversalSentenceEncoder

JUDGE = FullJudge(open_meaning(UniversalSentenceEncoder()))


def pair_of(a: str, b: str, made: tuple[str | None, str | None] = (None, None)) -> Pair:
    one = Memory(id="a", content=a, created_at=made[0])
    return Pair(one, Memory(id="b", content=b, created_at=made[1]), {"lexical": 0.5})


def verdict_of(a: str, b: str, made: tuple[str | None, str | None] = (None, None)) -> Verdict:
    return JUDGE.judge(pair_of(a, b, made))


SAME = [
    (
        "Greta wants the standup moved to the afternoon because she drops her son at school.",
        "Because she takes her son to school, Greta asks for an afternoon standup.",
    ),
    (
        "Release notes have to be written before the tag is pushed.",
        "Write the release notes first; only then push the tag.",
    ),
    (
        "The garden hose leaks at the tap and needs a new seal.",
        "A new seal is needed for the garden hose: it drips at the tap.",
    ),
    (
        "Der Drucker im zweiten Stock hat oft Papierstau, wenn es feucht ist.",
        "Bei Feuchtigkeit staut sich im Drucker im 2. Stock häufig das Papier.",
    ),
    ("プリンターの用紙は三階の棚にある。", "三階の棚にプリンターの紙が置いてある。"),
    (
        "毎週金曜の17時にバックアップを取る。",
        "バックアップは金曜日の午後5時に毎週実施している。",
    ),
    (
        "本番のデータベースは東京リージョンで動いている。",
        "The production database runs in the Tokyo region.",
    ),
    (
        "Katrin verträgt keine Milch und nimmt Haferdrink in den Kaffee.",
        "Katrin can't tolerate milk and takes oat drink in her coffee.",
    ),
    (
        "The sampling rig moved to Prefect.",
        "The sampling rig moved to Prefect because RQ lacked it.",
    ),
    ("Ivo was born on 3 May.", "Ivo's birthday is on 3 May."),
    ("Rows are copied from BigQuery to Kafka.", "rows are copied from bigquery to kafka"),
    ("The staging cache is emptied on Fridays.", "ステージングのキャッシュは金曜日に空にする。"),
    ("Das Eis lagert bei −20 ℃ im Keller.", "Das Eis lagert bei −20 °C im Keller."),
    ("Ona wants non-technical answers.", "Ona prefers answers that are non-technical."),
    ("MAX_ROWS is set to 500 in production.", "prod: MAX_ROWS=500"),
    ("Assistant noted for later that the lift is out of order.", "The lift is out of order."),
]

APART = [
    ("モデルPはモデルQより速い。", "モデルPはモデルRより速い。"),
    ("社内のSSIDは pine-lab で認証は社員証。", "社内のSSIDは pine-lab-5g で認証は社員証。"),
    ("Zoe lent Omar 40 euros for the trip.", "Omar lent Zoe 40 euros for the trip."),
    (
        "Phase 2 can now proceed with the invoice and ledger migrations.",
        "Phase 2: invoice and ledger are now fully migrated.",
    ),
    (
        "Fixed the modal closing issue in InvoiceModal and LedgerModal on July 3, 2025.",
        "Finished the audit of modal state in InvoiceModal and LedgerModal on July 3, 2025.",
    ),
    (
        "The nightly import job failed because the disk of worker 7 was full.",
        "Worker 3 ran out of disk space, which is why the nightly import failed.",
    ),
    ("Greta wants the standup moved to the afternoon.", "Greta asks for a morning standup."),
    (
        "Rosa picks up the twins from kindergarten at 4 pm.",
        "At 15:00 Rosa collects the twins from the kindergarten.",
    ),
    (
        "The user takes tea with milk in the morning.",
        "In the morning the user has coffee with milk.",
    ),
    (
        "We copy the events from Kafka to ClickHouse.",
        "Events are moved from ClickHouse to Kafka.",
    ),
    (
        "The gateway accepts requests without a token.",
        "Requests need a token to be accepted by the gateway.",
    ),
    ("All backups are encrypted.", "Some of the backups are encrypted."),
    ("All services use TLS.", "TLS is in use on nearly all services."),
    ("Drain the node before you reboot it.", "Reboot the node first, then drain it."),
    ("The export runs weekly on the reporting server.", "The reporting server exports daily."),
    ("Nils will move to Oslo in May.", "Nils moved to Oslo in May."),
    ("Only admins may delete a project.", "Any member may delete a project."),
    ("Anna was fired by Ben.", "Ben was fired by Anna."),
    ("Chris is managed by Dana.", "Chris manages Dana."),
    ("Paula booked the room for Friday.", "The room was booked for Friday by Paul."),
    ("The tenant moved in on 1 June.", "On 1 June the tenant moved out."),
    ("Der Mieter zieht ein.", "Der Mieter zieht aus."),
    ("The user asked whether Anna is a doctor.", "Anna is a doctor."),
    ("Mr Abernathy pays in cash.", "Mrs Abernathy pays in cash."),
    ("Alerts of the web team go to #web-noise.", "Alerts of the web team go to #web-triage."),
    (
        "Our conductor is Eluned; Henrike stands in when she is ill.",
        "Our conductor is Henrike; Eluned stands in when she is ill.",
    ),
    (
        "The outage was caused by the load balancer, not by the database.",
        "It was the database that caused the outage, not the load balancer.",
    ),
    ("Die Mülltonnen werden donnerstags geleert.", "Die Tonnen werden am Freitag abgeholt."),
    ("Katrin verträgt keine Milch.", "Katrin can drink milk."),
    (
        "本番のデータベースは東京リージョンで動いている。",
        "The production database runs in the Osaka region.",
    ),
    ("会議は十時に始まる。", "会議は十一時に始まる。"),
]


@pytest.mark.parametrize(("a", "b"), SAME)
def test_the_same_in_other_words_is_merged(a: str, b: str) -> None:
    assert merges(verdict_of(a, b))


@pytest.mark.parametrize(("a", "b"), APART)
def test_another_fact_in_other_words_is_not_merged(a: str, b: str) -> None:
    assert not merges(verdict_of(a, b))


@pytest.mark.parametrize(("a", "b"), [*SAME, *APART])
def test_exchanging_the_sides_exchanges_the_verdict(a: str, b: str) -> None:
    assert verdict_of(b, a) == flipped(verdict_of(a, b))


def test_many_pairs_at_once_get_the_verdicts_they_get_alone() -> None:
    pairs = [pair_of(a, b) for a, b in (*SAME, *APART)]
    assert JUDGE.judge_all(pairs) == [JUDGE.judge(pair) for pair in pairs]


def test_without_vectors_less_is_merged_and_nothing_more() -> None:
    blind = FullJudge()
    for a, b in (*SAME, *APART):
        assert not merges(blind.judge(pair_of(a, b))) or merges(verdict_of(a, b))


def test_an_addition_that_limits_is_named_and_left_to_a_person() -> None:
    verdict = verdict_of("Debug logs are on.", "Debug logs are on but only in staging.")
    assert isinstance(verdict, Subsumes)
    assert verdict.superset == "b"
    assert verdict.narrows
    assert not merges(verdict)


def test_a_text_in_a_language_without_a_lexicon_is_not_merged_by_meaning() -> None:
    verdict = verdict_of(
        "Le serveur de test redémarre chaque nuit à trois heures.",
        "Chaque nuit à trois heures, le serveur de test est relancé.",
    )
    assert not merges(verdict)


# ------------------------------------------------------------------ days told from another day


def test_a_relative_day_equals_the_day_it_means() -> None:
    made = ("2025-03-01T10:00:00Z", "2025-02-20T10:00:00Z")
    verdict = verdict_of("The demo is tomorrow.", "The demo is on 2 March.", made)
    assert isinstance(verdict, Duplicate)


def test_one_text_of_two_days_is_not_one_fact_if_it_tells_the_day_from_there() -> None:
    made = ("2025-03-01T10:00:00Z", "2025-03-08T10:00:00Z")
    assert not merges(verdict_of("The demo is tomorrow.", "The demo is tomorrow.", made))


def test_one_text_of_two_days_is_one_fact_if_it_tells_no_day() -> None:
    made = ("2025-03-01T10:00:00Z", "2025-03-08T10:00:00Z")
    assert merges(verdict_of("The demo is on Zoom.", "The demo is on Zoom.", made))


# ------------------------------------------------------------------ the scorecard


def test_no_weight_has_a_sign_its_feature_may_not_have() -> None:
    for name, weight in zip(NAMES, scorecard().same.weights, strict=True):
        assert weight * SIGNS[name] >= 0, name


@given(
    values=st.lists(st.floats(0, 1), min_size=len(NAMES), max_size=len(NAMES)),
    more=st.floats(0, 1),
)
def test_more_in_common_never_lowers_the_score(values: list[float], more: float) -> None:
    score = scorecard().same
    for at, name in enumerate(NAMES):
        raised = [*values[:at], values[at] + more, *values[at + 1 :]]
        change = score.logit(raised) - score.logit(values)
        assert change * SIGNS[name] >= -1e-9, name


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    "text",
    [
        "",
        "🙂",
        "no",
        "\u202e\u200b",
        "الخادم يعمل ليلا ٣",
        "a\u0301" * 300,
        "\ud800",
        "| a | b |\n|---|---|\n" * 400,
        "2026-11-22T01:02:03Z INFO worker=7 done\n" * 2_500,
        '{"a":' + "[" * 2_000 + "1" + "]" * 2_000 + "}",
        "Anna Ben " * 400,
        "\t" * 600 + "a",
        "#a " * 1_500,
        "ﷺ" * 3_000,
    ],
    ids=range(14),
)
def test_any_text_gets_a_verdict_and_is_merged_only_with_itself(text: str) -> None:
    assert not merges(verdict_of(text, "The demo is at 2 pm."))
    assert isinstance(verdict_of(text, text), Duplicate | Unsure)
    verdict_of(text, text[: len(text) // 2] + " Ben Anna " + text[len(text) // 2 :])


NAMED = [
    ("Node 7 was cooled to 4 °C.", "Node 7 was cooled to -4 °C.", "number"),
    ("Der Vertrag läuft vier Jahre.", "Der Vertrag läuft neun Jahre.", "number"),
    ("Ticket 90113: the left pedal creaks.", "Ticket 90131: the left pedal creaks.", "identifier"),
    ("Package api may import from package db.", "Package db may import from package os.", "order"),
    ("In larchmoor we indent with tabs.", "In pinekit we indent with tabs.", "scope"),
    ("The lesson is on 4 May at 9:15.", "The lesson was moved to 11 May at 9:15.", "date"),
]


@pytest.mark.parametrize(("a", "b", "difference"), NAMED)
def test_the_deciding_difference_is_named(a: str, b: str, difference: str) -> None:
    verdict = verdict_of(a, b)
    assert not merges(verdict)
    assert verdict.evidence.difference is not None
    assert verdict.evidence.difference.value == difference

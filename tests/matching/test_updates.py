"""Another value of one thing is told, with the side that is newer."""

from __future__ import annotations

import pytest

from echoless.core.model import Contradiction, Memory, Pair, Sibling, Update, Verdict, merges
from echoless.matching.facts import facts_of
from echoless.matching.judge import LearnedJudge
from tests.matching.test_judge import learned

OLD, NEW = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"


@pytest.fixture(scope="module")
def judge() -> LearnedJudge:
    return learned()


def told(
    judge: LearnedJudge, a: str, b: str, at: tuple[str | None, str | None] = (None, None)
) -> Verdict:
    one, other = (
        Memory(id=i, content=c, created_at=t) for i, c, t in zip("ab", (a, b), at, strict=True)
    )
    return judge.judge(Pair(one, other, {"lexical": 0.5}))


@pytest.mark.parametrize(
    ("newer", "older"),
    [
        ("Since November the client is built with Node 24.", "The client is built with Node 22."),
        ("Now Postgres listens on port 5433.", "Postgres listens on port 5432."),
        ("Seit März wird der Client mit Node 24 gebaut.", "Der Client wird mit Node 22 gebaut."),
    ],
)
def test_a_word_of_change_before_a_name_says_which_is_newer(
    judge: LearnedJudge, newer: str, older: str
) -> None:
    verdict = told(judge, newer, older)
    assert isinstance(verdict, Update)
    assert verdict.newer == "a"


def test_a_name_that_begins_with_such_a_word_is_nothing_new() -> None:
    assert not facts_of("New York has five boroughs. New York never sleeps.").update


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("The user lives in New York City.", "The user lives in San Francisco."),
        ("User lives in New York City", "User moved to San Francisco"),
        ("Alice works at Google", "Alice works at Anthropic now"),
        ("The CEO of Apple is Tim Cook.", "The CEO of Apple is John Ternus."),
        ("The tech lead is Marta", "The tech lead is Jonas"),
        ("Anna is vegetarian", "Anna is no longer vegetarian and eats meat"),
        ("We use PostgreSQL", "We switched from PostgreSQL to MySQL"),
        ("My name is Li Guoyu", "My name is Li Guosong"),
        ("Tests are run with pytest", "Tests are run with unittest"),
        ("The staging database lives in eu-west-1", "The staging database lives in us-east-1"),
    ],
)
def test_the_newer_value_is_an_update_by_the_time_it_was_written(
    judge: LearnedJudge, older: str, newer: str
) -> None:
    verdict = told(judge, older, newer, (OLD, NEW))
    assert isinstance(verdict, Update)
    assert verdict.newer == "b"
    back = told(judge, newer, older, (NEW, OLD))
    assert isinstance(back, Update)
    assert back.newer == "a"


LAPTOP = "The Heron dashboard is refreshed every 15 minutes by a script on Olga's laptop."
WAREHOUSE = "Heron gets its figures straight from the warehouse, 2 seconds late at most."


def test_of_two_unlike_texts_of_known_order_it_is_asked_whether_the_newer_replaces(
    judge: LearnedJudge,
) -> None:
    verdict = told(judge, LAPTOP, WAREHOUSE, (OLD, NEW))
    assert isinstance(verdict, Update)
    assert verdict.newer == "b"
    assert told(judge, LAPTOP, WAREHOUSE).evidence.chance is None, "not asked about"
    timed = (Memory(id=i, content=c, created_at=t) for i, c, t in
             zip("ab", (LAPTOP, WAREHOUSE), (OLD, NEW), strict=True))  # fmt: skip
    assert judge.judge(Pair(*timed, {"semantic": 0.4})).evidence.chance is None, "not asked about"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("周报每周五由小林整理，发到部门邮箱。", "部门取消了周报，进度直接写在看板上。"),
        ("培训教室在三楼，需要提前两天预约。", "培训全部改成线上，教室已经退租。"),
    ],
)
def test_chinese_texts_of_one_thing_need_no_whole_clause_in_common(
    judge: LearnedJudge, older: str, newer: str
) -> None:
    verdict = told(judge, older, newer, (OLD, NEW))
    assert isinstance(verdict, Update)
    assert verdict.newer == "b"


def test_chinese_texts_of_two_things_are_no_update(judge: LearnedJudge) -> None:
    gym = told(judge, "小林每周五去健身房。", "小林的弟弟在健身房当教练。", (OLD, NEW))
    orders = told(judge, "订单系统用的是老版本数据库。", "食堂的订单由前台统一登记。", (OLD, NEW))
    assert not any(isinstance(each, Update | Contradiction) for each in (gym, orders))


def test_of_an_alarm_in_other_words_a_time_tells_the_newer_side_too(judge: LearnedJudge) -> None:
    phones = "The app runs on Android 8 and iOS 14 or newer; older phones get no support."
    since = "As of 5.3, which is out now, Android 10 is the least. For Apple nothing changes."
    for older, newer in ((phones, since), (since, phones)):
        verdict = told(judge, older, newer, (OLD, NEW))
        assert isinstance(verdict, Update)
        assert verdict.newer == "b"


def test_another_value_in_other_words_is_an_update_where_the_order_is_known(
    judge: LearnedJudge,
) -> None:
    holm = "The children's dentist is Dr. Holm on Mill Street."
    reyes = "The children's dentist is Dr. Reyes in the health centre."
    verdict = told(judge, holm, reyes, (OLD, NEW))
    assert isinstance(verdict, Update)
    assert verdict.newer == "b"
    assert isinstance(told(judge, holm, reyes), Sibling)


def test_another_value_in_one_wording_replaces_nothing_whatever_the_order(
    judge: LearnedJudge,
) -> None:
    tenant = "Sample tenant for screenshots: 7d1e02aa-55b0-4c1f-9a37, plan studio."
    assert isinstance(told(judge, tenant, tenant.replace("9a37", "9a38"), (OLD, NEW)), Sibling)


def test_of_two_unlike_texts_a_time_tells_the_newer_side_before_a_word_of_change(
    judge: LearnedJudge,
) -> None:
    verdict = told(judge, f"By now, {LAPTOP[0].lower()}{LAPTOP[1:]}", WAREHOUSE, (OLD, NEW))
    assert isinstance(verdict, Update)
    assert verdict.newer == "b"


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Alice works at Google", "Alice works at Anthropic now"),
        ("We use PostgreSQL", "We switched from PostgreSQL to MySQL"),
        ("Anna used to live in Rome.", "Anna lives in Milan."),
        ("Tobias wohnt in Leipzig.", "Tobias ist nach Halle gezogen."),
        ("Julie habite à Lyon.", "Julie a déménagé à Nantes."),
        ("Clara vive en Sevilla.", "Clara ya no vive en Sevilla, se mudó a Bilbao."),
        ("小邱住在成都。", "小邱搬到了重庆。"),
        ("森田さんは仙台に住んでいる。", "森田さんは函館に引っ越した。"),
    ],
)
@pytest.mark.parametrize("at", [(None, None), (NEW, OLD)], ids=["no dates", "dates say otherwise"])
def test_words_of_change_tell_the_newer_side_before_any_date(
    judge: LearnedJudge, older: str, newer: str, at: tuple[str | None, str | None]
) -> None:
    verdict = told(judge, older, newer, at)
    assert isinstance(verdict, Update)
    assert verdict.newer == "b"


@pytest.mark.parametrize("at", [(None, None), (OLD, OLD), (OLD, None), ("soon", NEW)])
def test_where_nothing_tells_the_newer_side_it_is_a_contradiction(
    judge: LearnedJudge, at: tuple[str | None, str | None]
) -> None:
    verdict = told(judge, "The tech lead is Marta", "The tech lead is Jonas", at)
    assert isinstance(verdict, Contradiction)


def test_a_date_in_front_tells_the_newer_side_where_the_store_has_none(judge: LearnedJudge) -> None:
    verdict = told(
        judge, "2026-03-01: The tech lead is Jonas", "2025-03-01: The tech lead is Marta"
    )
    assert not isinstance(verdict, Update) or verdict.newer == "a"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Umberto Eco is a citizen of Italy.", "Anna Freud is a citizen of Italy."),
        ("Karl Marx was born in the city of Trier.", "Anna Kern was born in the city of Trier."),
        ("Vera likes tea.", "Vera likes long walks."),
        ("Otto owns a bike.", "Otto owns a boat."),
        ("Noor is a lawyer.", "Noor is vegetarian."),
        ("Deploys run on Tuesday.", "Backups run on Friday."),
    ],
)
def test_another_subject_and_a_further_value_are_no_update(
    judge: LearnedJudge, a: str, b: str
) -> None:
    verdict = told(judge, a, b, (OLD, NEW))
    assert not merges(verdict)
    assert not isinstance(verdict, Update | Contradiction)


FUTURE = "2199-01-01T00:00:00Z"


@pytest.mark.parametrize("at", [(NEW, FUTURE), (FUTURE, FUTURE), (None, FUTURE), ("", FUTURE)])
def test_a_date_in_the_future_is_a_date_like_any_other(
    judge: LearnedJudge, at: tuple[str | None, str | None]
) -> None:
    verdict = told(judge, "The tech lead is Marta", "The tech lead is Jonas", at)
    assert isinstance(verdict, Update if at[0] == NEW else Contradiction)
    assert not isinstance(verdict, Update) or verdict.newer == "b"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Anna lives in Rome and Ben lives in Oslo.", "Ben lives in Rome and Anna lives in Oslo."),
        ("Anna works at the bank, Ben at the port.", "Anna works at the port, Ben at the bank."),
        ("Anna is vegan. Ben eats meat.", "Anna eats meat. Ben is vegan."),
    ],
)
def test_two_subjects_that_exchange_their_values_are_not_merged(
    judge: LearnedJudge, a: str, b: str
) -> None:
    assert not merges(told(judge, a, b))
    assert not merges(told(judge, a, b, (OLD, NEW)))


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("Anna lives in Rome.", "Anna wohnt in Rom.", True),
        ("The backup runs every night at 3.", "Das Backup läuft jede Nacht um 3.", True),
        ("The backup runs every night at 3.", "Das Backup läuft jede Nacht um 4.", False),
        ("Anna lives in Rome.", "Anna wohnt in Oslo.", False),
    ],
)
def test_memories_in_two_languages_are_never_merged_where_a_value_differs(
    judge: LearnedJudge, a: str, b: str, same: bool
) -> None:
    verdict = told(judge, a, b, (OLD, NEW))
    assert same or not merges(verdict)
    assert not same or not isinstance(verdict, Update | Contradiction)

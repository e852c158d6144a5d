"""What a text binds: opposite rules, denials that do not balance, bounds, and other persons."""

from __future__ import annotations

import pytest

from echoless import Memory
from echoless.core.model import (
    Contradiction,
    DifferenceKind,
    Pair,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    merges,
)
from echoless.core.run_notes import Tally
from echoless.matching.bounds import passing
from echoless.matching.facts import facts_of
from echoless.matching.guards import GuardJudge
from echoless.matching.judge import open_learned
from echoless.matching.rule_judge import RuleJudge, compared
from echoless.matching.rules import findings


def judged(a: str, b: str, *, days: tuple[str | None, str | None] = (None, None)) -> Verdict:
    """Returns the verdict of rules and pair model."""
    one = Memory(id="a", content=a, created_at=days[0])
    other = Memory(id="b", content=b, created_at=days[1])
    return open_learned(Tally(), cache=False).judge(Pair(one, other, {"lexical": 0.5}))


def kinds(a: str, b: str) -> set[DifferenceKind]:
    """Returns the kinds of difference that two texts have."""
    texts = compared(Memory(id="a", content=a), Memory(id="b", content=b))
    return {each.difference.kind for each in findings(texts)}


OPPOSITE = [
    ("Never upload a backup without my consent.", "Upload the backup without my consent."),
    ("Don't rename tables unless I tell you.", "Rename tables without being told."),
    ("Ask before you archive a channel.", "No need to ask before you archive a channel."),
    ("Reboot the router only after my OK.", "The router may be rebooted without asking me."),
    ("Never archive on your own.", "Always archive without asking."),
    ("Vor dem Löschen immer nachfragen.", "Vor dem Löschen musst du nicht nachfragen."),
    ("Keine Mails ohne meine Freigabe.", "Mails brauchen keine Freigabe von mir."),
    ("No borres ramas sin mi permiso.", "Borra ramas sin pedir permiso."),
    ("Ne ferme aucun ticket sans mon accord.", "Ferme les tickets sans demander mon accord."),
    (
        "Não apague arquivos sem a minha aprovação.",
        "Não precisa da minha aprovação para apagar arquivos.",
    ),
    ("Не удаляй файлы без моего разрешения.", "Чтобы удалить файлы, моё разрешение не нужно."),
    ("バックアップは承認なしに消してはいけない。", "バックアップは承認なしで消してよい。"),
    ("未经我同意不得删除备份。", "删除备份不需要我同意。"),
]


def test_what_is_forbidden_outside_a_place_is_not_forbidden_in_it() -> None:
    one, other = "NEVER run `pip` outside the venv.", "ALL pip commands must run inside the venv."
    assert not isinstance(judged(one, other), Contradiction | Update)


@pytest.mark.parametrize(("a", "b"), OPPOSITE)
def test_opposite_permissions_are_never_merged_and_both_are_told(a: str, b: str) -> None:
    for one, other in ((a, b), (b, a)):
        assert isinstance(judged(one, other), Contradiction | Update)
        assert isinstance(RuleJudge().judge(_pair(one, other)), Contradiction | Update)
        assert not merges(GuardJudge().judge(_pair(one, other)))


def _pair(a: str, b: str) -> Pair:
    return Pair(Memory(id="a", content=a), Memory(id="b", content=b), {"semantic": 0.99})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Never archive without asking.", "Do not archive without asking first."),
        ("Never publish without approval.", "Always get approval before you publish."),
        ("Keine Mails ohne meine Freigabe.", "Mails nur mit meiner Freigabe."),
        ("No borres ramas sin mi permiso.", "Borra ramas solo con mi permiso."),
    ],
)
def test_one_permission_in_two_wordings_is_no_difference(a: str, b: str) -> None:
    assert not kinds(a, b) & {DifferenceKind.PERMISSION, DifferenceKind.DENIAL}
    assert not kinds(b, a) & {DifferenceKind.PERMISSION, DifferenceKind.DENIAL}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The parser is unusable without a schema.", "No schema is needed to use the parser."),
        ("Nadia never travels without her camera.", "Nadia doesn't own a camera."),
        (
            "Late orders aren't taken unless they are prepaid.",
            "Late orders are taken without being prepaid.",
        ),
        (
            "Ohne Schlüssel lässt sich das Tor nicht öffnen.",
            "Für das Tor ist kein Schlüssel nötig.",
        ),
        ("Il ne sort jamais sans son chien.", "Il n'a pas de chien."),
    ],
)
def test_two_denials_balance_only_where_both_deny_the_same(a: str, b: str) -> None:
    for one, other in ((a, b), (b, a)):
        assert kinds(one, other) & {DifferenceKind.DENIAL, DifferenceKind.PERMISSION}
        assert not merges(judged(one, other))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("No proxy is configured.", "There is no proxy configured."),
        (
            "The crash does not occur when the cache is off.",
            "With the cache off there is no crash.",
        ),
        (
            "The key is in locker no. 14, near the door.",
            "The key is in locker number 14, near the door.",
        ),
    ],
)
def test_one_denial_in_two_wordings_is_no_difference(a: str, b: str) -> None:
    assert DifferenceKind.DENIAL not in kinds(a, b)


BOUNDS = [
    (
        "Releases need a signed changelog.",
        "Releases need a signed changelog in the billing service.",
    ),
    ("Builds need Java 21.", "Builds need Java 21 on macOS."),
    ("Never rebase shared branches.", "Never rebase shared branches during a release."),
    ("Skip the smoke tests.", "Skip the smoke tests for this hotfix only."),
    ("Parcels are insured.", "Parcels are insured above 200 euros."),
    ("Write notes in French.", "Write notes in French in the Lyon office."),
    ("Guests may use the pool.", "Guests may use the pool until 8 pm."),
    ("Keine Besuche am Sonntag.", "Keine Besuche am Sonntag nach 18 Uhr."),
    ("Los informes necesitan firma.", "Los informes necesitan firma en el área de ventas."),
    ("发布需要签字。", "财务系统的发布需要签字。"),
    ("ビルドにはJavaが必要だ。", "macOSではビルドにJavaが必要だ。"),
    ("Wydania wymagają podpisu.", "Wydania wymagają podpisu w dziale sprzedaży."),
]


@pytest.mark.parametrize(("general", "narrow"), BOUNDS)
def test_a_general_statement_is_not_hidden_behind_one_with_bounds(
    general: str, narrow: str
) -> None:
    for one, other in ((general, narrow), (narrow, general)):
        assert not merges(judged(one, other))
        assert DifferenceKind.BOUND in kinds(one, other)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        ("The importer was rewritten.", "The importer was rewritten in Rust last week."),
        (
            "Releases need a signed changelog.",
            "Releases need a signed changelog, because of the audit.",
        ),
        ("Nils moved to Bergen.", "Nils moved to Bergen in May."),
    ],
)
def test_what_happened_and_reasons_only_say_more(less: str, more: str) -> None:
    assert DifferenceKind.BOUND not in kinds(less, more)
    assert DifferenceKind.BOUND not in kinds(more, less)


def test_an_addition_to_what_happened_is_still_held_by_the_richer_text() -> None:
    verdict = judged("Nils sold the boat.", "Nils sold the boat to a neighbour in Bergen.")
    assert isinstance(verdict, Subsumes)
    assert verdict.superset == "b"


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("Dana works from Lisbon until Friday.", "until"),
        ("Use the small model for now.", "for now"),
        ("Stand-up is at ten this week.", "this week"),
        ("Bis Freitag ist Jonas im Homeoffice.", "bis"),
        ("Hasta el viernes trabaja en casa.", "hasta"),
        ("Since this week the build uses Node 24.", ""),
        ("Dana works from Lisbon.", ""),
    ],
)
def test_a_text_tells_its_own_end(text: str, end: str) -> None:
    assert passing(facts_of(text)) == end


PERSONS = [
    ('Martin "Mats" Ekdal fixed the pump in 2021.', "Marten Ekdal fixed the pump in 2021."),
    ("Nora K. Ekdal is the contact for rents.", "Norah Ekdal is the contact for rents."),
    ("Jan Ekdal fixed the pump.", "Jana Ekdal fixed the pump."),
    ("The poem on page two is by Francis Ekdal.", "Frances Ekdal wrote the poem on page two."),
    ("Joris van der Linden runs the shed.", "Jorien van der Linden runs the shed."),
    ("Peter Ekdal jun. repairs the boiler.", "Peter Ekdal sen. repairs the boiler."),
    ("Katrin Ekdal hat Nachtdienst.", "K. Ekdal hat Nachtdienst."),
]


@pytest.mark.parametrize(("a", "b"), PERSONS)
def test_another_first_name_before_one_surname_is_another_person(a: str, b: str) -> None:
    for one, other in ((a, b), (b, a)):
        assert not merges(judged(one, other))
        assert DifferenceKind.PERSON in kinds(one, other)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Use Prisma for the API.", "Adopt Prisma for the API."),
        ("Deploy Atlas on Friday.", "Restart Atlas on Friday."),
        ('Martin "Mats" Ekdal fixed it.', "Mats Ekdal fixed it."),
        ("Dr. Nora Ekdal fixed it.", "Nora Ekdal fixed it."),
        ("Astrid and Nora Ekdal run it.", "Nora and Astrid Ekdal run it."),
        ("Nora Ekdal's laptop is old.", "The laptop of Nora Ekdal is old."),
    ],
)
def test_an_order_and_a_name_are_no_person_and_a_nickname_is_the_same(a: str, b: str) -> None:
    assert DifferenceKind.PERSON not in kinds(a, b)
    assert DifferenceKind.PERSON not in kinds(b, a)


FRAME = (
    "Hello Ida, did you know {0}? No, Ove, tell me about it. A neighbour of mine explained to me "
    "last night {0}, and I thought of you at once, since you like such things so much. That is "
    "kind, Ove. One day I will read up on {0}, but not today."
)


def test_a_long_frame_does_not_outvote_the_topic_in_it() -> None:
    a, b = FRAME.format("why bread dough rises"), FRAME.format("how glaciers carve valleys")
    assert isinstance(judged(a, b), Unsure) or not merges(judged(a, b))
    assert not merges(judged(b, a))


@pytest.mark.parametrize(
    "text",
    [
        "明天上午十点开会。",
        "上个星期回滚了。",
        "내일 회의가 있다.",
        "Jutro jest przegląd.",
        "Yarın toplantı var.",
        "غدًا الاجتماع.",
        "Ngày mai có cuộc họp.",
        "Besok ada rapat.",
        "I morgon har vi möte.",
        "Zítra je schůzka.",
    ],
)
def test_tomorrow_of_two_weeks_is_two_days_in_every_language_of_cldr(text: str) -> None:
    assert not merges(judged(text, text, days=("2026-03-03", "2026-04-21")))
    assert merges(judged(text, text, days=("2026-03-03T08:00:00Z", "2026-03-03T09:00:00Z")))

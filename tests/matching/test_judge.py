"""The judge of the road: what rules, fields and the pair model come to."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from echoless.core.model import (
    FILE,
    Contradiction,
    Duplicate,
    Memory,
    Pair,
    Related,
    Sibling,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
    merges,
    richer,
    verdict_name,
)
from echoless.core.profiles import MergeUse
from echoless.core.run_notes import Tally
from echoless.core.verdict_sentences import sentence
from echoless.matching import judge as judge_module
from echoless.matching.decision import features, rule_features
from echoless.matching.judge import (
    HEARD,
    NO_SCORE,
    REPLACED,
    WITHOUT,
    LearnedJudge,
    open_learned,
)
from echoless.matching.pair_model import PairScorer, open_network
from echoless.matching.pair_model.network import NOT_ASKED
from echoless.matching.pair_model.scoring import Scores, open_scores
from echoless.matching.questions import Questions
from echoless.matching.rule_judge import RuleJudge, other_end, with_status
from echoless.matching.rules import forbidden
from tests.matching.rule_pairs import IN_ANOTHER_ORDER, LEFT_TO_THE_MODEL


def pair(a: str, b: str, *, at: tuple[str | None, str | None] = (None, None)) -> Pair:
    return Pair(
        Memory(id="a", content=a, created_at=at[0]),
        Memory(id="b", content=b, created_at=at[1]),
        {"lexical": 0.5},
    )


def learned(tally: Tally | None = None, **options: Questions) -> LearnedJudge:
    return LearnedJudge(RuleJudge(), PairScorer(open_network), tally or Tally(), **options)


def decided(both: Pair, scores: Scores) -> Verdict:
    """Returns the verdict on two texts of which the pair model says this."""
    verdict = RuleJudge().judge(both)
    plain = rule_features(both.a.content, both.b.content, verdict)
    return learned().decide(both, verdict, plain, scores)


@pytest.fixture(scope="module")
def judge() -> LearnedJudge:
    return learned()


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("\u2705 Added a queue adapter for exports", "Added a queue adapter for exports"),
        ("- [x] **Fixed** the login redirect", "Fixed the login redirect"),
        ("2025-03-02: The cache is warmed at start", "* The cache is warmed at start"),
        ("The demo is at 2 pm.", "\u2022 The demo is at 14:00."),
    ],
)
def test_marks_around_the_same_sentence_do_not_part_two_notes(
    judge: LearnedJudge, a: str, b: str
) -> None:
    assert verdict_name(judge.judge(pair(a, b))) in {"duplicate", "subsumes"}


@pytest.mark.parametrize(
    ("a", "b", "newer"),
    [
        ("[ ] Write the migration guide", "[x] Write the migration guide", "b"),
        ("\u2705 Rotate the keys", "\U0001f504 Rotate the keys", "a"),
        ("TODO: rotate the keys", "DONE: rotate the keys", "b"),
    ],
)
def test_the_same_with_another_status_is_an_update_and_the_later_status_is_newer(
    judge: LearnedJudge, a: str, b: str, newer: str
) -> None:
    verdict = judge.judge(pair(a, b))
    assert isinstance(verdict, Update)
    assert verdict.newer == newer
    assert verdict.evidence.rule == "status-changed"


def test_times_tell_which_status_is_newer_where_there_are_some(judge: LearnedJudge) -> None:
    days = ("2025-05-02T00:00:00Z", "2025-05-01T00:00:00Z")
    verdict = judge.judge(pair("[ ] Rotate the keys", "[x] Rotate the keys", at=days))
    assert isinstance(verdict, Update)
    assert verdict.newer == "a"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "The staging database listens on port 5432.",
            "The staging database listens on port 5433.",
        ),
        ("The deadline is October 15th.", "The deadline is October 16th."),
        ("We run Postgres 14.2 in production.", "In production we run Postgres 14.3."),
        ("Logs go to /var/log/app.", "Logs go to /var/log/api."),
        ("Die Sitzung beginnt um 9 Uhr.", "Die Sitzung beginnt um 10 Uhr."),
        (
            "\u4f1a\u8b70\u306f3\u6642\u304b\u3089\u3067\u3059\u3002",
            "\u4f1a\u8b70\u306f4\u6642\u304b\u3089\u3067\u3059\u3002",
        ),
    ],
)
def test_another_value_is_never_merged(judge: LearnedJudge, a: str, b: str) -> None:
    assert not merges(judge.judge(pair(a, b)))


def test_the_text_that_says_more_is_the_superset(judge: LearnedJudge) -> None:
    less, more = (
        "The spare key hangs in the hallway.",
        "The spare key hangs in the hallway, on a nail.",
    )
    for place, found in enumerate((judge.judge(pair(less, more)), judge.judge(pair(more, less)))):
        assert isinstance(found, Subsumes)
        assert found.superset == "ba"[place]


TEXTS = st.sampled_from(
    [
        "Use pnpm, not npm.",
        "Packages are installed with pnpm, never with npm.",
        "Use npm, not pnpm.",
        "[x] Use pnpm, not npm.",
        "[ ] Use pnpm, not npm.",
        "The user prefers tea.",
        "The user drinks tea rather than coffee.",
        "\u2705",
        "-",
        "Der Nutzer trinkt lieber Tee.",
    ]
)


@settings(max_examples=60)
@given(TEXTS, TEXTS)
def test_exchanging_the_sides_turns_the_verdict_and_changes_nothing_else(a: str, b: str) -> None:
    forth, back = learned().judge(pair(a, b)), learned().judge(pair(b, a))
    assert back == flipped(forth)


def test_a_text_too_long_for_the_model_is_decided_by_rules_and_counted() -> None:
    tally = Tally()
    long = " ".join(f"word{n}" for n in range(3_000))
    verdict = learned(tally).judge(pair(long + " end", long + " stop"))
    assert not merges(verdict)
    assert tally.skipped[NO_SCORE] == ("a", "b")


REWORDED = [
    ("Backups run every night.", "Every night there is a backup run."),
    ("Ana leads the platform team.", "The platform team is led by Ana."),
    ("Tests need Docker to be running.", "Docker must run for the tests to work."),
]


def test_pairs_beyond_the_budget_are_counted_and_every_run_leaves_out_the_same() -> None:
    pairs = [pair(a, b) for a, b in REWORDED]
    whole = learned().judge_all(pairs)
    runs = []
    for _ in range(3):
        questions = Questions(1)
        scorer = PairScorer(open_network, open_scores())
        judge = LearnedJudge(RuleJudge(), scorer, Tally(), questions=questions)
        runs.append((judge.judge_all(pairs), questions.left_out))
    assert runs[0][1] == {"": 2}
    assert runs == [runs[0]] * 3
    chances = [verdict.evidence.chance for verdict in runs[0][0]]
    assert sum(chance is not None for chance in chances) == 1
    assert all(
        one == other for one, other in zip(runs[0][0], whole, strict=True) if one.evidence.chance
    )


def test_what_a_namespace_may_ask_hangs_on_no_other_namespace() -> None:
    pairs = [pair(a, b) for a, b in REWORDED]
    alone = learned(questions=Questions(1)).judge_all(pairs)
    others = [
        replace(p, a=replace(p.a, namespace="other"), b=replace(p.b, namespace="other"))
        for p in pairs
    ]
    beside = learned(questions=Questions(1)).judge_all([*others, *pairs])
    assert beside[len(pairs) :] == alone
    assert beside[: len(pairs)] == alone


def test_the_order_of_pairs_does_not_matter_to_whom_is_asked_about() -> None:
    pairs = [pair(a, b) for a, b in REWORDED]
    forth = learned(questions=Questions(1)).judge_all(pairs)
    back = learned(questions=Questions(1)).judge_all(pairs[::-1])[::-1]
    assert [verdict_name(v) for v in forth] == [verdict_name(v) for v in back]


def test_a_text_that_adds_is_merged_by_the_model_alone() -> None:
    adds = pair("The API is slow", "The API is slow because the cache is cold")
    same = pair("The limit is 1,000 rows", "The limit is 1k rows")
    ruled = RuleJudge().judge(adds)
    assert isinstance(ruled, Unsure)
    assert richer(ruled) == "b"
    judged = learned().judge(adds)
    assert isinstance(judged, Subsumes)
    assert judged.superset == "b"
    none = Questions(0)
    verdicts = learned(questions=none).judge_all([adds, same])
    assert [merges(each) for each in verdicts] == [False, True]
    assert none.left_out == {"": 2}


def reworded(count: int) -> list[Pair]:
    """Pairs that the rules leave open, each of another team and room."""
    names = [f"{first}{last}" for first in "bdfgklmnprst" for last in ("ora", "ilo", "una", "eki")]
    places = itertools.product(names, names)
    return [
        pair(f"The {a} team moved to the {b} room.", f"The {b} room is where {a} people now sit.")
        for a, b in itertools.islice(places, count)
    ]


class Flat(PairScorer):
    """A scorer that finds some texts the same, and nothing in the others."""

    def __init__(self, same: AbstractSet[str]) -> None:
        super().__init__(open_network)
        self.same, self.asked = same, 0

    def score(self, pairs: Sequence[tuple[str, str]], *_args: Any, **_named: Any) -> Any:
        self.asked += len(pairs)
        return [Scores(6, 6, -6) if self.same & {a, b} else Scores(-6, -6, -6) for a, b in pairs]


@pytest.mark.parametrize(("copies", "asked"), [(0, 200), (600, 600)])
def test_where_answers_tell_nothing_less_likely_pairs_are_not_asked_about(
    copies: int, asked: int
) -> None:
    pairs = reworded(600)
    scorer, questions = Flat({p.a.content for p in pairs[:copies]}), Questions(4000)
    judge = LearnedJudge(RuleJudge(), scorer, Tally(), questions=questions)
    verdicts = judge.judge_all(pairs)
    assert questions.left_out.total() == len(pairs) - scorer.asked
    assert asked <= scorer.asked <= asked + 100
    assert sum(map(merges, verdicts)) == copies


def test_without_a_budget_all_are_asked_about_whatever_the_answers_tell() -> None:
    scorer = Flat(frozenset())
    LearnedJudge(RuleJudge(), scorer, Tally(), questions=Questions()).judge_all(reworded(400))
    assert scorer.asked == 400


@pytest.mark.parametrize("most", [None, 4000])
def test_the_progress_is_told_again_and_again_while_pairs_are_asked_about(most: int | None) -> None:
    pairs, steps = reworded(400), []
    scorer = Flat({p.a.content for p in pairs})
    judge = LearnedJudge(RuleJudge(), scorer, Tally(), questions=Questions(most))
    judge.settle(pairs, judge.rules.judge_all(pairs), lambda *step: steps.append(step))
    assert steps == [(0, 400), (100, 400), (200, 400), (300, 400), (400, 400)]


def test_a_text_that_holds_the_other_stays_so_where_the_model_is_not_asked() -> None:
    framed = pair("The backup runs at night.", "Note to self: The backup runs at night.")
    scorer = Flat(frozenset())
    judge = LearnedJudge(RuleJudge(), scorer, Tally(), questions=Questions(0))
    (verdict,) = judge.judge_all([framed])
    assert scorer.asked == 0
    assert richer(verdict) == "b"


def test_the_progress_is_told_within_a_round_of_many_namespaces() -> None:
    apart = [
        replace(each, a=replace(each.a, namespace=name), b=replace(each.b, namespace=name))
        for at, each in enumerate(reworded(400))
        for name in [f"n{at // 4}"]
    ]
    scorer, steps = Flat(frozenset()), []
    judge = LearnedJudge(RuleJudge(), scorer, Tally(), questions=Questions(4000))
    judge.settle(apart, judge.rules.judge_all(apart), lambda *step: steps.append(step))
    assert steps == [(0, 400), (100, 400), (200, 400), (300, 400), (400, 400)]


def test_a_likelier_pair_that_comes_later_is_asked_about_all_the_same() -> None:
    pairs = reworded(600)
    scorer, questions = Flat(frozenset()), Questions(4000)
    judge = LearnedJudge(RuleJudge(), scorer, Tally(), questions=questions)
    judge.judge_all(pairs)
    before = scorer.asked
    likely = pair(
        "The backup runs at night on hosts.", "The backup runs on hosts at night, always."
    )
    judge.judge_all([*pairs[-5:], likely])
    assert scorer.asked == before + 1


def test_what_unlikely_pairs_told_does_not_end_a_later_round_of_likelier_ones() -> None:
    pairs = reworded(600)
    scorer, questions = Flat(frozenset()), Questions(4000)
    judge = LearnedJudge(RuleJudge(), scorer, Tally(), questions=questions)
    judge.judge_all(pairs)
    before = scorer.asked
    named = [each.a.content.split()[1] for each in pairs[:150]]
    likely = [
        pair(f"The {a} backup runs at night on hosts.", f"The {a} backup runs on hosts at night.")
        for a in named
    ]
    judge.judge_all(likely)
    assert scorer.asked == before + len(likely)


def test_a_copy_in_other_case_and_spaces_is_merged_without_a_question() -> None:
    scorer = Flat(frozenset())
    judge = LearnedJudge(RuleJudge(), scorer, Tally())
    verdict = judge.judge(
        pair("Owner Kim: Letters go to Bob.", "owner  kim:  letters  go  to  bob")
    )
    assert merges(verdict)
    assert scorer.asked == 0


@pytest.mark.parametrize(
    ("path", "barred"),
    [("release.md", False), ("./docs/topics/release.md", False), ("docs/old/release.md", True)],
)
def test_one_path_written_from_two_folders_bars_no_merge(path: str, barred: bool) -> None:
    said = (
        "Release steps are listed in docs/topics/release.md",
        f"Release steps are listed in {path}",
    )
    verdict = RuleJudge().judge(pair(*said))
    assert forbidden(verdict.evidence, letters=0.9) is barred


def test_pairs_that_cannot_be_merged_take_no_question_from_those_that_may_be() -> None:
    values = [
        (
            f"The nightly export of all {what} to the finance bucket takes 20 minutes.",
            f"Exporting the {what} to the finance bucket at night takes {minutes} minutes.",
        )
        for what, minutes in (("invoices", 35), ("receipts", 36), ("contracts", 37))
    ]
    others = [
        (f"Room {n} of the old depot has a broken heater.", f"Depot: room {n + 9}, heater broken.")
        for n in range(3)
    ]
    words = [("Bob is ill.", "Bob has fallen sick."), ("CI is slow.", "The builds take ages.")]
    parts = [[pair(a, b) for a, b in part] for part in (values, others, words)]
    rules = [{verdict_name(RuleJudge().judge(p)) for p in part} for part in parts]
    assert rules[0] == {"contradiction"}
    assert rules[1] <= {"related", "sibling", "distinct"}

    every = [p for part in parts for p in part]
    for most, asked in ((4, [1, 0, 2]), (16, [3, 1, 2])):
        scorer, questions = Asked(open_network), Questions(most)
        LearnedJudge(RuleJudge(), scorer, Tally(), questions=questions).judge_all(every)
        texts = [{p.a.content for p in part} for part in parts]
        assert [sum(a in own for a, _ in scorer.pairs) for own in texts] == asked
        assert questions.left_out.total() == len(every) - sum(asked)


class Asked(PairScorer):
    """A scorer that remembers what it was asked about."""

    pairs: Sequence[tuple[str, str]] = ()

    def score(self, pairs: Sequence[tuple[str, str]], *args: Any, **named: Any) -> Any:
        self.pairs = [*self.pairs, *pairs]
        return super().score(pairs, *args, **named)


def test_a_network_that_gives_no_number_leaves_the_rules_and_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(open_network()), "logits", lambda *_: (float("nan"),) * 3)
    tally = Tally()
    judged = learned(tally).judge(pair(*REWORDED[0]))
    assert verdict_name(judged) == verdict_name(RuleJudge().judge(pair(*REWORDED[0])))
    assert tally.skipped[NO_SCORE] == ("a", "b")


def test_without_the_library_rules_decide_and_the_report_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(judge_module, "available", lambda: False)
    tally = Tally()
    assert isinstance(open_learned(tally), RuleJudge)
    assert tally.notes == (WITHOUT,)
    assert "pip install onnxruntime" in WITHOUT


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "يَجِبُ تَشْغِيلُ الاِخْتِبَارَاتِ قَبْلَ النَّشْرِ",
            "يجب تشغيل الاختبارات قبل النشر",
        ),
        ("הַשָּׁרָת רָץ עַל פּוֹרְט 8080", "השרת רץ על פורט 8080"),
        ("تفضّل سارة الشاي", "تفضل سارة الشاي"),
    ],
)
def test_vowel_signs_belong_to_their_word(judge: LearnedJudge, a: str, b: str) -> None:
    assert merges(judge.judge(pair(a, b)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("كَتَبَ الدرس أمس", "كُتِبَ الدرس أمس"),
        ("दिन में फोन करें", "दान में फोन करें"),
        ("يَجِبُ تَشْغِيلُ 8080", "يجب تشغيل 8081"),
        ("הַסֵּפֶר כאן", "הַסַּפָּר כאן"),
    ],
)
def test_other_vowel_signs_are_another_word(judge: LearnedJudge, a: str, b: str) -> None:
    assert not merges(judge.judge(pair(a, b)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The warehouse holds 12 000 pallets", "The warehouse holds 12,000 pallets"),
        ("The warehouse holds 12\u00a0000 pallets", "The warehouse holds 12000 pallets"),
        ("The plan costs $1\u202f500\u202f000", "The plan costs $1,500,000"),
        ("Docs: https://x.io/docs/", "Docs: https://x.io/docs"),
        ("Docs: https://x.io/a?utm_source=n&utm_medium=b", "Docs: https://x.io/a"),
        ("Docs: https://x.io/a?v=1&utm_source=n", "Docs: https://x.io/a/?v=1"),
    ],
)
def test_a_number_and_an_address_are_one_in_all_their_forms(
    judge: LearnedJudge, a: str, b: str
) -> None:
    assert merges(judge.judge(pair(a, b)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The warehouse holds 12 000 pallets", "The warehouse holds 12 001 pallets"),
        ("In 2024 500 users came", "In 2024500 users came"),
        ("Ports 80 443 are open", "Ports 80 444 are open"),
        ("Docs: https://x.io/a?v=1", "Docs: https://x.io/a?v=2"),
        ("Docs: https://x.io/a#one", "Docs: https://x.io/a#two"),
    ],
)
def test_other_digits_and_other_pages_are_apart(judge: LearnedJudge, a: str, b: str) -> None:
    assert not merges(judge.judge(pair(a, b)))


NEAR_NAMES = [
    ("prisma", "prism"),
    ("podman", "postman"),
    ("joi", "jotai"),
    ("panda", "pandas"),
    ("request", "requests"),
    ("celery", "celerity"),
    ("parcel", "parsel"),
    ("vitest", "vite"),
    ("readline", "readline2"),
    ("cranel", "cranelrh"),
]


@pytest.mark.parametrize("names", NEAR_NAMES, ids=" ".join)
@pytest.mark.parametrize(
    "said",
    [
        "Use {} for the new service",
        "The team decided on {} in March",
        "We moved the billing jobs to {}",
        "{} is pinned because newer releases break the build",
        "Wir nehmen {} für die Warteschlange",
        "El servicio de correo usa {}",
        "Never call `{}` directly; go through the wrapper",
        "{}",
    ],
)
def test_two_words_that_are_spelled_alike_may_be_two_names(
    judge: LearnedJudge, names: tuple[str, str], said: str
) -> None:
    asked = pair(said.format(names[0]), said.format(names[1]))
    assert not merges(judge.judge(asked))
    assert not merges(judge.rules.judge(asked))


def test_a_person_is_asked_about_a_word_that_may_be_a_name(judge: LearnedJudge) -> None:
    verdict = judge.judge(pair("Prefer prisma for all of it", "Prefer prism for all of it"))
    assert verdict_name(verdict) == "unsure"
    assert "a word that may be a name: prisma, not prism" in sentence(verdict)


@pytest.mark.parametrize(("a", "b"), IN_ANOTHER_ORDER.values(), ids=IN_ANOTHER_ORDER.keys())
def test_the_same_words_in_another_order_are_never_called_a_conflict(
    judge: LearnedJudge, a: str, b: str
) -> None:
    assert not isinstance(judge.judge(pair(a, b)), Update | Contradiction)


@pytest.mark.parametrize(("a", "b"), LEFT_TO_THE_MODEL.values(), ids=LEFT_TO_THE_MODEL.keys())
def test_the_pair_model_finds_what_rules_leave(judge: LearnedJudge, a: str, b: str) -> None:
    assert not merges(judge.rules.judge(pair(a, b)))
    assert merges(judge.judge(pair(a, b)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Anna speaks English.", "Anna speaks French."),
        ("Anna spricht Englisch.", "Anna spricht Französisch."),
        ("Tom owns a red bicycle.", "Tom owns a small boat."),
    ],
)
def test_what_one_may_have_several_of_is_no_conflict(a: str, b: str) -> None:
    assert not isinstance(learned().judge(pair(a, b)), Update | Contradiction)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (
            "On a choisi Redis plutôt que Memcached pour la persistance",
            "On a choisi Memcached plutôt que Redis pour la persistance",
        ),
        ("The trawler ran into the ferry.", "The ferry ran into the trawler."),
    ],
)
def test_two_words_that_changed_places_make_another_fact(a: str, b: str) -> None:
    assert not merges(learned().judge(pair(a, b)))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The capital of Japan is Tokyo.", "The capital of India is New Delhi."),
        ("The capital of Norway is Oslo.", "The capital of Kenya is Nairobi."),
    ],
)
def test_names_that_differ_in_two_places_are_no_conflict(a: str, b: str) -> None:
    assert not isinstance(learned().judge(pair(a, b)), Update | Contradiction)
    other_value = pair(a, a.replace("Tokyo", "Osaka").replace("Oslo", "Bergen"))
    assert isinstance(learned().judge(other_value), Update | Contradiction)


def test_two_denials_of_one_thing_are_compared_by_the_model() -> None:
    both = pair("(none configured yet)", "(not configured yet)")
    assert not merges(RuleJudge().judge(both))
    assert merges(learned().judge(both))


def test_a_pair_in_which_the_model_doubts_a_conflict_goes_to_a_person() -> None:
    must = "Squash merging is mandatory on main."
    may = "On main people are free to pick any merge style, squashing or not."
    assert isinstance(learned().judge(pair(must, may)), Unsure)


@pytest.mark.parametrize(
    ("a", "b", "merged"),
    [
        ("Check the deployment before release.", "Check the deployement before release.", True),
        ("Anna asked for a new schedule.", "Anna asked for a new schedual.", True),
        ("The client is built on prisma.", "The client is built on prism.", False),
        ("Use podman for the nightly job.", "Use postman for the nightly job.", False),
    ],
)
def test_a_slip_of_the_pen_is_the_same_and_a_near_name_is_not(a: str, b: str, merged: bool) -> None:
    assert merges(learned().judge(pair(a, b))) is merged


def test_texts_that_begin_with_each_others_names_are_merged_by_a_sure_model_only() -> None:
    gives = "Mira supports Jonas in his new job."
    takes = "Jonas values Mira's support at the new job."
    told = learned().judge(pair(gives, takes))
    assert isinstance(told, Unsure)
    assert (told.evidence.chance or 0) >= learned().decision.merge
    boss, more = "Ulrike Sander is Amara's boss.", "Amara's boss is Ulrike Sander, a chemist."
    assert merges(learned().judge(pair(boss, more)))


def test_a_subject_in_common_is_a_topic_for_a_model_only_that_is_sure_of_a_conflict() -> None:
    both = pair(
        "Nadia can't go to the allotment since her operation last spring.",
        "Nadia sells beans, herbs and flowers from her allotment.",
    )
    judge, verdict = learned(), RuleJudge().judge(both)
    plain = rule_features(both.a.content, both.b.content, verdict)
    told: dict[bool, set[type]] = {True: set(), False: set()}
    for conflict in range(-2, 8):
        scores = Scores(-5.0, -5.0, conflict)
        chance = judge.decision.conflict.probability(features(plain, scores))
        if chance >= judge.decision.alarm:
            sure = chance >= 0.9 or conflict >= HEARD
            told[sure].add(type(judge.decide(both, verdict, plain, scores)))
    assert told == {True: {Update}, False: {Sibling}}


@pytest.mark.parametrize(
    ("conflict", "replaces", "told"),
    [
        (-5, REPLACED, Update),
        (-5, REPLACED - 0.1, Related),
        (HEARD, NOT_ASKED, Update),
        (HEARD - 1, NOT_ASKED, Sibling),
    ],
)
def test_a_newer_text_in_other_words_replaces_an_older_one_where_the_model_hears_it(
    conflict: float, replaces: float, told: type
) -> None:
    both = pair(
        "Nadia can't go to the allotment after her operation.",
        "Nadia sells beans, herbs and flowers from her allotment.",
        at=("2026-05-02", "2026-05-09"),
    )
    assert isinstance(decided(both, Scores(-5, -5, conflict, replaces)), told)


def test_one_name_in_common_is_enough_where_the_model_hears_that_a_text_replaces_another() -> None:
    both = pair(
        "Feature flag new_checkout is off in production.",
        "new_checkout went live for everyone.",
        at=("2026-02-10", "2026-05-20"),
    )
    assert isinstance(decided(both, Scores(-6, -6, 3, REPLACED)), Update)
    unheard = decided(both, Scores(-6, -6, 3, REPLACED - 0.1))
    assert not isinstance(unheard, Update | Contradiction)


def test_an_environment_in_common_is_no_subject_of_which_a_text_replaces_another() -> None:
    both = pair(
        "In staging, MAIL_FROM is noreply@larkspur.dev.",
        "Since the move staging is hosted on Fly.io.",
        at=("2026-02-10", "2026-05-20"),
    )
    told = decided(both, Scores(-6, -6, 3, REPLACED))
    assert not isinstance(told, Update | Contradiction)


def test_whether_one_text_replaces_another_is_asked_where_it_is_known_which_is_newer() -> None:
    monday = "The team meets on Mondays in room 4."
    online = "Room 4 is being renovated, the team meets online."
    told = learned().judge(pair(monday, online, at=("2026-03-02", "2026-09-02")))
    assert isinstance(told, Update)
    assert told.newer == "b"
    assert not isinstance(learned().judge(pair(monday, online)), Update | Contradiction)


def test_another_version_of_a_model_in_one_wording_is_no_other_thing() -> None:
    judge = RuleJudge()
    at = ("2026-05-02", "2026-05-09")
    older, newer = "We ask gpt-4o for the summaries.", "We ask gpt-5 for the summaries."
    assert isinstance(judge.judge(pair(older, newer, at=at)), Update)
    for one, other in (
        ("web-1", "web-2"),
        ("gpt-4o", "claude-3-opus"),
        ("gpt1@a.org", "gpt2@a.org"),
    ):
        both = pair(f"We ask {one} for the logs.", f"We ask {other} for the logs.", at=at)
        assert not isinstance(judge.judge(both), Update | Contradiction)


USES: tuple[MergeUse, ...] = ("unattended", "thorough")


def test_how_sure_a_merge_has_to_be_follows_from_its_use() -> None:
    tea = pair("Anna prefers tea over coffee.", "Anna likes tea more than she likes coffee.")
    told = [open_learned(Tally(), use=use).judge(tea) for use in USES]
    assert [type(each) for each in told] == [Unsure, Duplicate]
    assert told[0].evidence.chance == told[1].evidence.chance


def test_a_date_in_front_of_one_text_is_never_lost() -> None:
    dated, plain = "2026-05-02: kit installed and recipes moved", "kit installed and recipes moved"
    judged = RuleJudge().judge(pair(plain, dated))
    assert isinstance(judged, Subsumes)
    assert judged.superset == "b"
    both = with_status(pair(f"{plain} upstairs", dated), Subsumes(judged.evidence, "a"))
    assert isinstance(both, Unsure)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use Node 20.11 (fnm).", "Node is now 22.4, see `.nvmrc`."),
        ("The standup is at 9:30.", "Standup moved to 10:00."),
        (
            "Deploys go out on Tuesdays at 10:00 CET.",
            "Since 2026-09-01 deploys go out on Mondays at 10:00 CET.",
        ),
    ],
)
def test_a_text_that_tells_a_change_and_another_figure_replaces_the_older_one(
    judge: LearnedJudge, old: str, new: str
) -> None:
    verdict = judge.judge(pair(old, new))
    assert isinstance(verdict, Update)
    assert verdict.newer == "b"


def test_where_neither_rules_nor_model_see_a_conflict_what_differs_makes_none(
    judge: LearnedJudge,
) -> None:
    notes = (
        "# Session 2026-10-03\n\n- Worked on the cart rewrite (ORC-790).\n"
        "- `pnpm test` green in `apps/api`, 3 failures in `apps/web`.\n"
        "- Learned: the staging database listens on port 5433.\n- Next: fix the price rounding."
    )
    told = judge.judge(pair("The production database listens on port 5432.", notes))
    assert isinstance(told, Related)


def test_a_change_of_one_thing_is_no_update_of_another(judge: LearnedJudge) -> None:
    told = judge.judge(pair("Danica is a nurse.", "Danica works only early shifts now."))
    assert not isinstance(told, Update | Contradiction)


def test_what_a_text_tells_of_a_change_lowers_the_threshold_of_an_alarm(
    judge: LearnedJudge,
) -> None:
    def alarm(old: str, new: str) -> float:
        asked = pair(old, new)
        return judge.alarm_from(asked, RuleJudge().judge(asked))

    plain = alarm("Bonn has the main office.", "Kiel has the main office.")
    told = alarm("Bonn has the main office.", "Kiel has the main office now.")
    dated = alarm("The API runs on port 8080.", "The API runs on port 9090 now.")
    ended = alarm("Ann's brother works as a paramedic.", "Ann's brother works as a plumber.")
    assert plain > told > dated
    assert plain > ended


@pytest.mark.parametrize(
    ("older", "newer", "ends"),
    [
        ("The port of the gateway is 8080.", "The port of the gateway is 9090.", True),
        ("Ann's brother works as a nurse.", "Ann's brother works as a plumber.", True),
        ("Mina's new phone is a Pixel 7.", "Mina's new phone is with O2.", False),
        ("Mina has a phone.", "Mina has a cat.", False),
        ("The port of the gateway is 8080.", "The port of the gateway is 8080 in tests.", False),
        ("Le chef de Léa est Paul.", "Le chef de Léa est Anne.", True),
        (
            "The official language of Qatar is Arabic.",
            "The official language of Peru is Dutch.",
            False,
        ),
        ("Ask me before a deploy to production.", "Ask me before a deploy to staging.", False),
        ("Rex Lane is a citizen of South Korea.", "Rex Lane is a citizen of North Korea.", True),
    ],
)
def test_texts_that_begin_alike_and_end_otherwise_tell_of_one_thing(
    older: str, newer: str, ends: bool
) -> None:
    assert (other_end(pair(older, newer)) is not None) == ends


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ("Always run the tests before a commit.", "Run the tests before a commit.", True),
        ("Usually run the tests before a commit.", "Run the tests before a commit.", False),
        ("The API only accepts JSON.", "The API accepts JSON.", False),
        ("Most pods have memory limits.", "Pods have memory limits.", False),
        ("The job should retry three times.", "The job retries three times.", False),
        ("Use at least two reviewers.", "Use two reviewers.", False),
        (
            "Always run the tests before a commit.",
            "Run the tests before a commit, except for docs.",
            False,
        ),
        ("Always rebase before you push.", "Rebase before you push unless asked not to.", False),
    ],
)
def test_a_quantity_or_a_duty_on_one_side_yields_where_the_model_is_sure(
    judge: LearnedJudge, one: str, other: str, merged: bool
) -> None:
    assert merges(judge.judge(pair(one, other))) == merged


@pytest.mark.parametrize(
    ("text", "files", "moved"),
    [
        ("The API runs in Oslo.", "aa", 1),
        ("The API runs in Oslo.", "ab", -1),
        ("The API runs in Oslo.", ("", ""), 0),
        ("Never push without asking me first.", "ab", 0),
        ("Never push without asking me first.", "aa", 1),
    ],
)
def test_what_two_files_say_is_merged_sooner_than_what_one_says_twice(
    judge: LearnedJudge, text: str, files: Sequence[str], moved: int
) -> None:
    one, other = (
        Memory(id=str(at), content=text, native={FILE: file} if file else {})
        for at, file in enumerate(files)
    )
    least, plain = judge.merge_from(Pair(one, other, {"lexical": 0.5})), judge.decision.merge
    assert (least > plain) - (least < plain) == moved


@pytest.mark.parametrize(
    ("stated", "denied"),
    [
        ("Reviews are done by Ines.", "Let Omar do the reviews, not Ines."),
    ],
)
def test_what_one_text_states_and_the_other_denies_may_not_both_be_true(
    judge: LearnedJudge, stated: str, denied: str
) -> None:
    assert isinstance(judge.judge(pair(stated, denied)), Update | Contradiction)


def test_a_denial_of_another_thing_is_no_conflict(judge: LearnedJudge) -> None:
    told = judge.judge(pair("Ottilie is retired.", "Ottilie has no car."))
    assert not isinstance(told, Update | Contradiction)


def test_a_note_without_a_number_of_the_model_that_adds_a_denial_goes_to_a_person(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(open_network()), "logits", lambda *_: (float("nan"),) * 3)
    both = pair("The deposit is kept by the harbour.", "The deposit is never kept by the harbour.")
    assert isinstance(RuleJudge().judge(both), Update | Contradiction)
    assert isinstance(learned().judge(both), Unsure)
    ports = pair("The gateway listens on port 8443.", "The gateway listens on port 9443.")
    assert isinstance(learned().judge(ports), Contradiction)

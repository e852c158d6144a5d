from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, Provenance
from echoless.clustering import survivor as survivors
from echoless.clustering.grouping import Bonds, gather
from echoless.clustering.noise_score import Grade, Junk, adds_only, cleanliness, levelled
from echoless.clustering.survivor import composite, rank
from echoless.core.errors import UsageError
from echoless.core.groups import Group, Membership
from echoless.core.model import (
    IN_OTHER_WORDS,
    Difference,
    DifferenceKind,
    Duplicate,
    Evidence,
    Judged,
    Subsumes,
    Unsure,
    Verdict,
)
from echoless.core.verdict_sentences import sentence
from tests.clustering.noisy_groups import ADDED, DE, DE2, EN, EN2, JA, JA2, MORE, WORN


def why(
    group: Group,
    memories: Callable[[str], Memory],
    order: str,
    prior: AbstractSet[str],
) -> str:
    return survivors.why(group, memories, survivors.Standing(order, prior))


def memory(id_: str, **fields: object) -> Memory:
    return Memory(id=id_, content="x" * int(fields.pop("length", 10)), **fields)  # type: ignore[arg-type]


TRUSTED = memory("t", provenance=Provenance.USER_AUTHORED, created_at="2026-03-01")
IMPORTANT = memory("i", importance=0.9, created_at="2026-02-01")
RECALLED = memory("r", access_count=9, created_at="2026-04-01")
OLD = memory("o", created_at="2026-01-01T00:00:00Z")
UNDATED = memory("u", created_at="some day")
EVERYONE = [RECALLED, UNDATED, OLD, IMPORTANT, TRUSTED]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("safe", "tiruo"),
        ("composite", "ritou"),
        ("provenance", "triou"),
        ("newest", "rtiou"),
        ("oldest", "uoitr"),
        ("most_accessed", "rtiou"),
    ],
)
def test_each_order_ranks_by_its_own_criteria(order: str, expected: str) -> None:
    assert "".join(rank(EVERYONE, order, set())) == expected


@pytest.mark.parametrize("order", ["safe", "composite", "provenance", "newest", "oldest"])
def test_pinned_and_earlier_survivors_come_first_in_every_order(order: str) -> None:
    pinned = memory("p", pinned=True)
    assert rank([*EVERYONE, pinned], order, {"u"})[:2] == ["p", "u"]


def test_the_composite_score_is_the_documented_sum() -> None:
    assert composite(memory("a", access_count=5, importance=0.4, length=100)) == 53.0
    assert composite(memory("b", length=1200)) == 14.5
    assert composite(memory("c", access_count=1, importance=0.5, length=100)) == 13.5


def test_nanoseconds_and_offsets_decide_between_times() -> None:
    first = memory("a", created_at="2026-06-11T00:00:00.000000001+00:00")
    second = memory("b", created_at="2026-06-11T02:00:00.000000002+02:00")
    assert rank([first, second], "newest", set()) == ["b", "a"]
    assert rank([first, second], "oldest", set()) == ["a", "b"]


def test_every_tie_ends_on_the_id() -> None:
    assert rank([memory("b"), memory("a"), memory("c")], "safe", set()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("members", "order", "prior", "reason"),
    [
        (
            [TRUSTED, OLD],
            "safe",
            set(),
            "more trusted: written by the user, the next of unknown origin",
        ),
        ([IMPORTANT, OLD], "safe", set(), "more important: 0.9, the next unknown"),
        ([RECALLED, OLD], "most_accessed", set(), "recalled more often: 9 times, the next never"),
        ([OLD, RECALLED], "safe", {"o"}, "survivor of an earlier run"),
        ([memory("p", pinned=True), TRUSTED], "safe", set(), "pinned"),
        (
            [memory("a"), memory("b")],
            "safe",
            set(),
            "no reason to prefer one; the first by name was kept",
        ),
    ],
)
def test_the_reason_names_what_decided(
    members: list[Memory], order: str, prior: set[str], reason: str
) -> None:
    first, second = members
    a, b = sorted((first.id, second.id))
    judged = Judged(a, b, Duplicate(Evidence("test", "exact", 1.0)))
    group = Group(first.id, (Membership(second.id, judged),))
    assert why(group, {m.id: m for m in members}.__getitem__, order, prior) == reason


def _origin(id_: str, provenance: Provenance) -> Memory:
    return memory(id_, provenance=provenance)


@pytest.mark.parametrize(
    ("order", "best", "following", "reason"),
    [
        (
            "safe",
            _origin("a", Provenance.VERBATIM),
            _origin("b", Provenance.EXTRACTED),
            "more trusted: copied word for word, the next extracted from a text",
        ),
        (
            "provenance",
            _origin("a", Provenance.DERIVED),
            _origin("b", Provenance.UNKNOWN),
            "more trusted: derived from other memories, the next of unknown origin",
        ),
        (
            "safe",
            memory("a", importance=0.67),
            memory("b", importance=0.5),
            "more important: 0.67, the next 0.5",
        ),
        (
            "most_important",
            memory("a", importance=0.50000002),
            memory("b", importance=0.50000001),
            "more important: 0.50000002, the next 0.50000001",
        ),
        (
            "safe",
            memory("a"),
            memory("b", importance=-0.5),
            "more important: unknown, the next -0.5",
        ),
        (
            "most_accessed",
            memory("a", access_count=1200),
            memory("b", access_count=1),
            "recalled more often: 1,200 times, the next once",
        ),
        (
            "composite",
            memory("a", access_count=1),
            memory("b", importance=0.4),
            "higher score of recalls, importance and length: 12.60, the next 2.10",
        ),
        (
            "newest",
            memory("a", created_at="2026-05-02T08:00:00Z"),
            memory("b", created_at="2026-04-30T08:00:00Z"),
            "newer: 2026-05-02, the next 2026-04-30",
        ),
        (
            "newest",
            memory("a", created_at="2026-05-02T08:00:00Z"),
            memory("b", created_at="some day"),
            "newer: 2026-05-02, the next unknown",
        ),
        (
            "oldest",
            memory("a"),
            memory("b", created_at="2026-05-02T08:00:00Z"),
            "older: an unknown time counts as the oldest, the next 2026-05-02",
        ),
        ("recall", memory("a", length=1), memory("b", length=0), "longer: 1 character, the next 0"),
        (
            "recall",
            memory("a", importance=7),
            memory("b"),
            "more important: 7, the next 5 by default",
        ),
        (
            "recall",
            memory("a"),
            memory("b", importance=3),
            "more important: 5 by default, the next 3",
        ),
        (
            "recall",
            memory("m#9"),
            memory("m#10"),
            "lower number at the end of its id: 9, the next 10",
        ),
        (
            "recall",
            memory("m"),
            memory("m#1"),
            "lower number at the end of its id: none, the next 1",
        ),
    ],
)
def test_each_criterion_has_a_phrase_with_both_values(
    order: str, best: Memory, following: Memory, reason: str
) -> None:
    group = Group(best.id, (Membership(following.id, None),))
    known = {best.id: best, following.id: following}
    assert why(group, known.__getitem__, order, set()) == reason


_ORDERS = (
    *("safe", "composite", "provenance", "newest", "oldest"),
    *("most_accessed", "most_important", "recall"),
)
_NOTED = {
    "content": st.sampled_from([EN, f"Note: {EN}", f"Note: {EN} #infra", EN2]),
    "provenance": st.sampled_from(Provenance),
    "importance": st.sampled_from([None, -1.0, 0.5, 0.5000000001, 5.0]),
    "access_count": st.sampled_from([0, 1, 2, 1200]),
    "created_at": st.sampled_from(
        [None, "some day", "2026-01-05", "2026-01-05T20:00:00-05:00", "2026-01-06T01:00:00+09:00"]
    ),
}


@given(
    one=st.builds(Memory, id=st.just("m-1"), **_NOTED),
    other=st.builds(Memory, id=st.just("m-2"), **_NOTED),
    order=st.sampled_from(_ORDERS),
)
def test_no_reason_gives_two_memories_the_same_value(
    one: Memory, other: Memory, order: str
) -> None:
    known = {"m-1": one, "m-2": other}
    best, following = rank(known.values(), order, set())
    group = Group(best, (Membership(following, None),))
    reason = why(group, known.__getitem__, order, set())
    assert "(next:" not in reason
    _, _, values = reason.partition(": ")
    value, _, after = values.rpartition(", the next ")
    assert value != after or not value


def test_the_reason_says_when_a_better_one_is_a_part_of_a_third() -> None:
    """It may not hide the one that survives here, as the third memory says more than both."""
    known = {m.id: m for m in [IMPORTANT, memory("a", importance=0.5), memory("t")]}
    judged = [Judged("a", "i", SAME_TEXT), Judged("i", "t", more("b"))]
    order = rank(known.values(), "safe", set())
    assert order == ["i", "a", "t"]
    (group,) = gather("star", Bonds(judged, {}), order, set())
    assert (group.survivor, [m.id for m in group.members]) == ("a", ["i"])
    reason = why(group, known.__getitem__, "safe", set())
    assert reason == "the next one says less than another memory"


def test_the_reason_says_when_a_survivor_wins_by_saying_more() -> None:
    judged = Judged("o", "t", Subsumes(Evidence("test", "lexical", 0.8), "a"))
    group = Group("o", (Membership("t", judged),))
    reason = why(group, {"o": OLD, "t": TRUSTED}.__getitem__, "safe", set())
    assert reason == "says everything the others say, and more"


def test_times_of_other_zones_are_told_whole_where_their_days_stand_in_the_other_order() -> None:
    """The day where it was written is the later one, though the moment is the earlier one."""
    known = {
        "a": memory("a", created_at="2026-01-06T01:00:00+09:00"),
        "b": memory("b", created_at="2026-01-05T20:00:00-05:00"),
    }
    group = Group("a", (Membership("b", None),))
    assert why(group, known.__getitem__, "oldest", set()) == (
        "older: 2026-01-06T01:00:00+09:00, the next 2026-01-05T20:00:00-05:00"
    )
    group = Group("b", (Membership("a", None),))
    assert why(group, known.__getitem__, "newest", set()) == (
        "newer: 2026-01-05T20:00:00-05:00, the next 2026-01-06T01:00:00+09:00"
    )


def test_of_equal_notes_the_one_changed_last_and_then_the_one_with_a_reason_stays() -> None:
    plain = say("a", "Use tabs.", updated_at="2026-01-01")
    changed = say("b", "Use tabs.", updated_at="2026-02-01")
    assert chosen([plain, changed], SAME_TEXT) == (
        "b",
        "changed last: 2026-02-01, the next 2026-01-01",
    )
    reasoned = say("c", "Use tabs, because Go does.", updated_at="2026-02-01")
    assert chosen([changed, reasoned], SAME_TEXT) == (
        "c",
        "says why or how, as the next does not",
    )


@pytest.mark.parametrize(
    ("differences", "says"),
    [
        ([Difference(DifferenceKind.DETAIL, ("owns",))], ""),
        ([Difference(DifferenceKind.NEGATION, ("Don't",), ("Never",))], ""),
        ([Difference(DifferenceKind.DETAIL, ("red", "leather"))], ", and more"),
        ([Difference(DifferenceKind.NUMBER, ("12",))], ", and more"),
    ],
)
def test_a_survivor_says_more_only_by_a_fact(differences: list[Difference], says: str) -> None:
    evidence = Evidence(IN_OTHER_WORDS, "lexical", 0.8, tuple(differences))
    judged = Judged("o", "t", Subsumes(evidence, "a"))
    group = Group("o", (Membership("t", judged),))
    reason = why(group, {"o": OLD, "t": TRUSTED}.__getitem__, "safe", set())
    assert reason == f"says everything the others say{says}"
    assert ("says more" in sentence(judged.verdict)) is bool(says)


def test_an_unknown_order_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match=r"'loudest'.*safe, composite"):
        rank([OLD], "loudest", set())


# ------------------------------------------------------------------ junk is no merit

HUMBLE: dict[str, object] = {"importance": 0.1, "created_at": "2026-01-01T00:00:00Z"}
LOUD: dict[str, object] = {
    "importance": 0.9,
    "access_count": 7,
    "created_at": "2026-05-01T00:00:00Z",
}
SAME_TEXT = Duplicate(Evidence("test", "exact", 1.0))


def say(id_: str, content: str, **fields: object) -> Memory:
    return Memory(id=id_, content=content, **fields)  # type: ignore[arg-type]


def more(by: str) -> Subsumes:
    return Subsumes(Evidence("adds-only", "lexical", 0.9), "a" if by == "a" else "b")


def chosen(
    memories: Sequence[Memory],
    verdict: Verdict,
    *,
    prior: frozenset[str] = frozenset(),
    order: str = "safe",
) -> tuple[str, str]:
    """Survivor of a group and the reason, on the road the pipeline takes."""
    known = {m.id: m for m in memories}
    a, *others = sorted(known)
    judged = levelled([Judged(a, other, verdict) for other in others], known)
    bonds = Bonds(judged, {})
    protected = {m.id for m in memories if m.pinned} | prior
    (group,) = gather("star", bonds, rank(memories, order, prior), protected)
    return group.survivor, why(group, known.__getitem__, order, prior)


@pytest.mark.parametrize(("kind", "clean", "noisy"), [*ADDED, *WORN])
def test_a_copy_with_junk_loses_to_the_clean_one(kind: Junk, clean: str, noisy: str) -> None:
    """It is longer, newer, more important and more recalled, and all of that once decided."""
    pair = [say("a", noisy, **LOUD), say("b", clean, **HUMBLE)]
    assert rank(pair, "newest", set())[0] == "a"
    assert rank(pair, "composite", set())[0] == "a"
    assert max(pair, key=lambda m: m.importance or 0).id == "a"

    survivor, reason = chosen(pair, SAME_TEXT)
    assert survivor == "b"
    assert reason.startswith("cleaner text: the other carries ")
    assert kind in reason


@pytest.mark.parametrize(("kind", "clean", "noisy"), ADDED)
def test_a_copy_that_only_adds_junk_is_no_superset(kind: Junk, clean: str, noisy: str) -> None:
    survivor, reason = chosen([say("a", noisy, **LOUD), say("b", clean, **HUMBLE)], more("a"))
    assert survivor == "b"
    assert kind in reason


@pytest.mark.parametrize(("less", "long"), MORE)
def test_a_superset_wins_however_it_looks(less: str, long: str) -> None:
    best = {**LOUD, "provenance": Provenance.USER_AUTHORED}
    pair = [say("a", less, **best), say("b", long, **HUMBLE)]
    assert rank(pair, "safe", set())[0] == "a"
    survivor, reason = chosen(pair, more("b"))
    assert (survivor, reason) == ("b", "says everything the others say, and more")


def test_a_person_s_words_come_before_clean_ones() -> None:
    noisy = say("b", f"{EN} (auto-saved)", provenance=Provenance.USER_AUTHORED)
    survivor, reason = chosen([say("a", EN), noisy], SAME_TEXT)
    assert survivor == "b"
    assert reason == "more trusted: written by the user, the next of unknown origin"


def test_pinned_and_earlier_survivors_come_before_clean_ones() -> None:
    noisy = f"{EN} (auto-saved)"
    assert chosen([say("a", EN), say("b", noisy, pinned=True)], SAME_TEXT) == ("b", "pinned")
    earlier = chosen([say("a", EN), say("b", noisy)], SAME_TEXT, prior=frozenset({"b"}))
    assert earlier == ("b", "survivor of an earlier run")


def test_within_a_class_importance_decides_and_not_the_amount_of_junk() -> None:
    little = say("a", f"Note: {EN}", importance=0.2)
    much = say("b", f"Note: {EN} #infra", importance=0.8)
    survivor, reason = chosen([little, much], SAME_TEXT)
    assert (survivor, reason) == ("b", "more important: 0.8, the next 0.2")


def test_with_all_else_equal_the_barer_text_comes_before_the_smaller_id() -> None:
    survivor, reason = chosen([say("a", f"Note: {EN} #infra"), say("b", f"Note: {EN}")], SAME_TEXT)
    assert survivor == "b"
    assert reason == "shorter, as both carry junk: 48 characters, the next 55"


def test_of_two_clean_texts_the_longer_has_no_advantage() -> None:
    wordy = "It is on the port 5432 that the staging database does listen."
    survivor, _ = chosen([say("b", wordy, **HUMBLE), say("a", EN, **HUMBLE)], SAME_TEXT)
    assert survivor == "a"
    assert cleanliness(wordy).grade == cleanliness(EN).grade


def test_the_reason_names_what_all_the_others_carry() -> None:
    group = [say("a", f"[2026-01-05 09:12] {EN}"), say("b", f"Session 3: {EN}"), say("c", EN)]
    known = {m.id: m for m in group}
    judged = [Judged("a", "c", SAME_TEXT), Judged("b", "c", SAME_TEXT)]
    (found,) = gather("star", Bonds(judged, {}), rank(group, "safe", set()), set())
    reason = why(found, known.__getitem__, "safe", set())
    assert reason == "cleaner text: the others carry a frame"


@pytest.mark.parametrize("order", ["composite", "provenance", "newest", "oldest", "most_accessed"])
def test_the_other_orders_do_not_look_at_junk(order: str) -> None:
    same: dict[str, object] = {"created_at": "2026-01-01"}
    long = f"{EN} (auto-saved) #infra #staging -- sent by agent 7"
    pair = [say("a", long, **same), say("b", EN, **same)]
    assert rank(pair, order, set()) == ["a", "b"]


# ------------------------------------------------------------------ properties

_TEXTS = st.sampled_from([EN, EN2, DE, DE2, JA, JA2])
_ADD: list[Callable[[str], str]] = [
    lambda t: f"[2026-01-05 09:12] {t}",
    lambda t: f"Note: {t}",
    lambda t: f"Session 14, turn 3: {t}",
    lambda t: f"2026-01-05 09:12:00 INFO agent.memory: {t}",
    lambda t: f"{t} #infra #staging",
    lambda t: f"{t} (auto-saved)",
    lambda t: f"{t} -- sent by agent 7",
    lambda t: f"{t}\nPlease continue from here.",
    lambda t: f'{t} {{"id": 17, "confidence": 0.9}}',
    lambda t: f"{t}\n{t}",
    lambda t: f"{t}…",
    lambda t: f"{t}\ufffd",
]
_STEPS = st.lists(st.sampled_from(_ADD), min_size=1, max_size=4)


def _dressed(text: str, steps: Sequence[Callable[[str], str]]) -> str:
    for step in steps:
        text = step(text)
    return text


def test_a_frame_that_is_taken_off_leaves_lines_as_they_were() -> None:
    """With a space before it the last line was no longer known as junk."""
    one = f"{EN} #infra #staging\nPlease continue from here."
    assert rank([say("a", one), say("b", f"{one} #infra #staging")], "safe", set()) == ["a", "b"]


@given(text=_TEXTS, steps=_STEPS, ids=st.permutations(["a", "b"]), trusted=st.booleans())
def test_appended_junk_of_any_kind_never_wins(
    text: str, steps: list[Callable[[str], str]], ids: list[str], trusted: bool
) -> None:
    trust = Provenance.VERBATIM if trusted else Provenance.UNKNOWN
    clean, noisy = say(ids[0], text, provenance=trust), say(ids[1], _dressed(text, steps))
    noisy = replace(noisy, provenance=trust)
    assert rank([noisy, clean], "safe", set())[0] == clean.id
    assert chosen([noisy, clean], SAME_TEXT)[0] == clean.id


@given(
    text=_TEXTS,
    before=st.lists(st.sampled_from(_ADD), min_size=1, max_size=2),
    after=st.sampled_from(_ADD),
    ids=st.permutations(["a", "b"]),
)
def test_more_junk_on_junk_never_wins_either(
    text: str, before: list[Callable[[str], str]], after: Callable[[str], str], ids: list[str]
) -> None:
    one = _dressed(text, before)
    assert rank([say(ids[0], one), say(ids[1], after(one))], "safe", set())[0] == ids[0]


@given(
    texts=st.lists(st.tuples(_TEXTS, st.lists(st.sampled_from(_ADD), max_size=3)), max_size=6),
    data=st.data(),
)
def test_the_choice_does_not_depend_on_the_order(
    texts: list[tuple[str, list[Callable[[str], str]]]], data: st.DataObject
) -> None:
    memories = [say(str(n), _dressed(*each)) for n, each in enumerate(texts)]
    shuffled = data.draw(st.permutations(memories))
    assert rank(shuffled, "safe", set()) == rank(memories, "safe", set())


@given(text=_TEXTS, steps=_STEPS)
def test_a_text_with_one_more_fact_is_never_levelled(
    text: str, steps: list[Callable[[str], str]]
) -> None:
    """Whatever junk stands around it, a superset survives."""
    long = _dressed(f"{text} Port 9918 is for metrics.", steps)
    assert adds_only(long, text) == ()
    pair = [say("a", text, **LOUD), say("b", long, **HUMBLE)]
    assert chosen(pair, more("b"))[0] == "b"


@given(
    verdicts=st.lists(
        st.sampled_from([SAME_TEXT, more("a"), more("b"), None]), min_size=10, max_size=10
    ),
    prior=st.sets(st.sampled_from("01234"), max_size=2),
    grouping=st.sampled_from(["star", "closest"]),
)
def test_no_superset_ever_stands_behind_its_subset(
    verdicts: list[Verdict | None], prior: set[str], grouping: str
) -> None:
    memories = [say(n, EN, importance=int(n) / 10) for n in "01234"]
    pairs = zip(combinations("01234", 2), verdicts, strict=True)
    judged = [Judged(a, b, verdict) for (a, b), verdict in pairs if verdict]
    bonds = Bonds(judged, {})
    for group in gather(grouping, bonds, rank(memories, "safe", prior), prior):
        for member in group.members:
            assert bonds.hides(member.id, group.survivor)
            assert not member.judged or member.judged.hides(member.id, group.survivor)


def test_a_frame_only_the_judge_knows_is_junk_too() -> None:
    framed = f"Based on the conversation above, the following should be stored: {EN}"
    assert cleanliness(framed).kinds == (Junk.FRAME,)
    assert rank([say("a", framed), say("b", EN)], "safe", set()) == ["b", "a"]


# ------------------------------------------------------------------ what is no junk


@pytest.mark.parametrize(
    "text",
    [
        "I think the staging database may listen on port 5432.",
        "Maybe Anna prefers green tea.",
        "Vielleicht liegt der Schlüssel im Flur.",
        "アンナは緑茶が好きかもしれない。",
        "On 12.09.2025 at 14:00 there is a demo for the investors.",
        "2026-01-05 the gateway was replaced.",
        "Step 3 of the deploy restarts the gateway.",
        "Use <b> for bold and <i> for italics in the mail template.",
        "The film got ⭐⭐⭐⭐ from Anna.",
        "- [ ] Renew the certificate of the gateway",
        "The parser reads {'port': 5432} as a dictionary.",
        "Postgres (source: the audit of Ada) is out of date.",
        "~~The office closes at six.~~",
        "Run the linter on src. Run the tests of the parser. Run the linter on src.",
        "Set `AUTH_TOKEN` before the first deploy.",
        "São Paulo und Zürich liegen nicht in Ägypten.",
        "The price is 5 € (about $5.40).",
        "# Release\n- bump the version\n- tag the commit",
        "teh STAGING DATABASE listens listens on port 5432!!! 🚀🚀🚀",
        "Prompt: Where does the staging database listen?\nIt listens on port 5432.",
    ],
)
def test_what_may_be_a_fact_is_not_called_junk(text: str) -> None:
    assert cleanliness(text).kinds == ()
    assert adds_only(f"{text} (auto-saved)", text) == (Junk.FRAME,)


def test_an_order_of_work_may_repeat_a_step() -> None:
    steps = "Run the linter on src. Run the tests of the parser."
    assert adds_only(f"{steps} Run the linter on src.", steps) == ()


def test_a_time_that_may_be_a_date_is_a_fact() -> None:
    dated = "12.09.2025 14:00 – demo for the investors (auto-saved)"
    assert adds_only(dated, "demo for the investors") == ()


def test_every_kind_is_shown() -> None:
    shown = {kind for kind, _, _ in (*ADDED, *WORN)}
    assert shown == set(Junk)


@pytest.mark.parametrize(
    "text", ["", " ", "…", "#a #b", "Note:", "{}", "🚀🚀", "((((", "x" * 30_000]
)
def test_junk_around_nothing_is_left_as_it_is(text: str) -> None:
    read = cleanliness(text)
    assert (read.grade == Grade.CLEAN) == (not read.kinds)


@given(st.text(max_size=80))
def test_any_text_can_be_read(text: str) -> None:
    read = cleanliness(text)
    assert (read.grade == Grade.CLEAN) == (not read.kinds)


def test_an_addition_that_no_rule_merges_is_level_where_it_is_junk() -> None:
    added = Difference(DifferenceKind.DETAIL, ("auto", "saved"))
    texts = {"a": f"{EN} (auto-saved)", "b": EN, "c": f"{EN} At night."}
    pair = {id_: say(id_, text) for id_, text in texts.items()}
    for more, verdict in (("a", Duplicate), ("c", Unsure)):
        judged = Judged(more, "b", Unsure(Evidence("adds-only", "lexical", 0.9, (added,))))
        assert [type(each.verdict) for each in levelled([judged], pair)] == [verdict]

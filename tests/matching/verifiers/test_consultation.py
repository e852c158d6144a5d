"""The opinion slot in a run: who is asked about, what the answer does, what is counted."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from echoless import Memory, audit, find, open_store, plan
from echoless.cli.main import main
from echoless.core.choices import Limits
from echoless.core.errors import UsageError, VerifierError
from echoless.core.model import (
    Contradiction,
    Difference,
    DifferenceKind,
    Duplicate,
    Evidence,
    Pair,
    Subsumes,
    Unsure,
    Verdict,
    flipped,
    verdict_name,
)
from echoless.core.run_notes import Tally
from echoless.core.settings import Choices, resolve
from echoless.matching.verifiers import NoOpinion, Opinion, Reply, Says, open_verifier
from echoless.matching.verifiers import consultation as slot
from echoless.matching.verifiers.consultation import Consultation, Limited
from echoless.workflows.audit.report import findings_json
from echoless.workflows.dedupe.findings import Findings
from echoless.workflows.pairs import Question, judge_pairs
from echoless.workflows.review.plan import bonds_among
from tests.laws.worlds import quick, world
from tests.model_server import ModelServer, data_of, fails, opinion


class Stub:
    """Says what it is told to; remembers what it was asked."""

    name = "stub:1"

    def __init__(self, answer: Callable[[str, str], Reply]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, str]] = []

    def verify(self, pairs: Sequence[tuple[Memory, Memory]]) -> Sequence[Reply]:
        self.asked += [(a.content, b.content) for a, b in pairs]
        return [self.answer(a.content, b.content) for a, b in pairs]


def stub(says: Says = Says.SAME, reason: str = "both name it") -> Stub:
    return Stub(lambda _a, _b: Opinion(says, reason))


def pair(a: str, b: str, similarity: float = 0.8) -> Pair:
    return Pair(
        Memory(id=f"a-{a}", content=a), Memory(id=f"b-{b}", content=b), {"lexical": similarity}
    )


def unsure(similarity: float = 0.8, *, veto: bool = False) -> Unsure:
    difference = Difference(DifferenceKind.DETAIL, ("tea",), ("coffee",))
    return Unsure(Evidence("wording-differs", "lexical", similarity, (difference,), veto=veto))


def settle(
    verifier: Stub, *cases: tuple[Pair, Verdict], limit: int = 200
) -> tuple[list[Verdict], Consultation, Tally]:
    tally = Tally()
    consultation = Consultation(verifier, limit=limit)
    verdicts = consultation.settle([p for p, _ in cases], [v for _, v in cases], tally)
    consultation.report(tally)
    return verdicts, consultation, tally


# ------------------------------------------------------------------ what an opinion does


@pytest.mark.parametrize(
    ("says", "kind", "superset"),
    [
        (Says.SAME, "duplicate", None),
        (Says.A_CONTAINS_B, "subsumes", "a"),
        (Says.B_CONTAINS_A, "subsumes", "b"),
        (Says.DIFFERENT, "related", None),
        (Says.UNSURE, "unsure", None),
    ],
)
@pytest.mark.parametrize("turn", [False, True])
def test_an_opinion_settles_an_unsure_pair_whichever_side_is_a(
    says: Says, kind: str, superset: str | None, turn: bool
) -> None:
    texts = ("x", "y") if not turn else ("y", "x")
    ((verdict,), consultation, _) = settle(stub(says), (pair(*texts), unsure()))
    assert verdict_name(verdict) == kind
    if isinstance(verdict, Subsumes):
        assert verdict.superset == (superset if not turn else {"a": "b", "b": "a"}[str(superset)])
    assert consultation.heard.answered == 1


def test_the_evidence_names_the_verifier_and_its_reason() -> None:
    ((verdict,), _, _) = settle(
        stub(Says.SAME, " both\nname\0 it \ud800"), (pair("x", "y"), unsure())
    )
    assert verdict.evidence.rule == "verifier-says-same"
    assert verdict.evidence.note == "stub:1 says same: both name it ?"
    assert verdict.evidence.line().startswith("verifier says same; detail: tea | coffee; stub:1")


def test_different_and_unsure_keep_the_evidence_of_the_judge() -> None:
    for says in (Says.DIFFERENT, Says.UNSURE):
        ((verdict,), _, _) = settle(stub(says), (pair("x", "y"), unsure()))
        assert verdict.evidence.rule == "wording-differs"
        assert verdict.evidence.differences == unsure().evidence.differences
        assert verdict.evidence.note == f"stub:1 says {says.value}: both name it"


def test_a_veto_and_any_other_verdict_are_never_asked_about() -> None:
    evidence = unsure().evidence
    cases = [
        (pair("x", "y"), unsure(veto=True)),
        (pair("x", "z"), Contradiction(evidence)),
        (pair("y", "z"), Duplicate(evidence)),
    ]
    verifier = stub()
    verdicts, consultation, _ = settle(verifier, *cases)
    assert verdicts == [verdict for _, verdict in cases]
    assert verifier.asked == []
    assert consultation.heard.asked == consultation.heard.left_out == 0


def test_a_veto_stays_when_the_sides_are_exchanged() -> None:
    assert flipped(unsure(veto=True)).evidence.veto
    assert not flipped(unsure()).evidence.veto


def test_only_the_closest_pairs_within_the_limit_are_asked_about() -> None:
    cases = [(pair("x", str(n), n / 10), unsure(n / 10)) for n in range(5)]
    verifier = stub()
    verdicts, consultation, tally = settle(verifier, *cases, limit=2)
    assert verifier.asked == [("4", "x"), ("3", "x")]
    assert [verdict_name(v) for v in verdicts] == ["unsure"] * 3 + ["duplicate"] * 2
    assert consultation.heard.left_out == 3
    assert set(tally.skipped[slot.BEYOND]) >= {"a-x", "b-0", "b-1", "b-2"}


@quick
@given(order=st.permutations(range(12)), limit=st.integers(1, 12))
def test_who_is_asked_about_does_not_depend_on_the_order(order: list[int], limit: int) -> None:
    cases = [(pair(f"x{n % 5}", f"y{n}", (n % 3) / 10), unsure((n % 3) / 10)) for n in range(12)]
    straight, shuffled = stub(), stub()
    settle(straight, *cases, limit=limit)
    settle(shuffled, *(cases[n] for n in order), limit=limit)
    assert straight.asked == shuffled.asked


def test_texts_too_long_for_a_question_are_counted() -> None:
    verifier = stub()
    long = "x" * slot.LONGEST
    _, consultation, tally = settle(verifier, (pair(long, "y"), unsure()))
    assert verifier.asked == []
    assert consultation.heard.left_out == 1
    assert slot.TOO_LONG in tally.counts


def test_a_question_without_an_answer_stays_unsure_and_is_counted() -> None:
    verifier = Stub(lambda a, _b: NoOpinion("babble") if a == "x" else Opinion(Says.SAME))
    verdicts, consultation, tally = settle(
        verifier, (pair("x", "y"), unsure()), (pair("w", "z"), unsure())
    )
    assert verdicts[0] == unsure()
    assert isinstance(verdicts[1], Duplicate)
    assert consultation.heard.to_json() == {
        "verifier": "stub:1",
        "asked": 2,
        "answered": 1,
        "failed": 1,
        "left_out": 0,
    }
    assert tally.skipped == {slot.FAILED: ("a-x", "b-y")}
    assert tally.notes == (
        "The verifier stub:1 was asked about 2 unsure pairs: 1 answered, 1 failed; 0 not asked.",
        "The verifier stub:1 failed: babble",
    )


def test_a_verifier_that_only_fails_is_not_asked_for_ever() -> None:
    verifier = Stub(lambda _a, _b: NoOpinion("time out"))
    cases = [(pair("x", f"y{n:02d}"), unsure()) for n in range(50)]
    _, consultation, tally = settle(verifier, *cases)
    assert len(verifier.asked) == slot.BATCH
    assert consultation.heard.left_out == 50 - slot.BATCH
    assert slot.GIVEN_UP in tally.counts


def test_a_verifier_that_breaks_later_leaves_the_rest_unsure() -> None:
    def once(a: str, _b: str) -> Reply:
        if len(verifier.asked) > slot.BATCH:
            raise VerifierError("The server went away.")
        return Opinion(Says.SAME)

    verifier = Stub(once)
    cases = [(pair("x", f"y{n:02d}"), unsure()) for n in range(30)]
    verdicts, consultation, tally = settle(verifier, *cases)
    assert sum(isinstance(v, Duplicate) for v in verdicts) == slot.BATCH
    heard = consultation.heard
    assert (heard.answered, heard.failed) == (slot.BATCH, slot.BATCH)
    assert heard.left_out == 30 - 2 * slot.BATCH
    assert "The verifier stub:1 failed: The server went away." in tally.notes


def test_a_verifier_that_never_answers_is_an_error() -> None:
    def broken(_a: str, _b: str) -> Reply:
        raise VerifierError("There is no such model.")

    with pytest.raises(VerifierError, match="no such model"):
        settle(Stub(broken), (pair("x", "y"), unsure()))


def test_a_verifier_with_a_reply_too_few_is_an_error() -> None:
    class Short(Stub):
        def verify(self, pairs: Sequence[tuple[Memory, Memory]]) -> Sequence[Reply]:
            return []

    with pytest.raises(VerifierError, match="0 replies to 1 questions"):
        settle(Short(lambda _a, _b: Opinion(Says.SAME)), (pair("x", "y"), unsure()))


# ------------------------------------------------------------------ in a run

# The judge is replaced where a test is about what happens after it.


class Undecided:
    """A judge that is unsure of everything, with a veto where a text says so."""

    def judge(self, pair: Pair) -> Verdict:
        vetoed = "veto" in pair.a.content + pair.b.content
        how, similarity = pair.best
        return Unsure(Evidence("wording-differs", how, similarity, veto=vetoed))

    def judge_all(self, pairs: Sequence[Pair]) -> list[Verdict]:
        return [self.judge(pair) for pair in pairs]


TEXTS = [
    "Anna drinks green tea in the morning.",
    "In the morning Anna has a cup of green tea.",
    "Anna drinks green tea in the morning, veto.",
]


def memories() -> list[Memory]:
    return [Memory(id=f"m-{n}", content=text) for n, text in enumerate(TEXTS)]


@pytest.fixture
def undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("echoless.matching.guards.judge_named", lambda *_: Undecided())


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Callable[[Stub], Stub]:
    def install(verifier: Stub) -> Stub:
        monkeypatch.setattr(
            "echoless.matching.verifiers.consultation.open_verifier", lambda *_, **_more: verifier
        )
        return verifier

    return install


def found(**choices: object) -> Findings:
    with world("jsonl", memories()) as store:
        settings = resolve(Choices(semantic=False, **choices))  # type: ignore[arg-type]
        return find(store, settings)


@pytest.mark.usefixtures("undecided")
def test_without_a_verifier_nothing_is_asked() -> None:
    findings = found()
    assert findings.opinions is None
    assert findings_json(findings)["opinions"] is None
    assert not findings.groups


@pytest.mark.usefixtures("undecided")
def test_a_run_merges_what_the_verifier_calls_the_same_and_no_veto_holds(
    use: Callable[[Stub], Stub],
) -> None:
    verifier = use(stub())
    findings = found(verifier="stub")
    assert verifier.asked == [(TEXTS[0], TEXTS[1])] or verifier.asked == [(TEXTS[1], TEXTS[0])]
    (group,) = findings.groups
    assert {group.survivor, *(m.id for m in group.members)} == {"m-0", "m-1"}
    (action,) = plan(findings).actions
    assert "stub:1 says same: both name it" in str(action.members[0].evidence)
    assert findings.opinions is not None
    assert findings.opinions.asked == findings.opinions.answered == 1
    assert "asked about 1 unsure pairs: 1 answered" in findings.tally.notes[-1]
    assert findings.counts["unsure"] == len(findings.held)
    assert audit(findings).wasted_tokens > 0


@pytest.mark.usefixtures("undecided")
def test_a_review_keeps_what_the_verifier_said(use: Callable[[Stub], Stub]) -> None:
    verifier = use(stub())
    findings = found(verifier="stub")
    asked = list(verifier.asked)
    bonds = bonds_among(findings, ["m-0", "m-1", "m-2"])
    assert bonds.hides("m-0", "m-1")
    assert not bonds.hides("m-0", "m-2")
    assert verifier.asked == asked


@pytest.mark.usefixtures("undecided")
def test_the_questions_of_a_run_are_capped_by_a_setting(use: Callable[[Stub], Stub]) -> None:
    use(stub(Says.DIFFERENT))
    told = [Memory(id=f"n-{n}", content=f"Anna drinks tea {'x' * n}") for n in range(5)]
    with world("jsonl", told) as store:
        findings = find(store, resolve(Choices(semantic=False, verifier="stub", questions=3)))
    assert findings.opinions is not None
    assert findings.opinions.asked == 3
    assert findings.opinions.left_out == sum(findings.verdicts.values()) - 3 > 0


def test_verifier_and_questions_are_settings_and_part_of_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from echoless.core.settings import layered

    plain = resolve(Choices())
    assert (plain.verifier, plain.questions) == ("none", 200)
    assert resolve(Choices(verifier="openai:m")).digest != plain.digest
    assert resolve(Choices(questions=7)).digest != plain.digest
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path))
    (tmp_path / "echoless.toml").write_text('verifier = "anthropic:m"\nquestions = 9\n')
    chosen = resolve(layered(Choices(), folder=tmp_path, environment={"ECHOLESS_QUESTIONS": "8"}))
    assert (chosen.verifier, chosen.questions) == ("anthropic:m", 8)
    with pytest.raises(UsageError, match="--set questions must be a whole number from 1, not 0"):
        resolve(Choices(questions=0))


def test_a_wrong_verifier_is_told_before_the_store_is_read() -> None:
    with world("jsonl", memories()) as store:
        store.scan = lambda *_: pytest.fail("was read")  # type: ignore[method-assign]
        with pytest.raises(UsageError, match="Unknown verifier 'oracle'"):
            find(store, verifier="oracle")


@pytest.mark.usefixtures("undecided")
def test_pairs_without_a_store_share_the_questions_of_a_run(use: Callable[[Stub], Stub]) -> None:
    verifier = use(stub())
    questions = [
        Question(str(n), Memory(id=f"{n}/a", content=f"x{n}"), Memory(id=f"{n}/b", content=f"y{n}"))
        for n in range(4)
    ]
    tally = Tally()
    settings = resolve(Choices(encoder="none", verifier="stub", questions=3))
    rulings = list(judge_pairs(questions, settings, tally=tally, batch=2))
    assert [ruling.merge for ruling in rulings].count(True) == len(verifier.asked) == 3
    assert "3 answered, 0 failed; 1 not asked." in tally.notes[-1]


# ------------------------------------------------------------------ by the command line


def call(*words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(main, list(words), input=stdin, prog_name="echoless")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    text = "".join(json.dumps({"id": m.id, "content": m.content}) + "\n" for m in memories())
    (tmp_path / "notes.jsonl").write_text(text)
    return "notes.jsonl"


@pytest.mark.usefixtures("undecided")
def test_dedup_asks_hides_and_can_be_undone(store: str, server: ModelServer) -> None:
    words = ("dedup", store, "--set", "semantic=no", "--verifier", f"openai:m@{server.url}")
    preview = call(*words)
    assert preview.exit_code == 0
    assert "says same: because" in preview.stdout
    assert "was asked about 1 unsure pairs: 1 answered, 0 failed; 0 not asked." in preview.stdout
    done = json.loads(call(*words, "--apply", "--json").stdout)
    assert done["opinions"]["answered"] == 1
    assert done["run"]["counts"]["mark"] == 1
    assert call("undo", store, "last").exit_code == 0
    with open_store(store) as opened:
        assert not opened.ledger.marks()


@pytest.mark.usefixtures("undecided")
def test_audit_counts_what_failed_and_goes_on(store: str, server: ModelServer) -> None:
    server.script = [lambda _body: "I would say they are the same!"]
    words = (
        "audit",
        store,
        "--set",
        "semantic=no",
        "--json",
        "--verifier",
        f"openai:m@{server.url}",
    )
    result = call(*words)
    assert result.exit_code == 0
    said = json.loads(result.stdout)
    assert said["opinions"]["failed"] == 1
    assert said["counts"]["redundant"] == 0
    assert said["skipped"][slot.FAILED] == 2
    assert any("holds an opinion" in note for note in said["notes"])


@pytest.mark.usefixtures("undecided")
def test_a_refused_key_ends_with_eight_and_changes_nothing(
    store: str, server: ModelServer, tmp_path: Path
) -> None:
    server.script = [fails(401, "wrong key")]
    before = sorted(path.name for path in tmp_path.iterdir())
    words = (
        "dedup",
        store,
        "--set",
        "semantic=no",
        "--apply",
        "--verifier",
        f"openai:m@{server.url}",
    )
    result = call(*words)
    assert result.exit_code == 8
    assert "Check OPENAI_API_KEY" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before


@pytest.mark.usefixtures("undecided")
def test_judge_asks_too_and_says_so_beside_its_answers(server: ModelServer) -> None:
    server.script = [lambda _body: opinion("first_contains_second", "adds on a nail")]
    line = json.dumps({"a": "x", "b": "y"})
    words = ("judge", "-", "--json", "--encoder", "none", "--verifier", f"openai:m@{server.url}")
    result = call(*words, stdin=line)
    said = json.loads(result.stdout)
    assert (said["verdict"], said["superset"], said["merge"]) == ("subsumes", "a", True)
    assert said["evidence"].endswith("says one contains the other: adds on a nail")
    assert "asked about 1 unsure pairs" in result.stderr


def test_how_a_model_is_asked_is_a_setting_and_only_what_changes_results_is_in_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from echoless.core.settings import layered

    plain = resolve(Choices())
    assert plain.limits == Limits()
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path))
    (tmp_path / "echoless.toml").write_text("workers = 2\n")
    environment = {"ECHOLESS_TIMEOUT": "2.5"}
    chosen = resolve(layered(Choices(workers=3), folder=tmp_path, environment=environment))
    assert chosen.limits == Limits(workers=3, timeout=2.5)
    assert chosen.digest == plain.digest
    assert resolve(Choices(locale="ja")).digest != plain.digest
    with pytest.raises(UsageError, match=r"Unknown locale 'fr'\. Known: en, de, ja"):
        resolve(Choices(locale="fr"))
    with pytest.raises(UsageError, match="ECHOLESS_TIMEOUT must be a number, not 'much'"):
        resolve(layered(Choices(), folder=tmp_path, environment={"ECHOLESS_TIMEOUT": "much"}))


def test_the_verifier_is_asked_in_the_language_of_the_settings(server: ModelServer) -> None:
    for locale, words in (
        ("en", "two memories"),
        ("de", "zwei Erinnerungen"),
        ("ja", "二つの記憶"),
    ):
        verifier = open_verifier(f"openai:m@{server.url}", Limits(), locale=locale)
        assert verifier is not None
        verifier.verify([(Memory(id="a", content="x"), Memory(id="b", content="y"))])
        assert words in server.seen[-1]["messages"][0]["content"]


def test_answers_keep_the_order_of_the_pairs_with_many_workers(server: ModelServer) -> None:
    server.script = [lambda body: opinion("same", data_of(body)["first"])]
    verifier = open_verifier(f"openai:m@{server.url}", Limits(workers=8))
    assert isinstance(verifier, Limited)
    pairs = [(Memory(id="a", content=f"{n:02d}"), Memory(id="b", content="y")) for n in range(24)]
    replies = verifier.within(Limits(workers=8), "en").verify(pairs)
    assert [reply.reason for reply in replies] == [f"{n:02d}" for n in range(24)]

"""`echoless calibrate`: a foreign scale, a few dozen answers, the same judgement."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from click.testing import Result
from numpy.typing import NDArray

from echoless.cli import render
from echoless.core import plugins
from echoless.models.encoders.calibration import decision_shift, known_point, own_path
from echoless.models.encoders.universal_sentence_encoder import UniversalSentenceEncoder

Call = Callable[..., Result]

PAIRS = Path(__file__).parents[2] / "benchmarks" / "pairs" / "en4.jsonl"
MODEL = "squeezed@1"
KNOWN = (
    '{{"kind": "echoless calibration", "version": 1, "model": "squeezed@1", "answers": [], {more}}}'
)


class Squeezed:
    """The built-in model with all its cosines between 0.8 and 1.0, as e5 has them."""

    model = MODEL
    _inner = UniversalSentenceEncoder()
    _known: ClassVar[dict[str, NDArray[np.float32]]] = {}

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        new = [text for text in texts if text not in self._known]
        for text, row in zip(new, self._inner.encode(new), strict=True):
            wide = np.append(np.sqrt(0.2) * row / np.linalg.norm(row), np.sqrt(0.8))
            self._known[text] = wide.astype(np.float32)
        return np.stack([self._known[text] for text in texts])


class _Entry:
    def load(self) -> object:
        return lambda _argument: Squeezed()


@pytest.fixture(scope="module")
def labelled() -> list[dict[str, Any]]:
    return [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()][:150]


@pytest.fixture(autouse=True)
def squeezed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`--encoder squeezed`, as an installed plug-in."""
    group = plugins._group

    def with_squeezed(kind: str) -> Mapping[str, object]:
        more = {"squeezed": _Entry()} if kind == "encoders" else {}
        return {**group(kind), **more}

    monkeypatch.setattr(plugins, "_group", with_squeezed)


@pytest.fixture
def store(place: Path, labelled: list[dict[str, Any]]) -> str:
    """Both sides of 150 labelled pairs as memories."""
    lines = [
        json.dumps({"id": f"{side}-{at:03d}", "content": row[side], "namespace": "n"})
        for at, row in enumerate(labelled)
        for side in "ab"
    ]
    (place / "own.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return "own.jsonl"


@pytest.fixture
def calibrate(echoless: Call, store: str) -> Call:
    def call(*words: str, stdin: str = "") -> Result:
        return echoless("calibrate", store, "--encoder", "squeezed", *words, stdin=stdin)

    return call


@pytest.fixture
def learn(
    calibrate: Call, place: Path, labelled: list[dict[str, Any]]
) -> Callable[..., dict[str, Any]]:
    """Rounds of: ask which pairs are worth an answer, answer some by the labels."""

    def run(rounds: int = 6, each: int = 10) -> dict[str, Any]:
        found = json.loads(calibrate("--questions", "0", "--json").stdout)
        for _ in range(rounds):
            write_answers(place, found["ask"][:each], labelled)
            result = calibrate("--answers", "answers.jsonl", "--json")
            assert result.exit_code == 0, result.output
            found = json.loads(result.stdout)
        return found

    return run


def same(pair: Mapping[str, Any], labelled: list[dict[str, Any]]) -> bool:
    """Only the two sides of a mergeable pair state the same."""
    (_, one), (_, other) = pair["a"].split("-"), pair["b"].split("-")
    return one == other and bool(labelled[int(one)]["mergeable"])


def write_answers(
    place: Path, pairs: Sequence[Mapping[str, Any]], labelled: list[dict[str, Any]]
) -> None:
    lines = [json.dumps({"a": p["a"], "b": p["b"], "same": same(p, labelled)}) for p in pairs]
    (place / "answers.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


# ------------------------------------------------------------------ what it is for


def test_even_odds_are_where_the_squeeze_puts_them(
    learn: Callable[..., dict[str, Any]],
) -> None:
    """The reference's even odds are near .57, so here they have to be near .8 + .2 x .57."""
    found = learn()
    assert found["usable"], found
    low, high = found["interval"]
    assert low <= found["even"] <= high
    assert 0.87 < found["even"] < 0.95


def test_the_detector_begins_looking_elsewhere_and_says_so(
    learn: Callable[..., dict[str, Any]],
) -> None:
    found = learn()
    assert 0.8 < found["point"]["now"] < found["even"]
    point = known_point(MODEL)
    assert point is not None
    assert point.cosine == found["point"]["now"]
    assert "60 answers" in point.source


def test_at_first_the_default_is_reported_with_what_it_would_propose(calibrate: Call) -> None:
    found = json.loads(calibrate("--questions", "0", "--json").stdout)
    assert found["point"]["before"] == 0.8
    assert found["proposed"]["before"] > 20 * found["proposed"]["now"] > 0


def chance(echoless: Call, a: str, b: str) -> float:
    told = echoless("explain", a, b, "--encoder", "squeezed", "--json")
    same: float = json.loads(told.stdout)["model"]["same"]
    return same


@pytest.mark.parametrize(("answer", "sign"), [(True, 1), (False, -1)])
def test_who_calls_more_the_same_than_the_judge_shifts_its_decision(
    calibrate: Call,
    place: Path,
    labelled: list[dict[str, Any]],
    echoless: Call,
    answer: bool,
    sign: int,
) -> None:
    """Five answers each way, and twenty that lean to one side."""
    pair = labelled[0]["a"], labelled[0]["b"]
    before = chance(echoless, *pair)
    ask = json.loads(calibrate("--questions", "0", "--json").stdout)["ask"]
    leaning = [
        {"a": p["a"], "b": p["b"], "same": answer if at >= 10 else at % 2 == 0}
        for at, p in enumerate(ask)
    ]
    (place / "answers.jsonl").write_text("\n".join(map(json.dumps, leaning)) + "\n", "utf-8")
    result = calibrate("--answers", "answers.jsonl")
    assert "The decision is shifted by" in result.stdout
    assert decision_shift(MODEL) * sign > 0
    assert (chance(echoless, *pair) - before) * sign > 0


# ------------------------------------------------------------------ honesty


def test_without_answers_there_is_a_guess_where_to_look_and_no_shift(calibrate: Call) -> None:
    result = calibrate("--questions", "0")
    assert result.exit_code == 0
    assert "No answers yet" in result.stdout
    assert "answer 30 more" not in result.stdout
    assert decision_shift(MODEL) == 0.0
    assert known_point(MODEL) is not None


def test_a_few_answers_of_one_kind_settle_nothing_and_it_says_how_many_more(
    calibrate: Call, place: Path, labelled: list[dict[str, Any]]
) -> None:
    ask = json.loads(calibrate("--questions", "0", "--json").stdout)["ask"]
    write_answers(place, [pair for pair in ask if not same(pair, labelled)][:8], labelled)
    result = calibrate("--answers", "answers.jsonl")
    assert "only 0 of the pairs answered are the same: answer 22 more." in result.stdout
    assert decision_shift(MODEL) == 0.0


def test_answers_at_random_are_not_taken_for_knowledge(calibrate: Call, place: Path) -> None:
    ask = json.loads(calibrate("--questions", "0", "--json").stdout)["ask"]
    lines = [
        json.dumps({"a": p["a"], "b": p["b"], "same": at % 2 == 0}) for at, p in enumerate(ask)
    ]
    (place / "answers.jsonl").write_text("\n".join(lines), "utf-8")
    sure = json.loads(calibrate("--answers", "answers.jsonl", "--json").stdout)
    assert not sure["usable"]
    assert sure["problem"]


def test_the_order_of_answers_changes_nothing(
    calibrate: Call, place: Path, labelled: list[dict[str, Any]]
) -> None:
    ask = json.loads(calibrate("--questions", "0", "--json", "--dry-run").stdout)["ask"]
    write_answers(place, ask, labelled)
    one = json.loads(calibrate("--answers", "answers.jsonl", "--json", "--dry-run").stdout)
    write_answers(place, ask[::-1], labelled)
    other = json.loads(calibrate("--answers", "answers.jsonl", "--json", "--dry-run").stdout)
    assert one == other


def test_pairs_the_words_decide_teach_nothing(calibrate: Call, place: Path, store: str) -> None:
    lines = [
        {"id": "x-1", "content": "The gate opens at 7.", "namespace": "n"},
        {"id": "x-2", "content": "The gate opens at 8.", "namespace": "n"},
    ]
    with (place / store).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line) + "\n" for line in lines)
    (place / "answers.jsonl").write_text('{"a": "x-2", "b": "x-1", "same": true}', "utf-8")
    result = calibrate("--answers", "answers.jsonl")
    assert "1 answer not used: the words decide the pair" in result.stdout


# ------------------------------------------------------------------ what is kept


def test_a_second_session_goes_on_where_the_first_one_stopped(
    calibrate: Call, learn: Callable[..., dict[str, Any]]
) -> None:
    first = learn(rounds=1)
    asked = {(pair["a"], pair["b"]) for pair in first["ask"]}
    second = learn(rounds=1)
    assert first["answers"]["new"] == second["answers"]["new"] == 10
    assert second["answers"]["same"] + second["answers"]["different"] == 20
    kept = json.loads(own_path(MODEL).read_text("utf-8"))["answers"]
    assert len({(answer["a"], answer["b"]) for answer in kept}) == 20
    assert asked & {(answer["a"], answer["b"]) for answer in kept[:20]}


def test_what_is_settled_is_not_lost_to_a_session_without_answers(
    calibrate: Call, learn: Callable[..., dict[str, Any]]
) -> None:
    assert learn()["usable"]
    before = known_point(MODEL), decision_shift(MODEL)
    assert calibrate("--questions", "0").exit_code == 0
    assert (known_point(MODEL), decision_shift(MODEL)) == before


def test_no_text_is_kept(learn: Callable[..., dict[str, Any]], store: str) -> None:
    learn(rounds=1)
    kept = own_path(MODEL).read_text("utf-8")
    contents = [json.loads(line)["content"] for line in Path(store).read_text("utf-8").splitlines()]
    assert not any(content in kept for content in contents)


def test_a_dry_run_keeps_nothing_and_the_store_is_never_written(
    calibrate: Call, place: Path, labelled: list[dict[str, Any]], store: str
) -> None:
    bytes_before = (place / store).read_bytes()
    ask = json.loads(calibrate("--questions", "0", "--json", "--dry-run").stdout)["ask"]
    write_answers(place, ask, labelled)
    result = calibrate("--answers", "answers.jsonl", "--dry-run")
    assert "Nothing was kept." in result.stdout
    assert not own_path(MODEL).exists()
    assert calibrate("--answers", "answers.jsonl").exit_code == 0
    assert own_path(MODEL).exists()
    assert (place / store).read_bytes() == bytes_before
    assert not (place / f"{store}.echoless").exists()


def test_another_version_of_the_model_has_no_part_in_it(
    learn: Callable[..., dict[str, Any]],
) -> None:
    learn()
    assert known_point("squeezed@2") is None
    assert decision_shift("squeezed@2") == 0.0
    assert own_path("squeezed@2") != own_path("squeezed_2")


# ------------------------------------------------------------------ at a terminal


@pytest.fixture
def typed(calibrate: Call, monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setattr(render, "is_interactive", lambda: True)

    def call(*lines: str, options: tuple[str, ...] = ()) -> Result:
        return calibrate(*options, stdin="".join(f"{line}\n" for line in lines))

    return call


def test_questions_are_answered_by_one_letter(typed: Call) -> None:
    result = typed("y", "n", "s", "NO", "q")
    assert result.exit_code == 0, result.output
    assert "Pair 5 of at most 30" in result.stdout
    assert "Answers: 1 the same, 2 different." in result.stdout


@pytest.mark.parametrize("typo", ["", "j", "yn", "1", "ｙ"])
def test_a_typo_notes_nothing_and_the_question_comes_again(typed: Call, typo: str) -> None:
    result = typed(typo, "y", "q")
    assert "Nothing was noted." in result.stdout
    assert "Answers: 1 the same, 0 different." in result.stdout


def test_the_end_of_the_input_is_a_quit_and_answers_stay(typed: Call) -> None:
    assert typed("y", "n").exit_code == 0
    result = typed("n", options=("--questions", "1"))
    assert "Answers: 1 the same, 2 different (2 of earlier sessions)." in result.stdout
    assert "goes on from here" in result.stdout


def test_an_interruption_costs_no_answer(typed: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = iter(["y", "n"])

    def ask(_question: str) -> str:
        line = next(lines, None)
        if line is None:
            raise KeyboardInterrupt
        return line

    monkeypatch.setattr(render, "ask", ask)
    assert typed().exit_code == 130
    assert len(json.loads(own_path(MODEL).read_text("utf-8"))["answers"]) == 2


# ------------------------------------------------------------------ bad input


def test_without_a_terminal_it_says_what_to_give(calibrate: Call) -> None:
    result = calibrate()
    assert result.exit_code == 2
    assert "--answers FILE" in result.stderr


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "Line 1 of answers.jsonl is no answer"),
        ('{"a": "a-000", "b": "b-000"}', "is no answer"),
        ('\n{"a": "a-000", "b": "b-000", "same": 1}', "Line 2"),
        ('{"a": "a-000", "b": "a-000", "same": true}', "twice"),
        ('{"a": "a-000", "b": "nobody", "same": true}', "'nobody'"),
        ("[]", "is no answer"),
        pytest.param("[" * 1_100, "is no answer", id="nested without end"),
        ("\udcff", "is no answer"),
    ],
)
def test_a_bad_answer_is_named(calibrate: Call, place: Path, content: str, told: str) -> None:
    data = content.encode("utf-8", "surrogateescape")
    (place / "answers.jsonl").write_bytes(data)
    result = calibrate("--answers", "answers.jsonl")
    assert result.exit_code == 3
    assert told in result.stderr
    assert not own_path(MODEL).exists()


def test_a_missing_file_of_answers_is_named(calibrate: Call) -> None:
    result = calibrate("--answers", "nowhere.jsonl")
    assert result.exit_code == 3
    assert "nowhere.jsonl" in result.stderr


@pytest.mark.parametrize(
    "damage",
    [
        "",
        "{}",
        "[1]",
        '{"kind": "something else"}',
        '{"kind": "echoless calibration", "version": 99}',
        '{"kind": "echoless calibration", "version": 1, "model": "another"}',
        KNOWN.format(more='"point": null, "shift": "much"'),
        KNOWN.format(more=f'"point": null, "shift": {10**400}'),
        KNOWN.format(more='"point": null, "shift": NaN'),
        KNOWN.format(more='"point": {"cosine": 7, "source": ""}'),
        KNOWN.format(more='"point": {"cosine": true, "source": ""}'),
    ],
)
def test_a_broken_calibration_stops_every_command_that_would_use_it(
    calibrate: Call, echoless: Call, store: str, damage: str
) -> None:
    path = own_path(MODEL)
    path.parent.mkdir(parents=True)
    path.write_text(damage, "utf-8")
    for result in (
        calibrate("--questions", "0"),
        echoless("audit", store, "--encoder", "squeezed"),
    ):
        assert result.exit_code == 3
        assert path.name in result.stderr
    assert path.read_text("utf-8") == damage


def test_an_encoder_that_makes_nothing_cannot_be_calibrated(echoless: Call, store: str) -> None:
    result = echoless("calibrate", store, "--encoder", "none", "--questions", "0")
    assert result.exit_code == 2
    assert "--encoder" in result.stderr


def test_too_few_memories_teach_nothing(echoless: Call, notes: str) -> None:
    result = echoless("calibrate", notes, "--encoder", "squeezed", "--questions", "0")
    assert result.exit_code == 3
    assert "larger store" in result.stderr


def test_an_unknown_namespace_is_refused(calibrate: Call) -> None:
    assert calibrate("--questions", "0", "--namespace", "nowhere").exit_code == 2


def test_a_folder_that_cannot_be_written_is_named(
    calibrate: Call, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "file").write_text("", "utf-8")
    monkeypatch.setenv("ECHOLESS_DATA_DIR", str(place / "file"))
    result = calibrate("--questions", "0")
    assert result.exit_code in {3, 4}
    assert str(place / "file") in result.stderr

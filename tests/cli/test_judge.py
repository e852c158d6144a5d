"""`echoless judge`: pairs in, verdicts out."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]
Process = Callable[..., "subprocess.CompletedProcess[str]"]

PAIRS = [
    {"id": "same", "a": "The report is due in 90 minutes.", "b": "The report is due in 1.5 hours."},
    {"id": "value", "a": "The port is 5432.", "b": "The port is 5433."},
    {
        "id": "apart",
        "a": {"text": "Tea at four.", "namespace": "x"},
        "b": {"content": "Tea at four.", "namespace": "y"},
    },
]


def jsonl(*records: object) -> str:
    return "".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records)


@pytest.fixture
def pairs(place: Path) -> str:
    (place / "pairs.jsonl").write_text(jsonl(*PAIRS), "utf-8")
    return "pairs.jsonl"


def answers(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_pair_gets_one_json_line_in_order(echoless: Call, pairs: str) -> None:
    result = echoless("judge", pairs, "--json", "--encoder", "none")
    assert result.exit_code == 0
    assert result.stderr == ""
    same, value, apart = answers(result)
    keys = ["id", "verdict", "merge", "similarity", "chance", "difference", "evidence"]
    keys += ["superset", "newer"]
    assert list(same) == list(value) == list(apart) == keys
    assert (same["id"], same["verdict"], same["merge"]) == ("same", "duplicate", True)
    assert (value["id"], value["merge"], value["difference"]) == ("value", False, "number")
    assert (apart["verdict"], apart["merge"]) == ("duplicate", False)
    assert apart["evidence"] == "same text; not merged: another namespace"


def test_standard_input_is_read_like_a_file(echoless: Call, pairs: str, place: Path) -> None:
    options = ("--json", "--encoder", "none")
    piped = echoless("judge", "-", *options, stdin=(place / pairs).read_text("utf-8"))
    assert piped.stdout == echoless("judge", pairs, *options).stdout


def test_a_person_reads_verdict_evidence_both_texts_and_the_counts(
    echoless: Call, pairs: str
) -> None:
    said = echoless("judge", pairs, "--encoder", "none").stdout
    assert (
        "same  the same in other words; would be merged\n   duplicate 0.656: same facts\n" in said
    )
    assert "   a: The port is 5432.\n   b: The port is 5433.\n" in said
    assert "number: 5432 | 5433" in said
    assert "3 pairs: 1 " in said
    assert said.endswith("1 would be merged.\n")


def test_long_texts_are_cut_and_cannot_steer_the_terminal(echoless: Call) -> None:
    pair = {"id": "\x1b[2J", "a": "clear \x1b[2J " + "word " * 500, "b": "x\ny"}
    said = echoless("judge", "-", "--encoder", "none", stdin=jsonl(pair)).stdout
    assert "\x1b" not in said
    assert "…" in said
    assert "   b: x y\n" in said


def test_a_bad_line_ends_with_three_after_the_answers_before_it(
    echoless: Call, place: Path
) -> None:
    (place / "p.jsonl").write_text(jsonl(PAIRS[0], {"a": "x"}, PAIRS[1]), "utf-8")
    result = echoless("judge", "p.jsonl", "--json", "--encoder", "none")
    assert result.exit_code == 3
    assert [answer["id"] for answer in answers(result)] == ["same"]
    assert result.stderr.startswith('Error: Line 2 of p.jsonl is no pair: "b" is missing. Expected')
    assert len(result.stderr.splitlines()) == 1


def test_no_pairs_are_no_error(echoless: Call) -> None:
    assert echoless("judge", "-", "--json", stdin="\n").stdout == ""
    assert echoless("judge", "-", stdin="").stdout == "0 pairs.\n"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("nowhere.jsonl",), 3, "nowhere.jsonl: No such file"),
        ((".",), 3, "is a folder, and a file belongs there"),
        (("-", "--encoder", "crystal"), 2, "Unknown encoder 'crystal'"),
        (("-", "--verifier", "oracle"), 2, "Unknown verifier 'oracle'. Known: none, anthropic"),
        (("-", "--verifier", "openai"), 2, "The verifier 'openai' needs a model"),
        (("-", "--set", "questions=0"), 2, "--set questions must be a whole number from 1"),
        (("-", "--profile", "bold"), 2, "'bold' is not one of"),
    ],
)
def test_a_wrong_call_is_told(echoless: Call, words: tuple[str, ...], code: int, says: str) -> None:
    result = echoless("judge", *words)
    assert result.exit_code == code
    assert says in result.stderr
    assert result.stdout == ""


def test_texts_no_store_could_hold_are_answered(process: Process, place: Path) -> None:
    odd = [
        {"id": "nul", "a": "a \0 b", "b": "a \0 b"},
        {"id": "half \ud800", "a": "x \ud800", "b": "x"},
        {"id": "long", "a": "word " * 2_000_000, "b": "word"},
        {"id": "deep", "a": "x", "b": "x", "more": [[[[]]]]},
    ]
    (place / "odd.jsonl").write_text(jsonl(*odd), "utf-8")
    for as_json in (True, False):
        done = process("judge", "odd.jsonl", "--encoder", "none", *["--json"] * as_json)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        if as_json:
            said = [json.loads(line) for line in done.stdout.splitlines()]
            assert [s["id"] for s in said] == ["nul", "half \ud800", "long", "deep"]
            assert [s["merge"] for s in said] == [False, False, False, True]


def test_settings_of_the_file_hold_here_too(echoless: Call, pairs: str, place: Path) -> None:
    (place / "echoless.toml").write_text('profile = "wt-memory"\nencoder = "none"\n')
    assert "number guard" in echoless("judge", pairs).stdout


def test_nothing_is_written(echoless: Call, pairs: str, place: Path) -> None:
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    assert echoless("judge", pairs, "--encoder", "none").exit_code == 0
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


# ------------------------------------------------------------------ requests, line by line


def test_a_served_program_gets_each_answer_until_it_ends_its_input(place: Path) -> None:
    program = "from echoless.cli.main import run; run()"
    words = ("judge", "--serve", "--encoder", "none")
    with subprocess.Popen(
        [sys.executable, "-c", program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        for line in ('{"id": 1, "call": "distinct", "items": ["A.", "A."]}', "{", ""):
            child.stdin.write(f"{line}\n".encode())
            child.stdin.flush()
            if line:
                assert {"keep", "error"} & json.loads(child.stdout.readline()).keys()
        child.stdin.close()
        assert child.stdout.read() == b""
    assert child.returncode == 0
    assert list(place.iterdir()) == []


def test_secrets_are_masked_in_the_reasons_of_a_served_answer(echoless: Call) -> None:
    text = "The staging database listens on port 5432, password: "
    request = {"call": "judge", "a": text + "hX9kq2Lm7z", "b": text + "Zp4rT8wQ1v"}
    said = echoless("judge", "--serve", "--encoder", "none", stdin=jsonl(request, request)).stdout
    assert "hX9kq2Lm7z" not in said
    assert [json.loads(line)["masked"] for line in said.splitlines()] == [2, 2]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "Name a file of pairs, or - for standard input"),
        (("p.jsonl", "--serve"), "takes no file and only --encoder"),
        (("--serve", "--profile", "safe"), "takes no file and only --encoder"),
    ],
)
def test_a_wrong_way_of_serving_is_told(echoless: Call, words: tuple[str, ...], says: str) -> None:
    result = echoless("judge", *words)
    assert result.exit_code == 2
    assert says in result.stderr

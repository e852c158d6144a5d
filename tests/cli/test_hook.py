"""`echoless hook`: one memory a line on standard input, each through the guard."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from echoless import check, history, open_store
from echoless.cli.main import main
from echoless.ingest.stream import LONGEST, Broken, Line, read_entries, summary

PORT = "The gateway listens on port 8443."
TEA = "Anna drinks green tea at four o'clock."


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ECHOLESS_ENCODER", "none")
    return tmp_path


def hook(lines: bytes | str, *arguments: str, store: str = "agent.db") -> Result:
    data = lines if isinstance(lines, bytes) else lines.encode()
    return CliRunner().invoke(main, ["hook", store, "--create", *arguments], input=data)


def told(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def answers(result: Result) -> list[tuple[int, str]]:
    return [(each["line"], each["answer"]) for each in told(result)]


def texts(store: str = "agent.db") -> list[str]:
    with open_store(store) as opened:
        return [memory.content for memory in opened.scan()]


# ------------------------------------------------------------------ what it does


def test_each_line_is_answered_with_its_number_and_counted() -> None:
    done = hook(f"{PORT}\n\n   \n{TEA}\n{PORT}\nThe gateway listens on port 8444.\n")
    assert done.exit_code == 0
    assert answers(done) == [(1, "admitted"), (4, "admitted"), (5, "already_known"), (6, "updates")]
    assert done.stderr == "4 lines: 2 stored, 1 stored beside what they update, 1 known.\n"
    assert texts() == [PORT, TEA, "The gateway listens on port 8444."]


def test_an_object_tells_more_than_the_text() -> None:
    line = {
        "text": TEA,
        "namespace": "home",
        "type": "habit",
        "tags": ["tea"],
        "importance": 0.5,
        "provenance": "user_authored",
        "metadata": {"session": "s-1"},
        "created_at": "2026-01-31T10:00:00Z",
        "id": "m-tea",
    }
    assert answers(hook(json.dumps(line) + "\n")) == [(1, "admitted")]
    with open_store("agent.db") as store:
        (found,) = store.scan()
    assert (found.id, found.namespace, found.type, found.tags) == (
        "m-tea",
        "home",
        "habit",
        ("tea",),
    )
    assert (found.importance, found.metadata) == (0.5, {"session": "s-1"})
    assert found.created_at == "2026-01-31T10:00:00Z"


def test_a_line_that_names_a_namespace_goes_before_the_option() -> None:
    other = json.dumps({"text": PORT, "namespace": "net"})
    done = hook(f"{PORT}\n{other}\n", "--namespace", "home")
    assert answers(done) == [(1, "admitted"), (2, "admitted")]
    with open_store("agent.db") as store:
        assert store.namespaces() == {"home": 1, "net": 1}


def test_the_summary_is_an_object_on_request() -> None:
    done = hook(f"{PORT}\n{TEA}\n{PORT}\n", "--json")
    assert json.loads(done.stderr) == {"admitted": 2, "already_known": 1}


def test_a_store_that_is_not_there_is_made_on_request_only(place: Path) -> None:
    done = CliRunner().invoke(main, ["hook", "agnet.db"], input=f"{PORT}\n")
    assert done.exit_code == 3
    assert not (place / "agnet.db").exists()


def test_without_a_line_there_is_nothing_to_do() -> None:
    done = hook("")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "0 lines: nothing to do.\n")


# ------------------------------------------------------------------ broken lines


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"text": 3}', 'needs one "text"'),
        (b'{"content": "a", "text": "b"}', 'needs one "text"'),
        (b'{"text": "a", "mood": "calm"}', "put it into metadata"),
        (b'{"text": "a", "tags": [1]}', "'tags' must be a list of texts"),
        (b'{"text": "a", "namespace": 1}', "'namespace' must be a text"),
        (b'{"text": "a", "force": "yes"}', "'force' must be true or false"),
        (b'{"text": "a", "origin": "dreamt"}', "'origin' must be one of said"),
        (b'{"text": "cut of', "is not JSON"),
        (b'{"text": "  "}', "The text is empty"),
        (b'{"text": "a\\u0000b"}', "NUL character"),
        (b'{"text": "a", "created_at": "soon"}', "is not a time"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 10 + b'{"a"', None),
    ],
)
def test_a_broken_line_is_told_with_its_number_and_the_others_go_on(
    line: bytes, message: str | None
) -> None:
    done = hook(PORT.encode() + b"\n" + line + b"\n" + TEA.encode() + b"\n")
    first, second, third = told(done)
    assert (first["answer"], third["answer"]) == ("admitted", "admitted")
    if message is None:  # begins like no object: it is a text
        assert (second["answer"], done.exit_code) == ("admitted", 0)
        return
    assert (second["line"], second["answer"], done.exit_code) == (2, "failed", 3)
    assert message in second["error"]
    assert done.stderr == "3 lines: 2 stored, 1 broken.\n"
    assert texts() == [PORT, TEA]


def test_a_huge_line_is_refused_without_being_held_in_memory_and_the_next_is_read() -> None:
    class Endless(BytesIO):
        largest = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            data = super().readline(size)
            Endless.largest = max(Endless.largest, len(data))
            return data

    stream = Endless(b"x" * (3 * LONGEST) + b"\n" + PORT.encode() + b"\n" + b"y" * (LONGEST + 5))
    first, second, third = read_entries(stream)
    assert isinstance(first, Broken)
    assert isinstance(second, Line)
    assert isinstance(third, Broken)
    assert (first.line, second.line, second.text, third.line) == (1, 2, PORT, 3)
    assert Endless.largest == LONGEST + 1


def test_the_longest_line_that_is_allowed_is_read_whole() -> None:
    stream = BytesIO(b"x" * (LONGEST - 1) + b"\n" + PORT.encode())
    first, second = read_entries(stream)
    assert isinstance(first, Line)
    assert isinstance(second, Line)
    assert (len(first.text), second.text) == (LONGEST - 1, PORT)


def test_only_a_line_feed_ends_a_line_and_a_byte_order_mark_is_no_text() -> None:
    entries = read_entries(BytesIO("\ufeffone\u2028still one\r\ntwo".encode()))
    assert [each.text for each in entries if isinstance(each, Line)] == [
        "one\u2028still one",
        "two",
    ]


@pytest.mark.parametrize(
    ("form", "line", "expected"),
    [
        ("text", '{"text": "a"}', '{"text": "a"}'),
        ("auto", '{"text": "a"}', "a"),
        ("auto", '{ "content" : "a"}', "a"),
        ("auto", "{name} is a variable of the template.", "{name} is a variable of the template."),
        ("jsonl", "plain", None),
        ("jsonl", "[1]", None),
    ],
)
def test_the_format_says_what_a_line_is(form: Any, line: str, expected: str | None) -> None:
    (found,) = read_entries(BytesIO(line.encode()), form)
    assert (found.text if isinstance(found, Line) else None) == expected


# ------------------------------------------------------------------ options


def test_what_stands_in_a_boot_file_is_not_stored_again(place: Path) -> None:
    (place / "CLAUDE.md").write_text(f"# Rules\n\n- {PORT}\n")
    done = hook(f"{PORT}\n{TEA}\n", "--boot", "CLAUDE.md")
    known, stored = told(done)
    assert (known["answer"], known["source"], known["survivor"]) == (
        "already_known",
        "boot file",
        None,
    )
    assert stored["answer"] == "admitted"
    assert texts() == [TEA]


def test_what_was_recalled_confirms_nothing(place: Path) -> None:
    hook(f"{PORT}\n")
    (place / "recalled.jsonl").write_text(json.dumps({"text": PORT}) + "\n")
    (answer,) = told(hook(f"{PORT}\n", "--recalled", "recalled.jsonl"))
    assert (answer["source"], answer["confirmations"]) == ("recalled", 0)
    (answer,) = told(hook(f"{PORT}\n"))
    assert (answer["source"], answer["confirmations"]) == ("store", 1)


def test_recalled_text_is_not_stored() -> None:
    hook(f"{PORT}\n")
    done = hook(f"{PORT}\n{TEA}\n", "--origin", "recalled")
    assert answers(done) == [(1, "already_known"), (2, "needs_review")]
    assert texts() == [PORT]


@pytest.mark.parametrize("option", ["--boot", "--recalled"])
def test_a_file_that_is_not_there_is_told_before_a_line_is_stored(option: str) -> None:
    done = hook(f"{PORT}\n", option, "gone.md")
    assert done.exit_code == 3
    assert "gone.md" in done.stderr
    assert done.stdout == ""
    assert not Path("agent.db").exists() or texts() == []


def test_review_holds_back_what_is_stored_otherwise() -> None:
    hook("The gateway listens on port 8443 unless the tunnel is up.\n")
    near = f"{PORT}\n"
    assert answers(hook(near, "--review", "--dry-run")) == [(1, "needs_review")]
    assert answers(hook(near, "--dry-run")) == [(1, "admitted")]


def test_a_dry_run_writes_nothing_and_makes_no_store(place: Path) -> None:
    done = hook(f"{PORT}\n", "--dry-run")
    assert (done.exit_code, list(place.glob("agent*"))) == (3, [])
    hook(f"{PORT}\n")
    before = (place / "agent.db").read_bytes()
    assert answers(hook(f"{TEA}\n{PORT}\n", "--dry-run")) == [(1, "admitted"), (2, "already_known")]
    assert (place / "agent.db").read_bytes() == before


def test_a_batch_sent_again_changes_and_counts_nothing() -> None:
    lines = f"{PORT}\n{TEA}\n{PORT}\n"
    first = hook(lines, "--batch", "session-1")
    again = hook(lines, "--batch", "session-1")
    assert again.stdout == first.stdout
    (answer,) = told(hook(f"{PORT}\n", "--batch", "session-2"))
    assert answer["confirmations"] == 2
    changed = hook(f"{TEA}\n", "--batch", "session-1")
    assert changed.exit_code == 3
    assert "used before for another text" in told(changed)[0]["error"]


def test_a_store_of_another_program_takes_lines_too(place: Path) -> None:
    (place / "notes.jsonl").write_text(json.dumps({"id": "n-1", "content": PORT}) + "\n")
    done = hook(f"{PORT}\n{TEA}\n", store="notes.jsonl")
    assert answers(done) == [(1, "already_known"), (2, "admitted")]
    assert texts("notes.jsonl") == [PORT, TEA]


@pytest.mark.parametrize(
    ("outcomes", "sentence"),
    [
        ({}, "0 lines: nothing to do."),
        ({"admitted": 1}, "1 line: 1 stored."),
        ({"needs_review": 2, "failed": 1}, "3 lines: 2 held for review, 1 broken."),
    ],
)
def test_the_summary_is_one_sentence(outcomes: dict[str, int], sentence: str) -> None:
    assert summary(outcomes) == sentence


# ------------------------------------------------------------------ killed


def killed_after(count: int, lines: Sequence[str], *arguments: str) -> None:
    """Run the command and kill it as soon as it has told this many lines."""
    command = [sys.executable, "-m", "echoless", "hook", "agent.db", "--create", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(f"{line}\n" for line in lines))
        process.stdin.flush()
        for _ in range(count):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)


@pytest.mark.parametrize("batch", [(), ("--batch", "s-1")])
def test_killed_and_run_again_nothing_is_stored_twice(batch: tuple[str, ...]) -> None:
    lines = [
        f"The service {name} listens on port {8000 + at}." for at, name in enumerate("abcdefgh")
    ]
    for count in (1, 4):
        killed_after(count, lines, *batch)
    done = hook("".join(f"{line}\n" for line in lines), *batch)
    assert done.exit_code == 0
    assert sorted(texts()) == sorted(lines)
    with open_store("agent.db") as store:
        assert check(store).problems == ()
        confirmed = sum(store.ledger.confirmations(memory.id) for memory in store.scan())
        assert sum(run.added for run in history(store.ledger)) == len(lines)
    assert (confirmed == 0) == bool(batch)

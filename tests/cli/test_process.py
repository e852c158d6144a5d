"""A few stories through real processes: start-up, pipes, encodings, a terminal."""

import json
import os
import re
import select
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

Process = Callable[..., "subprocess.CompletedProcess[str]"]
PROGRAM = "from echoless.cli.main import run; run()"


def test_a_story_from_import_to_undo(process: Process, notes: str) -> None:
    assert process("import", notes, "agent.db", "--skip-invalid").returncode == 0
    first = process("audit", "agent.db", "--set", "semantic=no", "--json")
    assert json.loads(first.stdout)["counts"]["redundant"] == 3
    applied = process("dedup", "agent.db", "--set", "semantic=no", "--apply")
    line = re.search(r"To take it back:\n   echoless (.+)", applied.stdout)
    assert line is not None
    assert process(*line[1].split()).returncode == 0
    assert process("audit", "agent.db", "--set", "semantic=no", "--json").stdout == first.stdout


def test_the_same_store_gives_the_same_answer_whatever_the_hash_seed(
    process: Process, notes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = set()
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        answers.add(process("dedup", notes, "--set", "semantic=no", "--json").stdout)
    assert len(answers) == 1


@pytest.mark.parametrize(
    ("words", "heavy"),
    [
        (["--help"], ["numpy", "rich", "echoless.cli.reading"]),
        (
            ["audit", "--help"],
            ["rich", "jinja2", "echoless.web", "echoless.workflows.audit.audit_comparison"],
        ),
        (["remember", "--help"], ["rich", "rapidfuzz", "echoless.matching.rule_judge"]),
    ],
)
def test_help_imports_only_what_every_call_needs(words: list[str], heavy: list[str]) -> None:
    program = (
        "import sys\nfrom echoless.cli.main import main\n"
        f"main.main({words!r}, standalone_mode=False)\n"
        f"print([name for name in {heavy!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50
    )
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("words", "extra", "brings"),
    [
        (["mcp"], "mcp", ["anyio", "httpx", "mcp", "mcp_types", "pydantic", "starlette"]),
        (["review"], "review", ["jinja2", "starlette", "uvicorn"]),
        (["dedup", "--engine", "ray"], "ray", ["ray"]),
    ],
)
def test_a_command_without_its_extra_names_it(
    words: list[str], extra: str, brings: list[str], notes: str
) -> None:
    program = (
        f"import sys\nsys.modules.update(dict.fromkeys({brings!r}))\n"
        f"from echoless.cli.main import run\nrun([*{words!r}, {notes!r}])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=50
    )
    assert done.stderr.endswith(f"pip install 'echoless[{extra}]'\n")
    assert done.returncode == 7


def test_a_process_that_only_adds_a_text_loads_no_detector_and_no_plan(
    process: Process, write_store: Callable[..., str]
) -> None:
    """What it would load takes longer than to remember the text."""
    notes = write_store(("m-1", "The pump of hall 7 was oiled by Ada.", "n", 0.5))
    store = "agent.db"
    assert process("import", notes, store).returncode == 0
    unused = [
        *("tomllib", "tempfile", "shutil", "secrets", "importlib.metadata", "email"),
        *("rich", "echoless.blocking.top_k", "echoless.matching.pair_model"),
        *("echoless.blocking.text_join", "echoless.execution.plan", "echoless.execution.preflight"),
    ]
    text = "The pump of hall 7 was oiled by Ada on 4 May."
    words = ["remember", store, text, "--namespace", "n", "--encoder", "none", "--json"]
    program = (
        "import re, sys\ncompiled = []\nfrom re import _compiler\nplain = _compiler.compile\n"
        "_compiler.compile = lambda *p: compiled.append(len(str(p[0]))) or plain(*p)\n"
        "from echoless.cli.main import main\n"
        f"main.main({words!r}, standalone_mode=False)\n"
        f"print([n for n in {unused!r} if n in sys.modules], sum(compiled), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50
    )
    loaded, _, characters = done.stderr.strip().rpartition(" ")
    assert json.loads(done.stdout)["matches"]
    assert loaded == "[]"
    assert int(characters) < 20_000  # of expressions; the whole table of values has 32,000


def test_a_terminal_that_lacks_characters_gets_escapes(
    process: Process, write_store: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = write_store(("m-1", "Anna drinks 緑茶.", "n", 0.5))
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    done = process("show", store, "m-1")
    assert done.returncode == 0
    assert "Anna drinks \\u7dd1\\u8336." in done.stdout


def test_a_reader_that_goes_away_is_no_error(notes: str, place: Path) -> None:
    program = [sys.executable, "-c", PROGRAM, "audit", notes, "--set", "semantic=no"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        said = child.stderr.read()
    assert said.strip() == b""


def many_texts(place: Path) -> str:
    """A file of many texts for the encoder."""
    others = " and Ben" * 14
    lines = (
        json.dumps(
            {"id": f"m-{n}", "content": f"Pump {n} of hall {n * 7} was oiled by Ada{others}."}
        )
        for n in range(2000)
    )
    (place / "pumps.jsonl").write_text("\n".join(lines))
    return "pumps.jsonl"


def kept_vectors(place: Path) -> int:
    (file,) = place.rglob("vectors.sqlite3")
    with closing(sqlite3.connect(file)) as cache:
        return int(cache.execute("SELECT count(*) FROM vectors").fetchone()[0])


def test_an_interrupt_from_another_process_ends_with_130(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(place / "cache"))
    program = (
        "import select, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from echoless.models.encoders import vectorizer\n"
        "whole = vectorizer.MemoryVectoriser._report\n"
        "def report(self, done, filling):\n"
        "    whole(self, done, filling)\n"
        "    print(done, flush=True)\n"
        # a signal that comes just before a read without end would wait for the end of the read
        "    while not select.select([sys.stdin], [], [], 0.05)[0]:\n        pass\n"
        "vectorizer.MemoryVectoriser._report = report\n" + PROGRAM
    )
    words = ["audit", many_texts(place), "--encoder", "fast"]
    with subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == "256\n"
        child.send_signal(signal.SIGINT)
        said = child.stderr.read()
    assert child.returncode == 130
    assert said.splitlines()[-1] == (
        "Interrupted; nothing was changed. Vectors of 256 of 2,000 texts are kept in the cache: "
        "the same command goes on from there."
    )
    assert kept_vectors(place) == 256


def in_terminal(words: list[str], script: list[tuple[bytes, bytes]]) -> tuple[bytes, int]:
    """Run in a pseudo-terminal; type each answer after its question.

    Returns:
        Everything that was shown, and the exit code.
    """
    pty = pytest.importorskip("pty")
    child, terminal = pty.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may ignore it
        os.execv(sys.executable, [sys.executable, "-c", PROGRAM, *words])
    try:
        said = converse(terminal, script)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise
    finally:
        os.close(terminal)
    _, status = os.waitpid(child, 0)
    return said, os.waitstatus_to_exitcode(status)


def converse(terminal: int, script: list[tuple[bytes, bytes]]) -> bytes:
    said = b""
    for question, answer in script:
        fresh = b""
        while question not in fresh:
            piece = read_some(terminal)
            assert piece, f"waited for {question!r}, got: {(said + fresh)[-500:]!r}"
            fresh += piece
        said += fresh
        os.write(terminal, answer)
    # A Ctrl-C that comes in the instant before `input` begins to read is seen with the next key
    # only; a person presses again, and so does this, until the program says that it ends.
    again = b"\x03" if script[-1][1] == b"\x03" else b""
    while piece := read_some(terminal, b"" if b"Interrupted" in said else again):
        said += piece
    return said


def read_some(terminal: int, again: bytes = b"") -> bytes:
    """What the terminal shows next; empty at its end. Types `again` while nothing comes."""
    for _ in range(20):
        if select.select([terminal], [], [], 1)[0]:
            break
        os.write(terminal, again)
    else:
        pytest.fail("nothing came for 20 seconds")
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how Linux reports the end of a pseudo-terminal
        return b""

"""Requests to the server: arguments of its tools, and bytes on its standard input; arguments."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Final

import anyio
from mcp import Client

from benchmarks.fuzz.doors import command, frame_of
from benchmarks.fuzz.model import Door, Target, Wrong
from benchmarks.fuzz.mutation import (
    MAGIC,
    damaged_bytes,
    damaged_json,
    hostile_text,
    json_or_bytes,
    lines_of,
    some,
)
from benchmarks.fuzz.seeds import used, write_notes
from echoless.cli.main import main
from echoless.core.settings import Choices
from echoless.mcp.served_store import Plans, ServedStore
from echoless.mcp.server import make_server

CALLS: Final[tuple[tuple[str, Mapping[str, object]], ...]] = (
    ("memory_remember", {"text": "The lift is broken.", "namespace": "home", "tags": ["a"]}),
    ("memory_remember", {"text": "Anna drinks tea.", "importance": 5, "supersede": True}),
    ("memory_search", {"query": "database port", "limit": 3, "namespace": "work", "mode": "text"}),
    ("memory_similar", {"text": "Anna drinks green tea", "top_k": 3, "min_similarity": 0.5}),
    ("memory_similar", {"memory_id": "m-1", "namespace": "work", "exclude_linked": False}),
    ("memory_audit", {"namespace": "work", "top": 3, "pairs": 2}),
    ("memory_consolidate", {"limit": 5, "window": 24}),
    ("memory_explain", {"a": "m-1", "b": "m-4"}),
    ("memory_history", {"limit": 5}),
    ("memory_deduplicate", {"namespace": "home", "similarity_threshold": 0.8, "limit": 9}),
    ("memory_deduplicate", {"dry_run": False, "action": "mark", "merge_strategy": "keep_newest"}),
    ("memory_merge", {"keep": "m-1", "remove": "m-2"}),
    ("memory_keep_both", {"a": "m-1", "b": "m-4"}),
    ("memory_undo", {"run": "last"}),
)

_WAIT: Final = 1.5
"""Seconds the server has to answer before its input ends."""


# ------------------------------------------------------------------ tools


def _make_calls(_place: Path) -> None:
    write_notes()
    used("m.jsonl")
    lines = [json.dumps({"tool": name, "arguments": given}) for name, given in CALLS]
    Path("calls.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def _mutate_calls(rng: Random, files: dict[str, bytes]) -> None:
    """Three calls, with other arguments."""
    lines = rng.sample(files["calls.jsonl"].split(b"\n")[:-1], 3)
    files["calls.jsonl"] = b"\n".join(_other_call(rng, line) for line in lines)


def _other_call(rng: Random, line: bytes) -> bytes:
    call = json.loads(line)
    inner = damaged_json(rng, json.dumps(call["arguments"]).encode())
    return b'{"tool": "%s", "arguments": %s}' % (call["tool"].encode(), inner)


class _Crashes(logging.Handler):
    """What the server writes down when a tool crashes: clients are only told that it did."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(logging.Formatter().format(record))


def _call_tools(store: str) -> list[Wrong]:
    calls = []
    for line in Path("calls.jsonl").read_bytes().splitlines():
        with suppress(ValueError, RecursionError, TypeError, KeyError):  # the client's own parser
            call = json.loads(line)
            calls.append((str(call["tool"]), dict(call["arguments"])))
    crashes = _Crashes()
    logging.getLogger().addHandler(crashes)
    try:
        anyio.run(_session, store, calls)
    finally:
        logging.getLogger().removeHandler(crashes)
    return [_crash(text) for text in crashes.texts]


async def _session(store: str, calls: list[tuple[str, dict[str, object]]]) -> None:
    choices = Choices(encoder="none")
    with ServedStore(store, choices=choices, plans=Plans()) as served:
        async with Client(make_server(served)) as client:
            for name, given in calls:
                with suppress(Exception):  # what the client itself refuses to send or to read
                    await client.call_tool(name, given)


def _crash(text: str) -> Wrong:
    lines = [line for line in text.splitlines() if line and not line.startswith(" ")]
    names = [line.partition(":")[0].rpartition(".")[2] for line in lines[1:] if "Error" in line]
    names = [name for name in names if name not in {"UnexpectedToolError", "ToolError"}]
    error = names[-1] if names else "a crash"
    first = text.partition("The above exception")[0] or text
    return Wrong("internal error", "tools", error, frame_of(first), text[-1500:])


# ------------------------------------------------------------------ bytes on standard input


def _request(number: int, method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def _make_session(_place: Path) -> None:
    write_notes()
    client = {"name": "fuzz", "version": "1"}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    messages = [
        _request(0, "initialize", **begin),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        _request(1, "tools/list"),
        _request(2, "tools/call", name="memory_search", arguments={"query": "tea"}),
        _request(3, "resources/list"),
        _request(4, "tools/call", name="memory_explain", arguments={"a": "m-1", "b": "m-4"}),
        _request(5, "prompts/list"),
        _request(6, "ping"),
    ]
    Path("session.jsonl").write_text("\n".join(map(json.dumps, messages)) + "\n", "utf-8")


def _mutate_session(rng: Random, files: dict[str, bytes]) -> None:
    lines = files["session.jsonl"].split(b"\n")
    begin, rest = lines[:2], lines[2:]
    edit = lines_of(json_or_bytes)
    if rng.random() < 0.15:
        begin = edit(rng, b"\n".join(begin)).split(b"\n")
    files["session.jsonl"] = b"\n".join(begin) + b"\n" + edit(rng, b"\n".join(rest)) + b"\n"


def _over_stdio(store: str) -> list[Wrong]:
    """Serve in this process, with pipes in place of standard input and output."""
    given, saved = Path("session.jsonl").read_bytes(), [os.dup(n) for n in (0, 1, 2)]
    (reader, writer), (heard, said) = os.pipe(), os.pipe()
    log = Path("stderr.log").open("wb+")  # noqa: SIM115 - closed below
    for new, old in ((reader, 0), (said, 1), (log.fileno(), 2)):
        os.dup2(new, old)
    for each in (reader, said):
        os.close(each)
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = (
        os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
    )
    feeder = threading.Thread(target=_feed, args=(given, writer, heard), daemon=True)
    feeder.start()
    code: object = 0
    try:
        main(["mcp", store, "--encoder", "none"], prog_name="echoless")
    except SystemExit as end:
        code = end.code
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for old, each in enumerate(saved):
            os.dup2(each, old)
            os.close(each)
        feeder.join(_WAIT)
    log.seek(0)
    output = log.read().decode("utf-8", "replace")
    log.close()
    Path("stderr.log").unlink()
    if "This should not happen" in output or "Traceback" in output or code not in {0, None}:
        if "Traceback" in output:
            return [_crash(output)]
        return [Wrong("internal error", "stdio", f"exit code {code}", "", output[-1500:])]
    return []


def _feed(given: bytes, writer: int, heard: int) -> None:
    """Write all, wait for as many answers as there are requests or until nothing comes, and end."""
    wanted = sum(b'"id"' in line for line in given.split(b"\n"))
    os.set_blocking(heard, False)
    with suppress(OSError):
        view = memoryview(given)
        while view:
            view = view[os.write(writer, view[:65536]) :]
    answers, since = 0, time.monotonic()
    while answers < wanted and time.monotonic() - since < _quiet(answers):
        with suppress(BlockingIOError):
            chunk = os.read(heard, 65536)
            if not chunk:
                break
            answers, since = answers + chunk.count(b"\n"), time.monotonic()
            continue
        time.sleep(0.005)
    with suppress(OSError):
        os.close(writer)


def _quiet(answers: int) -> float:
    return 0.15 if answers else _WAIT


# ------------------------------------------------------------------ arguments

_ARGUMENTS: Final = (
    ("search", "m.jsonl", "?"),
    ("show", "m.jsonl", "?", "?"),
    ("audit", "m.jsonl", "--set", "semantic=no", "--threshold", "?"),
    ("audit", "m.jsonl", "--set", "semantic=no", "--since", "?", "--namespace", "?"),
    ("audit", "m.jsonl", "--set", "semantic=no", "--fail-over", "?", "--limit", "?"),
    ("audit", "m.jsonl", "--detector", "?", "--set", "semantic=no"),
    ("audit", "m.jsonl", "--encoder", "?"),
    ("audit", "?"),
    ("audit", "sqlite:///?"),
    ("audit", "m.jsonl", "--map", "?"),
    ("history", "m.jsonl", "?"),
    ("explain", "?", "?", "--encoder", "none"),
    ("explain", "?", "?", "--store", "m.jsonl", "--encoder", "none"),
    ("judge", "?"),
    ("remember", "m.jsonl", "?", "--dry-run", "--encoder", "none", "--id", "?", "--tag", "?"),
    ("remember", "m.jsonl", "?", "--dry-run", "--encoder", "none", "--key", "?", "--boot", "?"),
    ("undo", "m.jsonl", "?"),
    ("purge", "m.jsonl", "--before", "?", "--yes"),
    ("apply", "m.jsonl", "?"),
    ("review", "m.jsonl", "--list", "--set", "semantic=no", "--window", "?"),
    ("review", "m.jsonl", "--set", "semantic=no", "--decide", "?"),
    ("recall", "?", "?"),
    ("?",),
)


def _make_arguments(_place: Path) -> None:
    write_notes()
    Path("arguments.json").write_text(json.dumps(_ARGUMENTS[0]), "utf-8")


def _mutate_arguments(rng: Random, files: dict[str, bytes]) -> None:
    words = [
        _word(rng) if word == "?" else word.replace("?", _word(rng))
        for word in some(rng, _ARGUMENTS)
    ]
    files["arguments.json"] = json.dumps(words).encode()


def _word(rng: Random) -> str:
    """What an operating system lets through: no NUL."""
    odd = some(rng, MAGIC).decode("utf-8", "surrogateescape")
    word = some(
        rng, (hostile_text(rng), odd, "x" * 20_000, "m-1", "last", "0", "-1", "1e999", "nan")
    )
    if rng.random() < 0.1:
        word = damaged_bytes(rng, word.encode("utf-8", "surrogateescape")).decode(
            "utf-8", "surrogateescape"
        )
    return word.replace("\0", "")


def _call_with_arguments(_store: str) -> list[Wrong]:

    try:
        words = json.loads(Path("arguments.json").read_bytes())
    except ValueError:
        return []
    door = Door(f"echoless {words[0]}" if words else "echoless", tuple(map(str, words)))
    return command(door, "", Counter())[2]


TALKING: Final = (
    Target(
        "mcp",
        6,
        _make_calls,
        _mutate_calls,
        (Door("tools", effect="writes", talk=_call_tools),),
        "m.jsonl",
    ),
    Target(
        "stdio", 3, _make_session, _mutate_session, (Door("stdio", talk=_over_stdio),), "m.jsonl"
    ),
    Target(
        "arguments",
        4,
        _make_arguments,
        _mutate_arguments,
        (Door("arguments", effect="reads", talk=_call_with_arguments),),
        "m.jsonl",
    ),
)

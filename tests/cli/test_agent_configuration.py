"""Our entry in the configuration of an agent: put in and taken out, and all else as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from echoless_setup import configuration as agent_setup
from echoless_setup import json_document
from echoless_setup.configuration import (
    AGENT_FILES,
    NAME,
    AgentFile,
    Launch,
    with_entries,
    without_entries,
)
from hypothesis import given
from hypothesis import strategies as st

PLUGIN = Path(__file__).parents[2] / "plugins" / "claude-code"
LAUNCH = Launch(("echoless",), "/srv/agent.db", creates=True)
OTHER = Launch(("/opt/é/bin/echoless",), "/srv/other.db", creates=False)
ROWS = pytest.mark.parametrize("row", AGENT_FILES, ids=lambda row: f"{row.agent}-{row.place[0]}")

TIME = {"command": "uvx", "args": ["mcp-server-time"]}
HOOK = {"hooks": [{"type": "command", "command": "true"}]}


def value(row: AgentFile, text: str) -> Any:
    """What a configuration says; a key of YAML with nothing behind it says nothing."""
    read = agent_setup._FORMS[row.format].read(text)
    return {key: each for key, each in read.items() if each is not None or row.format != "yaml"}


def nested(path: tuple[str, ...], inner: object) -> Any:
    for key in reversed(path):
        inner = {key: inner}
    return inner


def texts(row: AgentFile) -> list[str]:
    """Configurations that people have: empty, of other things, with servers, in odd spacing."""
    theirs = {"SessionStart": [HOOK], "Stop": [HOOK]} if row.lists else {"time": TIME, "x": TIME}
    if row.format == "toml":
        table = f'[{row.place[0]}.time]\ncommand = "uvx"\nargs = ["mcp-server-time"]\n'
        return [
            "",
            "# mine\nmodel = 'x'",
            f"# mine\n{table}\n[profiles.a]\nx = 1 # one\n\n",
            f"{table}\t[{row.place[0]}.time.env]\nA = '''\n[b]\n'''\n# end",
        ]
    if row.format == "yaml":
        return [
            "",
            "# mine\nmodel: x",
            "mcp_servers:\n",
            "mcp_servers:\n  # time\n  time:\n    command: uvx\n    args:\n    - a\n\n# end\na: x",
            "a: 1\nmcp_servers: # mine\n    time:\n        command: uvx\n    x: {command: y}\n",
        ]
    document = {"a": [1, {}], **nested(row.place, theirs), "z": "é // no comment"}
    plain = [
        "",
        "{}",
        "{ }\n",
        '{"a": 1}',
        json.dumps(document),
        json.dumps(document, indent="\t", ensure_ascii=False),
        json.dumps(document, indent=4) + "\n\n",
        json.dumps({"a": 1, **nested(row.place, {})}, indent=2),
        "\ufeff" + json.dumps({"a": 1}, indent=2),
    ]
    if row.format == "json":
        return plain
    comments = [
        '// mine\n{\n  // a\n  "a": 1, /* b */\n  // end\n}\n',
        json.dumps(document, indent=2).replace("\n}", ", // last\n  // end\n}\n"),
    ]
    bare = "{\n  // mine\n  a: 'it\\'s', mcp: {servers: {'time': {command: 'uvx',},},},\n}\n"
    return [*plain, *comments, *([bare] if row.format == "json5" else [])]


@ROWS
def test_an_entry_comes_beside_all_that_was_there_and_goes_again(row: AgentFile) -> None:
    for text in (each for plain in texts(row) for each in (plain, plain.replace("\n", "\r\n"))):
        made = with_entries(row, text, LAUNCH)
        assert with_entries(row, made, LAUNCH) == made
        assert value(row, without_entries(row, made, text)) == value(row, text)
        rest = iter(made)
        assert all(sign in rest for sign in text), "characters came, and none went"
        assert ("\r\n" in made) == ("\r\n" in text)
        assert "\r\r" not in made


@ROWS
def test_an_entry_of_other_arguments_is_replaced_and_comes_back(row: AgentFile) -> None:
    for text in texts(row):
        before = with_entries(row, text, OTHER)
        made = with_entries(row, before, LAUNCH)
        assert "/srv/other.db" not in made
        assert made.count("claude-hook") == before.count("claude-hook") == len(row.lists)
        assert value(row, without_entries(row, made, before)) == value(row, before)


@ROWS
def test_what_another_program_added_meanwhile_stays(row: AgentFile) -> None:
    form = agent_setup._FORMS[row.format]
    for text in texts(row):
        made = with_entries(row, text, LAUNCH)
        key = ("SessionStart", "-") if row.lists else ("later",)
        later = form.put(made, (*row.place, *key), HOOK if row.lists else TIME)
        left = value(row, without_entries(row, later, text))
        assert left == value(row, form.put(text, (*row.place, *key), HOOK if row.lists else TIME))


@pytest.mark.parametrize(
    ("name", "entry", "ours"),
    [
        ("echoless", {"url": "http://127.0.0.1:8321/mcp"}, True),
        ("memory", {"command": "/opt/bin/echoless", "args": ["mcp", "a.db"]}, True),
        ("memory", {"command": "uvx", "args": ["--from", "echoless[mcp]", "echoless"]}, True),
        ("memory", {"command": "npx", "args": ["-y", "server-memory"]}, False),
        ("files", {"command": "npx", "args": ["fs", "/home/a/echoless"]}, False),
        ("odd", ["echoless"], False),
    ],
)
def test_only_a_server_that_runs_echoless_is_ours(name: str, entry: object, ours: bool) -> None:
    (row,) = (row for row in AGENT_FILES if row.agent == "cursor")
    text = json.dumps({"mcpServers": {"x": TIME, name: entry}})
    servers = value(row, with_entries(row, text, LAUNCH))["mcpServers"]
    assert (len(servers), servers[name] == entry) == ((2, False) if ours else (3, True))


def test_the_hooks_are_those_of_the_plugin() -> None:
    (row,) = (row for row in AGENT_FILES if row.lists)
    hooks = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    assert value(row, with_entries(row, "{}", LAUNCH))["hooks"] == hooks
    (server,) = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"].values()
    (row,) = (row for row in AGENT_FILES if row.agent == "claude-code" and not row.lists)
    ours = value(row, with_entries(row, "{}", LAUNCH))["mcpServers"][NAME]
    assert ours == {**server, "type": "stdio", "args": ["mcp", "/srv/agent.db", "--create"]}


@pytest.mark.parametrize(
    ("agent", "text", "reason"),
    [
        ("cursor", '{"a": 1,}', "line 1 column"),
        ("cursor", '{\n"a": 1', "line 2 column"),
        ("cursor", "[]", "the whole is of another form"),
        ("cursor", '{"mcpServers": []}', "mcpServers is of another form"),
        ("cursor", '{"mcpServers": null}', "mcpServers is of another form"),
        ("zed", '{\n  "a": tru\n}', "line 2 column 8"),
        ("zed", "{'a': 1}", "line 1 column 2"),
        ("zed", '{"a": "b', "line 1 column 7"),
        ("zed", '{"a": 1} {"b": 2}', "line 1 column 10"),
        ("zed", "[" * 100_000, "nested too deeply"),
        ("codex", "a = 1\nb = = 2", "at line 2"),
        ("codex", 'mcp_servers = {a = {command = "b"}}', "mcp_servers"),
        ("codex", "mcp_servers = 3", "mcp_servers.echoless has no place"),
        ("hermes", "a: [1\nb: 2\n", "line 2"),
        ("hermes", "- a\n", "another form"),
        ("hermes", "mcp_servers: {a: {command: b}}\n", 'write {"command": "echoless"'),
        ("hermes", "a: 1\n---\nb: 2\n", "line"),
    ],
)
def test_what_cannot_be_changed_says_where(agent: str, text: str, reason: str) -> None:
    row = next(row for row in AGENT_FILES if row.agent == agent)
    with pytest.raises(ValueError, match=reason):
        with_entries(row, text, LAUNCH)


WORDS = st.text("ab\"\\/*{}[],:' é\u2028\n", max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@given(
    document=st.dictionaries(WORDS, VALUES, max_size=4),
    servers=st.none() | st.dictionaries(WORDS, VALUES, max_size=3),
    indent=st.sampled_from([None, 0, 1, 4, "\t"]),
    loose=st.booleans(),
)
def test_any_document_keeps_all_else(
    document: dict[str, Any], servers: dict[str, Any] | None, indent: int | str | None, loose: bool
) -> None:
    row = next(row for row in AGENT_FILES if row.agent == ("zed" if loose else "cursor"))
    if servers is not None:
        document = {**document, row.place[0]: servers}
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    if loose and indent is not None and document:
        text = text[:-2] + ", // the end\n}"
    made = with_entries(row, text, LAUNCH)
    ours = value(row, made)[row.place[0]].pop(NAME)
    assert ours["args"] == ["mcp", "/srv/agent.db", "--create"]
    assert value(row, without_entries(row, made, text)) == document
    start = next((at for at, (a, b) in enumerate(zip(text, made, strict=False)) if a != b), 0)
    assert made[:start] == text[:start]


@given(st.text("{}[],:\"'\\/* \nab1", max_size=20))
def test_a_damaged_document_is_refused_and_nothing_else_happens(text: str) -> None:
    try:
        node = json_document.document(text)
    except ValueError:
        return
    assert node is None or text[node.start : node.end].strip() == text[node.start : node.end]

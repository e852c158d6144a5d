"""What pages show for a client is what the command takes; the table is the list of tools."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Iterator

import click
import pytest

from echoless.cli.main import main
from echoless.mcp.served_store import CAPACITY, MINUTES
from tests.docs.test_docs import ROOT, blocks
from tests.mcp.clients import DESTRUCTIVE, READING, TOOLS

PAGE = ROOT / "docs" / "mcp.md"
CLIENTS = [ROOT / "docs" / name for name in ("claude-code.md", "mcp.md")]
SHOWN = "".join(page.read_text("utf-8") for page in CLIENTS)


def entries() -> Iterator[tuple[int, dict[str, object]]]:
    """Every server a block of configuration names, with its line."""
    for block in (block for page in CLIENTS for block in blocks(page)):
        if block.language in {"json", "toml"} and not block.name:
            data = json.loads(block.text) if block.language == "json" else tomllib.loads(block.text)
            (servers,) = data.values()
            for entry in servers.values():
                yield block.line, entry


def command_lines() -> Iterator[list[str]]:
    for _, entry in entries():
        if "command" in entry:
            arguments = entry["args"]
            assert isinstance(arguments, list)
            yield [str(entry["command"]), *arguments]
    for block in (block for page in CLIENTS for block in blocks(page)):
        if block.language == "bash":
            yield shlex.split(block.text.partition(" -- ")[2])
    for line in re.findall(r"`codex mcp add \w+ -- ([^`]+)`", SHOWN):
        yield shlex.split(line)


def test_every_client_is_shown_a_command_that_exists() -> None:
    found = list(command_lines())
    assert len(found) >= 6
    for words in found:
        assert words[:2] == ["echoless", "mcp"], words
        command = main.get_command(click.Context(main), "mcp")
        assert command is not None
        command.make_context("mcp", words[2:])


def test_addresses_shown_are_where_the_server_is() -> None:
    urls = [str(entry["url"]) for _, entry in entries() if "url" in entry]
    urls += re.findall(r'url = "([^"]+)"', SHOWN)
    assert urls
    assert set(urls) == {"http://127.0.0.1:8321/mcp"}


def test_the_table_names_every_tool_and_what_it_may_do() -> None:
    rows = dict(re.findall(r"^\| `(memory_\w+)` \|.*\| ([^|]+) \|$", PAGE.read_text("utf-8"), re.M))
    assert rows.keys() == TOOLS
    assert {tool for tool, hint in rows.items() if hint == "reads"} == READING
    assert {tool for tool, hint in rows.items() if hint == "two calls"} == DESTRUCTIVE


@pytest.mark.parametrize("number", [CAPACITY, MINUTES])
def test_the_bounds_of_plans_are_those_of_the_server(number: int) -> None:
    sentence = re.search(r"the server keeps the latest (\d+) for (\d+) minutes", PAGE.read_text())
    assert sentence is not None
    assert str(number) in sentence.groups()

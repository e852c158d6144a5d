"""Who may speak to a server, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import httpx2
import pytest
from click.testing import CliRunner

from echoless.cli.main import main
from tests.mcp.clients import (
    TOKEN,
    Agent,
    command,
    environment,
    on_http,
    serving,
)

# ------------------------------------------------------------------ who may speak


LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize("options", [(), ("--token-env", "NOTES_TOKEN")], ids=["usual", "named"])
def test_without_the_token_nobody_is_heard(notes: Path, options: tuple[str, ...]) -> None:
    variable = options[-1] if options else "ECHOLESS_MCP_TOKEN"

    async def story() -> None:
        with serving(notes, "--encoder", "none", *options, **{variable: TOKEN}) as url:
            async with httpx2.AsyncClient() as http:
                for header in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}):
                    answer = await http.post(url, json=LIST, headers=header)
                    assert answer.status_code == 401
                    assert answer.headers["www-authenticate"].startswith("Bearer ")
                    assert "memory" not in answer.text
            async with on_http(url, token=TOKEN) as client:
                assert (await Agent(client).call("memory_search", query="toner"))["hits"]

    anyio.run(story)


def test_a_page_in_a_browser_is_not_heard(notes: Path) -> None:
    async def story() -> None:
        with serving(notes, "--encoder", "none") as url:
            async with httpx2.AsyncClient() as http:
                rebound = await http.post(url, json=LIST, headers={"Host": "notes.example:80"})
                assert rebound.status_code == 421
                foreign = await http.post(
                    url, json=LIST, headers={"Origin": "http://notes.example"}
                )
                assert foreign.status_code == 403

    anyio.run(story)


@pytest.mark.parametrize(
    ("options", "variables", "says"),
    [
        (("--http", "0.0.0.0:0"), {}, "ECHOLESS_MCP_TOKEN holds no token"),
        (("--http", "0.0.0.0:0"), {"ECHOLESS_MCP_TOKEN": "short"}, "can be guessed"),
        (("--http", "[::]:0"), {}, "ECHOLESS_MCP_TOKEN holds no token"),
        (("--http", ":0", "--token-env", "NOTES_TOKEN"), {}, "NOTES_TOKEN holds no token"),
        (("--http", "nonsense:port"), {}, "is not an address"),
    ],
)
def test_a_server_that_would_be_open_to_others_does_not_start(
    notes: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    variables: dict[str, str],
    says: str,
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    done = CliRunner().invoke(main, ["mcp", str(notes), *options], prog_name="echoless")
    assert done.exit_code == 2
    assert says in done.stderr
    assert done.stdout == ""


# ------------------------------------------------------------------ the end


HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.mark.parametrize("ending", ["end of input", "SIGINT", "SIGTERM"])
def test_a_server_on_stdio_ends_when_told_and_says_only_the_protocol(
    notes: Path, ending: str
) -> None:
    with subprocess.Popen(
        [sys.executable, *command(notes, "--encoder", "none")],
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(HELLO) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["result"]["serverInfo"]["name"] == "echoless"
        if ending != "end of input":
            process.send_signal(getattr(signal, ending))
        rest, said = process.communicate(timeout=20)
    assert process.returncode == 0
    assert (rest, said) == ("", "")


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        (("--boot", "nowhere.md"), 3, "nowhere.md: No such file"),
        (("--encoder", "psychic"), 2, "Unknown encoder 'psychic'"),
        (("--profile", "psychic"), 2, "psychic"),
    ],
)
def test_what_is_wrong_is_said_to_the_person_and_not_to_an_agent(
    notes: Path, options: tuple[str, ...], code: int, says: str
) -> None:
    done = CliRunner().invoke(main, ["mcp", str(notes), *options], prog_name="echoless")
    assert done.exit_code == code
    assert says in done.stderr
    assert done.stdout == ""


def test_without_the_extra_the_command_names_it(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    done = CliRunner().invoke(main, ["mcp", str(notes)], prog_name="echoless")
    assert done.exit_code == 7
    assert "pip install 'echoless[mcp]'" in done.stderr


def test_a_store_that_is_not_there_is_said_before_anything_is_served(place: Path) -> None:
    done = subprocess.run(
        [sys.executable, *command(place / "missing.db")],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 3
    assert done.stdout == ""
    assert "missing.db" in done.stderr

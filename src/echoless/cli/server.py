"""The command mcp, which serves a store to agents."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import boot_option, chosen, examples, store_argument
from echoless.core.address import LOOPBACK, Address
from echoless.core.destination import announce, without_password
from echoless.core.errors import UsageError
from echoless.core.optional import require_module
from echoless.core.settings import Choices, layered, resolve
from echoless.ingest.recalled_text import read_boot_files
from echoless.models.encoders.registry import open_encoder
from echoless.stores import open_store

TOKEN: Final = "ECHOLESS_MCP_TOKEN"  # noqa: S105 - the name of a variable
SHORTEST: Final = 16
"""Characters a token has at least: what is shorter can be guessed."""

PORT: Final = 8321


def read_address(text: str) -> Address:
    """Reads an address from `HOST:PORT`, `HOST`, `:PORT` or `PORT`.

    Raises:
        UsageError: It is none of these.
    """
    host, separator, port = text.strip().rpartition(":")
    if not separator and not port.isdecimal():
        host, port = port, str(PORT)
    elif text.count(":") > 1 and not host.endswith("]"):
        host, port = text.strip(), str(PORT)
    host = host.removeprefix("[").removesuffix("]") or LOOPBACK
    if not port.isdecimal() or int(port) > 65535:
        raise UsageError(
            f"--http {text!r} is not an address. Write it like 127.0.0.1:{PORT}, and put STORE "
            "before it."
        )
    return Address(host, int(port))


def read_token(name: str | None, address: Address) -> str | None:
    """Reads the bearer token a client has to send from the environment.

    Args:
        name: Name of the variable; `ECHOLESS_MCP_TOKEN` by default.
        address: Where the server will listen.

    Returns:
        The token; None where none is set and only this machine can reach the server.

    Raises:
        UsageError: One is needed and not there, or it is too short.
    """
    token = os.environ.get(name or TOKEN, "").strip()
    if not token:
        if name is None and address.loopback:
            return None
        raise UsageError(
            f"The environment variable {name or TOKEN} holds no token. Anyone who reaches "
            f"{address.shown} could read and change the memory, so set it to a secret of at least "
            f"{SHORTEST} characters, or listen on {LOOPBACK}."
        )
    if len(token) < SHORTEST:
        raise UsageError(
            f"The token in {name or TOKEN} has {len(token)} characters and can be guessed. Take at "
            f"least {SHORTEST}, such as the output of `openssl rand -hex 32`."
        )
    return token


@click.command(
    "mcp",
    epilog=examples(
        "echoless mcp agent.db",
        "echoless mcp agent.db --create --boot CLAUDE.md",
        "echoless mcp agent.db --tools remember,search",
        "echoless mcp agent.db --read-only --http 127.0.0.1:8321",
    ),
)
@store_argument
@click.option(
    "--http",
    "address",
    is_flag=False,
    flag_value="127.0.0.1",
    default=None,
    metavar="[HOST:PORT]",
    help="Serve over streamable HTTP at /mcp, on 127.0.0.1:8321 by default; write STORE before it. "
    "Any host but this machine's own needs a token.",
)
@click.option(
    "--token-env",
    metavar="NAME",
    help="The environment variable that holds the bearer token clients have to send "
    "(ECHOLESS_MCP_TOKEN by default; where it is set, it is asked for).",
)
@click.option(
    "--tools",
    "tools",
    metavar="NAMES",
    help="Offer only these tools, such as remember,search: each takes room in the context of an "
    "agent. All by default.",
)
@click.option("--read-only", is_flag=True, help="Offer only what reads, and previews.")
@click.option("--create", is_flag=True, help="Make an empty STORE where there is none.")
@boot_option
@chosen("profile", "encoder", "cache")
def mcp_command(
    *,
    store: str,
    address: str | None,
    token_env: str | None,
    tools: str | None,
    read_only: bool,
    create: bool,
    boot: tuple[Path, ...],
    choices: Choices,
) -> None:
    """Serve STORE to agents over the Model Context Protocol, until the client goes or Ctrl-C.

    The server speaks on standard input and output unless --http is given. Its tools remember,
    search, compare, audit and tidy; what could lose something shows a preview first, and everything
    can be undone. docs/mcp.md shows how to set it up in the common clients.
    """
    require_module("mcp", "The MCP server", "mcp")
    where = None if address is None else read_address(address)
    token = None if where is None else read_token(token_env, where)
    with open_store(store, create=create) as opened:  # what is wrong is said now, not to an agent
        settings = resolve(layered(choices), proposed=opened.profile)
    open_encoder(settings.encoder)
    read_boot_files(boot)

    from echoless.mcp import served_store

    served = served_store.ServedStore(store, choices=choices, boot=boot, read_only=read_only)
    from echoless.mcp import server

    if tools is not None:
        served.tools = server.tools_named(served, tools)
    for sentence in served.destinations:
        announce(sentence)
    if where is None:
        if sys.stdin.isatty():
            render.note(
                f"Serving {without_password(store)} on standard input, for a client to start. "
                "Ctrl-C ends it."
            )
        server.serve_stdio(served)
        return
    server.serve_http(
        served,
        where,
        token=token,
        announce=lambda url: render.note(f"Serving {without_password(store)} at {url}"),
    )

"""The command that serves a store to agents: mcp."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from echoless.auditing import Report
from echoless.cli import render
from echoless.cli.options import encoder_option, examples, no_cache_option, store_argument
from echoless.cli.report import audit_blocks
from echoless.core.destination import announce
from echoless.mcp.address import read_address, read_token
from echoless.profiles import PROFILES
from echoless.remembering.recognising import read_boot_files
from echoless.settings import Choices, layered, resolve
from echoless.stores import Store, open_store
from echoless.vectors.optional import require_module
from echoless.vectors.registry import open_encoder

_TOP = 20
_MEMBERS = 10
_PAIRS = 10


@click.command(
    "mcp",
    epilog=examples(
        "echoless mcp agent.db",
        "echoless mcp agent.db --create --boot CLAUDE.md",
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
@click.option("--read-only", is_flag=True, help="Offer only what reads, and previews.")
@click.option("--create", is_flag=True, help="Make an empty STORE where there is none.")
@click.option(
    "--boot",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A file the agent reads at its start: what it says is known and not stored again. May be "
    "given several times.",
)
@click.option(
    "--profile",
    type=click.Choice(tuple(PROFILES)),
    help="Way of deduplicating; the store proposes one. `echoless profiles` explains them.",
)
@encoder_option
@no_cache_option
def mcp_command(
    *,
    store: str,
    address: str | None,
    token_env: str | None,
    read_only: bool,
    create: bool,
    boot: tuple[Path, ...],
    profile: str | None,
    encoder: str | None,
    cache: bool | None,
) -> None:
    """Serve STORE to agents over the Model Context Protocol, until the client goes or Ctrl-C.

    The server speaks on standard input and output unless --http is given. Its tools remember,
    search, compare, audit and tidy; what could lose something shows a preview first, and everything
    can be undone. docs/mcp.md shows how to set it up in the common clients.
    """
    require_module("mcp", "The MCP server", "mcp")
    where = None if address is None else read_address(address)
    token = None if where is None else read_token(token_env, where)
    choices = Choices(profile=profile, encoder=encoder, cache=cache)
    with open_store(store, create=create) as opened:  # what is wrong is said now, not to an agent
        chosen = resolve(layered(choices), proposed=opened.profile)
    open_encoder(chosen.encoder)
    read_boot_files(boot)
    from echoless.mcp.desk import Desk  # noqa: PLC0415 - an extra, and slow to load
    from echoless.mcp.serving import serve_http, serve_stdio  # noqa: PLC0415

    desk = Desk(store, _report, choices=choices, boot=boot, read_only=read_only)
    for sentence in desk.destinations:
        announce(sentence)
    if where is None:
        if sys.stdin.isatty():
            render.note(
                f"Serving {store} on standard input, for a client to start. Ctrl-C ends it."
            )
        serve_stdio(desk)
        return
    serve_http(desk, where, token=token, told=lambda url: render.note(f"Serving {store} at {url}"))


def _report(store: Store, report: Report) -> str:
    blocks = audit_blocks(store, report, top=_TOP, members=_MEMBERS, pairs=_PAIRS, options=False)
    return "\n".join(render.markdown(blocks))

"""The commands about echoless: stores, encoders, profiles, schema, demo."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from pathlib import Path

import click

from echoless.cli import render
from echoless.cli.demo import demo
from echoless.cli.options import examples, json_option
from echoless.core import plugins
from echoless.core.answer_schemas import answer_names, answer_schema
from echoless.core.document import Table
from echoless.core.errors import MissingExtra, UsageError
from echoless.core.model import Json
from echoless.core.profiles import PROFILES
from echoless.models.encoders.registry import DEFAULT, open_encoder
from echoless.stores.registry import kinds


@click.command("stores")
@json_option
def stores_command(*, as_json: bool) -> None:
    """List the kinds of store that can be opened.

    A store is named by a path, which is recognised by its content, or by a URL.
    """
    rows = [(name, f"{name}:///PATH", kind.summary) for name, kind in kinds().items()]
    _list("stores", ("name", "url", "summary"), rows, as_json=as_json)


@click.command("encoders")
@json_option
def encoders_command(*, as_json: bool) -> None:
    """List the sources of vectors, and whether each is usable here. Loads no model.

    `--encoder auto` takes vectors the store holds, else the encoder `fast`; `stored`
    takes what the store holds and nothing else.
    """
    rows = [
        ("auto", "yes", f"vectors the store holds, else {DEFAULT}"),
        ("stored", "yes", "vectors the store holds"),
        ("none", "yes", "the same as stored: nothing is encoded"),
    ]
    rows += [(name, *_usable(name)) for name in plugins.names("encoders")]
    _list("encoders", ("name", "usable", "note"), rows, as_json=as_json)


def _usable(name: str) -> tuple[str, str]:
    """Returns whether an encoder can be made (`yes` or `no`) and a note; loads no model."""
    note = "no argument needed"
    for spec in (name, f"{name}:model"):
        try:
            open_encoder(spec)
        except MissingExtra as problem:
            return "no", str(problem)
        except UsageError as problem:
            note = str(problem)
        else:
            return "yes", note
    return "no", note


@click.command("profiles")
@json_option
def profiles_command(*, as_json: bool) -> None:
    """List the profiles: detectors, judge, grouping, order of survivors, action."""
    headers = ("name", "detectors", "judge", "grouping", "survivor", "action", "summary")
    rows = []
    for p in PROFILES.values():
        detectors = ", ".join(
            d.name
            if d.threshold is None
            else f"{d.name} {'>=' if d.inclusive else '>'} {d.threshold:g}"
            for d in p.detectors
        )
        rows.append((p.name, detectors, p.judge, p.grouping, p.survivor, p.action, p.summary))
    _list("profiles", headers, rows, as_json=as_json)


def _list(
    what: str, headers: tuple[str, ...], rows: Sequence[tuple[str, ...]], *, as_json: bool
) -> None:
    """Prints rows as a table, or as JSON under a key."""
    data: Json = {what: [dict(zip(headers, row, strict=True)) for row in rows]}
    render.show_answer(data, [Table(headers, tuple(rows))], as_json=as_json)


@click.command(
    "schema",
    epilog=examples(
        "echoless schema",
        "echoless schema audit > audit.schema.json",
        "echoless schema ego-mcp merge",
    ),
)
@click.argument(
    "name",
    metavar="[NAME]...",
    nargs=-1,
    shell_complete=lambda _ctx, _param, typed: [n for n in answer_names() if n.startswith(typed)],
)
@json_option
def schema_command(*, name: tuple[str, ...], as_json: bool) -> None:
    """Print the JSON Schema of what a command prints with --json.

    NAME is a command, such as audit or ego-mcp merge, or a tool of the MCP server, such as
    memory_audit. Without NAME the schemas are listed. They follow draft 2020-12.
    """
    names, wanted = answer_names(), "-".join(name)
    if not name:
        rows = [(each, answer_schema(each)["description"]) for each in names]
        _list("schemas", ("name", "answer"), rows, as_json=as_json)
        return
    if wanted not in names:
        near = difflib.get_close_matches(wanted, names, 3)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise UsageError(f"There is no schema {wanted!r}.{hint} `echoless schema` lists all.")
    render.show_json(answer_schema(wanted))


@click.command("demo")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Work in DIR (new or empty) and leave everything there; else in a temporary folder.",
)
def demo_command(*, keep: Path | None) -> int:
    """Walk the whole road on two samples: a memory folder of Claude Code, and 1,200 memories.

    Each step is printed as it would be typed, then run by the same commands. Ends with an error
    unless both are in the end exactly as they were in the beginning.
    """
    return 0 if demo(keep) else 1

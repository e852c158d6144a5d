"""The commands import, export and backup, which copy memories between stores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from echoless.cli import render
from echoless.cli.options import (
    complete_path,
    examples,
    json_option,
    map_option,
    read_map,
    store_argument,
    writing,
)
from echoless.core.document import count, number, say, strong
from echoless.execution.transfer import FORMATS, Transferred, backup, export, import_into
from echoless.ingest.forgotten import held
from echoless.stores import open_store
from echoless.stores.registry import mapped

_IMPORTED: Final = "Imported"


@click.command(
    "import",
    epilog=examples(
        "echoless import memories.jsonl agent.db",
        "echoless import old.db sqlite:///new.db --skip-invalid",
        "echoless import chroma.sqlite3 agent.db --map namespace=user_id",
    ),
)
@click.argument("source", metavar="SOURCE", shell_complete=complete_path)
@click.argument("target", metavar="TARGET", shell_complete=complete_path)
@map_option
@click.option(
    "--skip-invalid",
    is_flag=True,
    help="Leave out memories that cannot be stored, and list them, instead of refusing all.",
)
@json_option
def import_command(
    *, source: str, target: str, maps: Sequence[str], skip_invalid: bool, as_json: bool
) -> None:
    """Copy every memory of SOURCE into TARGET, all or nothing; SOURCE stays as it is.

    TARGET is made if it is not there (.db and .jsonl say by their suffix what they should be). The
    lineage comes along into a store that has none.
    """
    field_map = read_map(maps)
    with open_store(mapped(source, field_map) if maps else source) as origin, writing(target):
        done = import_into(origin, target, skip_invalid=skip_invalid, held=held)
    _show(_IMPORTED, done, as_json=as_json)


@click.command("export", epilog=examples("echoless export agent.db memories.jsonl"))
@store_argument
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(FORMATS), help="By the suffix of FILE if not given."
)
@json_option
def export_command(*, store: str, file: Path, form: str | None, as_json: bool) -> None:
    """Write STORE with its lineage to a new FILE; an existing one is never overwritten.

    Both formats, JSONL and SQLite, can be imported again without loss.
    """
    with open_store(store) as opened:
        done = export(opened, file, kind=form)
    _show("Exported", done, as_json=as_json)


@click.command("backup", epilog=examples("echoless backup agent.db agent-monday.db"))
@store_argument
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@json_option
def backup_command(*, store: str, file: Path, as_json: bool) -> None:
    """Copy STORE with its lineage to a new SQLite FILE, and compare record by record."""
    with open_store(store) as opened:
        done = backup(opened, file)
    _show("Backed up and compared", done, as_json=as_json)


def _show(verb: str, done: Transferred, *, as_json: bool) -> None:
    """Prints what was copied and what was left out."""
    if as_json:
        names = ("target", "memories", "lineage", "skipped")
        render.show_json({name: getattr(done, name) for name in names})
        return
    memories = count(done.memories, "memory", "memories")
    lineage = count(done.lineage, "row") + " of lineage"
    render.show([say(strong(f"{verb}: {memories} and {lineage} to {done.target}."))])
    if verb != _IMPORTED:
        render.show([say("The file holds the texts as they are, secrets too.")])
    if done.skipped:
        render.show([say(f"Left out: {number(len(done.skipped))}")])
        render.show(say(f"{id_} {why}", level=1) for id_, why in done.skipped.items())

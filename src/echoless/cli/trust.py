"""The command by which a person trusts the settings file of a folder: trust."""

from __future__ import annotations

from pathlib import Path

import click

from echoless.cli import render
from echoless.cli.document import Block, say
from echoless.cli.options import examples, json_option
from echoless.core import trust
from echoless.core.visible import visible
from echoless.errors import InputError, UsageError
from echoless.model import Json
from echoless.settings import choices_of
from echoless.settings_file import (
    CONFIG_FILE,
    SettingsFile,
    effect,
    read_settings_file,
    shown_value,
)


@click.command(
    "trust",
    epilog=examples(
        "echoless trust", "echoless trust ~/project/echoless.toml", "echoless trust --list"
    ),
)
@click.argument("file", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.option("--list", "listing", is_flag=True, help="List the files that are trusted.")
@click.option("--remove", is_flag=True, help="Trust FILE no longer.")
@click.option("--yes", is_flag=True, help="Do not ask, for scripts.")
@json_option
def trust_command(
    *, file: Path | None, listing: bool, remove: bool, yes: bool, as_json: bool
) -> None:
    """Show what the settings FILE of a folder would do, and trust it as it is now.

    Without FILE it is echoless.toml of the current folder. Keys that send texts to a server, load a
    model or code, or set what a model may cost count only in a trusted file. Once it, or a
    folder of a model that it names, is edited it has to be trusted again.
    """
    if listing + remove + yes > 1 or (listing and file is not None):
        raise UsageError("Give one of these: FILE, --yes and FILE, --remove and FILE, or --list.")
    if listing:
        _list(as_json=as_json)
        return
    path = _path(file)
    if remove:
        gone = trust.distrust(path)
        said = f"{path} is trusted no longer." if gone else f"{path} was not trusted."
        _answer({"path": str(path), "trusted": False}, [say(said)], as_json=as_json)
        return
    _trust(_read(path), yes=yes, as_json=as_json)


def _path(file: Path | None) -> Path:
    path = file or Path(CONFIG_FILE)
    return trust.place_of(path / CONFIG_FILE if path.is_dir() else path)


def _read(path: Path) -> SettingsFile:
    file = read_settings_file(path)
    if file is None:
        raise InputError(f"There is no settings file at {path}, so nothing was trusted.")
    choices_of(file.data, str(path))
    return file


def _trust(file: SettingsFile, *, yes: bool, as_json: bool) -> None:
    told: dict[str, Json] = {key: effect(key, file.data[key]) for key in file.needing_trust}
    data: dict[str, Json] = {"path": str(file.path), "trusted": True, "effects": told}
    if not told:
        said = f"{file.path} holds nothing that needs trust; all of it counts already."
        _answer({**data, "trusted": False}, [say(said)], as_json=as_json)
        return
    lines = [f"{key} = {shown_value(file.data[key])}: {what}" for key, what in told.items()]
    if not yes and as_json:
        raise UsageError("Nothing was trusted. With --json nobody is asked: add --yes.")
    if not yes:
        _agree(file.path, lines, may_ask=render.is_interactive())
        lines = []
    trust.trust(file.path, file.trusted_as)
    said = f"{file.path} is trusted as it is now; edit it, and it has to be trusted again."
    _answer(data, [*map(say, lines), say(said)], as_json=as_json)


def _agree(path: Path, lines: list[str], *, may_ask: bool) -> None:
    """Show what the file does, and ask; anything but a clear yes ends the command.

    Raises:
        UsageError: There is no terminal to ask on, or the answer is no.
    """
    render.show([say(line) for line in lines])
    if not may_ask:
        raise UsageError(
            "Nothing was trusted: there is no terminal to ask on. To trust the file without being "
            "asked, add --yes."
        )
    if not render.agreed(visible(f"Trust {path}? [y/N] ")):
        raise UsageError("Nothing was trusted.")


def _list(*, as_json: bool) -> None:
    found = [(each, _state(each)) for each in trust.trusted()]
    data: list[Json] = [
        {"path": each.path, "sha256": each.digest, "state": state} for each, state in found
    ]
    lines = [f"{each.path}  {state}" for each, state in found] or ["No file is trusted."]
    _answer({"files": data}, [say(line) for line in lines], as_json=as_json)


def _state(entry: trust.Trusted) -> str:
    path = Path(entry.path)
    try:
        file = read_settings_file(path)
        if file is None:
            return "not there"
        same = trust.is_trusted(path, file.trusted_as)
    except InputError:
        same = False
    return "trusted" if same else "edited since, so not trusted"


def _answer(data: dict[str, Json], blocks: list[Block], *, as_json: bool) -> None:
    if as_json:
        render.show_json(data)
    else:
        render.show(blocks)

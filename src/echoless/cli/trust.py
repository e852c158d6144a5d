"""The command trust, by which a person trusts the settings file of a folder."""

from __future__ import annotations

from pathlib import Path

import click

from echoless.cli import render
from echoless.cli.options import examples, json_option
from echoless.core import trust
from echoless.core.document import say
from echoless.core.errors import InputError, UsageError
from echoless.core.model import Json
from echoless.core.settings import choices_of
from echoless.core.settings_file import (
    CONFIG_FILE,
    SettingsFile,
    effect,
    read_settings_file,
    shown_value,
)
from echoless.core.visible import visible


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
        files = [(each, _state(each)) for each in trust.trusted()]
        data: list[Json] = [
            {"path": each.path, "sha256": each.digest, "state": state} for each, state in files
        ]
        lines = [f"{each.path}  {state}" for each, state in files] or ["No file is trusted."]
        render.show_answer({"files": data}, map(say, lines), as_json=as_json)
        return
    path = file or Path(CONFIG_FILE)
    path = trust.place_of(path / CONFIG_FILE if path.is_dir() else path)
    if remove:
        removed = trust.distrust(path)
        line = f"{path} is trusted no longer." if removed else f"{path} was not trusted."
        answer: Json = {"path": str(path), "trusted": False}
        render.show_answer(answer, [say(line)], as_json=as_json)
        return
    settings_file = read_settings_file(path)
    if settings_file is None:
        raise InputError(f"There is no settings file at {path}, so nothing was trusted.")
    choices_of(settings_file.data, str(path))
    _trust(settings_file, yes=yes, as_json=as_json)


def _trust(file: SettingsFile, *, yes: bool, as_json: bool) -> None:
    """Trusts a file, after showing what it does and asking; only a clear yes counts.

    Raises:
        UsageError: There is no terminal to ask on, or the answer is no.
    """
    effects: dict[str, Json] = {key: effect(key, file.data[key]) for key in file.needing_trust}
    data: dict[str, Json] = {"path": str(file.path), "trusted": True, "effects": effects}
    if not effects:
        line = f"{file.path} holds nothing that needs trust; all of it counts already."
        render.show_answer({**data, "trusted": False}, [say(line)], as_json=as_json)
        return
    lines = [f"{key} = {shown_value(file.data[key])}: {what}" for key, what in effects.items()]
    if not yes:
        if as_json:
            raise UsageError("Nothing was trusted. With --json nobody is asked: add --yes.")
        render.show(map(say, lines))
        if not render.is_interactive():
            raise UsageError(
                "Nothing was trusted: there is no terminal to ask on. To trust the file without "
                "being asked, add --yes."
            )
        if not render.agreed(visible(f"Trust {file.path}? [y/N] ")):
            raise UsageError("Nothing was trusted.")
        lines = []
    trust.trust(file.path, file.trusted_as)
    lines.append(f"{file.path} is trusted as it is now; edit it, and it has to be trusted again.")
    render.show_answer(data, map(say, lines), as_json=as_json)


def _state(entry: trust.Trusted) -> str:
    """Returns whether a file is still as it was trusted."""
    path = Path(entry.path)
    try:
        file = read_settings_file(path)
        if file is None:
            return "not there"
        same = trust.is_trusted(path, file.trusted_as)
    except InputError:
        same = False
    return "trusted" if same else "edited since, so not trusted"

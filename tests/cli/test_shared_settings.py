"""Every shared setting is declared whole: flag, variable, key in a file, range and harmlessness."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from echoless.cli import dedupe
from echoless.cli.main import main
from echoless.core.choices import SETTINGS, Choices, Limits, Setting
from echoless.core.errors import UsageError
from echoless.core.settings import Settings, layered

HARMLESS = {
    "profile",
    "threshold",
    "semantic",
    "thorough",
    "survivor",
    "grouping",
    "action",
    "namespace",
    "since",
    "limit",
    "cache",
    "locale",
}
"""Written out: whoever lets a setting count from any file says so twice."""

DECLARED = pytest.mark.parametrize("setting", SETTINGS.values(), ids=list(SETTINGS))


def options_of_dedup() -> dict[str, click.Option]:
    """The options of the command that takes every setting, by name."""
    command = main.get_command(click.Context(main), "dedup")
    assert command is not None
    return {str(p.name): p for p in command.params if isinstance(p, click.Option)}


def test_each_field_is_declared_under_its_own_name() -> None:
    assert list(SETTINGS) == [each.name for each in fields(Choices)]
    assert all(name == each.name and each.help for name, each in SETTINGS.items())
    assert Choices() == Choices(**dict.fromkeys(SETTINGS))


@pytest.mark.parametrize("setting", [each for each in SETTINGS.values() if not each.rare])
def test_its_flag_takes_its_kind_of_value(setting: Setting) -> None:
    option = options_of_dedup()[setting.name]
    assert option.opts == [setting.flag]
    assert option.help == setting.help
    assert option.multiple == setting.several
    if setting.words:
        assert isinstance(option.type, click.Choice)
        assert tuple(option.type.choices) == setting.words
    else:
        kinds = {str: click.STRING, int: click.INT, float: click.FLOAT, bool: click.BOOL}
        assert option.type is kinds[setting.kind]


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[Choices]:
    """The choices of each call of `dedup` since this was emptied; nothing else happens."""
    calls: list[Choices] = []
    monkeypatch.setattr(dedupe, "settings_for", lambda _store, made: calls.append(made) or 1 / 0)
    return calls


@pytest.mark.parametrize("setting", [each for each in SETTINGS.values() if each.rare])
def test_a_setting_without_a_flag_is_given_by_set(
    setting: Setting, chosen: list[Choices], tmp_path: Path
) -> None:
    store = tmp_path / "notes.jsonl"
    store.write_text('{"id": "a", "content": "One."}\n')
    written = {bool: "no", int: "3", float: "2.5", str: "newest,second"}[setting.kind]
    CliRunner().invoke(main, ["dedup", str(store), "--set", f"{setting.name}={written}"])
    (made,) = chosen
    value = getattr(made, setting.name)
    assert value == (("newest", "second") if setting.several else setting.read(written, "it"))


@pytest.mark.parametrize("given", ["workers", "colour=red", "workers=many", "profile=safe"])
def test_a_setting_that_is_not_known_or_is_no_number_is_refused(given: str) -> None:
    result = CliRunner().invoke(main, ["dedup", "notes.jsonl", "--set", given])
    assert result.exit_code == 2
    assert "--set" in result.stderr


def test_help_shows_what_most_people_need_and_help_all_the_rest() -> None:
    for name in ("audit", "dedup", "review"):
        short, whole = (
            CliRunner().invoke(main, [name, option]).stdout for option in ("--help", "--help-all")
        )
        options = [line for line in short.splitlines() if re.match(r"  (-\w, )?--", line)]
        assert 6 <= len(options) <= 15
        assert "--help-all" in short
        assert "--map" not in short
        assert "--map" in whole


@DECLARED
def test_its_variable_and_its_key_in_a_file_take_the_same_kind(setting: Setting) -> None:
    assert setting.variable == f"ECHOLESS_{setting.name.upper()}"
    written = "1" if setting.kind in {int, float} else "x"
    value = setting.read(written, "it")
    assert setting.fits(value)
    assert isinstance(value, list) == setting.several
    assert setting.fits(True) == (setting.kind is bool)
    chosen = layered(Choices(), environment={setting.variable: written, "ECHOLESS_NO_CONFIG": "1"})
    assert getattr(chosen, setting.name) is not None


@DECLARED
def test_its_default_is_in_its_range_and_what_is_below_is_refused(setting: Setting) -> None:
    setting.check(setting.default)
    bound = setting.least if setting.above is None else setting.above
    assert (bound is not None) == (setting.kind in {int, float})
    if bound is not None:
        with pytest.raises(UsageError, match=rf"^{setting.spelt} must be a .*number"):
            setting.check(bound - 1 if setting.above is None else bound)
    if setting.most is not None:
        setting.check(setting.most)
        with pytest.raises(UsageError, match=f"^{setting.spelt} must be at most"):
            setting.check(setting.most + 1)


@pytest.mark.parametrize("of", [Settings, Limits])
def test_python_has_the_declared_defaults_too(of: type[Settings | Limits]) -> None:
    by_name = {each.name: each.default for each in fields(of) if each.name != "profile"}
    shared = {name: each.default for name, each in SETTINGS.items() if name in by_name}
    assert shared == {name: by_name[name] for name in shared}


def test_the_file_of_a_folder_sets_only_what_is_written_out_here() -> None:
    assert {name for name, each in SETTINGS.items() if each.harmless} == HARMLESS
    rest = {name: set(each.built_in) for name, each in SETTINGS.items() if not each.harmless}
    assert {name: words for name, words in rest.items() if words} == {
        "encoder": {"auto", "stored", "none", "fast"},
        "verifier": {"none"},
        "detector": {"exact", "normalised", "sequence", "lexical", "semantic"},
    }

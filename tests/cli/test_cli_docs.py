"""`docs/cli.md` says what the commands say; nothing is undocumented."""

import importlib.util
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest
from click.testing import Result
from echoless_setup import FAMILIES as OF_SETUP

from echoless.cli.main import FAMILIES, main
from echoless_programs.cli import FAMILIES as OF_PROGRAMS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "cli.md").read_text("utf-8")


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate_cli", DOCS / "generate_cli.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def commands() -> Iterator[click.Command]:
    context = click.Context(main, **main.context_settings)
    for name in main.list_commands(context):
        command = main.get_command(context, name)
        assert command is not None
        yield command


def test_what_is_generated_is_up_to_date(generator: ModuleType) -> None:
    for page, text in generator.pages():
        # not compared by `assert`: the difference of two long pages takes half an hour
        if page.read_text("utf-8") != text:
            pytest.fail("run: python docs/generate_cli.py")


def test_the_manual_page_is_plain_roff_and_goes_where_man_looks() -> None:
    page = DOCS / "echoless.1"
    text = page.read_text("ascii")
    requests = {line.split()[0] for line in text.split("\n") if line.startswith((".", "'"))}
    assert requests == {".TH", ".SH", ".SS", ".B", ".PP", ".TP", ".EX", ".EE"}
    for path in paths():
        assert f'.SS "echoless {path} '.replace("-", "\\-") in text
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))
    installed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["shared-data"]
    assert installed == {"docs/echoless.1": "share/man/man1/echoless.1"}
    if program := shutil.which("groff"):
        words = [program, "-man", "-ww", "-Tascii", "-z", str(page)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=50, check=True)
        assert done.stderr == ""


def paths() -> dict[str, click.Command]:
    """Every command by what is typed for it, those of groups too."""
    found: dict[str, click.Command] = {}
    for command in commands():
        found[str(command.name)] = command
        inner = command.commands.values() if isinstance(command, click.Group) else ()
        found.update((f"{command.name} {each.name}", each) for each in inner)
    return found


@pytest.mark.parametrize(("path", "command"), paths().items(), ids=list(paths()))
def test_every_command_and_option_is_documented(path: str, command: click.Command) -> None:
    section = PAGE.partition(f"#### echoless {path}\n")[2].partition("\n#### ")[0]
    assert section
    assert command.help
    for option in command.params:
        if isinstance(option, click.Option):
            assert option.help, f"{option.name} has no help"
            spellings = (*option.opts, *option.secondary_opts)
            assert all(spelling in section for spelling in spellings), spellings


def test_the_table_of_commands_fits_the_commands() -> None:
    names = [
        name
        for each in (FAMILIES, OF_PROGRAMS, OF_SETUP)
        for family in each.values()
        for name in family
    ]
    assert [command.name for command in commands()] == names


def test_examples_name_options_that_exist() -> None:
    by_path = paths()
    help_texts = "".join(command.epilog or "" for command in by_path.values())
    lines = re.findall(r"^ *\$? *echoless ([\w-]+)(.*)$", PAGE + help_texts, re.MULTILINE)
    assert len(lines) > 80
    for name, rest in lines:
        command = by_path[name]
        if isinstance(command, click.Group):
            command = by_path[f"{name} {rest.split()[0]}"]
        options = {o for p in command.params for o in (*p.opts, *p.secondary_opts, "--help")}
        for word in re.findall(r"(?<=\s)--?[a-z][\w-]*", rest.partition("&&")[0]):
            assert word in options, f"echoless {name}{rest}"


def test_the_page_is_short_enough_to_read() -> None:
    assert PAGE.count("\n") <= 1000


def test_exit_codes_are_those_of_the_errors(echoless: Callable[..., Result]) -> None:
    from echoless.core import errors

    codes = {
        kind.exit_code
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.EcholessError)
    }
    codes |= {0, errors.OVER_LIMIT, errors.INTERRUPTED}
    for code in codes:
        assert re.search(rf"^\| {code} \|", PAGE, re.MULTILINE)
        assert re.search(rf"^ +{code}  ", echoless("--help").stdout, re.MULTILINE)

"""Flags of the programs' commands: a table beside the function that takes their values."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from echoless.core.errors import UsageError
from echoless_programs.flags import Flag, flags, with_flags


@dataclass(frozen=True, kw_only=True)
class Options:
    folder: Path
    threshold: float = 0.75
    limit: int | None = None
    linkage: str = "transitive"
    guards: bool = True
    dry_run: bool = False
    key: str = ""


FLAGS = (
    Flag("folder", "Where.", "PATH", type=Path),
    Flag("threshold", "From which.", "T"),
    Flag("limit", "At most.", "N", ("--limit", "-l"), type=int),
    Flag("linkage", "How.", words=("transitive", "star")),
    Flag("guards", "Hold apart."),
    Flag("dry_run", "Only look."),
    Flag("key", "Of the model.", "KEY", variable="TEST_KEY"),
)


@click.command()
@with_flags(Options, FLAGS)
def show(**values: object) -> None:
    click.echo(repr(Options(**values)))  # type: ignore[arg-type]


def call(*words: str) -> Result:
    return CliRunner().invoke(show, words)


def test_defaults_and_types_are_those_of_the_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY", raising=False)
    assert call("--folder", "a").output == f"{Options(folder=Path('a'))!r}\n"
    given = ("--threshold", "0.5", "-l", "3", "--linkage", "star", "--no-guards", "--dry-run")
    monkeypatch.setenv("TEST_KEY", "secret")
    chosen = Options(
        folder=Path("a"),
        threshold=0.5,
        limit=3,
        linkage="star",
        guards=False,
        dry_run=True,
        key="secret",
    )
    assert call("--folder", "a", *given).output == f"{chosen!r}\n"


def test_a_parameter_without_a_default_has_to_be_given() -> None:
    problem = call("--threshold", "1").exception
    assert isinstance(problem, UsageError)
    assert str(problem) == "--folder is required"


@pytest.mark.parametrize("words", [("--threshold", "x"), ("--linkage", "chain"), ("--no-dry-run",)])
def test_what_does_not_fit_is_a_wrong_call(words: tuple[str, ...]) -> None:
    assert call("--folder", "a", *words).exit_code == 2


def test_the_help_lists_the_flags_in_the_order_of_the_table() -> None:
    text = call("--help").output
    names = ("--folder", "--threshold", "--limit", "--linkage", "--guards", "--dry-run", "--key")
    places = [text.index(name) for name in names]
    assert places == sorted(places)
    assert "[default: 0.75]" in text


def near(*, least: float = 0.5, only: bool = False) -> float:
    """Finds what is near.

    Args:
        least: Cosine from which two
            texts are near.
        only: Nothing else.
    """
    return least if only else 0


def test_the_help_of_a_flag_is_its_description_in_the_docstring() -> None:
    command = click.command()(with_flags(near, flags("least=T only"))(lambda **_: None))
    text = CliRunner().invoke(command, ["--help"]).output
    assert "--least T  Cosine from which two texts are near.  [default: 0.5]" in text
    assert "--only     Nothing else." in text

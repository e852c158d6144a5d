"""`import echoless` stays light: the work is done by what a call needs, when it needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {
    "numpy",
    "rapidfuzz",
    "rich",
    "click",
    "platformdirs",
    "filelock",
    "openai",
    "model2vec",
    "sentence_transformers",
    "importlib.metadata",
    "asyncio",
    "http.client",
}


def loaded_by(statement: str) -> set[str]:
    program = f"import sys\n{statement}\nprint(*sys.modules, sep='\\n')"
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(answer.stdout.split())


def test_importing_the_package_brings_in_no_heavy_module() -> None:
    assert loaded_by("import echoless") & HEAVY == set()


def test_the_help_of_the_command_line_brings_in_neither_numpy_nor_rich() -> None:
    program = (
        "from echoless.cli.main import run\nsys.argv = ['echoless', '--help']\n"
        "try:\n    run()\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert loaded_by(program) & (HEAVY - {"click"}) <= {"importlib.metadata"}


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        ("ingest", {"echoless.matching.rule_judge", "rapidfuzz"}),
        ("dedupe", {"echoless.cli.review", "echoless.matching.rule_judge"}),
        ("audit", {"echoless.web.report", "jinja2"}),
        ("catalogue", {"echoless.core.text_difference"}),
    ],
)
def test_a_command_begins_without_what_only_some_calls_need(
    command: str, unneeded: set[str]
) -> None:
    assert loaded_by(f"import echoless.cli.{command}") & unneeded == set()


def test_every_public_name_is_there() -> None:
    import echoless

    for name in echoless.__all__:
        assert getattr(echoless, name) is not None
    assert sorted(echoless.__all__) == echoless.__all__


def test_no_module_carries_the_name_of_a_public_name() -> None:
    from pathlib import Path

    import echoless

    modules = {path.stem for path in Path(echoless.__file__).parent.iterdir()}
    assert modules.isdisjoint(echoless.__all__)

"""Modules that load late: each stand-in names what its `if TYPE_CHECKING` import names."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import echoless
from echoless.core.optional import lazy_module

SOURCE = Path(echoless.__file__).parent
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if "lazy_module(" in path.read_text("utf-8")]


def stand_ins(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and module of each `name = lazy_module("module")`."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(
                targets=[ast.Name(name)],
                value=ast.Call(func=ast.Name("lazy_module"), args=[ast.Constant(str() as module)]),
            ):
                yield name, module


def imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Name and module of each import for type checkers, as if all that is imported were modules."""
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.body:
                if isinstance(each, ast.Import):
                    yield from ((alias.asname or alias.name, alias.name) for alias in each.names)
                elif isinstance(each, ast.ImportFrom):
                    names = each.names
                    yield from ((n.asname or n.name, f"{each.module}.{n.name}") for n in names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_stand_in_is_what_the_type_checker_and_the_check_of_layers_read(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    late = set(stand_ins(tree))
    assert late <= set(imports(tree))
    own = [module for _, module in late if module.startswith("echoless.")]
    assert [module for module in own if find_spec(module) is None] == []


def test_there_are_stand_ins_to_look_at() -> None:
    assert len(FILES) > 20


def test_a_module_loads_when_one_of_its_names_is_used() -> None:
    program = (
        "import sys\nfrom echoless.core.optional import lazy_module\n"
        "made = lazy_module('colorsys')\nprint('colorsys' in sys.modules)\n"
        "made.rgb_to_hsv\nprint('colorsys' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]


def test_a_missing_module_is_told_when_it_is_used() -> None:
    missing = lazy_module("no_such_module")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        missing.anything  # noqa: B018

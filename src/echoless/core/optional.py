"""Libraries that may be absent, or may panic."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from echoless.core.errors import MissingExtra

# From 1.29 on ONNX Runtime writes an id of the machine and tells its maker how it is used, unless
# this is set before it is imported (Privacy.md in its package).
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

_PANICS: Final = frozenset({"PanicException", "RustPanic"})
"""PyO3's own, which is no `Exception`, and that of its asynchronous runtimes. Each extension module
has classes of its own by these names, and no public module to import them from."""


def is_installed(module: str) -> bool:
    """Returns whether a top-level module can be imported, without importing it."""
    return find_spec(module) is not None


def require_module(module: str, what: str, extra: str = "", *, package: str = "") -> None:
    """Checks that an optional library is installed.

    Args:
        module: Its import name.
        what: Subject of the error message ("The pair model").
        extra: The extra that brings it; empty where the default installation does.
        package: The package that has it, where no extra brings it.

    Raises:
        MissingExtra: It is not installed.
    """
    if not is_installed(module):
        raise MissingExtra(what, extra, package=package)


@cache
def library_settings(library: str) -> dict[str, Any]:
    """Returns what a library is opened with, so that no file and no variable decides it.

    Args:
        library: Its import name, as in `stores/libraries.toml`.
    """
    rows = Path(__file__).parents[1] / "stores" / "libraries.toml"
    return dict(import_module("tomllib").loads(rows.read_text("utf-8"))[library]["settings"])


def is_panic(problem: BaseException) -> bool:
    """Returns whether an exception is a panic in a library written in Rust.

    It panics where its authors expected no failure, such as with a damaged file. The caller turns
    it into an error that names the file.
    """
    return type(problem).__name__ in _PANICS

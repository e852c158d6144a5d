"""Detection of panics in libraries written in Rust."""

from __future__ import annotations

from typing import Final

_NAMES: Final = frozenset({"PanicException", "RustPanic"})
"""PyO3's own, which is no `Exception`, and that of its asynchronous runtimes. Each extension module
has classes of its own by these names, and no public module to import them from."""


def is_panic(problem: BaseException) -> bool:
    """Returns whether an exception is a panic in a Rust library.

    A library panics where its authors expected no failure, such as with a damaged file. The caller
    turns it into an error that names the file.
    """
    return type(problem).__name__ in _NAMES

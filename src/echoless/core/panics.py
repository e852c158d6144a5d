"""Panics of libraries written in Rust, told from other exceptions."""

from __future__ import annotations

from typing import Final

_NAMES: Final = frozenset({"PanicException", "RustPanic"})
"""PyO3's own, which is no `Exception`, and that of its asynchronous runtimes. Each extension module
has classes of its own by these names, and no public module to import them from."""


def is_panic(problem: BaseException) -> bool:
    """Tell whether an exception is a panic in a Rust library.

    A library that panics has met what its authors held for impossible, such as a damaged file. It
    is the caller's part to make an error of it that names the file.
    """
    return type(problem).__name__ in _NAMES

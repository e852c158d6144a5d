"""From what a person writes after `--verifier` to a verifier."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from echoless import plugins
from echoless.errors import UsageError
from echoless.limits import Limits
from echoless.opinions.base import Limited, Verifier


def open_verifier(
    spec: str, limits: Limits | None = None, *, locale: str = "en"
) -> Verifier | None:
    """The verifier a specification names.

    Args:
        spec: `none`, a name, or `name:argument`. Names are the entry points of the group
            `echoless.verifiers`.
        limits: How much its model may be asked, for a verifier that keeps to limits.
        locale: Language in which such a verifier's model is asked.

    Returns:
        The verifier, its model not loaded and its server not called yet; None for `none`.

    Raises:
        UsageError: The name is unknown, or the verifier refuses the argument.
        MissingExtra: Its library is not installed.
    """
    name, _, argument = spec.strip().partition(":")
    name = name.strip().lower()
    if name == "none":
        if argument:
            raise UsageError(f"The verifier 'none' takes no argument: {argument!r}.")
        return None
    if name not in plugins.names("verifiers"):
        known = ", ".join(("none", *plugins.names("verifiers")))
        raise UsageError(f"Unknown verifier {spec!r}. Known: {known}; with a model: NAME:MODEL.")
    make = plugins.load("verifiers", name)
    if not callable(make):
        raise UsageError(f"The verifier {name!r} is not a callable; its package is broken.")
    verifier = cast("Callable[[str], Verifier]", make)(argument.strip())
    if limits is None or not isinstance(verifier, Limited):
        return verifier
    return verifier.within(limits, locale)

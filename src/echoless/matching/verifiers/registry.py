"""From what a person writes after `--verifier` to a verifier."""

from __future__ import annotations

from typing import cast

from echoless.core import plugins
from echoless.core.llm_limits import Limits
from echoless.matching.verifiers.base import Limited, Verifier


def open_verifier(
    spec: str, limits: Limits | None = None, *, locale: str = "en"
) -> Verifier | None:
    """Returns the verifier a specification names.

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
    _, made = plugins.made("verifiers", spec, without=("none",))
    if made is None:
        return None
    verifier = cast("Verifier", made)
    if limits is None or not isinstance(verifier, Limited):
        return verifier
    return verifier.within(limits, locale)

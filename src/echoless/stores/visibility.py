"""Notes for stores whose owning program still shows the memories that echoless hides."""

from __future__ import annotations

from collections.abc import Mapping

from echoless.core.commands import command_line
from echoless.stores.base import OwnerView, Store


def seen_elsewhere(store: Store, counts: Mapping[str, int], run: str = "") -> str | None:
    """Returns what the owner's program sees of hidden memories, or None if all is as expected.

    Args:
        store: Where they are.
        counts: Of a plan or a run; memories that are merged stay in the store too.
        run: The run that hid them; empty for a plan.
    """
    view = store.owner_view
    if not counts["mark"] + counts["merge"] or not view.sentence:
        return None
    if not view.sees_hidden:
        return view.sentence
    if run:
        back = command_line("undo", store.url, run, "--no-keep-both")
        return f"They are hidden from echoless alone: {view.sentence}. {_next(view, back)}"
    return f"Marks hide memories from echoless alone: {view.sentence}. {_first(view, store.url)}"


def _first(view: OwnerView, url: str) -> str:
    """Returns what to do before anything is hidden."""
    back = command_line("undo", view.hiding_url or url, "last")
    if not view.hiding_url:
        return f"{view.way} `{back}` takes that back too."
    hide = command_line("dedup", view.hiding_url, "--apply")
    return f"`{hide}` moves them out of its sight; `{back}` brings them back."


def _next(view: OwnerView, back: str) -> str:
    """Returns what to do once memories are hidden."""
    if not view.hiding_url:
        return f"To change that: `{back}`. Then once more: {view.way}"
    hide = command_line("dedup", view.hiding_url, "--apply")
    return f"To move them out of its sight: `{back}`, and then `{hide}`."

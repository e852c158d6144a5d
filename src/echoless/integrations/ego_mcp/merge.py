"""The merge of ego-mcp: the kept memory absorbs the other, and the other is removed."""

from __future__ import annotations

from echoless.core.errors import PlanRefused, UsageError
from echoless.core.settings import Choices, resolve
from echoless.execution.executor import apply
from echoless.execution.plan import Plan
from echoless.stores.base import Store
from echoless.workflows.consolidation import merge_pairs as uniting
from echoless.workflows.consolidation.merge_pairs import CALLER, Embed, Merged, keep_both

__all__ = ["Embed", "Merged", "keep_both", "merge_memories", "plan_merge"]


def merge_memories(
    store: Store,
    keep_id: str,
    remove_id: str,
    merged_content: str | None = None,
    *,
    embed: Embed | None = None,
    by: str = CALLER,
) -> Merged:
    """Merges two memories: the kept one takes over what the other knows; the other is removed.

    As `uniting.merge_memories` with the action `delete`. The replacement is written and read back
    before anything is removed, and `undo` takes all of it back.

    Args:
        store: The store of both.
        keep_id: Stays.
        remove_id: Goes.
        merged_content: A text for the one that stays; its own by default.
        embed: Gives the vector of that text; needed with `merged_content`.
        by: Who wrote it, for the history.

    Raises:
        InputError: A memory is not there.
        UsageError: The two may not be merged, or the new text loses a fact.
        EncoderError: The text could not be embedded; nothing was written.
        PlanRefused: A record changed meanwhile, or did not read back; nothing was lost.
    """
    made = plan_merge(store, keep_id, remove_id, merged_content, embed=embed, by=by)
    done = apply(store, made)
    if done.refused:
        raise PlanRefused(f"Nothing was merged: {done.refused[0].reason}.")
    return Merged(done.id, store.get([keep_id])[keep_id], remove_id, uniting.notes_on(made))


def plan_merge(
    store: Store,
    keep_id: str,
    remove_id: str,
    merged_content: str | None = None,
    *,
    embed: Embed | None = None,
    by: str = CALLER,
) -> Plan:
    """Returns the plan `merge_memories` carries out; arguments and errors as there. Writes nothing.

    A memory this program protects, or a pinned one, takes part in no merge, as the kept one too.
    """
    for memory in store.get([keep_id]).values():
        if memory.pinned:
            raise UsageError(f"{memory.id} is pinned and is not merged.")
        if why := store.protected(memory):
            raise UsageError(f"{memory.id} is protected and is not merged: {why}.")
    return uniting.plan_merge(
        store,
        keep_id,
        remove_id,
        merged_content,
        embed=embed,
        action="delete",
        by=by,
        settings=resolve(Choices(profile="ego")),
    )

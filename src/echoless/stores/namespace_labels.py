"""Namespaces made of several labelled values, as mem0 scopes: `agent_id=pia&user_id=ann`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias
from urllib.parse import quote, unquote

from echoless.core.model import Memory

OWNERS: Final = ("agent_id", "run_id", "user_id")
"""Kinds of owners of a memory of mem0, in the order of its namespace."""

Labelled: TypeAlias = Mapping[str, str]
"""Value by label, without empty ones."""

_ERRORS: Final = "surrogatepass"
"""JSON may hold half of a surrogate pair, which has no UTF-8 of its own."""


def namespace_of_labels(values: Iterable[tuple[str, str]]) -> str:
    """Returns the namespace of labelled values, in their order; empty values are left out."""
    return "&".join(
        f"{label}={quote(value, safe='', errors=_ERRORS)}" for label, value in values if value
    )


def read_labels(namespace: str) -> dict[str, str]:
    """Returns the values by label in a namespace, in whatever order and form it was typed."""
    parts = [part.partition("=") for part in namespace.split("&")] if namespace else []
    return {label: _unquoted(value) for label, _, value in parts}


def _unquoted(value: str) -> str:
    """Returns a value without escapes; bytes that are no text become U+FFFD."""
    try:
        return unquote(value, errors=_ERRORS)
    except UnicodeDecodeError:
        return unquote(value)


def labels_of_namespace(namespace: str, order: Sequence[str]) -> Labelled | None:
    """Returns the values that make a namespace; None if no values with these labels make it.

    Args:
        namespace: Any text.
        order: The labels, as `namespace_of_labels` is given them.
    """
    values = read_labels(namespace)
    made = namespace_of_labels((label, values.get(label, "")) for label in order)
    return values if made == namespace else None


def by_labels_present(
    namespaces: Iterable[str], order: Sequence[str]
) -> dict[tuple[str, ...], list[Labelled]]:
    """Returns the values of namespaces by the labels that are not empty in them, in order.

    A namespace that no values with these labels make is left out.
    """
    present: dict[tuple[str, ...], list[Labelled]] = {}
    for namespace in sorted(namespaces):
        values = labels_of_namespace(namespace, order)
        if values is not None:
            labels = tuple(label for label in order if values.get(label))
            present.setdefault(labels, []).append(values)
    return present


def owned_by(record: Mapping[str, object]) -> str:
    """Returns the namespace of a record of mem0: its owners, sorted by their kind."""
    return namespace_of_labels((name, str(record.get(name) or "")) for name in OWNERS)


def owners_of(namespace: str) -> dict[str, str]:
    """Returns the owners `owned_by` joined; none if it is no namespace of mem0."""
    owners = read_labels(namespace)
    return owners if set(owners) <= set(OWNERS) and all(owners.values()) else {}


def no_owners(memory: Memory) -> str:
    """Returns what to say of a memory whose namespace names no owner of mem0."""
    return (
        f"{memory.namespace!r}, the namespace of {memory.id!r}, is none of mem0: name whom it "
        "belongs to, such as user_id=ann or agent_id=pia&user_id=ann."
    )

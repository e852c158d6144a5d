"""Request to remember a text, with its details, checked."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypedDict

from echoless.core.eligibility import MAX_LENGTH
from echoless.core.errors import InputError, UsageError
from echoless.core.model import EMPTY, Json, JsonObject, Memory, Provenance, Vector, digest
from echoless.core.text import is_blank, unreadable
from echoless.core.timestamps import instant, moment_of_writing

Origin = Literal["said", "derived", "recalled"]
Doubt = Literal["review", "admit"]

ORIGINS: Final[tuple[Origin, ...]] = ("said", "derived", "recalled")
DOUBTS: Final[tuple[Doubt, ...]] = ("review", "admit")


class Details(TypedDict, total=False):
    """Details of a text that a caller may give; every one has a default.

    Attributes:
        namespace: Scope it belongs to; only memories of that scope are compared.
        type: The store's own word for its kind.
        tags: In this order.
        importance: In the store's unit.
        provenance: Where it came from.
        metadata: Of the new record.
        extra: Fields of the store that echoless does not interpret.
        vectors: Made by the caller, for stores whose records carry vectors.
        created_at: When it was said; the present by default.
        id: Id of the new record; made by default.
        key: The caller's name for this request. A second one under the same key gets the answer
            of the first, and counts nothing.
        origin: `said` by someone, `derived` by an agent, or `recalled`: it came out of memory and
            is not to come in again.
        force: Store it whatever it repeats.
        supersede: Whether to hide an older memory behind the text that updates it. It stays
            visible, with a note, where more than its value would be lost; with `force` it goes.
        unsure: `review` holds a doubtful text back, `admit` stores it.
        links: Links of the new record to memories on the same matter, at most so many.
        dry_run: Only say what would be done.
    """

    namespace: str
    type: str
    tags: Sequence[str]
    importance: float | None
    provenance: Provenance
    metadata: JsonObject | None
    extra: JsonObject | None
    vectors: Sequence[Vector]
    created_at: str | None
    id: str | None
    key: str | None
    origin: Origin
    force: bool
    supersede: bool
    unsure: Doubt
    links: int
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Text to remember with its details, checked. Attributes as in `Details`."""

    text: str
    namespace: str = ""
    type: str = ""
    tags: Sequence[str] = ()
    importance: float | None = None
    provenance: Provenance = Provenance.UNKNOWN
    metadata: JsonObject | None = None
    extra: JsonObject | None = None
    vectors: Sequence[Vector] = ()
    created_at: str | None = None
    id: str | None = None
    key: str | None = None
    origin: Origin = "said"
    force: bool = False
    supersede: bool = False
    unsure: Doubt = "review"
    links: int = 0
    dry_run: bool = False
    made: str = field(default_factory=lambda: f"m-{uuid.uuid4().hex[:16]}")

    def __post_init__(self) -> None:
        """Refuses what cannot be remembered.

        Raises:
            UsageError: The text is blank, or a detail is not one of its values.
            InputError: The text cannot be stored.
        """
        if is_blank(self.text):
            raise UsageError("The text is empty; there is nothing to remember.")
        if len(self.text) > MAX_LENGTH:
            raise InputError(
                f"The text has {len(self.text):,} characters; at most {MAX_LENGTH:,} can be "
                "compared. Remember it in parts."
            )
        if problem := unreadable(self.text):
            raise InputError(f"The text has {problem} and cannot be stored. Take it out.")
        _one_of("origin", self.origin, ORIGINS)
        _one_of("unsure", self.unsure, DOUBTS)
        if self.links < 0:
            raise UsageError(f"links must be a whole number from 0, not {self.links}.")
        if self.created_at is not None and instant(self.created_at) is None:
            raise UsageError(f"created_at {self.created_at!r} is not a time. Write 2026-01-31.")
        for name in ("id", "key"):
            if getattr(self, name) is not None and not str(getattr(self, name)).strip():
                raise UsageError(f"The {name} is empty. Leave it out, or name it.")

    def memory(self) -> Memory:
        """Returns the record the text would become. A key always gives the same id."""
        id_ = self.id or (f"m-{digest(self.key)[:16]}" if self.key else self.made)
        return Memory(
            id=id_,
            content=self.text,
            namespace=self.namespace,
            type=self.type,
            tags=tuple(self.tags),
            importance=self.importance,
            created_at=self.created_at or moment_of_writing(),
            provenance=self.provenance,
            metadata=dict(self.metadata or EMPTY),
            extra=dict(self.extra or EMPTY),
            vectors=tuple(self.vectors),
        )

    @property
    def event_data(self) -> Mapping[str, Json]:
        """Returns what the ledger records of the request."""
        return {"origin": self.origin, **({"forced": True} if self.force else {})}


def _one_of(name: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        raise UsageError(f"Unknown {name} {value!r}. Known: {', '.join(known)}.")

"""What a request to the review page asks for: the list with its filters, and an answer.

Everything comes from outside. An address that a form sends back (`back`) is read and written anew,
so that it never leads elsewhere. An id or a name that a form could not carry as it is, such as one
with a line feed or a secret, is carried as a reference: `~` and a digest.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

from echoless.core.errors import UsageError
from echoless.core.masking import OUTPUT
from echoless.core.model import digest
from echoless.core.text import on_one_line
from echoless.workflows.review.items import CLASSES, KINDS, GroupClass, ItemKind
from echoless.workflows.review.session import STATES, Filter, State

Fields: TypeAlias = Mapping[str, Sequence[str]]
"""Values of a form or a query, by name."""

PAGE: Final = 10
"""Cards, pairs or runs on one page."""

_MOST_FIELDS: Final = 20_000
_REFERENCE: Final = "~"
_LONGEST: Final = 200
"""Largest length of an id that a form contains unchanged."""


def fields_of(encoded: str) -> Fields:
    """Returns the values of a query or of a form.

    Raises:
        UsageError: It has too many.
    """
    try:
        return parse_qs(encoded, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as problem:
        raise UsageError("The form cannot be read.") from problem


def field(fields: Fields, name: str) -> str:
    """Returns the last value of a field; empty if the field has none."""
    values = fields.get(name, ())
    return values[-1] if values else ""


def whole_number(text: str, digits: int) -> int | None:
    """Returns a number from 0 that a form carries, or None where it is none or too long.

    Args:
        text: Value of a field.
        digits: How many it may have.
    """
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= digits else None


def page_of(fields: Fields) -> int | None:
    """Returns the page that a query asks for, from 1, or None where it does not say."""
    page = whole_number(field(fields, "page"), 7)
    return None if page is None else max(1, page)


def page_count(total: int) -> int:
    """Returns how many pages some cards, pairs or runs take, at least 1."""
    return max(1, -(-total // PAGE))


# ------------------------------------------------------------------ ids in forms


def reference(text: str) -> str:
    """Returns what stands for an id or a name in a form: itself, or a digest of it."""
    plain = 0 < len(text) <= _LONGEST and text == text.strip() and not text.startswith(_REFERENCE)
    plain = plain and text == OUTPUT.text(on_one_line(text))
    return text if plain else f"{_REFERENCE}{digest(text)}"


def referred(value: str, texts: Collection[str]) -> str | None:
    """Returns the one of some ids or names that a form means, or None."""
    if value.startswith(_REFERENCE):
        return next((text for text in texts if value == f"{_REFERENCE}{digest(text)}"), None)
    return value if value in texts else None


# ------------------------------------------------------------------ lists


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery(Filter):
    """One page of one of the three lists of items; a namespace is named as a form carries it.

    Attributes:
        page: From 1; None for the first page with an open item.
    """

    page: int | None = None

    def filter(self, namespaces: Collection[str]) -> Filter:
        """Returns the filter of the session; an unknown namespace lets nothing through."""
        if self.namespace is None:
            return self
        return replace(self, namespace=referred(self.namespace, namespaces) or self.namespace)

    @property
    def narrowed(self) -> bool:
        """Returns whether a filter is set."""
        return replace(self, page=None) != ListQuery(kind=self.kind)

    @property
    def url(self) -> str:
        """Returns the address of the list."""
        values = {
            "words": self.words or None,
            "namespace": self.namespace,
            "class": self.group_class,
            "state": self.state,
            "page": self.page,
        }
        query = urlencode({name: value for name, value in values.items() if value is not None})
        return f"/{self.kind}?{query}" if query else f"/{self.kind}"

    def with_state(self, state: State | None) -> ListQuery:
        """Returns the first page of the same list with items of another state."""
        return replace(self, state=state, page=None)

    def with_class(self, group_class: GroupClass | None) -> ListQuery:
        """Returns the first page of the same list with groups of another class."""
        return replace(self, group_class=group_class, page=None)

    def with_page(self, page: int | None) -> ListQuery:
        """Returns another page of the same list."""
        return replace(self, page=page)


def list_query(kind: ItemKind, fields: Fields) -> ListQuery:
    """Returns the list query of a form; unknown values are ignored."""
    return ListQuery(
        kind=kind,
        words=field(fields, "words").strip()[:1_000],
        namespace=field(fields, "namespace")[:1_000] or None,
        group_class=next((c for c in CLASSES if c == field(fields, "class")), None),
        state=next((s for s in STATES if s == field(fields, "state")), None),
        page=page_of(fields),
    )


def came_from(fields: Fields) -> ListQuery:
    """Returns the list that a form was on; that of groups where it does not say.

    Args:
        fields: Of the form; `back` is the address of the list.

    Raises:
        UsageError: The address has too many fields.
    """
    address = urlsplit(field(fields, "back").replace("\\", "/"))
    known = next((each for each in KINDS if address.path == f"/{each}"), None)
    return ListQuery() if known is None else list_query(known, fields_of(address.query))


# ------------------------------------------------------------------ answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A card in the state that a person has set, before an answer.

    Attributes:
        key: Of the item.
        survivor: Reference of the survivor in the form; empty for the proposed one.
        without: References of memories that are different.
        text: New text of the survivor; None where it is not edited.
        editing: Whether the field for the text is open.
        seen: Number of the answer the person saw; None where the form does not say.
    """

    key: str
    survivor: str = ""
    without: tuple[str, ...] = ()
    text: str | None = None
    editing: bool = False
    seen: int | None = None


def with_line_feeds(text: str) -> str:
    """Returns a text whose lines all end with a line feed; a form ends them with two characters."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def draft_of(fields: Fields) -> Draft:
    """Returns the card that a form sends.

    `keep` is a memory that was just chosen to stay, `edit` one whose text is to be edited, and
    `cancel` leaves the card as it was proposed.
    """
    text, keep, cancel = None, field(fields, "keep") or field(fields, "edit"), fields.get("cancel")
    if fields.get("text") and not keep and not cancel:
        text = with_line_feeds(field(fields, "text"))
    return Draft(
        key=field(fields, "key"),
        survivor="" if cancel else keep or field(fields, "survivor"),
        without=tuple(each for each in fields.get("without", ()) if each != keep),
        text=text,
        editing=text is not None or bool(fields.get("edit")),
        seen=whole_number(field(fields, "seen"), 15),
    )

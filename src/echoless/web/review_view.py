"""What the templates of the review page show: cards with their memories, and the lists they are in.

A view holds values, no markup and no decision: who goes behind whom comes from the session.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from echoless.core.document import flat
from echoless.core.errors import EcholessError
from echoless.core.groups import Group
from echoless.core.masking import OUTPUT, learn
from echoless.core.model import Json, Judged, Memory
from echoless.core.text import escapes, token_estimate
from echoless.core.verdict_sentences import sentence
from echoless.execution.plan import gains
from echoless.web.markup import MOST, Mark
from echoless.web.review_query import (
    PAGE,
    Draft,
    ListQuery,
    page_count,
    reference,
    referred,
    with_line_feeds,
)
from echoless.workflows.review.answers import Answer, answer_words
from echoless.workflows.review.items import CLASSES, KINDS, ItemKind, ReviewItem, facts_of
from echoless.workflows.review.plan import Regrouped
from echoless.workflows.review.session import STATES, ReviewSession, State

SHOWN: Final = 20
"""Largest number of members of one item on its card; the others are counted."""

_LINE: Final = 200
"""Characters of a text on one line."""

Role: TypeAlias = Literal["stays", "goes", "stays-apart", "asked"]

_MARKS: Final[Mapping[Role, Mark]] = {"stays": "ins", "goes": "del"}
"""One meaning of each mark: red and struck goes, green and underlined stays, `mark` is open."""

FIELDS: Final[Mapping[str, str]] = {
    "content": "text",
    "tags": "tags",
    "importance": "importance",
    "access_count": "count of recalls",
    "created_at": "date of creation",
    "updated_at": "date of change",
    "last_accessed": "date of the last recall",
    "provenance": "origin",
    "links": "links",
    "metadata": "metadata",
    "extra": "other fields",
    "vectors": "vectors",
}
"""Fields that a survivor may take over, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberView:
    """One memory of a card.

    Attributes:
        position: Place on the card from 1, which is also the key that keeps this memory.
        id: Its id.
        reference: What stands for the id in a form.
        memory: The memory.
        facts: What is known about it besides text, date and namespace, in words.
        role: `stays`, `goes`, `stays-apart` (not behind this survivor) or `asked` (no choice yet).
        why: Relation to the survivor, as a clause.
        against: The text with which its text is compared.
        mark: Element around what only this text says.
        excluded: Whether the person called it different.
    """

    position: int
    id: str
    reference: str
    memory: Memory
    facts: tuple[str, ...]
    role: Role
    why: str = ""
    against: str
    mark: Mark
    excluded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """One item of a review.

    Attributes:
        item: The item.
        state: Its answer, or `open`.
        seen: Number of that answer, 0 for none.
        place: Number in the list, from 1; 0 for a single card.
        survivor: The memory that stays; None where a person has to choose.
        members: All memories that are shown, in the order of the item.
        left_out: How many are not shown.
        why: Why that one stays; empty where a person has to choose it.
        tokens: What recall saves.
        gains: Fields that the survivor takes over, in words, with the new values where short.
        text: The text in the field, or None where it is not edited.
        text_note: What to know about that text; empty for nothing.
        text_refusal: Why the text cannot be edited here; empty if it can.
        problem: Why the last request was refused; empty if it was not.
        answer: The answer, or None.
        back: Address of the list.
    """

    item: ReviewItem
    state: State
    seen: int
    place: int
    survivor: MemberView | None
    members: Sequence[MemberView]
    left_out: int
    why: str
    tokens: int
    gains: Sequence[str]
    text: str | None
    text_note: str
    text_refusal: str
    problem: str
    answer: Answer | None
    back: str

    @property
    def key(self) -> str:
        """Returns the key of the item."""
        return self.item.key

    @property
    def title(self) -> str:
        """Returns what the item is, in words."""
        return CLASSES[self.item.group_class] if self.item.group_class else KINDS[self.item.kind]

    @property
    def answered(self) -> str:
        """Returns the answer in words; empty without one."""
        return "" if self.answer is None or self.state == "open" else answer_words(self.answer)

    @property
    def line(self) -> str:
        """Returns what is left of a card that is folded: the text that stays, or the first one."""
        first = self.survivor or self.members[0]
        new = self.answer.text if self.answer and self.state == "accept" else None
        return flat(new or first.memory.content, _LINE)

    @property
    def pair(self) -> bool:
        """Returns whether the card is about two memories."""
        return len(self.item.ids) == 2


def card(
    session: ReviewSession,
    item: ReviewItem,
    back: ListQuery,
    *,
    place: int = 0,
    draft: Draft | None = None,
    problem: str = "",
) -> CardView:
    """Returns the card of an item.

    Args:
        session: The review.
        item: Of the session.
        back: The list it is on.
        place: Its place there.
        draft: What a person has set on it already.
        problem: Why the last request was refused.
    """
    answer = session.answers.get(item.key)
    learn(item.memories[:SHOWN])
    choice, refused = _choice(session, item, answer, draft)
    members = _members(item, choice, draft)
    survivor = next((m for m in members if m.role == "stays"), None)
    shown = list(members[:SHOWN])
    if survivor is not None and survivor not in shown:
        shown.append(survivor)
    going = [m.memory for m in members if m.role == "goes"]
    text, note, refusal = _editable(survivor, draft)
    if text is not None and item.kind == "claim":
        text, refusal = None, "The text of a claim is changed in its note."
    action = "mark" if item.kind == "claim" else session.settings.profile.action
    gained = gains(survivor.memory, going, action, session.store) if survivor and going else {}
    return CardView(
        item=item,
        state=session.state(item.key),
        seen=answer.number if answer else 0,
        place=place,
        survivor=survivor,
        members=shown,
        left_out=len(members) - len(shown),
        why=item.reason(survivor.id) if survivor else "",
        tokens=sum(token_estimate(memory.content) for memory in going),
        gains=gained_fields(gained),
        text=text,
        text_note=note,
        text_refusal=refusal,
        problem=problem or refused,
        answer=answer,
        back=back.url,
    )


def _choice(
    session: ReviewSession, item: ReviewItem, answer: Answer | None, draft: Draft | None
) -> tuple[Regrouped, str]:
    """Returns who stays and who goes: by the draft, by the answer, or as proposed.

    Returns:
        The choice, with no survivor where a person has to choose; and why the survivor that the
        draft names may not be it, empty if it may.
    """
    chosen = referred(draft.survivor, item.ids) if draft and draft.survivor else None
    proposed = Regrouped(item.behind(item.survivor), {})
    if chosen is None and answer is not None:
        if answer.choice != "accept":
            return Regrouped(item.behind(""), {}), ""
        behind = item.behind(answer.survivor).members
        going = tuple(member for member in behind if member.id in answer.hidden)
        return Regrouped(Group(answer.survivor, going), {}), ""
    keep = chosen or item.survivor
    if not keep:
        return proposed, ""
    try:
        return session.going(item.key, keep), ""
    except EcholessError as problem:
        return proposed, str(problem)


def _members(item: ReviewItem, choice: Regrouped, draft: Draft | None) -> Sequence[MemberView]:
    """Returns all memories of an item."""
    survivor = choice.group.survivor
    named = {id_: f"memory {position}" for position, id_ in enumerate(item.ids, 1)}
    going = {member.id: member.judged for member in choice.group.members}
    judged = {**item.verdicts, **going}
    excluded = {referred(each, item.ids) for each in draft.without} if draft else set()
    compared = zip(item.memories, item.compared_with(survivor), strict=True)
    return [
        MemberView(
            position=position,
            id=memory.id,
            reference=reference(memory.id),
            memory=memory,
            facts=facts_of(memory),
            role=(role := _role(memory.id, survivor, going)),
            why=choice.left_out.get(memory.id) or _clause(judged.get(memory.id), named),
            against=other.content,
            mark=_MARKS.get(role, "mark"),
            excluded=memory.id in excluded,
        )
        for position, (memory, other) in enumerate(compared, 1)
    ]


def _role(id_: str, survivor: str, going: Collection[str]) -> Role:
    """Returns what happens to a memory."""
    if not survivor:
        return "asked"
    if id_ == survivor:
        return "stays"
    return "goes" if id_ in going else "stays-apart"


def _clause(judged: Judged | None, named: Mapping[str, str]) -> str:
    """Returns the relation of two memories, as a clause."""
    if judged is None:
        return ""
    a, b = judged.a, judged.b
    return sentence(judged.verdict, named.get(a, a), named.get(b, b))


def gained_fields(changes: Mapping[str, Json]) -> Sequence[str]:
    """Returns changed fields of a survivor, in words."""
    return [_gained(name, value) for name, value in changes.items() if name != "content"]


def _gained(name: str, value: Json) -> str:
    """Returns one field with its new value if the value is short, else the field alone."""
    title = FIELDS.get(name, name)
    match value:
        case str() | int() | float():
            return f"{title} {value}"
        case [*parts] if parts and all(isinstance(part, str) for part in parts):
            return f"{title} {', '.join(str(part) for part in parts)}"
        case _:
            return title


# ------------------------------------------------------------------ the field for a new text


def _editable(survivor: MemberView | None, draft: Draft | None) -> tuple[str | None, str, str]:
    """Returns the text for the field, what to know about it, and why there is none."""
    if draft is None or not draft.editing:
        return None, "", ""
    if survivor is None:
        return None, "", "Choose the memory whose text is to be edited."
    memory = survivor.memory
    if memory.pinned:
        return None, "", f"{memory.id} is pinned: its text is not changed."
    if len(memory.content) > MOST:
        return None, "", f"A text of more than {MOST:,} characters cannot be edited here."
    if OUTPUT.text(memory.content) != memory.content:
        return (
            None,
            "",
            "The text holds a secret, which this page does not show. It stays as it is.",
        )
    text = memory.content if draft.text is None else draft.text
    places = {at for at, _ in escapes(text)}
    if not places:
        return text, "", ""
    plain = "".join(char for at, char in enumerate(text) if at not in places)
    return plain, "Hidden characters were left out of the text in the field.", ""


def new_text(survivor: Memory, draft: Draft) -> str | None:
    """Returns the new text of a draft; None where it is the survivor's own."""
    if draft.text is None:
        return None
    return None if draft.text == with_line_feeds(survivor.content) else draft.text


# ------------------------------------------------------------------ lists


@dataclass(frozen=True, slots=True, kw_only=True)
class ListView:
    """One page of a list.

    Attributes:
        query: What was asked for.
        cards: Those of this page.
        total: Items that the filter lets through.
        page: From 1.
        pages: How many there are, at least 1.
    """

    query: ListQuery
    cards: Sequence[CardView]
    total: int
    page: int
    pages: int


def list_view(session: ReviewSession, query: ListQuery) -> ListView:
    """Returns one page of a list."""
    items = session.selection(query.filter(session.namespaces))
    pages = page_count(len(items))
    page = min(pages, _first_open(session, items) if query.page is None else query.page)
    start = (page - 1) * PAGE
    cards = [
        card(session, item, query, place=place)
        for place, item in enumerate(items[start : start + PAGE], start + 1)
    ]
    return ListView(query=query, cards=cards, total=len(items), page=page, pages=pages)


def next_cards(session: ReviewSession, query: ListQuery, last: str) -> ListView:
    """Returns the next open items behind one of a list, or the first open ones behind the last."""
    selected = session.selection(query.with_state(None).filter(session.namespaces))
    places = {item.key: place for place, item in enumerate(selected, 1)}
    wanted = query.state or "open"
    left = [item for item in selected if session.state(item.key) == wanted]
    behind = [item for item in left if places[item.key] > places.get(last, 0)]
    items = (behind or (left if wanted == "open" else []))[:PAGE]
    cards = [card(session, item, query, place=places[item.key]) for item in items]
    return ListView(query=query, cards=cards, total=len(selected), page=0, pages=0)


def place_of(session: ReviewSession, query: ListQuery, item: ReviewItem) -> int:
    """Returns the place of an item in a list, from 1; 0 where its filter leaves it out."""
    selected = session.selection(query.with_state(None).filter(session.namespaces))
    return next((place for place, each in enumerate(selected, 1) if each is item), 0)


def state_counts(session: ReviewSession, query: ListQuery) -> Mapping[State, int]:
    """Returns how many items of a list have which answer, without regard to its own state."""
    if not query.with_state(None).narrowed:
        return session.counts(query.kind)
    selected = session.selection(query.with_state(None).filter(session.namespaces))
    counts: dict[State, int] = dict.fromkeys(STATES, 0)
    for item in selected:
        counts[session.state(item.key)] += 1
    return counts


def _first_open(session: ReviewSession, items: Sequence[ReviewItem]) -> int:
    """Returns the first page with an open item; the first one if there is none."""
    at = next((at for at, item in enumerate(items) if session.state(item.key) == "open"), 0)
    return at // PAGE + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """How far a review is.

    Attributes:
        counts: Items of each kind by answer.
        apart: Number of pairs that are recorded as different.
        answered: Items with an answer, of all kinds.
        total: All items.
        minutes: What the open items take.
    """

    counts: Mapping[ItemKind, Mapping[State, int]]
    apart: int
    answered: int
    total: int
    minutes: int

    @property
    def accepted(self) -> int:
        """Returns how many items are accepted."""
        return sum(counts["accept"] for counts in self.counts.values())


def overview(session: ReviewSession) -> Overview:
    """Returns how far a review is."""
    return Overview(
        counts={kind: session.counts(kind) for kind in KINDS},
        apart=session.store.ledger.kept_count(),
        answered=session.answered(),
        total=len(session.items),
        minutes=session.minutes_left(),
    )

"""The pages of the review as HTML, made from a session; called in the thread of the store.

Whole pages are for browsers that load one; fragments are for the script, which puts each element of
a fragment in place of the one with the same id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from echoless.core.errors import EcholessError, InputError
from echoless.core.masking import learn
from echoless.core.text import count
from echoless.execution.executor import Run
from echoless.execution.plan import Plan
from echoless.execution.rollback import STANDING, PastRun, Undone, history, would_undo
from echoless.stores.hidden_records import seen_elsewhere
from echoless.web.review_query import (
    PAGE,
    Draft,
    Fields,
    ListQuery,
    came_from,
    draft_of,
    field,
    list_query,
    page_count,
    page_of,
    reference,
    referred,
    whole_number,
)
from echoless.web.review_view import (
    CardView,
    ListView,
    card,
    gained_fields,
    list_view,
    new_text,
    next_cards,
    overview,
    place_of,
    state_counts,
)
from echoless.web.templating import render
from echoless.workflows.consolidation.merge_pairs import notes_on
from echoless.workflows.review.answers import AnsweredElsewhere, answer_words, decisions
from echoless.workflows.review.items import CLASSES, KINDS, STATE_TITLES, ItemKind, ReviewItem
from echoless.workflows.review.session import ReviewSession

ACTIONS: Final[Mapping[str, str]] = {
    "mark": "hidden",
    "merge": "merged",
    "delete": "deleted",
    "edit": "taken out of notes",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a request is answered with.

    Attributes:
        html: The page, or the fragment.
        status: Of HTTP.
        location: Where the browser goes instead; empty to show the page.
    """

    html: str
    status: int = 200
    location: str = ""


class ReviewPages:
    """Makes the pages of one session; used in the thread of its store alone."""

    def __init__(self, session: ReviewSession, label: str, command: str) -> None:
        """Takes the session.

        Args:
            session: Its store is open in this thread.
            label: Name of the store for the title.
            command: Command that starts this review again.
        """
        self._session = session
        self._frame: Mapping[str, object] = {"label": label, "command": command}
        self._plan: tuple[object, Plan] | None = None

    # ------------------------------------------------------------------ lists and cards

    def first(self) -> str:
        """Returns the address of the first list with an open item."""
        counts = overview(self._session).counts
        return f"/{next((kind for kind in KINDS if counts[kind]['open']), 'same')}"

    def listed(self, kind: ItemKind, fields: Fields) -> Reply:
        """Returns one page of a list."""
        query = list_query(kind, fields)
        values = self._list(query, list_view(self._session, query))
        return Reply(self._page("review_list.html", kind, said=_said(fields), **values))

    def card(self, fields: Fields, *, fragment: bool) -> Reply:
        """Returns one card in the state that a person has set, before an answer.

        Raises:
            InputError: The session has no such item.
        """
        back, draft = came_from(fields), draft_of(fields)
        item = self._session.item(draft.key)
        view = self._card(item, back, fields, draft=draft)
        if fragment:
            return self._fragment(card=view)
        return Reply(self._page("review_card.html", item.kind, card=view, back=back))

    def refused(self, fields: Fields, draft: Draft, problem: Exception, *, fragment: bool) -> Reply:
        """Returns why an answer was not stored, with the card as it is now."""
        back, conflict = came_from(fields), isinstance(problem, AnsweredElsewhere)
        status = 409 if conflict else 422
        item = self._session.items.get(draft.key)
        if item is None:
            return self.problem(str(problem), 410, fragment=fragment)
        if fragment and not conflict:
            return self._fragment(status, problem=str(problem), problem_key=item.key)
        view = self._card(item, back, fields, draft=draft, problem=str(problem))
        if fragment:
            return self._fragment(status, card=view, query=back)
        page = self._page("review_card.html", item.kind, card=view, back=back)
        return Reply(page, status)

    def problem(self, sentence: str, status: int, *, fragment: bool, title: str = "") -> Reply:
        """Returns a sentence about a request that could not be done."""
        if fragment:
            return self._fragment(status, problem=sentence)
        title = title or "This could not be done"
        page = self._page("review_notice.html", "", title=title, sentence=sentence)
        return Reply(page, status)

    # ------------------------------------------------------------------ answers

    def answer(self, fields: Fields, *, fragment: bool) -> Reply:
        """Records an answer and returns the card with it, or why it was not recorded."""
        draft, choice = draft_of(fields), field(fields, "choice")
        try:
            self._answer(draft, choice)
        except EcholessError as problem:
            return self.refused(fields, draft, problem, fragment=fragment)
        back = came_from(fields)
        if not fragment:
            return Reply("", 303, back.url)
        last = field(fields, "last")
        following = next_cards(self._session, back, last) if last else None
        view = self._card(self._session.item(draft.key), back, fields)
        said = self._sentence(self._session.item(draft.key))
        return self._fragment(card=view, query=back, following=following, said=said)

    def _answer(self, draft: Draft, choice: str) -> None:
        """Records an answer; a form without a choice names the memory that stays."""
        session, item = self._session, self._session.item(draft.key)
        match choice:
            case "" | "accept":
                survivor = referred(draft.survivor, item.ids) if draft.survivor else None
                if draft.survivor and survivor is None:
                    raise InputError("That memory is not on this card. Load the page again.")
                stays = (m for m in item.memories if m.id == (survivor or item.survivor))
                text = next((new_text(memory, draft) for memory in stays), None)
                without = filter(None, (referred(each, item.ids) for each in draft.without))
                self._session.accept(
                    item.key, survivor=survivor, without=without, text=text, seen=draft.seen
                )
            case "different" | "times":
                session.differ(item.key, times=choice == "times", seen=draft.seen)
            case "skip":
                session.skip(item.key, seen=draft.seen)
            case "take-back":
                session.take_back(item.key, seen=draft.seen)
            case _:
                raise InputError("An answer is accept, different, times, skip or take-back.")

    def _sentence(self, item: ReviewItem) -> str:
        """Returns the answer that an item has now, with memories as places on its card."""
        answer = self._session.answers.get(item.key)
        if answer is None:
            return "Taken back."
        if answer.choice != "accept":
            return f"{answer_words(answer)}."
        others = [id_ for id_ in item.ids if id_ not in {answer.survivor, *answer.hidden}]
        going, stay = (_places(item, ids) for ids in (answer.hidden, others))
        too = f"; {stay} stays too" if others else ""
        return f"Accepted: {_places(item, [answer.survivor])} stays, {going} goes{too}."

    def undo(self, fields: Fields, *, fragment: bool) -> Reply:
        """Takes the latest answer back."""
        back = came_from(fields)
        try:
            keys = self._session.take_back()
        except EcholessError as problem:
            return self.problem(str(problem), 422, fragment=fragment)
        item = self._session.items.get(keys[-1])
        if len(keys) > 1 or item is None or item.kind != back.kind:
            return self._listed_again(back, f"taken-back:{len(keys)}", fragment=fragment)
        if not fragment:
            return Reply("", 303, back.url)
        view = self._card(item, back, {})
        return self._fragment(card=view, query=back, said="The last answer is taken back.")

    def accept_rest(self, fields: Fields, *, fragment: bool) -> Reply:
        """Accepts the rest of a class."""
        back = came_from(fields)
        wanted = replace(list_query("same", fields), state=None, page=None)
        try:
            answers = self._session.accept_rest(wanted.filter(self._session.namespaces))
        except EcholessError as problem:
            return self.problem(str(problem), 422, fragment=fragment)
        return self._listed_again(back, f"accepted:{len(answers)}", fragment=fragment)

    def _listed_again(self, back: ListQuery, done: str, *, fragment: bool) -> Reply:
        """Returns the list anew, after many answers at once."""
        if not fragment:
            return Reply("", 303, f"{back.url}{'&' if '?' in back.url else '?'}done={done}")
        query = back.with_page(None)
        again = list_view(self._session, query)
        return self._fragment(query=query, following=again, said=_said({"done": [done]}))

    # ------------------------------------------------------------------ kept apart

    def apart(self, fields: Fields) -> Reply:
        """Returns the page of the memories that are recorded as different."""
        every = [each for each in decisions(self._session.store) if each.pairs]
        page, pages = _paging(fields, len(every))
        shown = every[(page - 1) * PAGE : page * PAGE]
        learn(memory for each in shown for memory in each.memories.values())
        values = {"decisions": shown, "page": page, "pages": pages, "said": _said(fields)}
        total = sum(len(each.pairs) for each in every)
        return Reply(self._page("review_apart.html", "apart", total=total, **values))

    def together(self, fields: Fields) -> Reply:
        """Takes back that some memories are different."""
        key = field(fields, "key")
        try:
            self._session.withdraw(key)
        except InputError:
            return self.problem("These are not recorded as different.", 410, fragment=False)
        except EcholessError as problem:
            return self.problem(str(problem), 422, fragment=False)
        asked = "open" if key in self._session.items else "later"
        return Reply("", 303, f"/apart?done={asked}:1")

    # ------------------------------------------------------------------ the plan

    def plan(self) -> Plan:
        """Returns the plan of all answers; made once for the same answers."""
        session = self._session
        held = (session.findings, tuple(answer.number for answer in session.answers.values()))
        if self._plan is None or self._plan[0] != held:
            self._plan = held, session.plan()
        return self._plan[1]

    def plan_page(self, fields: Fields, *, problem: str = "") -> Reply:
        """Returns the preview of the plan."""
        try:
            plan = self.plan()
        except EcholessError as refusal:
            return self.problem(str(refusal), 422, fragment=False)
        page, pages = _paging(fields, len(plan.actions))
        shown = plan.actions[(page - 1) * PAGE : page * PAGE]
        memories = self._session.findings.memories
        learn(memories.get(id_) for action in shown for id_ in action.ids)
        store = self._session.store
        html = self._page(
            "review_plan.html",
            "plan",
            plan=plan,
            counts=plan.counts,
            actions=shown,
            first=(page - 1) * PAGE,
            memories=memories,
            gained=gained_fields,
            words=ACTIONS,
            notes=notes_on(plan),
            elsewhere=seen_elsewhere(store, plan.counts),
            page=page,
            pages=pages,
            problem=problem,
        )
        return Reply(html, 409 if problem else 200)

    def applied(self, run: Run) -> Reply:
        """Returns what was done by a plan."""
        store = self._session.store
        elsewhere = seen_elsewhere(store, run.counts, run.id)
        notes = [*store.notes(), *([elsewhere] if elsewhere else ())]
        return Reply(self._page("review_applied.html", "", run=run, words=ACTIONS, notes=notes))

    # ------------------------------------------------------------------ history

    def history(self, fields: Fields) -> Reply:
        """Returns what was done to the store."""
        runs = history(self._session.store.ledger)[::-1]
        page, pages = _paging(fields, len(runs))
        shown = [(run, *self._preview(run)) for run in runs[(page - 1) * PAGE : page * PAGE]]
        values = {"runs": shown, "total": len(runs), "page": page, "pages": pages}
        return Reply(self._page("review_history.html", "history", **values))

    def _preview(self, run: PastRun) -> tuple[Undone | None, str]:
        """Returns what an undo of a run would do, or why it cannot be undone."""
        if run.status not in STANDING:
            return None, ""
        try:
            return would_undo(self._session.store, run.id), ""
        except EcholessError as problem:
            return None, str(problem)

    def undone(self, undone: Undone) -> Reply:
        """Returns what an undo did."""
        return Reply(self._page("review_undone.html", "", undone=undone))

    def help(self) -> Reply:
        """Returns the page about keys and about how a review works."""
        return Reply(self._page("review_help.html", "help"))

    # ------------------------------------------------------------------ parts

    def _card(
        self,
        item: ReviewItem,
        back: ListQuery,
        fields: Fields,
        *,
        draft: Draft | None = None,
        problem: str = "",
    ) -> CardView:
        """Returns a card with the place that the form names."""
        place = whole_number(field(fields, "place"), 9) or place_of(self._session, back, item)
        return card(self._session, item, back, place=place, draft=draft, problem=problem)

    def _page(self, template: str, tab: str, **values: object) -> str:
        """Returns a whole page."""
        known = {"overview": overview(self._session), "note": self._session.note}
        common = {"tab": tab, "said": "", "problem": "", **known}
        return render(template, **{**self._frame, "kinds": KINDS, **common, **values})

    def _fragment(
        self,
        status: int = 200,
        *,
        card: CardView | None = None,
        query: ListQuery | None = None,
        following: ListView | None = None,
        said: str = "",
        problem: str = "",
        problem_key: str = "",
    ) -> Reply:
        """Returns elements for the script to put in place.

        Args:
            status: Of HTTP.
            card: A card.
            query: The list whose counts are shown anew; None where nothing was counted anew.
            following: Cards in place of those of the list.
            said: What was done, for the status line.
            problem: Why something could not be done.
            problem_key: Of the card that the problem is about; else it is about the page.
        """
        values: dict[str, object] = {}
        if query:
            values = {"kinds": KINDS, "tab": query.kind, "overview": overview(self._session)}
            values |= self._list(query, following)
        html = fragment_of(card=card, said=said, problem=problem, problem_key=problem_key, **values)
        return Reply(html, status)

    def _list(self, query: ListQuery, shown: ListView | None) -> dict[str, object]:
        """Returns the values of a list with its counts."""
        session = self._session
        return {
            "list": shown,
            "query": query,
            "states": state_counts(session, query),
            "state_titles": STATE_TITLES,
            "classes": session.class_states() if query.kind == "same" else (),
            "class_titles": CLASSES,
            "namespaces": session.namespaces,
            "reference": reference,
        }


def fragment_of(**values: object) -> str:
    """Returns elements for the script to put in place.

    Args:
        values: What `review_fragment.html` shows; what is not given is left out.
    """
    nothing = dict.fromkeys(("card", "list", "overview", "states"))
    texts = dict.fromkeys(("said", "problem", "problem_key"), "")
    return render("review_fragment.html", **{**nothing, **texts, **values})


def _places(item: ReviewItem, ids: Sequence[str]) -> str:
    """Returns memories as their places on a card: `2 and 3`."""
    *first, last = sorted(item.ids.index(id_) + 1 for id_ in ids) or [0]
    return f"{', '.join(map(str, first))} and {last}" if first else str(last)


def _paging(fields: Fields, total: int) -> tuple[int, int]:
    """Returns the page asked for, and how many there are."""
    pages = page_count(total)
    return min(pages, page_of(fields) or 1), pages


def _said(fields: Fields) -> str:
    """Returns what was just done, as an address says it: a word and a number, nothing else."""
    word, _, number = field(fields, "done").partition(":")
    amount = whole_number(number, 9) or 0
    match word:
        case "accepted":
            groups = count(amount, "group was", "groups were")
            return f"{groups} accepted at once. Undo takes them back together."
        case "taken-back":
            return f"{count(amount, 'answer is', 'answers are')} taken back."
        case "open":
            return "Taken back. The question is open again."
        case "later":
            return "Taken back. If the two look alike, they are asked about at the next look."
        case _:
            return ""

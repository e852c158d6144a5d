"""The review page by HTTP: what it shows, what its forms do, and what the script is sent."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx2
import pytest
from starlette.testclient import TestClient

from echoless import Memory, open_store
from echoless.core.choices import Choices
from echoless.core.model import Provenance
from echoless.core.settings import resolve
from echoless.web.app import review_app
from echoless.web.review_query import ListQuery
from echoless.web.review_view import card
from echoless.web.store_queue import StoreQueue
from echoless.workflows.review.session import ReviewSession, open_review
from tests.web.review_stores import ask, memory, store_thread, write_sqlite
from tests.workflows.review.notes import (
    LEXICAL,
    NEWER_PORT,
    REVIEWING,
    write_long_notes,
    write_notes,
)

ROOMS = (
    *("kitchen", "cellar", "attic", "garage", "porch", "library", "chapel", "gym", "barn"),
    *("tower", "lounge", "studio", "office"),
)
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ODD = "odd\nid <b>\u202e"


def _memories() -> Iterator[Memory]:
    for room in ROOMS:
        text = f"The lamp in the {room} belongs to Karla and hangs near the western window."
        yield memory(f"lamp-{room}-1", text, tags=("light",), provenance=Provenance.VERBATIM)
        yield memory(f"lamp-{room}-2", text.lower().replace(".", "!"), day=2, importance=0.5)
    for number, end in enumerate((".", "!", "")):
        text = f"Our boiler code is 4711 and Wanda keeps it in the drawer{end}"
        yield memory(f"boiler-{number}", text, day=number + 1)
    yield memory("heat-1", "Heating of the hall was repaired by Olga of Graz after 30.")
    yield memory("heat-2", "Heating of the hall was repaired by Olga of Graz after 30 min.", day=3)
    for step, port in enumerate((5432, 6000, 7100)):
        yield memory(f"port-{step}", f"Postgres listens on port {port}.", day=step + 1)
    yield memory("water-1", "Always water the plants before Tom leaves town.")
    yield memory("water-2", "Before Tom leaves town, always water the plants.", day=4)
    text = "The gate of hall 9 belongs to Karla <script>alert(1)</script> and hangs near the door."
    yield memory(ODD, text, namespace="<i>other</i>")
    yield memory("plain", f"{text} ", day=2, namespace="<i>other</i>")
    text = f"The token of the printer is {SECRET} and Karla wrote it down."
    yield memory("secret-1", text)
    yield memory("secret-2", text.replace(".", "!"), day=2)


class Review:
    """A running review with a client."""

    def __init__(self, client: TestClient, calls: StoreQueue, session: ReviewSession) -> None:
        self.client = client
        self.calls = calls
        self.session = session

    def get(self, path: str, **query: str) -> str:
        response = self.client.get(f"{path}?{urlencode(query)}" if query else path)
        assert response.status_code == 200, response.text
        return response.text

    def key(self, words: str, kind: str = "same") -> str:
        (key,) = keys_in(self.get(f"/{kind}", words=words))
        return key

    def post(self, path: str, **fields: str | list[str]) -> httpx2.Response:
        return self.client.post(path, data=fields)

    def fragment(self, path: str, **fields: str | list[str]) -> httpx2.Response:
        return self.client.post(path, data=fields, headers={"X-Fragment": "1"})

    def answer(self, key: str, choice: str, **fields: str | list[str]) -> httpx2.Response:
        return self.fragment("/answer", key=key, seen="0", choice=choice, back="/same", **fields)


def keys_in(html: str, state: str = "") -> list[str]:
    """The keys of the cards of a page, of one state if it is given."""
    return re.findall(rf'data-key="([^"]+)" data-state="{state or "[a-z]+"}"', html)


def card_in(html: str, key: str) -> str:
    """The markup of one card."""
    match = re.search(rf'<article [^>]*id="card-{key}".*?</article>', html, re.DOTALL)
    assert match, html
    return match[0]


@contextmanager
def reviewed(url: str, *, follow_redirects: bool = True) -> Iterator[Review]:
    """A review of a store, served without a socket within the block."""
    settings = resolve(Choices(encoder="none"))
    with store_thread() as calls:
        store = ask(calls, lambda: open_store(url))
        session = ask(calls, lambda: open_review(store, settings))
        app = review_app(session, calls)
        client = TestClient(app, "http://127.0.0.1:1", follow_redirects=follow_redirects)
        yield Review(client, calls, session)
        ask(calls, store.close)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_sqlite(tmp_path_factory.mktemp("page") / "memories.db", _memories())


@pytest.fixture(scope="module")
def opened(url: str) -> Iterator[Review]:
    with reviewed(url, follow_redirects=False) as review:
        yield review


@pytest.fixture
def review(opened: Review) -> Iterator[Review]:
    """The review without answers and without pairs kept apart."""
    yield opened
    ask(opened.calls, lambda: [*map(opened.session.take_back, [*opened.session.answers])])


# ------------------------------------------------------------------ what is shown


def test_the_start_leads_to_the_first_tab_with_an_open_card(review: Review) -> None:
    response = review.client.get("/")
    assert (response.status_code, response.headers["location"]) == (303, "/newer")
    review.answer(review.key("Postgres", "newer"), "times")
    assert review.client.get("/").headers["location"] == "/same"


def test_a_card_shows_both_texts_the_difference_and_what_is_known(review: Review) -> None:
    card = card_in(page := review.get("/same", words="lamp kitchen"), review.key("lamp kitchen"))
    assert "western window" in card
    assert "<del>" in card
    assert "<ins>" in card
    assert '<time datetime="2026-03-01T08:00:00Z">' in card
    for part in ("home", "light", "copied word for word", "importance 0.5", "tokens"):
        assert part in card, part
    assert "What your agent will see after" in card
    assert "data-current" in card
    stays = re.search(r"What your agent will see after:</span> (.*?)</p>", card, re.DOTALL)
    assert stays
    assert "western window" in stays[1]
    assert '<nav id="tabs" aria-label="Review">' in page
    assert 'aria-current="page">Same' in page


def test_ten_cards_are_on_a_page_and_the_first_page_with_an_open_one_is_shown(
    review: Review,
) -> None:
    first, second = review.get("/same", page="1"), review.get("/same", page="2")
    assert len(keys_in(first)) == 10
    assert not set(keys_in(first)) & set(keys_in(second))
    assert keys_in(review.get("/same")) == keys_in(first)
    for key in keys_in(first):
        assert review.answer(key, "skip").status_code == 200
    assert keys_in(review.get("/same")) == keys_in(second)


def test_filters_narrow_the_list_and_count_within_it(review: Review) -> None:
    key = review.key("lamp cellar")
    review.answer(key, "accept")
    page = review.get("/same", words="lamp", state="accept")
    assert keys_in(page) == [key]
    assert f'All <span class="badge">{len(ROOMS)}</span>' in page
    assert 'Accepted <span class="badge">1</span>' in page
    assert keys_in(review.get("/same", namespace="none such")) == []
    classes = set(
        re.findall(r'data-class="([^"]+)"', review.get("/same", **{"class": "says-more"}))
    )
    assert classes == {"says-more"}


def test_texts_ids_and_namespaces_are_escaped_and_hidden_characters_shown(review: Review) -> None:
    page = review.get("/same", words="hall 9")
    assert "<script>alert" not in page
    assert "<i>other" not in page
    assert "odd\\nid &lt;b&gt;\\u202e" in re.sub("<[^>]+>", "", page)
    assert "\u202e" not in page


def test_an_id_that_a_form_cannot_carry_can_be_chosen_all_the_same(review: Review) -> None:
    key = review.key("hall 9")
    chosen = re.findall(
        r'name="(?:survivor|keep)" value="([^"]+)"', review.get("/same", words="hall 9")
    )
    odd = next(value for value in chosen if value.startswith("~"))
    assert review.answer(key, "accept", survivor=odd).status_code == 200
    assert review.session.answers[key].survivor == ODD


def test_a_namespace_that_a_form_cannot_carry_can_be_chosen_all_the_same(review: Review) -> None:
    page = review.get("/same")
    values = re.findall(r'<option value="([^"]*)">&lt;i&gt;other', page)
    assert values
    assert keys_in(
        review.get("/same", namespace=values[0].replace("&lt;", "<").replace("&gt;", ">"))
    )


def test_a_secret_is_masked_and_its_text_is_not_offered_for_editing(review: Review) -> None:
    key = review.key("token printer")
    page = review.get("/same", words="token printer")
    assert SECRET not in page
    assert "[secret" in page
    edited = review.fragment("/card", key=key, edit="1", back="/same").text
    assert "<textarea" not in edited
    assert "holds a secret" in edited


def test_a_chain_shows_the_oldest_value_first_and_marks_what_changed(review: Review) -> None:
    card = card_in(review.get("/newer", words="Postgres"), review.key("Postgres", "newer"))
    texts = re.findall(r'<div class="text".*?</div>', card)
    ports = zip(("5432", "6000", "7100"), texts, strict=True)
    assert all(port in text for port, text in ports)
    assert re.search(r"<del>.*?5432", card)
    assert re.search(r"<ins>.*?7100", card)


def test_an_unsure_pair_says_why_nobody_knows(review: Review) -> None:
    key = review.key("plants Tom", "unsure")
    card = card_in(review.get("/unsure", words="plants Tom"), key)
    assert "perhaps the same, but another order of the words" in card


def test_an_unsure_pair_is_accepted_only_once_a_person_chose_who_stays(review: Review) -> None:
    key = review.key("plants Tom", "unsure")
    refused = review.answer(key, "accept")
    assert refused.status_code == 422
    assert "Choose the memory to keep (1 or 2)" in refused.text
    assert review.answer(key, "", keep="water-2").status_code == 200
    assert review.session.answers[key].hidden == ("water-1",)


def test_before_anything_is_chosen_the_marks_are_neutral(review: Review) -> None:
    card = card_in(review.get("/unsure", words="plants Tom"), review.key("plants Tom", "unsure"))
    assert "<mark>" in card
    assert "<del>" not in card
    assert "<ins>" not in card


def test_conflicts_have_a_tab_of_their_own_behind_what_is_out_of_date(tmp_path: Path) -> None:
    write_notes(tmp_path / "notes.jsonl")
    with reviewed(f"jsonl:///{tmp_path / 'notes.jsonl'}", follow_redirects=False) as review:
        assert review.client.get("/").headers["location"] == "/newer"
        page = review.get("/conflict", words="backups")
        key = keys_in(page)[0]
        assert keys_in(page) == keys_in(page, "open")
        assert "<mark>" in card_in(page, key)
        review.answer(key, "times")
        assert review.session.answers[key].times
        assert "Both stay, true at different times" in card_in(review.get("/conflict"), key)
        assert "both are true, at different times" in review.get("/apart")
        assert "nothing to do" in review.get("/plan")


def test_a_claim_of_a_note_is_kept_in_the_other_note_and_the_plan_shows_what_is_left(
    tmp_path: Path,
) -> None:
    folder = write_long_notes(tmp_path / "memory")
    with reviewed(f"markdown:///{folder}?preset=claude-memory") as review:
        key = review.key("Friday", "claim")
        assert "review.md#L5" in card_in(review.get("/claim"), key)
        review.answer(key, "accept")
        plan = review.get("/plan")
        assert "claim taken out of" in plan
        assert "Comments that begin with" in plan
        assert (folder / "review.md").read_text() == REVIEWING


def test_unknown_pages_and_files_are_answered_with_a_sentence(review: Review) -> None:
    response = review.client.get("/nothing")
    assert response.status_code == 404
    assert "no such page" in response.text
    assert review.client.get("/static/app.py").status_code == 404
    assert review.client.get("/static/review.js").headers["content-type"].startswith("text/java")
    assert review.client.get("/answer").status_code == 404


def test_a_page_of_help_names_every_key(review: Review) -> None:
    page = review.get("/help")
    for key in ("1", "9", "a", "d", "b", "space", "s", "e", "u", "j", "k", "A", "/", "?"):
        assert f"<kbd>{key}</kbd>" in page


# ------------------------------------------------------------------ forms without the script


def test_a_form_answers_and_leads_back_to_its_list(review: Review) -> None:
    key = review.key("lamp porch")
    back = "/same?words=lamp&page=1"
    response = review.post("/answer", key=key, seen="0", choice="accept", back=back)
    assert response.status_code == 303
    assert response.headers["location"] == "/same?words=lamp&page=1"
    card = card_in(review.get("/same", words="lamp porch"), key)
    assert 'data-state="accept"' in card
    assert "Take back" in card


@pytest.mark.parametrize("back", ["//evil.example/same", "https://evil.example", "/plan\r\nX: y"])
def test_a_form_never_leads_to_another_address(review: Review, back: str) -> None:
    response = review.post("/answer", key=review.key("lamp porch"), choice="skip", back=back)
    assert response.headers["location"] == "/same"


def test_a_survivor_is_chosen_and_a_member_left_out(review: Review) -> None:
    key = review.key("boiler")
    card = card_in(review.get("/same", words="boiler"), key)
    assert len(re.findall('name="without"', card)) == 2
    without = ["boiler-2"]
    said = review.answer(key, "", keep="boiler-1", without=without).text
    assert "Accepted: 2 stays, 1 goes; 3 stays too." in said
    answer = review.session.answers[key]
    assert (answer.survivor, answer.hidden) == ("boiler-1", ("boiler-0",))
    assert answer.apart == (("boiler-1", "boiler-2"),)


def test_a_refused_text_stays_in_its_field_with_the_reason(review: Review) -> None:
    key = review.key("Heating hall")
    draft = review.fragment("/card", key=key, edit="1", back="/same").text
    assert "after 30 min." in draft[draft.index("<textarea") :]
    text = "Heating of the hall was repaired by Olga <b>."
    response = review.post("/answer", key=key, choice="accept", text=text, back="/same")
    assert response.status_code == 422
    assert "Graz" in response.text[response.text.index('role="alert"') :]
    assert "by Olga &lt;b&gt;.</textarea>" in response.text
    assert key not in review.session.answers


def test_the_text_of_either_memory_of_a_pair_can_be_edited_and_left_as_it_is(
    review: Review,
) -> None:
    key = review.key("plants Tom", "unsure")
    draft = review.fragment("/card", key=key, edit="water-2", back="/unsure").text
    assert "Before Tom leaves town" in draft[draft.index("<textarea") :]
    assert "Keep 2 with this text" in draft
    assert "Edit 1 instead" in draft
    other = {"key": key, "survivor": "water-2", "text": "Something.", "back": "/unsure"}
    first = review.fragment("/card", edit="water-1", **other).text
    assert "Always water" in first[first.index("<textarea") :]
    left = review.fragment("/card", cancel="1", **other).text
    assert "<textarea" not in left
    assert 'name="survivor"' not in left


def test_lines_of_a_new_text_end_as_they_were_written(review: Review) -> None:
    key = review.key("Heating hall")
    text = "Heating of the hall\r\nwas repaired by Olga of Graz after 30 min."
    assert review.answer(key, "accept", text=text).status_code == 200
    assert review.session.answers[key].text == text.replace("\r\n", "\n")


def test_a_text_that_was_not_changed_is_no_new_text(review: Review) -> None:
    key = review.key("Heating hall")
    same = "Heating of the hall was repaired by Olga of Graz after 30 min."
    assert review.answer(key, "accept", text=same).status_code == 200
    assert review.session.answers[key].text is None


def test_what_is_kept_apart_is_listed_with_its_day_and_taken_back(review: Review) -> None:
    key = review.key("lamp gym")
    review.post("/answer", key=key, choice="different", back="/same")
    page = review.get("/apart")
    assert "lamp-gym-1" in page
    assert "western window" in page
    assert "in a review" in page
    assert "<time" in page[page.index("Kept") :]
    response = review.post("/apart", key=key)
    assert response.status_code == 303
    assert "open again" in review.get(response.headers["location"])
    assert "lamp-gym-1" not in review.get("/apart")
    assert key not in review.session.answers
    assert review.post("/apart", key=key).status_code == 410


# ------------------------------------------------------------------ the script


def test_a_fragment_has_the_answered_card_the_counts_and_a_sentence(review: Review) -> None:
    key = review.key("lamp tower")
    response = review.answer(key, "accept")
    assert response.headers["X-Fragment"] == "1"
    html = response.text
    assert keys_in(html) == [key]
    assert 'data-state="accept"' in html
    for element in ("tabs", "progress", "states", "classes", "said"):
        assert f'id="{element}"' in html
    assert "Accepted: 1 stays, 2 goes." in html
    assert 'id="cards"' not in html


def test_the_last_answer_of_a_page_brings_the_next_ten_open_cards(review: Review) -> None:
    first = keys_in(review.get("/same"))
    for key in first[:-1]:
        review.answer(key, "accept")
    html = review.answer(first[-1], "accept", last=first[-1]).text
    cards = html[html.index('id="cards"') :]
    following = keys_in(cards, "open")
    assert following
    assert not set(following) & set(first)
    assert len(re.findall("data-current", cards)) == 1


def test_an_answer_from_another_window_is_shown_and_not_overwritten(review: Review) -> None:
    key = review.key("lamp barn")
    review.answer(key, "accept")
    response = review.answer(key, "different")
    assert response.status_code == 409
    assert 'data-state="accept"' in response.text
    assert "answered meanwhile" in response.text
    assert review.session.answers[key].choice == "accept"


def test_undo_takes_the_latest_answer_back_and_shows_its_card(review: Review) -> None:
    key = review.key("lamp office")
    review.answer(key, "different")
    html = review.fragment("/undo", back="/same").text
    assert keys_in(html, "open") == [key]
    assert review.session.answers == {}
    assert review.fragment("/undo", back="/same").status_code == 422


def test_the_rest_of_a_class_is_accepted_after_its_sample_and_taken_back_at_once(
    review: Review,
) -> None:
    query = {"class": "same-facts"}
    refused = review.fragment("/accept-rest", back="/same", **query)
    assert refused.status_code == 422
    assert "5 more of this class" in refused.text
    for key in keys_in(review.get("/same", **query))[:5]:
        review.answer(key, "accept")
    done = review.fragment("/accept-rest", back="/same?class=same-facts", **query)
    assert "accepted at once" in done.text
    assert 'id="done"' in done.text
    rest = len(review.session.answers) - 5
    assert rest > 5
    again = review.fragment("/undo", back="/same?class=same-facts").text
    assert f"{rest} answers are taken back" in again
    assert len(review.session.answers) == 5


def test_an_item_that_is_gone_is_answered_with_a_sentence(review: Review) -> None:
    response = review.answer("0" * 32, "accept")
    assert response.status_code == 410
    assert "not asked any more" in response.text


def test_while_the_store_is_busy_pages_wait_and_answers_are_refused(review: Review) -> None:
    gate = threading.Event()
    key = review.key("lamp studio")

    def work(job: object) -> None:
        assert gate.wait(10)

    review.calls.begin("Applying the plan", work)
    try:
        page = review.client.get("/same")
        assert "Applying the plan" in page.text
        assert 'http-equiv="refresh"' in page.text
        response = review.answer(key, "accept")
        assert response.status_code == 503
        assert "under way" in response.text
    finally:
        gate.set()
        _finished(review, review.client.get("/working"))


# ------------------------------------------------------------------ plan, apply, undo


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Review]:
    """A review of its own, whose plan may be applied."""
    some = (m for m in _memories() if m.id.startswith(("lamp-k", "port", "heat")))
    with reviewed(write_sqlite(tmp_path / "memories.db", some)) as review:
        yield review


def _finished(review: Review, response: httpx2.Response) -> str:
    """The page of the result of long work."""
    while "http-equiv" in response.text:
        response = review.client.get("/working")
    return response.text


def test_a_plan_is_previewed_applied_and_undone(own: Review) -> None:
    assert "nothing to do" in own.get("/plan")
    own.answer(own.key("lamp"), "accept")
    key = own.key("Heating")
    own.answer(
        key, "accept", text="Heating of the hall was repaired by Olga, of Graz, after 30 min."
    )
    own.answer(own.key("Postgres", "newer"), "accept")
    page = own.get("/plan")
    assert "What your agent will see after" in page
    assert "Olga, of Graz, after 30 min." in page
    assert "1 memory would be merged" in page.replace("\u00a0", " ")
    digest = re.findall(r'name="digest" value="([^"]+)"', page)[0]
    done = _finished(own, own.post("/apply", digest=digest))
    run = re.findall(r'name="run" value="([^"]+)"', done)[0]
    assert run in own.get("/history")
    assert "bring back" in own.get("/history")
    assert keys_in(own.get("/same")) == []
    undone = _finished(own, own.post("/undo-run", run=run))
    assert "undone" in undone
    assert len(keys_in(own.get("/same"))) == 2
    assert "undone" in own.get("/history")


def test_a_plan_says_how_many_notes_it_does_not_show(
    own: Review, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = [f"only number {at} says this" for at in range(103)]
    monkeypatch.setattr("echoless.web.review_pages.notes_on", lambda _plan: notes)
    own.answer(own.key("lamp"), "accept")
    page = own.get("/plan")
    assert "only number 99 says this" in page
    assert "only number 100 says this" not in page
    assert "3 more are not shown" in page


def test_a_plan_that_nobody_saw_is_not_applied(own: Review) -> None:
    own.answer(own.key("lamp"), "accept")
    digest = re.findall(r'name="digest" value="([^"]+)"', own.get("/plan"))[0]
    own.answer(own.key("Heating"), "accept")
    page = _finished(own, own.post("/apply", digest=digest))
    assert "Answers changed" in page
    assert digest not in page
    assert ask(own.calls, own.session.store.ledger.marks) == {}


def test_looking_again_shows_what_was_added_meanwhile_and_knows_the_answers(own: Review) -> None:
    key = own.key("lamp")
    own.answer(key, "accept")
    with open_store(own.session.store.url) as store, store.writing():
        store.put(
            [
                memory("new-1", "Karla feeds the grey cat at seven."),
                memory("new-2", "karla feeds the grey cat at seven"),
            ]
        )
    _finished(own, own.post("/look"))
    assert own.key("grey cat")
    assert keys_in(own.get("/same", state="accept")) == [key]


def test_a_card_that_cannot_be_accepted_as_it_is_says_why_until_it_is_answered(
    tmp_path: Path,
) -> None:
    write_notes(tmp_path / "notes.jsonl", pinned=["p-4"])
    with open_store(tmp_path / "notes.jsonl") as store:
        session = open_review(store, LEXICAL)
        item = next(i for i in session.items.values() if set(i.ids) == set(NEWER_PORT))
        assert "p-4 is pinned" in card(session, item, ListQuery()).problem
        session.differ(item.key)
        assert card(session, item, ListQuery()).problem == ""

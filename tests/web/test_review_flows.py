"""What a person does in the review page, in a real browser, by keys, clicks and forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Cookie, expect

from echoless import open_store
from echoless.workflows.review.answers import Answer, standing_answers
from tests.web.review_fixtures import cookies_of, reviewing
from tests.web.review_page import ReviewPage, enter
from tests.web.review_process import ReviewProcess
from tests.web.review_stores import household, write_jsonl, write_sqlite
from tests.web.watched_page import watched

COUNT_OF_LAMPS = 25


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_sqlite(tmp_path_factory.mktemp("review") / "memories.db", household())


@pytest.fixture(scope="module")
def review(store: str) -> Iterator[ReviewProcess]:
    """One review for all tests that answer groups of their own words and apply nothing."""
    process = ReviewProcess(store, "--set", "semantic=no")
    yield process
    assert process.stop() == 0


@pytest.fixture(scope="module")
def cookies(browser: Browser, review: ReviewProcess) -> list[Cookie]:
    return cookies_of(browser, review)


@pytest.fixture
def page(browser: Browser, review: ReviewProcess, cookies: list[Cookie]) -> Iterator[ReviewPage]:
    with watched(browser, storage_state={"cookies": cookies}) as context:
        yield ReviewPage(context.new_page(), review.address)


def answers(store: str) -> dict[str, str]:
    """Returns the choice that the ledger holds, by the key of an item."""
    with open_store(store) as opened:
        held = opened.ledger.reviews()
    return {key: str(data["choice"]) for key, (_, data) in held.items()}


def stored(store: str, key: str) -> Answer:
    """Returns the answer that the ledger holds to an item."""
    with open_store(store) as opened:
        return standing_answers(opened.ledger)[key]


def apart(store: str) -> set[tuple[str, str]]:
    with open_store(store) as opened:
        return {(pair.a, pair.b) for pair in opened.ledger.kept()}


def test_twenty_groups_are_accepted_by_one_key_each_and_every_answer_is_stored(
    page: ReviewPage, store: str
) -> None:
    page.open(words="lamp")
    done = [page.answer("a") for _ in range(20)]
    assert len(set(done)) == 20
    assert {answers(store).get(key) for key in done} == {"accept"}
    page.open(words="lamp", state="open")
    assert len(page.keys_of()) == COUNT_OF_LAMPS - 20


def test_in_a_group_a_number_key_keeps_the_memory_at_that_place(
    page: ReviewPage, store: str
) -> None:
    page.open(words="boiler")
    key = page.answer("2")
    page.says("Accepted: 2 stays, 1 and 3 goes.")
    answer = stored(store, key)
    assert answer.survivor == "boiler-1"
    assert set(answer.hidden) == {"boiler-0", "boiler-2"}


def test_different_is_remembered_and_undo_forgets_it(page: ReviewPage, store: str) -> None:
    page.open(words="heating kitchen")
    key = page.key
    page.answer("d")
    page.shows(key, "different")
    assert ("heat-kitchen-1", "heat-kitchen-2") in apart(store)
    page.page.keyboard.press("u")
    page.shows(key, "open")
    assert ("heat-kitchen-1", "heat-kitchen-2") not in apart(store)
    assert key not in answers(store)


def test_the_filter_is_reached_by_a_key_and_letters_in_it_answer_nothing(
    page: ReviewPage, store: str
) -> None:
    page.open()
    before = answers(store)
    page.page.keyboard.press("/")
    page.page.keyboard.type("heating attic")
    page.page.keyboard.press("Enter")
    page.page.wait_for_url(re.compile("words=heating"))
    assert [page.card(key).get_attribute("data-state") for key in page.keys_of()] == ["open"]
    expect(page.current).to_contain_text("Heating of the attic")
    assert answers(store) == before


def test_a_text_that_loses_a_fact_is_refused_and_stays_in_its_field(
    page: ReviewPage, store: str
) -> None:
    page.open(words="heating cellar")
    key = page.key
    field = page.edit()
    whole = field.input_value()
    field.fill("Heating of the cellar was repaired by Olga after 30 min.")
    page.card(key).get_by_role("button", name="with this text").click()
    expect(page.card(key)).to_contain_text("Graz")
    expect(page.card(key).locator("[role=alert]")).to_be_visible()
    expect(field).to_have_value("Heating of the cellar was repaired by Olga after 30 min.")
    assert key not in answers(store)
    field.fill(whole.replace("was repaired", "has been repaired"))
    page.card(key).get_by_role("button", name="with this text").click()
    page.shows(key, "accept")
    answer = stored(store, key)
    assert answer.text == whole.replace("was repaired", "has been repaired")


def test_single_keys_can_be_switched_off_and_combinations_are_never_taken(
    page: ReviewPage, store: str
) -> None:
    page.open(words="lamp", state="open")
    before, key = answers(store), page.key
    switch = page.page.get_by_role("button", name="Single keys")
    page.page.keyboard.press("Control+a")
    switch.click()
    expect(switch).to_have_attribute("aria-pressed", "false")
    for pressed in ("a", "d", "b", "s", "2", "u", "e", "?"):
        page.page.keyboard.press(pressed)
    page.open(words="lamp", state="open")
    assert (answers(store), page.key) == (before, key)
    switch.click()
    page.answer("s")
    page.shows(key, "skip")


def test_what_was_kept_apart_can_be_taken_back(page: ReviewPage, store: str) -> None:
    page.open(words="heating garage")
    key = page.answer("d")
    page.open("apart")
    row = page.page.locator("article", has_text="Heating of the garage")
    expect(row).to_contain_text("of Graz after 30")
    row.get_by_role("button", name="Take back").click()
    expect(row).to_have_count(0)
    assert ("heat-garage-1", "heat-garage-2") not in apart(store)
    page.open(words="heating garage")
    page.shows(key, "open")


def test_a_second_tab_sees_what_the_first_one_answered_and_loses_nothing(
    page: ReviewPage, store: str
) -> None:
    page.open(words="heating balcony")
    other = ReviewPage(page.page.context.new_page(), page.page.url.partition("/same")[0])
    other.open(words="heating balcony")
    key = page.answer("a")
    other.page.keyboard.press("d")
    other.shows(key, "accept")
    other.says("answered meanwhile")
    assert answers(store)[key] == "accept"
    assert ("heat-balcony-1", "heat-balcony-2") not in apart(store)
    other.page.keyboard.press("u")
    other.shows(key, "open")
    page.page.reload()
    page.shows(key, "open")


def test_chains_show_the_newest_value_last_and_accepting_hides_the_older_ones(
    page: ReviewPage, store: str
) -> None:
    page.open("newer", words="grafana")
    values = page.current.locator(".text")
    for value, port in zip(values.all(), ("5434", "6002", "7102"), strict=True):
        expect(value).to_contain_text(re.compile(f"Grafana listens on port .*{port}"))
    key = page.answer("a")
    answer = stored(store, key)
    assert answer.survivor == "port-Grafana-2"
    assert set(answer.hidden) == {"port-Grafana-0", "port-Grafana-1"}


def test_of_an_unsure_pair_a_person_chooses_the_one_that_stays(
    page: ReviewPage, store: str
) -> None:
    page.open("unsure", words="water attic")
    key = page.key
    page.page.keyboard.press("a")
    expect(page.card(key).get_by_role("alert")).to_contain_text(
        "Choose the memory to keep (1 or 2)"
    )
    page.answer("2")
    answer = stored(store, key)
    assert (answer.survivor, answer.hidden) == ("water-attic-2", ("water-attic-1",))


@pytest.mark.parametrize(
    ("pressed", "choice", "times", "said"),
    [
        ("1", "accept", False, "Accepted: 1 stays, 2 goes."),
        ("2", "accept", False, "Accepted: 2 stays, 1 goes."),
        ("d", "different", False, "Both stay."),
        ("b", "different", True, "Both stay, true at different times."),
        (" ", "skip", False, "Skipped."),
    ],
)
def test_each_key_answers_a_card_at_once_and_moves_nothing(
    page: ReviewPage, store: str, pressed: str, choice: str, times: bool, said: str
) -> None:
    page.open(words="lamp")
    page.page.evaluate("scrollTo(0, 0)")
    before = places(page)
    key, ids = page.key, page.current.locator(".head .id").all_inner_texts()
    page.answer(pressed)
    expect(page.page.locator("#said")).to_have_text(said)
    assert places(page) == before
    answer = stored(store, key)
    assert (answer.choice, answer.times) == (choice, times)
    if choice == "accept":
        assert answer.survivor == ids[int(pressed) - 1]
    row = page.card(key)
    expect(row.locator(".difference")).not_to_be_visible()
    expect(row).to_contain_text("The lamp in the", ignore_case=True)
    assert row.evaluate("each => each.offsetHeight") < 60
    number = row.locator(".place").inner_text()
    page.page.keyboard.press("u")
    page.shows(key, "open")
    assert page.key == key
    assert page.current.locator(".place").inner_text() == number
    assert places(page) == before
    assert key not in answers(store)


def test_the_current_card_has_one_ring(page: ReviewPage) -> None:
    page.open("same")
    page.answer("s")
    ring = page.current.evaluate(
        "card => [card === document.activeElement, getComputedStyle(card).outlineStyle,"
        " getComputedStyle(card).boxShadow !== 'none']"
    )
    assert ring == [True, "none", True]
    page.page.keyboard.press("u")
    page.shows(page.key, "open")


def places(page: ReviewPage) -> dict[str, object]:
    """Where the parts of the current card and its buttons stand in the window."""
    found: dict[str, object] = page.page.evaluate(
        """() => {
            const top = (each) => [each.getBoundingClientRect().x, each.getBoundingClientRect().y];
            const card = document.querySelector("[data-current]");
            const all = (selector) => [...card.querySelectorAll(selector)].map(top);
            return {
                scroll: scrollY, card: top(card), texts: all(".text"), buttons: all("button"),
                width: card.offsetWidth,
            };
        }"""
    )
    return found


@pytest.mark.parametrize(("width", "height", "most"), [(1280, 800, 200), (400, 740, 300)])
@pytest.mark.parametrize("tab", ["newer", "same", "unsure"])
def test_the_first_card_stands_near_the_top_and_its_buttons_in_the_window(
    page: ReviewPage, tab: str, width: int, height: int, most: int
) -> None:
    page.page.set_viewport_size({"width": width, "height": height})
    page.open(tab)
    box = page.current.bounding_box()
    assert box is not None
    assert box["y"] < most
    text = page.current.locator(".text").first.bounding_box()
    assert text is not None
    assert text["y"] < most
    for button in page.current.get_by_role("button").all():
        expect(button).to_be_in_viewport(ratio=1)


def test_the_page_says_how_far_it_is_and_how_many_were_accepted_at_once(
    page: ReviewPage,
) -> None:
    page.open(words="heating", **{"class": "says-more"})
    progress = page.page.locator("#progress")
    expect(progress).to_have_text(re.compile(r"^\d+ of \d+, about \d+.minutes?$"))
    before = int(progress.inner_text().partition(" ")[0])
    page.answer("a")
    expect(progress).to_have_text(re.compile(f"^{before + 1} of "))
    page.page.keyboard.press("u")
    expect(progress).to_have_text(re.compile(f"^{before} of "))


def test_without_scripts_everything_can_be_read_and_answered(
    browser: Browser, review: ReviewProcess, cookies: list[Cookie], store: str
) -> None:
    options: dict[str, Any] = {"storage_state": {"cookies": cookies}, "java_script_enabled": False}
    with watched(browser, **options) as context:
        page = ReviewPage(context.new_page(), review.address)
        page.open(words="heating bathroom")
        (key,) = page.keys_of()
        page.card(key).get_by_role("button", name="Keep 1").click()
        page.shows(key, "accept")
        assert answers(store)[key] == "accept"
        page.card(key).locator("summary").click()
        page.card(key).get_by_role("button", name="Take back").click()
        page.shows(key, "open")
        assert key not in answers(store)
        for tab in ("newer", "unsure", "apart", "history", "plan", "help"):
            page.open(tab)
            expect(page.page.get_by_role("main")).to_be_visible()


def test_a_class_is_accepted_after_its_sample_applied_and_undone_to_the_last_byte(
    browser: Browser, tmp_path: Path
) -> None:
    file = tmp_path / "memories.jsonl"
    store = write_jsonl(file, household())
    before = file.read_bytes()
    with reviewing(browser, store, action="delete") as page:
        page.open(**{"class": "same-facts"})
        page.page.keyboard.press("A")
        page.says("5 more of this class")
        for _ in range(5):
            page.answer("a")
        page.page.keyboard.press("A")
        page.says("21 groups were accepted at once")
        page.open(**{"class": "same-facts", "state": "open"})
        assert page.keys_of() == []
        assert file.read_bytes() == before
        cookies = page.page.context.cookies()
        options: dict[str, Any] = {
            "storage_state": {"cookies": cookies},
            "java_script_enabled": False,
        }
        with watched(browser, **options) as context:  # what changes the store needs no script
            plain = ReviewPage(context.new_page(), page.address)
            plain.open("plan")
            plain.says("What your agent will see after")
            plain.page.get_by_role("button", name="Apply").click()
            expect(plain.page.get_by_role("heading", name="Applied")).to_be_visible()
            assert file.read_bytes() != before
            plain.open("history")
            plain.page.get_by_role("button", name="Undo this run").first.click()
            plain.says("undone")
    assert file.read_bytes() == before


def test_what_was_shown_as_stored_is_there_after_the_server_was_killed(
    browser: Browser, tmp_path: Path
) -> None:
    store = write_sqlite(tmp_path / "memories.db", household())
    process = ReviewProcess(store, "--set", "semantic=no")
    with watched(browser) as context:
        enter(context, process.link)
        page = ReviewPage(context.new_page(), process.address)
        page.open(words="lamp")
        shown = [page.answer("a") for _ in range(7)]
        last = page.key
        page.page.evaluate("dispatchEvent(new KeyboardEvent('keydown', {key: 'a'}))")
        process.kill()
        page.page.keyboard.press("a")
        page.says("This was not stored")
        page.says(f"echoless review {store}")
        state = page.card(last).get_attribute("data-state")
        shown += [last] if state == "accept" else []
    held = answers(store)
    assert set(shown) <= set(held) <= {*shown, last}
    with reviewing(browser, store) as page:
        page.open(words="lamp", state="accept")
        assert set(page.keys_of("accept")) == set(held)


def test_everything_is_reached_by_the_tabulator_in_order_with_a_focus_to_see(
    page: ReviewPage,
) -> None:
    page.open(words="lamp", state="open")
    page.page.evaluate("document.activeElement.blur()")
    page.page.keyboard.press("Tab")
    skip = page.page.locator(":focus")
    expect(skip).to_have_text(re.compile("Skip"))
    expect(skip).to_be_in_viewport()
    page.page.keyboard.press("Enter")
    expect(page.page.locator("#main")).to_be_focused()
    seen = []
    for _ in range(40):
        page.page.keyboard.press("Tab")
        focused = page.page.evaluate(_FOCUSED)
        if focused is None:  # behind the last one
            break
        seen.append(focused)
    assert all(each["outlined"] for each in seen), [e for e in seen if not e["outlined"]]
    assert [each["order"] for each in seen] == sorted(each["order"] for each in seen)
    assert any("Keep 1" in each["name"] for each in seen)


_FOCUSED = """() => {
    const focused = document.activeElement, style = getComputedStyle(focused);
    if (focused === document.body) return null;
    const all = [...document.querySelectorAll("*")];
    return {
        name: focused.innerText || focused.getAttribute("aria-label") || focused.id || "",
        order: all.indexOf(focused),
        outlined: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2
            || style.boxShadow !== "none",
    };
}"""

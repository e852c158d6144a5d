"""Memories that attack the page stay text: on every tab, in every answer, and in the report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.web.review_fixtures import reviewing, written_report
from tests.web.review_page import TABS, ReviewPage
from tests.web.review_stores import MALICE, hostile, write_sqlite
from tests.web.watched_page import watched

_FOREIGN = """() => [...document.querySelectorAll("iframe, object, embed, form [onerror], base")]
    .map(each => each.outerHTML.slice(0, 200))
    .concat([...document.querySelectorAll("*")]
        .filter(each => [...each.attributes].some(a => a.name.startsWith("on")))
        .map(each => each.outerHTML.slice(0, 200)))
    .concat([...document.querySelectorAll("script")]
        .filter(each => !/^.static/.test(each.getAttribute("src") || ""))
        .map(each => each.outerHTML.slice(0, 200)))"""
"""Elements that a page of ours never has."""

_HIDDEN = "/[\\u0000-\\u0008\\u000b-\\u001f\\u007f\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069]/"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_sqlite(tmp_path_factory.mktemp("hostile") / "memories.db", hostile())


@pytest.fixture(scope="module")
def page(browser: Browser, store: str) -> Iterator[ReviewPage]:
    with reviewing(browser, store) as page:
        yield page


def inert(page: ReviewPage) -> None:
    """Asserts that nothing on the page came alive, and that what is hidden can be seen."""
    assert page.page.evaluate("window.__pwned") is None
    assert page.page.evaluate(_FOREIGN) == []
    assert not page.page.evaluate(f"{_HIDDEN}.test(document.documentElement.textContent)")
    assert page.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_memories_of_the_greatest_length_are_cut_with_a_sentence(page: ReviewPage) -> None:
    page.open("same", words="gazette")
    page.says("characters")
    assert page.page.evaluate("document.documentElement.outerHTML.length") < 400_000
    inert(page)


def test_hostile_memories_stay_text_in_answers_on_every_tab_and_in_a_run(page: ReviewPage) -> None:
    page.open("same")
    for part in MALICE[:5]:
        page.says(part)
    page.says("\\u202e")
    inert(page)
    for pressed in "ada":
        page.answer(pressed)
        inert(page)
    page.edit()
    inert(page)
    for tab, pressed in (("newer", "a"), ("unsure", "d")):
        page.open(tab)
        inert(page)
        page.answer(pressed)
        inert(page)
    for query in MALICE:
        page.open("same", words=query, namespace=query)
        inert(page)
    for tab in TABS:
        page.open(tab)
        inert(page)
    page.open("plan")
    page.page.get_by_role("button", name="Apply").click()
    expect(page.page.get_by_role("heading", name="Applied")).to_be_visible()
    inert(page)
    page.open("history")
    page.says("run-")
    inert(page)


def test_the_report_of_hostile_memories_is_inert_and_calls_nothing(
    browser: Browser, store: str, tmp_path: Path
) -> None:
    report = written_report(store, tmp_path)
    with watched(browser) as context:
        page = ReviewPage(context.new_page(), report.as_uri())
        page.page.goto(report.as_uri())
        page.says(MALICE[0])
        inert(page)
        assert page.page.evaluate("document.scripts.length") == 0

"""The pages for everyone: screen readers, narrow windows, dark and light, no movement."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page

from tests.web import axe
from tests.web.review_fixtures import reviewing, written_report
from tests.web.review_page import TABS, ReviewPage
from tests.web.review_stores import household, write_sqlite
from tests.web.watched_page import NARROW, WIDE, watched

_SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_sqlite(tmp_path_factory.mktemp("access") / "memories.db", household())


@pytest.fixture(scope="module")
def page(browser: Browser, store: str) -> Iterator[ReviewPage]:
    """The page of a review with an answer of each kind."""
    with reviewing(browser, store) as page:
        page.open("same")
        for pressed in "ads":
            page.answer(pressed)
        yield page


@pytest.fixture(scope="module")
def report(store: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_report(store, tmp_path_factory.mktemp("report"))


_MOVING = """() => [...document.querySelectorAll("*")].filter(each => {
    const style = getComputedStyle(each);
    const lasts = [style.transitionDuration, style.animationDuration];
    return lasts.some(time => parseFloat(time) > 0.01) || style.scrollBehavior === "smooth";
}).map(each => each.outerHTML.slice(0, 120))"""


def check(page: Page) -> None:
    """Asserts that axe-core finds nothing and the page is not wider than its window."""
    problems = []
    for width, height in (WIDE, NARROW):
        page.set_viewport_size({"width": width, "height": height})
        wide = page.evaluate("document.documentElement.scrollWidth")
        problems += [f"{width} px: {wide} px wide"] if wide > width else []
        for scheme in _SCHEMES:
            page.emulate_media(color_scheme=scheme)
            problems += [f"{width} px, {scheme}: {each}" for each in axe.problems(page)]
    assert problems == [], "\n".join(problems)


@pytest.mark.parametrize("tab", [*TABS, "no-such-page"])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_window(page: ReviewPage, tab: str) -> None:
    page.open(tab)
    check(page.page)


def test_a_card_that_is_being_edited_is_as_accessible(page: ReviewPage) -> None:
    page.open("same", state="open", words="boiler")
    page.edit()
    check(page.page)


def test_the_report_is_as_accessible(browser: Browser, report: Path) -> None:
    with watched(browser) as context:
        page = context.new_page()
        page.goto(report.as_uri())
        for details in page.locator("details").all():
            details.evaluate("each => { each.open = true; }")
        check(page)


def test_who_wants_no_movement_gets_none(page: ReviewPage) -> None:
    page.page.emulate_media(reduced_motion="reduce")
    page.open("same")
    assert page.page.evaluate(_MOVING) == []


def test_touch_targets_are_44_pixels_high_on_a_narrow_touch_screen(page: ReviewPage) -> None:
    browser = page.page.context.browser
    assert browser is not None
    options = {"storage_state": page.page.context.storage_state(), "has_touch": True}
    with watched(browser, size=NARROW, is_mobile=True, **options) as context:
        narrow = ReviewPage(context.new_page(), page.address)
        narrow.open("same", state="open")
        low = narrow.page.evaluate(
            """() => [...document.querySelectorAll("main button, nav a")]
                .filter(each => each.offsetParent && each.getBoundingClientRect().height < 43.5)
                .map(each => `${each.innerText} ${each.getBoundingClientRect().height}`)"""
        )
    assert low == []


def test_what_was_done_is_said_to_a_screen_reader(page: ReviewPage) -> None:
    page.open("same", state="open")
    page.answer("a")
    said = page.page.locator("[aria-live]").all_inner_texts()
    assert any("ccepted" in text for text in said), said

"""The review page in a browser, as a person sees it and acts on it."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from playwright.sync_api import BrowserContext, Cookie, Locator, Page, expect

TABS: Final = ("conflict", "newer", "same", "unsure", "apart", "history", "plan", "help")

_MOVED: Final = """([key, state]) => {
    const card = document.querySelector(`article.item[data-key="${key}"]`);
    const current = document.querySelector("article.item[data-current]");
    const answered = !card || card.dataset.state !== state;
    return answered && (!current || current.dataset.key !== key);
}"""
"""Whether the card of a key has another state, and another card is the current one, or none."""


class ReviewPage:
    """One tab of the browser with the review."""

    def __init__(self, page: Page, address: str) -> None:
        """Takes a tab.

        Args:
            page: Of a context that has the cookie of the review.
            address: Of the server, without a path.
        """
        self.page = page
        self.address = address

    def open(self, tab: str = "same", **query: str) -> None:
        """Opens a tab, with filters if any are given."""
        asked = f"?{urlencode(query)}" if query else ""
        self.page.goto(f"{self.address}/{tab}{asked}")

    @property
    def current(self) -> Locator:
        """Returns the card that keys act on."""
        return self.page.locator("article.item[data-current]")

    @property
    def key(self) -> str:
        """Returns the key of the current card, or an empty text if there is none."""
        return (self.current.get_attribute("data-key") or "") if self.current.count() else ""

    def card(self, key: str) -> Locator:
        """Returns the card of a key."""
        return self.page.locator(f'article.item[data-key="{key}"]')

    def keys_of(self, state: str = "open") -> list[str]:
        """Returns the keys of the cards that have a state."""
        cards = self.page.locator(f'article.item[data-state="{state}"]').all()
        return [card.get_attribute("data-key") or "" for card in cards]

    def answer(self, pressed: str) -> str:
        """Presses a key, waits until its answer is shown as stored and the next card is current.

        Returns:
            The key of the card that was answered.
        """
        key = self.key
        state = self.current.get_attribute("data-state")
        self.page.keyboard.press(pressed)
        self.page.wait_for_function(_MOVED, arg=[key, state])
        return key

    def edit(self) -> Locator:
        """Presses the key that opens the text for editing, and returns its field."""
        self.page.keyboard.press("e")
        field = self.current.locator("textarea")
        expect(field).to_be_focused()
        return field

    def shows(self, key: str, state: str) -> None:
        """Waits until the card of a key is shown with a state."""
        expect(self.card(key)).to_have_attribute("data-state", state)

    def says(self, text: str) -> None:
        """Waits until a text is on the page."""
        expect(self.page.locator("body")).to_contain_text(text)


def enter(context: BrowserContext, link: str) -> list[Cookie]:
    """Opens a link with a token, and returns the cookies that it gave."""
    page = context.new_page()
    page.goto(link)
    page.close()
    return context.cookies()

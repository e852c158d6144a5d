"""The checkers of the browser tests see what is wrong, and a missing browser is told plainly."""

import subprocess
import sys

import pytest
from playwright.sync_api import Browser

from tests.web import axe
from tests.web.browser import program
from tests.web.watched_page import watched


def test_axe_sees_a_field_without_a_name(browser: Browser) -> None:
    with watched(browser) as context:
        page = context.new_page()
        page.set_content("<html lang=en><title>A</title><main><h1>A</h1><input></main>")
        assert [each.partition(" ")[0] for each in axe.problems(page)] == ["label"]


@pytest.mark.parametrize(
    "content",
    [
        "<script>alert(1)</script>",
        "<script>window.__pwned = 1</script>",
        "<script>throw new Error('x')</script>",
        "<img src=http://192.0.2.1/x.png>",
        "<meta http-equiv=Content-Security-Policy content='style-src about:'><style>a{}</style>",
    ],
)
def test_what_must_not_happen_on_a_page_fails_the_test(browser: Browser, content: str) -> None:
    with pytest.raises(AssertionError):
        with watched(browser) as context:
            context.new_page().set_content(content, wait_until="commit")


def test_a_browser_that_is_named_but_missing_is_a_clear_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ECHOLESS_BROWSER", "no-such-browser")
    with pytest.raises(RuntimeError, match=r"no-such-browser is not a program.*apt-get install"):
        program()
    ended = subprocess.run(
        [sys.executable, "-m", "tests.web.browser"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert "Traceback" not in ended.stderr

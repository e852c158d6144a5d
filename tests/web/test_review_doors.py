"""Nobody but the person who started the review gets in, seen from a browser and from outside."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from echoless import open_store
from tests.web.review_page import ReviewPage, enter
from tests.web.review_process import ReviewProcess
from tests.web.review_stores import household, write_sqlite
from tests.web.watched_page import watched


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write_sqlite(tmp_path_factory.mktemp("doors") / "memories.db", household())


@pytest.fixture(scope="module")
def review(store: str) -> Iterator[ReviewProcess]:
    process = ReviewProcess(store, "--set", "semantic=no")
    yield process
    assert process.stop() == 0
    assert process.output.count(process.token) == 1


def asked(
    review: ReviewProcess, method: str, path: str, body: str = "", **headers: str
) -> tuple[HTTPResponse, str]:
    """Sends a request as it is, with the headers a browser would not let a page choose."""
    connection = HTTPConnection(urlsplit(review.address).netloc, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if body:
        named |= {"Content-Type": "application/x-www-form-urlencoded"}
    connection.request(method, path, body or None, named)
    response = connection.getresponse()
    text = response.read().decode("utf-8")
    connection.close()
    return response, text


def test_a_link_opens_once_and_a_new_one_is_given_on_enter(
    browser: Browser, review: ReviewProcess
) -> None:
    with watched(browser) as first, watched(browser) as second:
        page = first.new_page()
        page.goto(review.link)
        assert "token" not in page.url
        expect(page.locator("article.item").first).to_be_visible()
        other = second.new_page()
        refused = other.goto(review.link)
        assert refused is not None
        assert refused.status in {401, 403}
        expect(other.locator("article.item")).to_have_count(0)
        other.goto(review.new_link())
        expect(other.locator("article.item").first).to_be_visible()
        page.reload()
        expect(page.locator("article.item").first).to_be_visible()


@pytest.mark.parametrize("path", ["/?token=wrong", "/", "/same", "/plan", "/history"])
def test_without_the_token_or_the_cookie_no_memory_is_shown(
    review: ReviewProcess, path: str
) -> None:
    for headers in ({}, {"Cookie": "review=wrong; echoless=wrong"}):
        response, text = asked(review, "GET", path, **headers)
        assert response.status in {401, 403}
        assert "lamp" not in text
        assert "Traceback" not in text


@pytest.fixture(scope="module")
def cookie(browser: Browser, review: ReviewProcess) -> str:
    with watched(browser) as context:
        cookies = enter(context, review.new_link())
    for each in cookies:
        assert each["httpOnly"]
        assert each["sameSite"] == "Strict"
    return "; ".join(f"{each['name']}={each['value']}" for each in cookies)


def test_names_of_other_hosts_are_refused_even_with_the_cookie(
    review: ReviewProcess, cookie: str
) -> None:
    port = urlsplit(review.address).port
    for host in (f"evil.example:{port}", "evil.example", "127.0.0.1:1", f"127.0.0.1.nip:{port}"):
        response, text = asked(review, "GET", "/same", Cookie=cookie, Host=host)
        assert 400 <= response.status < 500
        assert "lamp" not in text


def test_forms_of_other_sites_are_refused_even_with_the_cookie(
    review: ReviewProcess, cookie: str, store: str
) -> None:
    _, page = asked(review, "GET", "/same", Cookie=cookie)
    key = re.findall(r'data-key="([^"]+)"', page)[0]
    body = f"key={key}&seen=0&choice=accept"
    strangers = (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": review.address.replace("http:", "https:")},
        {"Origin": review.address, "Sec_Fetch_Site": "cross-site"},
    )
    for headers in strangers:
        response, _ = asked(review, "POST", "/answer", body, Cookie=cookie, **headers)
        assert response.status == 403, headers
    with open_store(store) as opened:
        assert opened.ledger.reviews() == {}


def test_a_page_of_another_origin_cannot_answer_or_frame_the_review(
    browser: Browser, review: ReviewProcess, store: str
) -> None:
    with watched(browser) as context:
        enter(context, review.new_link())
        page = ReviewPage(context.new_page(), review.address)
        page.open("same")
        key = page.key
        stranger = context.new_page()
        other = review.address.replace("127.0.0.1", "localhost")
        form = (
            f"<form method=post action='{review.address}/answer'><input name=key value='{key}'>"
            "<input name=choice value=accept><button>Send</button></form>"
        )
        stranger.route(f"{other}/stranger", lambda route: route.fulfill(body=form))
        stranger.goto(f"{other}/stranger", wait_until="commit")
        with stranger.expect_navigation() as sent:
            stranger.set_content(form)
            stranger.get_by_role("button").click()
        answer = sent.value
        assert answer is not None
        assert answer.status in {401, 403}
    with open_store(store) as opened:
        assert opened.ledger.reviews() == {}


def test_every_answer_closes_the_page_to_scripts_frames_and_caches(
    review: ReviewProcess, cookie: str
) -> None:
    for path in ("/same", "/no-such-page", "/static/style.css", "/static/../app.py", "/?token=x"):
        response, _ = asked(review, "GET", path, Cookie=cookie)
        policy = response.getheader("Content-Security-Policy") or ""
        assert "default-src" in policy
        assert "'unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.getheader("X-Content-Type-Options") == "nosniff"
        assert response.getheader("Referrer-Policy") == "no-referrer"
        assert response.getheader("Cache-Control") == "no-store"

"""The guard of the review page over HTTP: who gets in, and what every answer carries."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from echoless.core.address import Address
from echoless.web.security import AccessTokens, comes_from_itself, host_check, security_headers
from tests.web.guarded_pages import SECRET_TEXT, Pages, pages


@pytest.fixture(scope="module")
def site() -> Iterator[Pages]:
    with pages() as made:
        yield made


@pytest.fixture(scope="module")
def person(site: Pages) -> Iterator[httpx.Client]:
    with site.entered() as client:
        yield client


def is_refusal(response: httpx.Response, status: int) -> bool:
    """Whether an answer is a page of ours that says no, with nothing of the review in it."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "<h1>" in response.text
    assert SECRET_TEXT not in response.text
    assert "Traceback" not in response.text
    return True


# ------------------------------------------------------------------ token and cookie


def test_a_link_opens_the_review_once_and_goes_on_without_the_token(site: Pages) -> None:
    link = site.link
    with site.client() as first, site.client() as second:
        opened = first.get(link)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        name, _, rest = opened.headers["set-cookie"].partition("=")
        assert name == f"echoless_review_{site.bound.port}"
        assert rest.partition("; ")[2] == "Path=/; HttpOnly; SameSite=Strict"
        assert len(rest.partition("; ")[0]) >= 43
        assert SECRET_TEXT in first.get("/").text
        refused = second.get(link)
        assert is_refusal(refused, 403)
        assert "press Enter: it prints a new link" in refused.text
        assert "set-cookie" not in refused.headers
        assert is_refusal(second.get("/"), 401)
        assert SECRET_TEXT in first.get("/").text
        assert first.get(link).headers["location"] == "/"  # who is in goes on
        assert second.get(site.link).status_code == 303
        assert SECRET_TEXT in second.get("/").text
        assert SECRET_TEXT in first.get("/").text  # the second did not put the first out


def test_a_new_link_takes_the_place_of_an_unused_one(site: Pages) -> None:
    older, newer = site.link, site.link
    with site.client() as client:
        assert is_refusal(client.get(older), 403)
        assert client.get(newer).status_code == 303


@pytest.mark.parametrize("token", ["", "wrong", "x" * 43, "é", "%00", "a&token=b"])
def test_a_wrong_token_is_refused_and_never_shown(site: Pages, token: str) -> None:
    with site.client() as client:
        refused = client.get(f"{site.url}/?token={token}")
        assert is_refusal(refused, 403 if token else 401)
        if len(token) > 3:
            assert token not in refused.text


@pytest.mark.parametrize(
    "cookie", ["", "x", "echoless_review_1=x", "echoless_review_{port}=", "{name}=wrong; a=b"]
)
def test_without_the_right_cookie_nothing_is_shown(site: Pages, cookie: str) -> None:
    port = site.bound.port
    sent = cookie.format(port=port, name=f"echoless_review_{port}")
    with site.client(Cookie=sent) as client:
        assert is_refusal(client.get("/"), 401)
        assert is_refusal(client.get("/no-such-page"), 401)
        own = {"Origin": site.url}
        assert is_refusal(client.post("/answer", content=b"a=b", headers=own), 401)
        assert client.get("/static/style.css").status_code == 200
        assert is_refusal(client.post("/static/style.css", headers=own), 401)


@pytest.mark.parametrize(
    "header",
    [{"Sec-Purpose": "prefetch;prerender"}, {"Purpose": "prefetch"}, {"X-Moz": "prefetch"}],
)
def test_a_browser_that_fetches_in_advance_does_not_use_the_link_up(
    site: Pages, header: dict[str, str]
) -> None:
    link = site.link
    with site.client() as client:
        assert is_refusal(client.get(link, headers=header), 503)
        assert client.head(link).status_code == 403
        assert client.get(link).status_code == 303


def test_a_link_on_a_page_of_another_site_goes_on_by_a_page(site: Pages) -> None:
    """A redirect there would come without the cookie, which is SameSite=Strict."""
    followed = {
        "Sec-Fetch-Site": "cross-site",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Dest": "document",
    }
    with site.client() as client:
        opened = client.get(site.link, headers=followed)
        assert opened.status_code == 200
        assert 'http-equiv="refresh" content="0; url=/"' in opened.text
        assert SECRET_TEXT in client.get("/").text


def test_tokens_are_long_and_random_and_sessions_differ() -> None:
    tokens = AccessTokens()
    made = [tokens.new_token() for _ in range(50)]
    assert len(set(made)) == 50
    assert min(map(len, made)) >= 43
    first = tokens.exchange(made[-1])
    second = tokens.exchange(tokens.new_token())
    assert first is not None
    assert second is not None
    assert first != second
    assert tokens.exchange(made[-1]) is None
    assert tokens.is_open(["x", first])
    assert not tokens.is_open([made[-1], ""])


# ------------------------------------------------------------------ Host and Origin


def test_only_its_own_names_and_port_are_answered(site: Pages, person: httpx.Client) -> None:
    port = site.bound.port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", f"LocalHost:{port}", f"[::1]:{port}"):
        assert person.get("/", headers={"Host": host}).status_code == 200, host
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"127.0.0.1:{port}.evil.example",
        f"127.0.0.1.evil.example:{port}",
        f"localhost.evil.example:{port}",
        f"localhost:@evil.example:{port}",
        f"127.0.0.1:{port}x",
        f"0.0.0.0:{port}",
        f"192.168.0.1:{port}",
        "",
    ):
        assert is_refusal(person.get("/", headers={"Host": host}), 421), host


def test_on_all_addresses_each_address_is_a_name_but_no_foreign_name_is() -> None:
    is_own = host_check(Address("0.0.0.0", 8400))
    name = socket.gethostname()
    for host in ("192.168.0.7:8400", "[2001:db8::1]:8400", "localhost:8400", f"{name}:8400"):
        assert is_own(host), host
    for host in ("evil.example:8400", "192.168.0.7", "192.168.0.7:80", "[::1", "1.2.3:8400"):
        assert not is_own(host), host
    assert host_check(Address("10.0.0.5", 80))("10.0.0.5")
    assert not host_check(Address("10.0.0.5", 80))("127.0.0.1")


def test_a_form_of_another_page_is_refused(site: Pages, person: httpx.Client) -> None:
    port = site.bound.port
    strangers: list[dict[str, str]] = [
        {},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Origin": f"https://127.0.0.1:{port}"},
        {"Origin": f"http://localhost:{port}"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": f"http://127.0.0.1:{port}.evil.example"},
        {"Origin": site.url, "Sec-Fetch-Site": "cross-site"},
        {"Origin": site.url, "Sec-Fetch-Site": "same-site"},
        {"Origin": site.url, "Sec-Fetch-Site": "none"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": site.url, "Sec-Fetch-Site": ""},
    ]
    for headers in strangers:
        refused = person.post("/answer", content=b"a=b", headers=headers)
        assert is_refusal(refused, 403), headers
    own: list[dict[str, str]] = [
        {"Origin": site.url},
        {"Origin": site.url, "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        {"Sec-Fetch-Site": "same-origin"},
    ]
    for headers in own:
        assert person.post("/answer", content=b"a=b", headers=headers).text == "3", headers


def test_a_repeated_header_is_no_good_one(site: Pages, person: httpx.Client) -> None:
    twice = [("Origin", site.url), ("Origin", site.url)]
    assert is_refusal(person.post("/answer", content=b"a=b", headers=twice), 403)


@pytest.mark.parametrize(
    ("site_", "mode", "dest", "let_in"),
    [
        ("none", "navigate", "document", True),
        ("same-origin", "cors", "empty", True),
        ("cross-site", "navigate", "document", True),
        ("cross-site", "navigate", "iframe", False),
        ("cross-site", "no-cors", "image", False),
        ("same-site", "cors", "empty", False),
        ("same-site", "no-cors", "script", False),
    ],
)
def test_pages_of_other_sites_may_link_to_the_review_and_nothing_more(
    site_: str, mode: str, dest: str, let_in: bool
) -> None:
    headers = {"sec-fetch-site": site_, "sec-fetch-mode": mode, "sec-fetch-dest": dest}
    assert comes_from_itself("GET", "127.0.0.1:1", headers.get) is let_in


# ------------------------------------------------------------------ every answer


def test_every_answer_carries_the_headers_also_refusals_and_errors(
    site: Pages, person: httpx.Client
) -> None:
    with site.client() as stranger:
        answers = [
            person.get("/"),
            person.head("/"),
            person.post("/answer", content=b"x", headers={"Origin": site.url}),
            person.get("/no-such-page"),
            person.get("/static/../../etc/passwd"),
            person.get("/fail/mistake"),
            person.get("/fail/busy"),
            person.get("/plain"),
            person.put("/"),
            person.get("/", headers={"Host": "evil.example"}),
            person.post("/answer"),
            stranger.get("/"),
            stranger.get(site.link),
            stranger.get("/static/style.css"),
        ]
    expected = {name.decode(): value.decode() for name, value in security_headers(site.bound)}
    assert expected["referrer-policy"] == "no-referrer"
    for answer in answers:
        for name, value in expected.items():
            assert answer.headers.get_list(name) == [value], (answer.request.url, name)
        assert "server" not in answer.headers


def test_the_policy_lets_no_inline_script_no_frame_and_no_other_machine() -> None:
    headers = dict(security_headers(Address("127.0.0.1", 1)))
    policy = headers[b"content-security-policy"].decode()
    parts = dict(part.split(" ", 1) for part in policy.split("; "))
    assert parts["default-src"] == "'none'"
    assert parts["frame-ancestors"] == "'none'"
    assert parts["base-uri"] == "'none'"
    assert set(parts.values()) == {"'none'", "'self'"}
    elsewhere = dict(security_headers(Address("0.0.0.0", 1)))
    assert elsewhere[b"referrer-policy"] == b"same-origin"  # else a form there says Origin: null


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X"])
def test_other_methods_are_refused(site: Pages, person: httpx.Client, method: str) -> None:
    refused = person.request(method, "/")
    assert is_refusal(refused, 405)
    assert refused.headers["allow"] == "GET, HEAD, POST"


def test_errors_are_pages_of_a_sentence_and_mistakes_are_reported(site: Pages) -> None:
    site.reported.clear()
    with site.entered() as client:
        assert is_refusal(client.get("/no-such-page"), 404)
        assert is_refusal(client.get("/plain"), 410)
        assert is_refusal(client.get("/fail/refused"), 400)
        assert "Choose which memory stays: a, b." in client.get("/fail/refused").text
        assert is_refusal(client.get("/fail/ended"), 503)
        assert site.reported == []
        mistake = client.get("/fail/mistake")
        assert is_refusal(mistake, 500)
        assert "broken inside" not in mistake.text
        assert [str(each) for each in site.reported] == ["broken inside"]
        with pytest.raises(httpx.RemoteProtocolError):
            client.get("/half")
        assert SECRET_TEXT in client.get("/").text


def test_while_long_work_runs_a_page_says_how_far_it_is_and_looks_again(site: Pages) -> None:
    with site.entered(Origin=site.url) as client:
        shown = client.get("/fail/busy")
        assert is_refusal(shown, 503)
        assert "Applying the plan is under way" in shown.text
        assert "writing: 3 of 12" in shown.text
        assert shown.headers["retry-after"] == "2"
        assert 'http-equiv="refresh"' in shown.text
        assert 'http-equiv="refresh"' not in client.post("/fail/busy").text


# ------------------------------------------------------------------ limits


def test_a_body_that_is_too_long_is_not_read(site: Pages) -> None:
    with pages(body=1_000) as small, small.entered(Origin=small.url) as client:
        assert client.post("/answer", content=b"x" * 1_000).text == "1000"
        assert is_refusal(client.post("/answer", content=b"x" * 1_001), 413)
        assert is_refusal(client.post("/answer", content=iter([b"x" * 600] * 2)), 413)
        assert client.post("/answer", content=b"x").text == "1"


def test_an_answer_that_takes_too_long_is_given_up(site: Pages) -> None:
    with pages(seconds=0.2) as quick, quick.entered() as client:
        assert is_refusal(client.get("/slow"), 503)
        assert SECRET_TEXT in client.get("/").text
        assert quick.reported == []


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
        b"POST /answer HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\na",
    ],
    ids=["nothing", "headers", "body"],
)
def test_a_client_that_sends_slowly_is_cut_off(begun: bytes) -> None:
    with pages(incoming=0.2) as strict, strict.client() as other:
        place = (strict.bound.host, strict.bound.port)
        with socket.create_connection(place, timeout=20) as slow:
            slow.sendall(begun.replace(b"{host}", strict.bound.shown.encode()))
            assert other.get("/").status_code == 401
            while slow.recv(65_536):
                pass  # the end comes, well before the timeout


def test_what_is_no_request_is_refused_with_the_headers_of_every_answer(site: Pages) -> None:
    place = (site.bound.host, site.bound.port)
    for sent in (b"\x16\x03\x01 no http\r\n\r\n", b"GET / HTTP/1.1\r\nX: " + b"y" * 40_000):
        with socket.create_connection(place, timeout=20) as connection:
            connection.sendall(sent)
            answer = connection.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 400")
            for name, value in security_headers(site.bound):
                assert name + b": " + value in answer
            assert b"<h1>This is no request</h1>" in answer


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"])
def test_who_holds_all_connections_keeps_nobody_out(sent: bytes) -> None:
    with pages(connections=4) as small, ExitStack() as held:
        place = (small.bound.host, small.bound.port)
        for _ in range(3):
            for _ in range(8):
                stranger = held.enter_context(socket.create_connection(place))
                with suppress(ConnectionError):
                    stranger.sendall(sent.replace(b"{host}", small.bound.shown.encode()))
            with small.client() as owner:
                assert owner.get("/").status_code == 401  # what it answers without a cookie


@pytest.mark.parametrize("pieces", [1, 7])
@pytest.mark.parametrize("kind", ["one header", "many headers", "the path", "the query"])
def test_a_head_that_is_too_long_is_no_request_however_it_comes(
    site: Pages, kind: str, pieces: int
) -> None:
    head = {
        "one header": "GET / HTTP/1.1\r\nX: " + "y" * 70_000,
        "many headers": "GET / HTTP/1.1" + "".join(f"\r\nX{n}: {n}" for n in range(4_000)),
        "the path": f"GET /{'y' * 70_000} HTTP/1.1",
        "the query": f"GET /?{'y' * 70_000} HTTP/1.1",
    }[kind]
    sent = f"{head}\r\nHost: {site.bound.shown}\r\n\r\n".encode()
    with socket.create_connection((site.bound.host, site.bound.port), timeout=20) as connection:
        with suppress(OSError):  # the end may come before all was sent
            for at in range(pieces):
                connection.sendall(sent[at * len(sent) // pieces : (at + 1) * len(sent) // pieces])
        with suppress(ConnectionError):
            assert connection.recv(65_536)[:12] in {b"HTTP/1.1 400", b""}


def test_a_websocket_is_not_opened(site: Pages, person: httpx.Client) -> None:
    upgrade = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    assert person.get("/", headers=upgrade).status_code == 200  # an answer to a plain GET
    with site.client() as stranger:
        assert is_refusal(stranger.get("/", headers=upgrade), 401)

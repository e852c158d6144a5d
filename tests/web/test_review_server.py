"""The server of the review as a person starts and ends it: links, signals, a second review."""

from __future__ import annotations

import re
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from echoless import open_store
from echoless.cli.review import review_command
from echoless.core import optional
from echoless.core.errors import MissingExtra, StoreLocked, UsageError
from echoless.web import server
from tests.web.review_process import LINK, ReviewProcess
from tests.web.small_review import small_review


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "notes.jsonl"
    texts = ("The boiler is in the cellar.", "the boiler is in the cellar", "Anna drinks tea.")
    lines = (f'{{"id": "m{number}", "content": "{text}"}}\n' for number, text in enumerate(texts))
    path.write_text("".join(lines), "utf-8")
    return path


@contextmanager
def entered(link: str) -> Iterator[httpx.Client]:
    """A client that opened a link."""
    base = link.partition("?")[0]
    with httpx.Client(base_url=base, timeout=20, trust_env=False) as client:
        client.headers["Origin"] = base.rstrip("/")
        assert client.get(link).status_code == 303
        yield client


def tokens_in(output: str) -> list[str]:
    return LINK.findall(output)


def test_a_review_is_opened_by_its_link_answered_and_left(notes: Path) -> None:
    before = notes.read_bytes()
    with small_review(notes) as review:
        first = review.link
        with entered(first) as person:
            assert person.get("/").text == "open"
            assert person.post("/answer").text == "stored"
            assert person.get("/mistake").status_code == 500
            assert person.get(f"/?token={'x' * 43}").status_code == 303
        second = review.new_link()
        assert second != first
        assert httpx.get(first, trust_env=False).status_code == 403
        with entered(second) as other:
            assert other.get("/").text == "skip"
        assert review.stop() == 0
        said = review.output
    assert f"Review of {notes}: 1 group.\n" in said
    assert "Error: ValueError: a broken page. This should not happen" in said
    assert "Traceback" not in said
    assert "The review has ended. 1 answer stored; without Apply they change no memory." in said
    assert said.rstrip().endswith(f"echoless review {notes}")
    links = re.findall(r"^  http://127\.0\.0\.1:\d+/\?token=[\w-]{43}$", said, re.MULTILINE)
    assert [link.strip() for link in links] == [first, second]
    for token in tokens_in(said):
        assert said.count(token) == 1
    assert notes.read_bytes() == before
    with open_store(notes) as store:
        assert len(store.ledger.reviews()) == 1


def test_a_second_review_is_refused_with_the_address_of_the_first(notes: Path) -> None:
    with small_review(notes) as first:
        link = first.link
        with pytest.raises(StoreLocked) as refused:
            review_command([str(notes), "--set", "semantic=no"], standalone_mode=False)
        assert str(refused.value).startswith(
            f"This store is being reviewed at {link.partition('?')[0]} (process {first.process.pid}"
        )
        assert "Press Enter in its terminal for a new link." in str(refused.value)
        assert not tokens_in(str(refused.value))
        with entered(link) as person:
            assert person.get("/").text == "open"
        assert first.end(signal.SIGTERM) == 0
        assert "The review has ended. No answer waits to be applied." in first.output


def test_a_killed_review_leaves_its_answers_and_no_lock(notes: Path) -> None:
    with small_review(notes) as killed:
        with entered(killed.link) as person:
            assert person.post("/answer").text == "stored"
            killed.kill()
            with pytest.raises(httpx.TransportError):
                person.get("/")
    with small_review(notes) as review:
        with entered(review.link) as person:
            assert person.get("/").text == "skip"
        assert "1 answer stored before." in review.output
        assert review.stop() == 0


def long_work(review: ReviewProcess, gate: Path) -> None:
    """Begins work that ends once a file is there, and sees that other work is refused."""
    with entered(review.link) as person:
        assert person.post(f"/long?gate={gate}").text == "begun"
        busy = person.get("/")
        assert busy.status_code == 503
        assert "Applying the plan is under way" in busy.text


def test_ctrl_c_brings_what_is_being_written_to_its_end(notes: Path, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with small_review(notes) as review:
        long_work(review, gate)
        review.process.send_signal(signal.SIGINT)
        review.line("Applying the plan is brought to its end. A second Ctrl-C interrupts it.")
        assert review.process.poll() is None
        gate.touch()
        assert review.end(None) == 0
        assert "The review has ended." in review.output


def test_a_second_ctrl_c_interrupts_and_says_how_to_mend(notes: Path, tmp_path: Path) -> None:
    with small_review(notes) as review:
        long_work(review, tmp_path / "gate")
        review.process.send_signal(signal.SIGINT)
        review.line("A second Ctrl-C interrupts it.")
        assert review.end(signal.SIGINT) == 130
        assert "Interrupted while writing. Nothing is lost: run `echoless check" in review.output
        assert "Traceback" not in review.output


def test_a_host_that_others_reach_is_warned_of(notes: Path) -> None:
    with small_review(notes, "--listen", "0.0.0.0:0") as review:
        link = review.link
        assert "Other machines can reach this page, and what it sends is not encrypted" in (
            review.output
        )
        assert link.startswith(f"http://{socket.gethostname()}:")
        port = link.partition("/?")[0].rpartition(":")[2]
        with entered(link.replace(f"//{socket.gethostname()}:", "//127.0.0.1:")) as person:
            assert person.get("/").text == "open"
            assert person.get("/", headers={"Host": f"evil.example:{port}"}).status_code == 421
        assert review.stop() == 0


def test_where_no_browser_is_opened_the_way_by_words_is_named(notes: Path) -> None:
    with small_review(notes) as review:
        review.stop()
    assert f"No browser is opened. Without one, `echoless review {notes} --list`" in review.output
    assert "--decide KEY=ANSWER answers." in review.output


def test_a_port_that_is_taken_is_said_at_once(notes: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        with pytest.raises(UsageError, match=f"Nothing can listen on 127.0.0.1:{port} .another"):
            review_command([str(notes), "--listen", port], standalone_mode=False)


@pytest.mark.parametrize("library", ["starlette", "uvicorn", "jinja2"])
def test_without_its_libraries_the_command_names_the_extra(
    notes: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setattr(optional, "is_installed", lambda module: module != library)
    with pytest.raises(MissingExtra) as missing:
        review_command([str(notes)], standalone_mode=False)
    assert str(missing.value) == (
        'The review in a browser, unlike --list and --decide, needs the extra "review": '
        "pip install 'echoless[review]'"
    )


def test_settings_that_propose_to_delete_are_not_followed_unasked(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ECHOLESS_ACTION", "delete")
    with pytest.raises(UsageError, match="Say so with --action delete"):
        review_command([str(notes)], standalone_mode=False)


# ------------------------------------------------------------------ the browser


@pytest.mark.parametrize(
    ("environment", "terminal", "platform", "opened"),
    [
        ({"DISPLAY": ":0"}, True, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True, "linux", True),
        ({}, True, "linux", False),
        ({"DISPLAY": ""}, True, "linux", False),
        ({"DISPLAY": ":0"}, False, "linux", False),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "a b"}, True, "linux", False),
        ({"BROWSER": "helper", "SSH_CONNECTION": "a b"}, True, "linux", True),
        ({}, True, "darwin", True),
        ({"SSH_CONNECTION": "a b"}, True, "darwin", False),
    ],
)
def test_a_browser_is_opened_only_where_the_person_would_see_it(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    terminal: bool,
    platform: str,
    opened: bool,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "platform", platform)
    assert server.has_browser(environment) is opened

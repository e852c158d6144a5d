"""A store of hostile texts, and a reader of pages that notices what does not belong there."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest

from echoless import Choices, audit, find, open_store, resolve
from echoless.web.report import report_page
from echoless.workflows.audit.report import Report
from echoless.workflows.audit.report_parts import ReportedGroup, ReportedMember
from tests.web.browser_fixture import browser, running_browser

__all__ = ["browser", "running_browser"]

EVIL_ID: Final = "m\"'><script>alert(1)</script>"
SCRIPT: Final = "The gateway <script>alert('x')</script> listens on port 8443 </style><img src=x>"
SECRET: Final = "AKIAIOSFODNN7EXAMPLQ"
LONG: Final = "The long note goes on and on. " * 35_000

ELEMENTS: Final = frozenset(
    re.findall(
        r"\w+",
        "html head meta title style body a header main footer nav section article h1 h2 h3 p ul ol "
        "li dl div dt dd span strong code bdi wbr time del ins mark details summary figure "
        "figcaption table caption thead tbody tr th td meter",
    )
)
ATTRIBUTES: Final = frozenset(
    re.findall(
        r"\S+",
        "lang charset http-equiv name content class href id tabindex aria-label aria-labelledby "
        "role scope datetime dir min max value",
    )
)
_VOID: Final = frozenset({"meta", "wbr"})


class PageReader(HTMLParser):
    """Elements, attributes and texts of a page; anything unknown is listed as foreign."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.foreign: list[str] = []
        self.ids: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.elements: Counter[str] = Counter()
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        self.foreign += [f"<{name}> is never closed" for name in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        if tag not in ELEMENTS:
            self.foreign.append(f"<{tag}>")
        for name, value in attrs:
            self.attributes.append((tag, name, value or ""))
            if name not in ATTRIBUTES:
                self.foreign.append(f"{tag} {name}={value!r}")
            if name == "id":
                self.ids[value or ""] += 1
        if tag not in _VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.foreign.append(f"</{tag}> out of place")

    def handle_comment(self, data: str) -> None:
        self.foreign.append(f"<!--{data}-->")

    def handle_data(self, data: str) -> None:
        if self._open[-1:] != ["style"]:
            self.texts.append(data)

    @property
    def text(self) -> str:
        """All text of the page, with single spaces."""
        return " ".join("".join(self.texts).split())


def hostile_lines() -> Iterable[dict[str, object]]:
    """Memories whose texts, ids, namespaces and dates try to become markup."""
    yield {"id": EVIL_ID, "content": SCRIPT, "created_at": '2026-01-01"><b>'}
    yield {"id": "m-2", "content": SCRIPT.replace("The", "the"), "created_at": "2026-01-02"}
    yield {"id": "m-3", "content": "Ports \x1b[31mred\x07 \u202egnirts\u202c \u200b are closed."}
    yield {"id": "m-4", "content": "ports \x1b[31mred\x07 \u202egnirts\u202c \u200b are closed"}
    yield {"id": "m-5", "content": f"The key of the bucket is {SECRET} and nothing else."}
    yield {"id": "m-6", "content": f"the key of the bucket is {SECRET} and nothing else"}
    yield {"id": "m-7", "content": LONG}
    yield {"id": "m-8", "content": LONG}
    yield {"id": "m-9", "content": "A lone \ud83d half of an emoji is here today."}
    yield {"id": "m-10", "content": "a lone \ud83d half of an emoji is here today"}
    yield {"id": "m-11", "content": "موعد الاجتماع يوم الخميس في الساعة العاشرة."}
    yield {"id": "m-12", "content": "موعد الاجتماع يوم الخميس في الساعة العاشرة"}
    for number, port in enumerate((8001, 8002, 8003)):
        yield {
            "id": f"v-{number}",
            "content": f"The billing service listens on port {port} <!-- now -->.",
            "namespace": "</title><svg onload=alert(1)>",
            "created_at": f"2026-0{number + 2}-01T00:00:00Z",
        }


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A JSONL store of hostile texts."""
    path = tmp_path_factory.mktemp("hostile") / "store.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in hostile_lines()), "utf-8")
    return path


@pytest.fixture(scope="session")
def hostile_report(hostile: Path) -> tuple[Report, str]:
    """The report on it, and the page; texts that are not compared form groups by hand."""
    with open_store(str(hostile)) as store:
        report = audit(find(store, resolve(Choices(encoder="none"), proposed=store.profile)))
        by_hand = (_group("m-7", "m-8"), _group("m-9", "m-10"), _group("m-1\u202e", "gone"))
        notes = (f"A note of {SECRET}.",)
        report = replace(report, groups=(*report.groups, *by_hand), notes=notes)
        return report, report_page(store, report)


def _group(survivor: str, member: str) -> ReportedGroup:
    """A group of two, found by no detector."""
    evidence = "same text; name: <b> | (nothing)"
    return ReportedGroup(
        survivor, "<i>", (ReportedMember(member, "duplicate", 0.5, evidence, "same-text"),)
    )

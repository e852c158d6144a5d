"""The HTML report: hostile texts stay texts, figures agree with the JSON, nothing is loaded."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from echoless import Choices, audit, find, open_store, resolve
from echoless.core.masking import OUTPUT
from echoless.web.report import EXTENT, report_page
from echoless.workflows.audit.between import between_namespaces
from echoless.workflows.audit.report import Report, report_json
from echoless.workflows.audit.report_parts import ReportedPair
from tests.web.conftest import EVIL_ID, LONG, SECRET, PageReader
from tests.workflows.dedupe.test_claims import NOTE, changed

Hostile = tuple[Report, str]


@pytest.fixture(autouse=True)
def _masked() -> Iterator[None]:
    OUTPUT.begin(shown=False)
    yield
    OUTPUT.begin()


@pytest.fixture(scope="module")
def sample() -> Hostile:
    """The report on the bundled sample, found by words."""
    path = files("echoless").joinpath("data/sample.jsonl")
    with open_store(str(path)) as store:
        report = audit(find(store, resolve(Choices(encoder="none"), proposed=store.profile)))
        return report, report_page(store, report)


def test_hostile_texts_ids_namespaces_and_dates_add_no_element_and_no_attribute(
    hostile_report: Hostile,
) -> None:
    _, page = hostile_report
    reader = PageReader(page)
    assert reader.foreign == []
    assert "script" not in reader.elements
    assert reader.elements["style"] == 1
    assert page.count("</style>") == page.count("<title>Rep") == 1
    assert "<script>alert('x')</script>" in reader.text
    assert EVIL_ID in reader.text
    assert "</title><svg onload=alert(1)>" in reader.text


def test_each_id_of_the_page_occurs_once_and_each_reference_has_its_target(
    hostile_report: Hostile, sample: Hostile
) -> None:
    for _, page in (hostile_report, sample):
        reader = PageReader(page)
        assert [name for name, number in reader.ids.items() if number > 1] == []
        for _, name, value in reader.attributes:
            if name == "aria-labelledby":
                assert set(value.split()) <= reader.ids.keys()
            if name == "href":
                assert value.removeprefix("#") in reader.ids


def test_hidden_and_direction_characters_are_shown_as_escapes(hostile_report: Hostile) -> None:
    _, page = hostile_report
    for hidden in "\x1b\x07\u202e\u202c\u200b\ud83d":
        assert hidden not in page
        assert f'<span class="escape">\\u{ord(hidden):04x}</span>' in page
    page.encode("utf-8")


def test_secrets_are_masked_in_texts_and_notes(hostile_report: Hostile) -> None:
    _, page = hostile_report
    assert SECRET not in page
    assert re.search(r"\[secret \d+, 20 characters\]", page)  # numbered by process


def test_of_a_text_of_a_megabyte_a_part_is_shown_and_a_sentence_says_how_much(
    hostile_report: Hostile,
) -> None:
    _, page = hostile_report
    assert f"The text has {len(LONG):,} characters; the last 1,030,000 are not shown." in page
    assert len(page) < 150_000


def test_a_memory_that_is_gone_is_said_to_be_gone(hostile_report: Hostile) -> None:
    assert "No longer in the store." in hostile_report[1]


def test_the_page_refers_to_nothing_outside_and_allows_only_its_own_style(
    hostile_report: Hostile,
) -> None:
    _, page = hostile_report
    reader = PageReader(page)
    assert not any("http" in value for _, name, value in reader.attributes if name != "http-equiv")
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    assert len(style) == 1
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    policy = next(
        value for tag, name, value in reader.attributes if (tag, name) == ("meta", "content")
    )
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
    assert "url(" not in style[0]
    assert "@import" not in style[0]


def test_every_figure_that_is_shown_is_that_of_the_json(sample: Hostile) -> None:
    report, page = sample
    data = report_json(report)
    text = PageReader(page).text
    counts = dict(report.counts)
    assert data["counts"] == counts
    shown = {
        "memories": counts["total"],
        "redundant copies, all but one of each": counts["redundant"],
        "groups that say the same": counts["groups"],
        "estimated tokens wasted in recall": data["wasted_tokens"],
        "pairs compared": counts["candidates"],
        "pairs alike but kept apart": counts["held"],
    }
    figures = dict(
        re.findall(r"<dt><bdi>([^<]+)</bdi></dt><dd><span class=\"value\"><bdi>([\d,]+)", page)
    )
    assert f"Out of date: {counts['updates']}" in text
    assert f"Perhaps the same: {counts['unsure']}" in text
    assert {name: int(figures[name].replace(",", "")) for name in shown} == shown
    assert report.answer in text
    for shares in (report.by_namespace, report.by_month):
        for name, share in shares.items():
            assert f"{name}{share.total:,}{share.redundant:,}{share.ratio:.1%}" in text


def test_of_many_groups_the_largest_are_written_and_the_others_counted(sample: Hostile) -> None:
    report, _ = sample
    path = files("echoless").joinpath("data/sample.jsonl")
    with open_store(str(path)) as store:
        page = report_page(store, report, replace(EXTENT, top=3, members=1, pairs=1))
    text = PageReader(page).text
    assert len(re.findall(r"<p><bdi>\d+\. <strong>keep", page)) == 3
    assert f"{len(report.groups) - 3} more: --top {len(report.groups)}" in text
    assert "more: --members" in text
    for kind in report.by_kind.values():
        assert len(kind) < 2 or f"more: --pairs {len(kind)}" in text


def test_a_store_without_repetition_and_an_empty_store_say_so(tmp_path: Path) -> None:
    for content, sentence in (
        ('{"id": "a", "content": "Anna drinks green tea."}\n', "Nothing is said twice."),
        ("", "There are no memories here."),
    ):
        path = tmp_path / "store.jsonl"
        path.write_text(content)
        with open_store(str(path)) as store:
            report = audit(find(store, resolve(Choices(encoder="none"), proposed="safe")))
            reader = PageReader(report_page(store, report))
        assert sentence in reader.text.replace("\xa0", " ")
        assert reader.foreign == []


def test_what_several_files_say_is_reported(tmp_path: Path) -> None:
    for name in ("anna", "ben"):
        text = f"Key {SECRET} opens the <b>gate</b>.\n\nThe lift is out of order.\n"
        (tmp_path / f"{name}.md").write_text(text)
    with open_store(f"markdown:///{tmp_path}") as store:
        settings = resolve(Choices(encoder="none"), proposed=store.profile)
        report = audit(find(store, settings))
        between = between_namespaces(store, settings)
        page = report_page(store, report, between=between, name="my store")
    reader = PageReader(page)
    assert reader.foreign == []
    assert "Said in several namespaces: 2" in reader.text.replace("\xa0", " ")
    assert "anna" in reader.text
    assert "ben" in reader.text
    assert SECRET not in page
    assert "echoless audit 'my store' --json" in reader.text


def test_series_and_claims_of_long_notes_are_shown(tmp_path: Path) -> None:
    rows = [
        {"id": "a", "content": NOTE},
        {"id": "b", "content": changed("14 days", "30 days")},
        *(
            {
                "id": f"t-{at}",
                "content": f"{200 + at} tests pass on main.",
                "created_at": f"202{at}",
            }
            for at in range(5)
        ),
    ]
    path = tmp_path / "store.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with open_store(str(path)) as store:
        report = audit(find(store, resolve(Choices(encoder="none"), proposed=store.profile)))
        page = report_page(store, report)
    reader = PageReader(page)
    assert reader.foreign == []
    assert "a line 7 | b line 7" in reader.text
    assert re.search(r"<mark><span[^<]*</span>14<", page)
    assert report.series
    assert f"{len(report.series[0].members)} memories" in reader.text.replace("\xa0", " ")
    assert "tests pass on main." in reader.text
    assert "--apply" not in reader.text  # there is nothing to hide


def test_the_same_report_gives_the_same_page(hostile: Path, hostile_report: Hostile) -> None:
    report = replace(hostile_report[0])
    with open_store(str(hostile)) as store:
        one, other = (report_page(store, report, made="2026-01-01T00:00:00Z") for _ in range(2))
    assert one == other
    assert '<time datetime="2026-01-01T00:00:00Z">1\xa0Jan\xa02026</time>' in one


def test_a_browser_applies_the_style_loads_nothing_and_scrolls_only_down(
    browser: Browser, hostile_report: Hostile, sample: Hostile, tmp_path: Path
) -> None:
    complaints: list[str] = []
    requests: list[str] = []
    with browser.new_context(
        viewport={"width": 360, "height": 780}, color_scheme="dark"
    ) as context:
        tab = context.new_page()
        tab.on("console", lambda message: complaints.append(message.text))
        tab.on("request", lambda request: requests.append(request.url))
        for number, (_, page) in enumerate((hostile_report, sample)):
            file = tmp_path / f"{number}.html"
            file.write_text(page, "utf-8")
            tab.goto(file.as_uri())
            assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == (
                "rgb(18, 22, 29)"
            )
            assert tab.evaluate("document.documentElement.scrollWidth") == 360
    assert complaints == []
    assert len(requests) == 2


def test_a_reason_that_quotes_a_word_of_a_secret_is_masked_wherever_it_stands(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.jsonl"
    path.write_text(
        '{"id": "a", "content": "Anna drinks tea."}\n{"id": "b", "content": "Ben drinks tea."}\n'
        '{"id": "c", "content": "The password is hunter9swordfish."}\n'
    )
    quoting = ReportedPair("a", "b", "contradiction", None, 0.9, "name: hunter9swordfish | Ben")
    holding = ReportedPair("b", "c", "unsure", None, 0.5, "name: Ben | Anna")
    with open_store(str(path)) as store:
        report = audit(find(store, resolve(Choices(encoder="none"), proposed=store.profile)))
        report = replace(report, held=(quoting, holding))
        assert "hunter9" not in report_page(store, report)

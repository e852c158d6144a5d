"""What a notebook shows of findings, reports, plans and runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings

from echoless import Findings, Memory, Run, apply, audit, find, plan
from echoless.core.masking import OUTPUT
from tests.conformance.strategies import hostile_texts, memories
from tests.laws.worlds import quick, safe, world

KEY = "AKIA" + "Q3EGRIT7XK2LMV9P"
ELEMENTS = {
    *("div", "p", "strong", "code", "bdi", "br", "ol", "ul", "li", "del", "ins"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}


class Elements(HTMLParser):
    """Checks that elements are ours, closed in order, and without a handler or an address."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ELEMENTS
        assert {name for name, _ in attrs} <= {"class", "style", "scope"}
        for name, value in attrs:
            assert name != "style" or re.fullmatch(r"text-decoration: [a-z-]+", value or "")
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def text_of(markup: str) -> str:
    parser = Elements()
    parser.feed(markup)
    parser.close()
    assert parser.open == []
    return parser.text


@contextmanager
def found(*texts: str) -> Iterator[Findings]:
    made = [Memory(id=f"m-{at}", content=text) for at, text in enumerate(texts)]
    with world("sqlite", made) as store:
        yield find(store, safe())


@settings(quick, max_examples=8)
@given(content=hostile_texts(), drawn=memories())
def test_no_text_becomes_markup_or_steers_the_page(content: str, drawn: Memory) -> None:
    content = f"{content} <script>alert(1)</script> $x$ &amp; \u202e".replace("\0", "")
    name = 'a"><img src=x onerror=alert(1)>'
    made = [
        replace(drawn, id=f"<b>{at}", content=content, namespace=name, pinned=False) for at in "123"
    ]
    with world("sqlite", [*made, Memory(id="other", content="Something else.")]) as store:
        findings = find(store, safe())
        preview = plan(findings)
        shown = [findings, audit(findings), preview, apply(store, preview)]
    for each in shown:
        markup = each._repr_html_()
        assert "tex2jax_ignore" in markup
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\x1b]", markup)
        text_of(markup)


def test_the_sentence_comes_first_then_groups_with_struck_and_underlined_words() -> None:
    with found("Anna drinks green tea.", "anna drinks green tea", "The printer is broken.") as it:
        markup = it._repr_html_()
    sentence = "1 of 3 memories repeats another one (33.3%)."
    assert 0 < text_of(markup).index(sentence) < text_of(markup).index("The same: ")
    assert ">anna</del>" in markup
    assert ">Anna</ins>" in markup
    assert "text-decoration: line-through" in markup
    assert "text-decoration: underline" in markup
    assert "color" not in markup


def test_groups_beyond_the_tenth_are_counted() -> None:
    things = ("printer", "scanner", "kettle", "window", "door", "lamp", "phone", "chair", "desk")
    texts = [f"The {thing} in the hallway is broken." for thing in (*things, "sink", "bell", "fan")]
    with found(*texts, *texts) as findings:
        text = text_of(findings._repr_html_())
        report = text_of(audit(findings)._repr_html_())
    assert "The same: 10 of 12 groups" in text
    assert "2 more." in text
    assert "2 more." in report
    assert text.count("the same text") == 10


def test_members_beyond_the_fifth_are_counted() -> None:
    with found(*["The printer in the hallway is broken."] * 8) as findings:
        assert "2 more" in text_of(findings._repr_html_())
        assert "2 more" in text_of(audit(findings)._repr_html_())
        assert "2 more" in text_of(plan(findings)._repr_html_())


def test_secrets_are_masked_also_where_a_reason_quotes_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(OUTPUT, "shown", False)
    texts = (f"The key of the bucket is {KEY}.", f"the key of the bucket is {KEY}")
    with found(*texts, "The password is correct-horse9 battery.") as findings:
        shown = [findings, audit(findings), plan(findings)]
        assert findings.counts["redundant"] == 1
        for each in shown:
            assert KEY not in each._repr_html_()
            assert "correct-horse9" not in each._repr_html_()
        assert "Secrets are masked here" in findings._repr_html_()


def test_a_report_shows_no_word_of_a_text() -> None:
    with found("Anna drinks green tea.", "anna drinks green tea") as findings:
        assert "tea" not in audit(findings)._repr_html_()


def test_nothing_said_twice_is_said_in_one_sentence() -> None:
    with found("Anna drinks green tea.") as findings:
        text = text_of(findings._repr_html_())
        assert text.startswith("This answer is not complete. No encoder was used")
        assert "None of 1 memory repeats another one." in text
        assert "nothing would change" in plan(findings)._repr_html_()


def test_what_was_left_out_is_said() -> None:
    with found("Anna drinks green tea.", " ") as findings:
        assert "empty: 1" in text_of(findings._repr_html_())
        assert "empty: 1" in text_of(audit(findings)._repr_html_())


def test_a_plan_says_what_would_happen_and_a_run_how_to_go_back(tmp_path: Path) -> None:
    made = [Memory(id=i, content="The printer is broken.") for i in "ab"]
    with world("sqlite", made) as store:
        preview = plan(find(store, safe()))
        text = text_of(preview._repr_html_())
        run: Run = apply(store, preview)
    assert text.startswith("Plan for sqlite:")
    assert "1 group: 1 memory would be hidden. Nothing is written yet." in text
    told = text_of(run._repr_html_())
    assert told.startswith("Done: 1 memory hidden in 1 group.")
    assert f"Run {run.id}" in told
    assert f"undo(store, '{run.id}')" in told

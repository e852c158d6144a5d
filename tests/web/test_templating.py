"""What a template prints is safe whatever it is, and figures and dates are written one way."""

from __future__ import annotations

import re

import jinja2
import pytest

from echoless.web import templating
from echoless.web.templating import environment, style_hash, stylesheet
from tests.web.conftest import SECRET, PageReader


def printed(template: str, **values: object) -> str:
    return environment().from_string(template).render(**values)


def test_a_plain_text_is_masked_made_visible_and_escaped_even_in_an_attribute() -> None:
    text = f'"><script>\u202e\n {SECRET}'
    page = printed('<p class="{{ text }}">{{ text }}</p>', text=text)
    reader = PageReader(page)
    assert reader.elements == {"p": 1}
    assert reader.foreign == []
    assert SECRET not in page
    assert reader.texts == [reader.attributes[0][2]]
    assert "\\u202e\\n" in reader.texts[0]


def test_a_name_that_is_not_defined_is_an_error() -> None:
    with pytest.raises(jinja2.UndefinedError):
        printed("{{ memory.contents }}", memory={"content": "x"})


@pytest.mark.parametrize(
    ("template", "value", "shown"),
    [
        ("{{ value|number }}", 1234567, "1,234,567"),
        ('{{ value|count("memory", "memories") }}', 1, "1\xa0memory"),
        ('{{ value|count("memory", "memories") }}', 1200, "1,200\xa0memories"),
        ("{{ value|date }}", None, "no date"),
        ("{{ value|date }}", "<soon>", "<bdi>&lt;soon&gt;</bdi>"),
        (
            "{{ value|date }}",
            "2026-02-01T01:00:00+03:00",
            '<time datetime="2026-01-31T22:00:00Z">31\xa0Jan\xa02026</time>',
        ),
        ("{{ value|date }}", "9999-12-31T23:59:59-01:00", "<bdi>9999-12-31T23:59:59-01:00</bdi>"),
        ("{{ value|identifier }}", "a/b", '<bdi class="id">a/<wbr>b</bdi>'),
    ],
)
def test_figures_dates_and_ids(template: str, value: object, shown: str) -> None:
    assert printed(template, value=value) == shown


def test_a_page_without_a_server_carries_its_style_and_another_one_refers_to_it() -> None:
    values = {"report": None}
    source = (
        '{% extends "base.html" %}{% block title %}T{% endblock %}{% block main %}M{% endblock %}'
    )
    alone = printed(source, **values, self_contained=True)
    assert f"<style>{stylesheet()}</style>" in alone
    assert style_hash() in alone
    served = printed(source, **values)
    assert '<link rel="stylesheet" href="/static/style.css">' in served
    assert "<style" not in served
    assert "Content-Security-Policy" not in served


def test_templates_trust_no_text_and_have_no_script_and_no_style_attribute() -> None:
    loader = environment().loader
    assert loader is not None
    for name in loader.list_templates():
        source = loader.get_source(environment(), name)[0]
        assert not re.search(r"\|\s*safe\b|autoescape|\sstyle=|\son\w+=", source), name


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1, 2], ids=["light", "dark", "print"])
def test_texts_have_the_contrast_of_wcag_aa(scheme: int) -> None:
    schemes = re.findall(r":root \{(.*?)\}", stylesheet(), re.DOTALL)
    assert len(schemes) == 3
    colours = {
        name: value
        for part in (schemes[0], schemes[scheme])
        for name, value in re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)
    }
    grounds = ("page", "card")
    pairs = [(text, ground) for text in ("text", "quiet", "strong") for ground in grounds]
    pairs += [("old-text", "old"), ("new-text", "new"), ("escape-text", "escape")]
    for text, ground in pairs:
        light, dark = sorted((_luminance(colours[text]), _luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)
    for series in ("first", "second"):
        light, dark = sorted((_luminance(colours[series]), _luminance(colours["card"])))
        assert (dark + 0.05) / (light + 0.05) >= 3, series


def test_the_filters_are_those_the_docstring_promises() -> None:
    assert {"number", "date", "count", "block"} <= environment().filters.keys()
    assert templating.number(1000) == "1,000"

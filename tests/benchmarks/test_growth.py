"""The check that no reader's time grows with the square of a text."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks.growth import __main__ as growth
from benchmarks.growth.near_misses import NearMiss, near_misses
from benchmarks.growth.readers import ELSEWHERE, READERS, Reader

import echoless

EXPRESSION = re.compile(
    r"\b(?:lazy_pattern|re\.(?:compile|search|match|fullmatch|subn?|split|findall|finditer))\("
)


def test_every_module_with_an_expression_has_a_reader_or_is_named_as_one_without_texts() -> None:
    source = Path(echoless.__file__).parents[1]
    with_expressions = {
        ".".join(path.relative_to(source).with_suffix("").parts).removeprefix("echoless.")
        for path in source.rglob("*.py")
        if EXPRESSION.search(path.read_text("utf-8"))
    }
    read = {name for reader in READERS.values() for name in reader.modules.split()}
    named = {*ELSEWHERE.split()}
    assert with_expressions - read - named == set(), "see benchmarks/growth/readers.py"
    assert named <= with_expressions - read


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"\s+$", NearMiss(" ")),
        (r"[A-Z]\w+(?: [A-Z]\w+)+", NearMiss("Aa")),
        (r"\[[^\]\n]*\]\(", NearMiss("[")),
        (r"\d(?:[ab]+c?)+;", NearMiss("a", "1")),
        (r"x+(?:y|z)$", NearMiss("x", "", "xy")),
    ],
)
def test_an_expression_gives_what_it_reads_up_to_each_part(source: str, text: NearMiss) -> None:
    assert text in near_misses([(source, 0)])


def test_a_text_has_the_length_and_is_another_one_each_time() -> None:
    text = NearMiss("ab", "<", ">")
    assert text.text(8, 1) == "<abab1abab>"
    assert text.text(8, 2) != text.text(8, 1)


@pytest.mark.parametrize(("power", "code"), [(1.0, 0), (1.4, 0), (1.6, 1), (2.0, 1)])
def test_the_check_fails_where_an_exponent_is_above_the_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], power: float, code: int
) -> None:
    clock = SimpleNamespace(now=0.0)

    def read(text: str) -> None:
        clock.now += 1e-7 * len(text) ** (power if "[[" in text else 1)

    monkeypatch.setattr(growth, "time", SimpleNamespace(process_time=lambda: clock.now))
    monkeypatch.setattr(growth, "READERS", {"links": Reader(read, "core.text")})
    monkeypatch.setattr(sys, "argv", ["growth", "--check", "--seconds", "9"])
    with pytest.raises(SystemExit) as ended:
        growth.main()
    assert ended.value.code == code
    assert ("is above 1.5" in capsys.readouterr().out) is bool(code)


def test_a_text_that_is_not_read_to_its_end_counts_as_endless(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def read(text: str) -> None:
        raise growth.Endless

    assert growth.seconds(Reader(read, ""), NearMiss("a"), 10) == float("inf")

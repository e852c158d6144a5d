"""The factors of units come from pint; the shipped file is what the tool makes of them."""

from __future__ import annotations

from fractions import Fraction

import pytest

from echoless.matching.languages import units


def test_the_shipped_factors_are_those_of_pint() -> None:
    pytest.importorskip("pint")
    from tools import units as tool

    assert tool.text() == tool.FACTORS.read_text("utf-8"), "run: python tools/units.py"


def test_every_spelling_is_folded_and_has_a_positive_factor() -> None:
    assert all(word == word.casefold() for word in units())
    assert all(unit.factor > 0 for unit in units().values())
    assert units()["fortnight"].factor == Fraction(14 * 86_400)

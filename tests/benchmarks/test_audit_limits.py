"""Counts behind the table of a whole audit against the machine."""

from __future__ import annotations

from benchmarks.speed.audit_limits import WIDTH, measured, products, report


def test_the_products_of_a_pair_grow_with_its_tokens_and_their_square() -> None:
    assert products(10) == 8 * (12 * WIDTH**2 * 10 + 2 * WIDTH * 100)
    assert products(20) - 2 * products(10) == 8 * 2 * WIDTH * 200


def test_an_audit_tells_its_stages_its_pairs_and_the_bytes_it_read() -> None:
    line = measured(200, 8, "stored")
    assert line["n"] == line["counts"]["total"] == 200
    assert {"scan", "detect", "judge", "report"} <= set(line["cpu"])
    assert line["counts"]["candidates"] > 0
    assert line["model"]["pairs"] <= line["counts"]["candidates"]
    text = report(line, {"bytes": 1e10, "terms": 1e11})
    assert "A whole audit of 200 memories" in text
    assert f"{line['counts']['candidates']:,} pairs judged" in text

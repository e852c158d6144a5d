"""What the training data says of its pairs follows from what was written."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from training.examples import lines, read_contrast, read_pairs

SETS = sorted(Path(__file__).parents[2].glob("training/data/contrast/*.jsonl"))

ITEM = {
    "base": "base",
    "same": ["same 1", "same 2"],
    "less": ["less"],
    "more": ["more"],
    "conflict": [{"t": "other", "kind": "number"}],
    "sibling": [{"t": "parallel", "kind": "person"}],
    "related": ["related"],
}


def texts(item: dict) -> list[str]:
    """Every text of a set."""
    plain = [item["base"], *item["same"], *item["less"], *item["more"], *item["related"]]
    return plain + [other["t"] for other in [*item["conflict"], *item["sibling"]]]


def test_a_contrast_set_gives_every_pair_whose_relation_follows(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(ITEM) + "\n", "utf-8")
    said = {(pair.a, pair.b): pair.targets for pair in read_contrast(path)}
    assert said["base", "same 2"] == said["same 1", "same 2"] == (1, 1, 0)
    assert said["same 1", "less"] == said["more", "base"] == said["more", "less"] == (1, 0, 0)
    assert said["same 2", "other"] == said["more", "other"] == (0, 0, 1)
    assert said["base", "parallel"] == said["same 1", "related"] == (0, 0, 0)
    assert ("less", "other") not in said
    assert len(said) == 3 + 3 + 3 + 3 + 6 + 4


def test_the_side_that_says_more_entails_the_other(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [{"a": "x", "b": "y", "class": "subsumes", "superset": side} for side in ("a", "b")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert [pair.targets for pair in read_pairs(path, "s")] == [(1, 0, 0), (0, 1, 0)]


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_every_contrast_set_is_whole_and_says_nothing_twice(path: Path) -> None:
    bases = Counter(item["base"] for item in lines(path))
    assert bases.most_common(1)[0][1] == 1
    for item in lines(path):
        every = texts(item)
        assert len(item["same"]) >= 2, item["base"]
        assert len(item["conflict"]) >= 2, item["base"]
        assert len(set(every)) == len(every), item["base"]
        assert all(text.strip() for text in every), item["base"]

"""What the training data says of its pairs follows from what was written."""

from __future__ import annotations

import json
import lzma
from collections import Counter
from pathlib import Path

import pytest
from training.examples import (
    later_sets,
    lines,
    read_across,
    read_contrast,
    read_digested,
    read_pairs,
    read_revisions,
)
from training.notes import digest

DATA = Path(__file__).parents[2] / "training" / "data"
SETS = [p for kind in ("contrast", "people_dev") for p in sorted((DATA / kind).glob("*.jsonl"))]
BINDINGS = {"permissions", "denied", "states", "fields", "persons", "bounds", "names"}


def test_the_sets_of_what_came_later_that_measure_are_none_of_those_that_train() -> None:
    train, kept = ({item["base"] for item in later_sets(kept=side)} for side in (False, True))
    assert not train & kept
    assert 0.25 < len(kept) / len(train | kept) < 0.42


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


def test_a_label_that_another_reader_could_give_otherwise_is_a_soft_target(tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    rows = [{"a": "x", "b": "y", "label": label, "hard": True} for label in ("D", "Sa", "C", "V")]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    told = [(pair.targets, pair.mergeable) for pair in read_pairs(path, "notes")]
    assert told == [
        ((0.8, 0.8, 0.15), True),
        ((0.8, 0.15, 0.15), True),
        ((0.15, 0.15, None), False),
        ((0.15, 0.15, 0.8), False),
    ]


def test_labels_by_digest_find_their_pairs_and_a_tenth_is_left_out(tmp_path: Path) -> None:
    pairs = [{"a": f"Boat {n} leaves.", "b": f"Boat {n} leaves at nine."} for n in range(4)]
    with lzma.open(tmp_path / "pairs.jsonl.xz", "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(each) + "\n" for each in pairs)
    labels = [
        {"id": f"u-{n}", "label": "Sb", "hard": n == 2}
        | {side: digest(pairs[n][side]) for side in "ab"}
        for n in (1, 2, 3)
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(each) + "\n" for each in labels))
    found = list(read_digested(tmp_path / "labels.jsonl", tmp_path / "pairs.jsonl.xz"))
    assert [each.a for each in found] == ["Boat 1 leaves.", "Boat 2 leaves."]
    assert [each.targets for each in found] == [(0, 1, 0), (0.15, 0.8, 0.15)]


def test_revisions_are_read_as_they_lie_and_a_quarter_of_their_repositories_is_left_out(
    tmp_path: Path,
) -> None:
    rows = [
        {"repo": f"owner/n{n}", "old": "Port 80.", "new": "Port 81."}
        | {"label": "V", "sure": n % 2 == 0}
        for n in range(40)
    ]
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    found = list(read_revisions(path))
    assert 20 < len(found) < 40
    assert {each.targets for each in found} == {(0, 0, 1), (0.15, 0.15, 0.8)}
    assert {(each.a, each.b) for each in found} == {("Port 80.", "Port 81.")}


def test_the_nearest_texts_of_two_sets_of_one_story_are_never_the_same(tmp_path: Path) -> None:
    path = tmp_path / "sets.jsonl"
    sets = [
        {"base": f"{who} {does}.", "same": [f"It is {who} who {does}."], **more}
        for who, does, more in (
            ("Ann", "sings", {"group": "choir"}),
            ("Ben", "sings", {"group": "choir"}),
            ("Cem", "rows", {"group": "boat"}),
            ("Dora", "rows", {}),
        )
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in sets), "utf-8")
    made = list(read_across(path))
    assert {(pair.a, pair.targets) for pair in made} == {
        (text, (0, 0, None))
        for text in ("Ann sings.", "It is Ann who sings.", "Ben sings.", "It is Ben who sings.")
    }
    assert all("Ann" in pair.a + pair.b and "Ben" in pair.a + pair.b for pair in made)


@pytest.mark.parametrize("path", SETS, ids=lambda path: path.stem)
def test_every_contrast_set_is_whole_and_says_nothing_twice(path: Path) -> None:
    bases = Counter(item["base"] for item in lines(path))
    assert bases.most_common(1)[0][1] == 1
    for item in lines(path):
        every = texts(item)
        least = 0 if path.stem in BINDINGS else 2  # a title has no rewording, a bound no conflict
        assert len(item["same"]) >= least, item["base"]
        assert len(item["conflict"]) >= least, item["base"]
        assert len(set(every)) == len(every), item["base"]
        assert all(text.strip() for text in every), item["base"]

"""A collection of Chroma that follows nobody's layout, through `audit` and `dedup` with a map."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.conformance.stores import contents
from tests.echoless_stores.chroma_folders import Row, held, make

Call = Callable[..., Result]

FLAGS = ("--map", "namespace=team", "--map", "created_at=when", "--map", "tags=labels")
STORED = ("--encoder", "stored")
MORE = ("--map", "access_count=hits", "--map", "importance=weight")
FILE = """
[map]
namespace = "team"
created_at = "when"
tags = "labels"
access_count = "hits"
importance = "weight"
"""


def rows() -> list[Row]:
    """Facts said once, twice in one team, or in two teams; numbers that keep texts apart."""
    rng = random.Random(3)
    made: list[Row] = []
    for fact in range(80):
        near = [rng.gauss(0, 1) for _ in range(16)]
        text = f"The service {fact} of the platform listens on port {8000 + fact}."
        for copy, (team, said) in enumerate(
            (
                ("red", text),
                ("red", text.replace("The service", "the service")),
                ("blue", text),
                ("red", text.replace(f"{8000 + fact}", f"{9000 + fact}")),
            )[: 1 + fact % 4]
        ):
            metadata = {
                "team": team,
                "when": 1767225600 + 60 * len(made),
                "labels": rng.choice([["a"], ["b", "c"]]) if copy % 2 else "a, b",
                "hits": copy + 1,
                "weight": "0.5" if copy else 0.25,
                "chunk": len(made),
            }
            made.append(Row(f"doc/{len(made):03}", said, near, metadata))
    made.append(Row("doc/bare", None, [1.0] * 16))
    return made


@pytest.fixture
def notes(place: Path) -> Path:
    return make(place / "db", "notes", rows())


def test_a_general_collection_is_audited_deduplicated_and_brought_back(
    echoless: Call, notes: Path
) -> None:
    mapped = (str(notes), *FLAGS, *MORE, *STORED)
    before, files = held(notes, "notes"), contents(notes.parent / "db")
    report = json.loads(echoless("audit", *mapped, "--json").stdout)
    assert (report["profile"], report["counts"]["total"]) == ("safe", len(before))
    assert report["counts"]["redundant"] == 60
    assert contents(notes.parent / "db") == files
    said = echoless("dedup", *mapped, "--apply", "--action", "merge", "--json")
    answer = json.loads(said.stdout)
    assert answer["run"]["counts"] == {"groups": 60, "mark": 0, "merge": 60, "delete": 0, "edit": 0}
    after = held(notes, "notes")
    changed = [id_ for id_ in before if before[id_] != after[id_]]
    assert len(changed) == 60
    groups = {each["survivor"]: each["members"] for each in answer["groups"]}
    for id_ in changed:
        kept = after[id_][1]
        same = [id_, *(member["id"] for member in groups[id_])]
        assert (kept["hits"], kept["team"], kept["chunk"]) == (3, "red", before[id_][1]["chunk"])
        assert kept["when"] == min(before[each][1]["when"] for each in same)
        assert float(kept["weight"]) == 0.5
    again = json.loads(echoless("audit", *mapped, "--json").stdout)
    assert again["counts"]["redundant"] == 0
    assert echoless(*shlex.split(answer["undo"])[1:]).exit_code == 0
    assert held(notes, "notes") == before


def test_a_map_in_a_file_says_what_options_say(echoless: Call, notes: Path, place: Path) -> None:
    (place / "map.toml").write_text(FILE)
    by_file = echoless("dedup", str(notes), "--map", "@map.toml", *STORED, "--json")
    by_options = echoless("dedup", str(notes), *FLAGS, *MORE, *STORED, "--json")
    assert by_file.exit_code == 0
    assert json.loads(by_file.stdout)["groups"] == json.loads(by_options.stdout)["groups"]
    assert json.loads(by_file.stdout)["counts"]["redundant"] == 60


def test_without_the_map_teams_are_kept_apart_as_owners(echoless: Call, notes: Path) -> None:
    report = json.loads(echoless("audit", str(notes), *STORED, "--json").stdout)
    assert report["counts"]["redundant"] == 60
    assert any("team" in note for note in report["notes"])


def test_a_plan_of_a_mapped_collection_is_applied_by_the_line_it_prints(
    echoless: Call, notes: Path
) -> None:
    before = held(notes, "notes")
    said = echoless("dedup", f"chroma:///{notes}#notes", *FLAGS, *STORED, "--plan", "plan.json")
    line = said.stdout.partition(" Next:\n   echoless ")[2].partition("\n")[0]
    done = echoless(*shlex.split(line))
    assert done.exit_code == 0, done.stderr
    assert held(notes, "notes") == before
    assert "60 memories" in done.stdout
    assert echoless("undo", str(notes), "last").exit_code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--map", "colour=x"), "'colour'"),
        (("--map", "tags"), "FIELD=COLUMN"),
        (("--map", "vectors=x"), "'vectors' is not taken from a column"),
    ],
)
def test_a_wrong_map_ends_with_code_2(
    echoless: Call, notes: Path, words: tuple[str, ...], says: str
) -> None:
    result = echoless("audit", str(notes), *words)
    assert result.exit_code == 2
    assert says in result.stderr

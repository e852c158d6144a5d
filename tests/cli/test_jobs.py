"""The commands `jobs`, as a person types them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from echoless.engines.partition_files import Failed, failure_file
from echoless.stores import open_store
from tests.cli.lineage import hidden
from tests.engines.worlds import digest_of_one, filled

Call = Callable[..., Result]
ENGINE = ("--engine", "local", "--processes", "1", "--encoder", "none")


@pytest.fixture
def database(place: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("XDG_DATA_HOME", str(place / "own"))
    filled(f"sqlite:///{place}/many.db", 3).close()
    return "many.db"


def answer(called: Result, code: int = 0) -> Mapping[str, Any]:
    assert called.exit_code == code, called.output
    return dict(json.loads(called.stdout))


def test_a_job_is_planned_shown_carried_out_and_taken_back(echoless: Call, database: str) -> None:
    before = Path(database).read_bytes()
    said = echoless("jobs", "dedup", database, *ENGINE)
    assert said.exit_code == 0
    assert "1 partition, 21 memories." in said.stdout
    assert "6 groups say the same; their plans hide 6 memories." in said.stdout
    assert Path(database).read_bytes() == before

    (job,) = answer(echoless("jobs", "list", "--json"))["jobs"]
    assert f"echoless jobs apply {job['name']}" in said.stdout
    shown = answer(echoless("jobs", "show", job["name"], "--json"))
    with open_store(database) as store:
        assert shown["digest"] == digest_of_one(store)
    assert (shown["left"], shown["failed"]) == (0, [])

    assert "6 memories hidden" in echoless("jobs", "apply", job["name"]).stdout
    assert len(hidden(database)) == 6
    assert echoless("jobs", "undo", job["name"]).stdout == "1 run taken back.\n"
    assert hidden(database) == {}


def test_what_is_carried_out_and_taken_back_is_told_as_json(echoless: Call, database: str) -> None:
    echoless("jobs", "dedup", database, *ENGINE)
    (job,) = answer(echoless("jobs", "list", "--json"))["jobs"]
    done = answer(echoless("jobs", "apply", job["name"], "--json"))
    assert done["counts"]["mark"] == 6
    undone = answer(echoless("jobs", "undo", job["name"], "--json"))
    assert (undone["undone"], undone["conflicts"]) == (done["runs"], {})


def test_a_failed_partition_with_an_earlier_result_is_not_left_over(
    echoless: Call, database: str, place: Path
) -> None:
    echoless("jobs", "dedup", database, *ENGINE, "--results", "job")
    failed = Failed(number=0, reason="The server went away.", attempts=3)
    (place / "job" / "0000000.failed.json").write_bytes(failure_file(failed))
    shown = answer(echoless("jobs", "show", "job", "--json"), 5)
    assert (shown["finished"], shown["left"]) == (1, 0)
    assert [each["reason"] for each in shown["failed"]] == ["The server went away."]


def test_one_command_plans_and_carries_out(echoless: Call, database: str, place: Path) -> None:
    done = answer(
        echoless("jobs", "dedup", database, *ENGINE, "--results", "job", "--apply", "--json")
    )
    assert done["applied"]["counts"]["mark"] == 6
    assert len(hidden(database)) == 6
    assert (place / "job" / "job.json").exists()
    same = ("jobs", "dedup", database, *ENGINE, "--results", "job", "--apply", "--json")
    again = answer(echoless(*same))
    assert again["applied"]["runs"] == []


def test_more_than_was_allowed_is_not_carried_out(echoless: Call, database: str) -> None:
    said = echoless("jobs", "dedup", database, *ENGINE, "--apply", "--most-hidden", "10%")
    assert said.exit_code == 5
    assert "would hide 28.57% of the memories" in said.stderr
    assert hidden(database) == {}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--engine", "local", "--plan", "p.json"), "No such option"),
        (("--engine", "local", "--interactive"), "No such option"),
        (("--engine", "local", "--rate", "5"), "--rate is for writing; add --apply"),
        (("--engine", "local", "--processes", "0"), "at least one process"),
        (("--engine", "local", "--set", "limit=5"), "limit counts memories of all namespaces"),
        (("--engine", "postgres"), "needs a database for the results"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    echoless: Call, database: str, options: tuple[str, ...], says: str
) -> None:
    refused = echoless("jobs", "dedup", database, "--encoder", "none", *options)
    assert refused.exit_code == 2
    assert says in refused.stderr


def test_a_job_that_is_not_there_is_named(echoless: Call, database: str) -> None:
    for name in ("show", "apply", "undo"):
        missing = echoless("jobs", name, "nix")
        assert missing.exit_code == 3
        assert "There is no job at nix" in missing.stderr
    assert "There are no jobs." in echoless("jobs", "list").stdout


# ------------------------------------------------------------------ a job that somebody gave


def edited(job: Path, **fields: str) -> None:
    """Changes what a job says of itself."""
    content = json.loads((job / "job.json").read_text())
    (job / "job.json").write_text(json.dumps({**content, **fields}))


def planned(echoless: Call, database: str, place: Path) -> Path:
    """A job of this user outside of their own folder."""
    said = echoless("jobs", "dedup", database, *ENGINE, "--results", "job")
    assert "echoless jobs apply" in said.stdout
    assert "--store" not in said.stdout
    return place / "job"


def test_a_job_this_user_made_in_another_folder_needs_no_store(
    echoless: Call, database: str, place: Path
) -> None:
    planned(echoless, database, place)
    assert "6 memories hidden" in echoless("jobs", "apply", "job").stdout
    assert echoless("jobs", "undo", "job").stdout == "1 run taken back.\n"


@pytest.mark.parametrize("doing", ["apply", "undo"])
@pytest.mark.parametrize("given", ["edited", "copied", "moved", "another user's"])
def test_the_store_that_a_given_job_names_is_not_opened_before_a_person_names_it(
    echoless: Call,
    database: str,
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: str,
    doing: str,
) -> None:
    job = planned(echoless, database, place)
    (place / "other.db").write_bytes(Path(database).read_bytes())
    match given:
        case "edited":
            edited(job, store=f"sqlite:///{place}/other.db")
        case "copied":
            job = job.rename(place / "first")
            (place / "job").mkdir()
            for each in job.iterdir():
                (place / "job" / each.name).write_bytes(each.read_bytes())
            job = (place / "job").rename(place / "second")
        case "moved":
            job = job.rename(place / "elsewhere")
        case _:
            monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(place / "their own"))
    address = json.loads((job / "job.json").read_text())["store"]
    refused = echoless("jobs", doing, str(job))
    assert refused.exit_code == 3
    assert f"echoless jobs {doing} {job} --store {address}" in refused.stderr
    assert hidden(database) == {}
    assert echoless("jobs", doing, str(job), "--store", database).exit_code == 0


def test_a_given_job_that_is_gone_on_with_is_not_believed_by_that(
    echoless: Call, database: str, place: Path
) -> None:
    job = planned(echoless, database, place)
    edited(job, store="postgresql://u@127.0.0.1:1/x#notes")
    said = echoless("jobs", "dedup", database, *ENGINE, "--results", "job")
    assert f"jobs apply {job} --store {database}" in said.stdout
    assert "127.0.0.1" not in said.stdout
    assert echoless("jobs", "apply", "job").exit_code == 3


def test_a_link_in_the_folder_of_own_jobs_does_not_make_a_job_one_s_own(
    echoless: Call, database: str, place: Path
) -> None:
    job = planned(echoless, database, place)
    edited(job, created_at="2026-01-01T00:00:00Z")
    own = place / "own" / "echoless" / "jobs"
    own.mkdir(parents=True)
    (own / "linked").symlink_to(job)
    assert echoless("jobs", "apply", "linked").exit_code == 3
    assert echoless("jobs", "apply", f"{own}/../../../job").exit_code == 3

"""`forget` removes for good and holds what comes back; `edit` changes one text, to be undone."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import Result

from echoless import open_store

Call = Callable[..., Result]
SECRET = "Quintessa Okonkwo keeps nine ferrets in Zwolle."


@pytest.fixture
def store(echoless: Call, tmp_path: Path) -> str:
    rows = [
        {"id": "m-1", "content": "The staging server has 16 GB of memory."},
        {"id": "m-2", "content": SECRET},
        {"id": "m-3", "content": f"Note: {SECRET}"},
    ]
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    name = str(tmp_path / "agent.db")
    assert echoless("import", str(lines), name).exit_code == 0
    lines.unlink()
    return name


def held(answer: Result) -> bool:
    return answer.exit_code == 9 and "what was to be forgotten" in answer.stdout


def test_no_byte_of_it_stays_although_runs_and_caches_quoted_it(
    echoless: Call, store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cache = tmp_path / "own-cache"
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(cache))
    echoless("dedup", store, "--apply")
    echoless("remember", store, "Quintessa Okonkwo keeps ten ferrets in Zwolle.", "--key", "k")
    echoless("audit", store)
    answer = echoless("forget", store, "m-2", "--yes", "--json")
    assert json.loads(answer.stdout)["forgotten"] == ["m-2", "m-3"]
    assert json.loads(answer.stdout)["still_in"] == []
    with open_store(store) as opened:
        (other,) = (memory.id for memory in opened.scan() if "ten ferrets" in memory.content)
    echoless("forget", store, other, "--yes")
    for path in (Path(store), *cache.rglob("*")):
        if path.is_file():
            assert not any(
                word in path.read_bytes()
                for word in (b"Okonkwo keeps", b"ferrets in", b"Okonkwo k")
            ), path
    assert echoless("check", store).exit_code == 0
    assert "deleted" in echoless("history", store).stdout


def test_what_says_it_again_in_other_words_is_held_until_it_may_come_back(
    echoless: Call, store: str
) -> None:
    keys = json.loads(echoless("forget", store, "m-2", "m-3", "--yes", "--json").stdout)["keys"]
    again = "In Zwolle nine ferrets are kept by Quintessa Okonkwo."
    assert held(echoless("remember", store, again))
    assert echoless("remember", store, "Ingrid waters the greenhouse on Mondays.").exit_code == 0
    assert echoless("remember", store, f"{again} Yes.", "--force").exit_code == 0
    listed = json.loads(echoless("forget", store, "--json").stdout)["held"]
    assert [each["key"] for each in listed] == keys
    echoless("forget", store, *(word for key in keys for word in ("--undo-digest", key)))
    assert json.loads(echoless("forget", store, "--json").stdout) == {"held": []}
    assert not held(echoless("remember", store, again))


def test_a_text_no_memory_says_is_held_from_now_on(echoless: Call, store: str) -> None:
    echoless("forget", store, "--text", "The user is allergic to walnuts.", "--yes")
    assert held(echoless("remember", store, "User has a walnut allergy: allergic to walnuts"))


def test_by_its_words_every_memory_that_says_it_goes(echoless: Call, store: str) -> None:
    answer = echoless("forget", store, "--text", SECRET, "--yes", "--json")
    assert json.loads(answer.stdout)["forgotten"] == ["m-2", "m-3"]


def test_an_import_leaves_it_out_and_says_so(echoless: Call, store: str, tmp_path: Path) -> None:
    echoless("forget", store, "m-2", "m-3", "--yes")
    back = tmp_path / "back.jsonl"
    rows = [{"id": "n-1", "content": SECRET}, {"id": "n-2", "content": "Tea is green."}]
    back.write_text("".join(json.dumps(row) + "\n" for row in rows))
    said = echoless("import", str(back), store).stdout
    assert "Imported: 1 memory" in said
    assert "n-1 says again what was to be forgotten" in said


def test_audit_and_doctor_tell_of_one_that_another_program_stored_again(
    echoless: Call, store: str
) -> None:
    echoless("forget", store, "m-3", "--yes")
    for command in ("audit", "doctor"):
        said = echoless(command, store, "--encoder", "none").stdout
        assert "m-2 (says again what was to be forgotten on" in said


def test_a_pinned_or_unknown_memory_is_refused_and_nothing_is_asked_without_a_terminal(
    echoless: Call, store: str
) -> None:
    with open_store(store) as opened, opened.writing():
        (memory,) = opened.get(["m-1"]).values()
        opened.put([replace(memory, pinned=True)])
    assert "it is pinned" in echoless("forget", store, "m-1", "--yes").stderr
    assert "There is no memory 'm-9'" in echoless("forget", store, "m-9", "--yes").stderr
    assert "add --yes" in echoless("forget", store, "m-2").stderr
    assert "--text is empty" in echoless("forget", store, "--text", " ", "--yes").stderr
    assert (
        "Nothing was forgotten under 'x'" in echoless("forget", store, "--undo-digest", "x").stderr
    )
    with open_store(store) as opened:
        assert opened.count() == 3


def test_with_another_key_it_is_listed_and_not_recognised(
    echoless: Call, store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    echoless("forget", store, "m-2", "m-3", "--yes")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "another"))
    (each, _) = json.loads(echoless("forget", store, "--json").stdout)["held"]
    assert each["recognised"] is False
    assert echoless("remember", store, SECRET).exit_code == 0


def test_an_edit_is_a_run_that_can_be_undone(echoless: Call, store: str) -> None:
    new = "The staging server has 32 GB of memory."
    run = json.loads(echoless("edit", store, "m-1", "--text", new, "--json").stdout)["run"]
    with open_store(store) as opened:
        assert opened.get(["m-1"])["m-1"].content == new
    assert echoless("edit", store, "m-1", "--text", new).stdout == "Nothing was changed.\n"
    assert echoless("undo", store, run).exit_code == 0
    with open_store(store) as opened:
        assert opened.get(["m-1"])["m-1"].content == "The staging server has 16 GB of memory."
    assert "no terminal" in echoless("edit", store, "m-1").stderr
    assert "is empty" in echoless("edit", store, "m-1", "--text", " ").stderr
    assert "no memory 'm-9'" in echoless("edit", store, "m-9", "--text", "x").stderr

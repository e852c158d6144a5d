import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Call = Callable[..., Result]


def digests(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "{}", "--set", "semantic=no"),
        ("dedup", "{}", "--set", "semantic=no"),
        ("search", "{}", "database"),
        ("show", "{}", "m-1"),
        ("history", "{}"),
        ("check", "{}", "--dry-run"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("as_json", [False, True])
def test_commands_that_look_change_no_byte(
    echoless: Call, notes: str, place: Path, words: tuple[str, ...], as_json: bool
) -> None:
    before = digests(place)
    result = echoless(*(w.format(notes) for w in words), *(["--json"] if as_json else []))
    assert result.exit_code == 0, result.stderr
    assert digests(place) == before
    notes_told = [line for line in result.stderr.splitlines() if not line.startswith("Marks hide ")]
    assert notes_told == []
    if as_json:
        json.loads(result.stdout)


def test_audit_names_figures_groups_differences_conflicts_and_what_was_skipped(
    echoless: Call, notes: str
) -> None:
    said = echoless("audit", notes, "--set", "semantic=no", "--explain").stdout
    assert "3 of 8 memories repeat another one (37.5%). 1 is out of date." in said
    assert re.search(r"memories in these groups +5\n", said)
    assert "keep m-1  (more important: 0.9, the next 0.5)" in said
    assert "Anna drinks green tea in the morning[-!-]{+.+}" in said
    assert "Out of date: 2" in said
    assert "port [-5432-] {+5433+}" in said
    assert re.search(r"^home +4 +1 +25.0%$", said, re.MULTILINE)
    assert "2026-01" not in said  # one month says no more than the sum
    assert "empty: 1 (m-8)" in said


def test_audit_shows_as_many_groups_as_asked_for(echoless: Call, notes: str) -> None:
    words = ("--set", "semantic=no", "--explain", "--top", "1", "--pairs", "0")
    said = echoless("audit", notes, *words).stdout
    assert "The same: 1 of 2 groups" in said
    assert "keep m-5" not in said
    again = f"echoless audit {notes} --set semantic=no --explain"
    assert f"1 more: {again} --pairs 0 --top 2\n" in said
    assert f"2 more: {again} --top 1 --pairs 2\n" in said


def test_an_audit_shows_some_members_of_a_large_group_and_counts_the_rest(
    echoless: Call, tmp_path: Path
) -> None:
    lines = [
        json.dumps({"id": f"m-{at:02}", "content": "Tea is at four." + " " * at})
        for at in range(14)
    ]
    store = tmp_path / "tea.jsonl"
    store.write_text("\n".join(lines), "utf-8")
    said = echoless("audit", str(store), "--explain").stdout
    assert f"3 more: echoless audit {store} --explain --members 13\n" in said
    assert said.count("   m-") == 10
    every = echoless("audit", str(store), "--explain", "--members", "20").stdout
    assert every.count("   m-") == 13
    assert "more: " not in every


@pytest.mark.parametrize(("limit", "code"), [("37.5%", 0), ("37%", 10), ("0.5", 0), ("0", 10)])
def test_fail_over_ends_with_ten_only_above_the_limit(
    echoless: Call, notes: str, limit: str, code: int
) -> None:
    assert echoless("audit", notes, "--set", "semantic=no", "--fail-over", limit).exit_code == code
    result = echoless("audit", notes, "--set", "semantic=no", "--fail-over", limit, "--json")
    assert result.exit_code == code
    assert json.loads(result.stdout)["ratio"] == 0.375


def test_audit_as_markdown_escapes_what_memories_say(
    echoless: Call, write_store: Callable[..., str]
) -> None:
    store = write_store(
        ("m-1", "Use <b>bold</b> | `code` and *stars* everywhere.", "n", 0.5),
        ("m-2", "Use <b>bold</b> | `code` and *stars* everywhere!", "n", 0.4),
    )
    said = echoless("audit", store, "--set", "semantic=no", "--format", "markdown").stdout
    assert said.lstrip().startswith("## Audit of")
    assert "| --- | ---: |" in said
    assert r"\<b\>bold\</b\> \| \`code\` and \*stars\*" in said
    assert "~~!~~**.**" in said


def test_options_narrow_what_is_looked_at(echoless: Call, notes: str) -> None:
    def total(*words: str) -> int:
        answer = echoless("audit", notes, "--set", "semantic=no", "--json", *words)
        return int(json.loads(answer.stdout)["counts"]["total"])

    assert total("--namespace", "home") == 4
    assert total("--set", "since=2026-01-07") == 2
    assert total("--set", "limit=3") == 3


def test_profile_threshold_and_grouping_reach_the_settings(echoless: Call, notes: str) -> None:
    def answer(*words: str) -> dict[str, object]:
        return dict(json.loads(echoless("audit", notes, "--json", *words).stdout))

    assert answer("--profile", "wt-memory")["profile"] == "wt-memory"
    assert answer("--set", "semantic=no", "--threshold", "lexical=0.99")["verdicts"] == {
        "duplicate": 1
    }
    pairs = answer("--set", "semantic=no", "--set", "grouping=closest", "--set", "survivor=newest")
    assert [g["survivor"] for g in pairs["groups"]] == ["m-2", "m-6"]  # type: ignore[attr-defined]


def test_the_environment_and_the_file_speak_where_no_flag_does(
    echoless: Call, notes: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "echoless.toml").write_text('namespace = "home"\nsemantic = false\n')
    assert json.loads(echoless("audit", notes, "--json").stdout)["counts"]["total"] == 4
    monkeypatch.setenv("ECHOLESS_NAMESPACE", "work")
    assert list(json.loads(echoless("audit", notes, "--json").stdout)["by_namespace"]) == ["work"]


def test_search_folds_hidden_duplicates_and_says_how_many(echoless: Call, notes: str) -> None:
    echoless("dedup", notes, "--set", "semantic=no", "--apply")
    said = echoless("search", notes, "database port").stdout
    assert "2 duplicates hidden: m-2, m-3" in said
    assert "2 hits, 2 duplicates hidden." in said
    every = json.loads(
        echoless("search", notes, "database port", "--include-duplicates", "--json").stdout
    )
    assert {hit["id"] for hit in every["hits"]} == {"m-1", "m-2", "m-3", "m-4"}
    assert every["hidden"] == 0
    assert {hit["survivor"] for hit in every["hits"]} == {None, "m-1"}


def test_a_score_that_tells_nothing_is_not_shown(echoless: Call, write_store: Call) -> None:
    store = write_store(
        ("m-1", "Deploys run on Tuesdays.", "", 0.5), ("m-2", "Deploys run at night.", "", 0.5)
    )
    said = echoless("search", store, "deploys", "--mode", "text").stdout
    assert "2 hits.\n" in said
    assert "score" not in said
    near = echoless("search", store, "when do we deploy").stdout
    assert re.search(r"score \d\.\d{3}\n", near)
    assert "\n\nSkipped and noted\n" in near


def test_search_without_a_hit_says_so_and_succeeds(echoless: Call, notes: str) -> None:
    result = echoless("search", notes, "zeppelin")
    assert result.exit_code == 0
    assert "Nothing found for 'zeppelin'." in result.stdout


def test_show_tells_what_stands_behind_a_memory_and_its_history(echoless: Call, notes: str) -> None:
    run = json.loads(echoless("dedup", notes, "--set", "semantic=no", "--apply", "--json").stdout)[
        "applied"
    ]
    shown = json.loads(echoless("show", notes, "m-1", "m-2", "--json").stdout)["memories"]
    assert [h["id"] for h in shown[0]["hidden"]] == ["m-2", "m-3"]
    assert shown[1]["survivor"] == "m-1"
    assert shown[1]["history"][0]["run"] == run
    said = echoless("show", notes, "m-1", "m-2").stdout
    assert "2 memories behind it." in said
    assert "Hidden behind m-1." in said
    echoless("undo", notes, "last")
    after = json.loads(echoless("show", notes, "m-2", "--json").stdout)["memories"][0]
    assert after["survivor"] is None
    assert [h["role"] for h in after["history"]] == ["member", "restored"]


def test_show_says_which_links_lead_nowhere(
    echoless: Call, write_store: Callable[..., str]
) -> None:
    store = write_store(
        ("m-1", "See the other one.", "n", 0.5), links=[{"target": "m-1"}, {"target": "m-9"}]
    )
    said = echoless("show", store, "m-1").stdout
    assert "links to m-1\n" in said
    assert "links to m-9 (not in this store)" in said


def test_a_memory_cannot_steer_the_terminal(
    echoless: Call, write_store: Callable[..., str]
) -> None:
    store = write_store(("m-1", "clear \x1b[2J and \u202e turn", "n", 0.5))
    for words in (("show", store, "m-1"), ("search", store, "clear")):
        said = echoless(*words).stdout
        assert "\x1b" not in said
        assert "\u202e" not in said
        assert "\\u001b[2J" in said

"""Every answer in JSON has a schema, and is as the schema says.

Beside the cases here each `--json` answer that a test of `tests/cli` or
`tests/echoless_programs` brings about is held to its schema (`tests/answers.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import click
import pytest
from click.testing import Result
from jsonschema import Draft202012Validator, ValidationError

from echoless.cli.main import main
from echoless.core.answer_schemas import answer_names, answer_schema, named_parts
from echoless.core.model import DifferenceKind
from echoless.core.profiles import ActionKind
from echoless.execution.rollback import Status
from tests.answers import check

Call = Callable[..., Result]
NONE = ("--encoder", "none", "--json")


def with_json(command: click.Command, words: tuple[str, ...]) -> Iterator[str]:
    """The names of a command, and of those in it, that take `--json`."""
    if any("--json" in option.opts for option in command.params):
        yield "-".join(words)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from with_json(inner, (*words, name))


def parts(schema: object) -> Iterator[dict[str, object]]:
    """A schema and all schemas in it."""
    if isinstance(schema, dict):
        yield schema
    inner = schema.values() if isinstance(schema, dict) else schema
    for each in inner if isinstance(schema, dict | list) else ():
        yield from parts(each)


def test_every_command_with_json_has_a_schema_and_no_schema_is_left_over() -> None:
    of_commands = {name for name in answer_names() if not name.startswith("memory_")}
    of_setup = {"setup", "git-setup"}  # theirs lie with their package
    assert of_commands - {"judge-serve"} == set(with_json(main, ())) - of_setup


@pytest.mark.parametrize("name", answer_names())
def test_a_schema_is_valid_and_whole_and_describes_every_key(name: str) -> None:
    schema = answer_schema(name)
    Draft202012Validator.check_schema(schema)
    assert schema["description"]
    keys = [key for part in parts(schema) if "type" in part for key in part.get("properties", {})]
    assert keys or "anyOf" in schema
    for part in parts(schema):
        if "$ref" in part:
            assert str(part["$ref"]).rpartition("/")[2] in schema["$defs"]
        for key, form in part.get("properties", {}).items() if "required" in part else ():  # type: ignore[attr-defined]
            shared = schema["$defs"][form["$ref"].rpartition("/")[2]] if "$ref" in form else {}
            assert {**shared, **form}.get("description"), (name, key)
        if "required" in part:
            assert set(part["required"]) <= part["properties"].keys()  # type: ignore[call-overload, attr-defined]


def test_closed_lists_of_words_are_those_of_the_code() -> None:
    shared = answer_schema("audit")["$defs"]
    assert shared["difference"]["enum"] == [*DifferenceKind, None]
    assert tuple(shared["action"]["enum"]) == get_args(ActionKind)
    status = answer_schema("history")["$defs"]["past_run"]["properties"]["status"]
    assert tuple(status["enum"]) == get_args(Status)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("audit", ("audit", "{}", *NONE)),
        ("audit", ("audit", "{}", "empty.jsonl", *NONE)),
        ("audit", ("audit", "{}", "gone.jsonl", *NONE)),
        ("audit", ("audit", "empty.jsonl", *NONE)),
        ("audit", ("audit", "{}", "--texts", *NONE)),
        ("audit", ("audit", "--all", "{}", ".", *NONE)),
        ("dedup", ("dedup", "{}", "--texts", *NONE)),
        ("dedup", ("dedup", "{}", "--with-updates", "--plan", "plan.json", *NONE)),
        ("dedup", ("dedup", "{}", "--apply", *NONE)),
        ("review", ("review", "{}", "--list", *NONE)),
        ("review", ("review", "{}", "--apply", *NONE)),
        ("review", ("review", "{}", "--merge", "m-5", "m-6", *NONE)),
        ("review", ("review", "{}", "--decide", "m-5,m-6=different", "--json")),
        ("search", ("search", "{}", "database", "--include-duplicates", *NONE)),
        ("show", ("show", "{}", "m-1", "m-2", "--json")),
        ("explain", ("explain", "m-1", "m-4", "--store", "{}", *NONE)),
        ("remember", ("remember", "{}", "The lift is broken.", *NONE)),
        ("remember", ("remember", "{}", "The database listens on port 5432.", *NONE)),
        ("remember", ("remember", "{}", "The database listens on port 5434.", *NONE)),
        ("tend", ("tend", "{}", "gone.jsonl", *NONE)),
        ("history", ("history", "{}", "--json")),
        ("check", ("check", "{}", "--json")),
        ("purge", ("purge", "{}", "--before", "2020-01-01", "--json")),
        ("export", ("export", "{}", "out.jsonl", "--json")),
        ("backup", ("backup", "{}", "copy.db", "--json")),
        ("import", ("import", "{}", "copy.db", "--skip-invalid", "--json")),
        ("discover", ("discover", ".", "--json")),
        ("stores", ("stores", "--json")),
        ("encoders", ("encoders", "--json")),
        ("profiles", ("profiles", "--json")),
        ("schema", ("schema", "--json")),
        ("dedup", ("dedup", "{}", "--engine", "processes", *NONE)),
    ],
)
def test_a_real_answer_is_as_its_schema_says(
    echoless: Call, notes: str, place: Path, name: str, words: tuple[str, ...]
) -> None:
    (place / "empty.jsonl").write_text("")
    said = echoless(*(word.format(notes) for word in words))
    check(name, json.loads(said.stdout))


def test_decisions_and_runs_that_are_there_and_taken_back_are_as_their_schemas_say(
    echoless: Call, notes: str
) -> None:
    applied = json.loads(echoless("dedup", notes, "--apply", *NONE).stdout)["applied"]
    assert echoless("undo", notes, "--keep-both", "--json").exit_code == 0
    told = (
        ("history", ("history", notes, "--json")),
        ("history", ("history", notes, applied, "--json")),
        ("show", ("show", notes, "m-2", "--json")),
        ("review", ("review", notes, *NONE)),
        ("review", ("review", notes, "--decide", "all=open", "--json")),
    )
    for name, words in told:
        check(name, json.loads(echoless(*words).stdout))


def test_an_answer_with_a_masked_secret_is_as_its_schema_says(
    echoless: Call, write_store: Callable[..., str]
) -> None:
    text = "The API key is sk-proj-4f9aKq82LmZx0PvB7nTcWdYe1RgHs6Ju."
    store = write_store(("m-1", text, "work", 0.5))
    answer = json.loads(echoless("search", store, "API key", *NONE).stdout)
    assert answer["masked"] == 1
    check("search", answer)


def test_a_command_that_fails_prints_no_answer(echoless: Call, place: Path) -> None:
    said = echoless("audit", "gone.jsonl", "--json")
    assert (said.exit_code, said.stdout) == (3, "")


def test_a_key_that_no_schema_names_is_seen(echoless: Call, notes: str) -> None:
    answer = json.loads(echoless("check", notes, "--json").stdout)
    with pytest.raises(AssertionError, match="'more' was unexpected"):
        check("check", {**answer, "more": 1})
    with pytest.raises(ValidationError, match="'sound' is a required property"):
        Draft202012Validator(answer_schema("check")).validate({"memories": 1})


def test_parts_that_a_schema_does_not_name_are_left_out() -> None:
    hit = {"id": "m-1", "content": "Tea.", "metadata": {"a": 1}}
    shown = named_parts("memory_search", {"query": "tea", "hits": [hit], "tally": 1})
    assert shown == {"query": "tea", "hits": [{"id": "m-1", "content": "Tea."}]}


# ------------------------------------------------------------------ the command


def test_the_command_lists_all_names_and_prints_a_schema_for_each(echoless: Call) -> None:
    listed = json.loads(echoless("schema", "--json").stdout)["schemas"]
    assert [each["name"] for each in listed] == answer_names()
    text = echoless("schema").stdout
    assert all(f"\n{name} " in text for name in answer_names())
    assert json.loads(echoless("schema", "ego-mcp", "merge").stdout) == answer_schema(
        "ego-mcp-merge"
    )
    assert json.loads(echoless("schema", "memory_audit").stdout) == answer_schema("memory_audit")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("audits",), "There is no schema 'audits'. Did you mean audit or edit?"),
        (("ego-mcp", "merges"), "Did you mean ego-mcp-merge"),
        (("shared",), "There is no schema 'shared'."),
        (("../model",), "There is no schema '../model'."),
        (("qqqq",), "There is no schema 'qqqq'. `echoless schema` lists all."),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(
    echoless: Call, words: tuple[str, ...], says: str
) -> None:
    said = echoless("schema", *words)
    assert (said.exit_code, said.stdout) == (2, "")
    assert says in said.stderr

"""A stranger's `echoless.toml` sends nothing, loads nothing and costs nothing (finding F3)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main
from echoless.core import destination
from echoless.core.choices import SETTINGS
from echoless.core.errors import InputError, UsageError
from echoless.core.settings import Choices, layered
from tests.model_server import ModelServer, opinion, running

KEY = "sk-SECRET-KEY-0123456789"
OTHERS = "the key of somebody else"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in os.environ:
        if name.startswith("ECHOLESS_") or name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)
    for name in ("CACHE", "CONFIG"):
        monkeypatch.setenv(f"ECHOLESS_{name}_DIR", str(tmp_path / name.lower()))
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_ORG_ID", OTHERS)
    folder = tmp_path / "cloned repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    lines = [
        {"id": "a", "content": "The build server is called Jupiter and stands in Bonn."},
        {"id": "b", "content": "In Bonn stands the build server, and it is called Jupiter."},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "agent.jsonl").write_text(text, "utf-8")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> str:
    return str(tmp_path / "agent.jsonl")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with running() as made:
        made.script = [lambda _body: opinion("different")]
        yield made


def write(place: Path, text: str) -> Path:
    file = place / "echoless.toml"
    file.write_text(text, "utf-8")
    return file


def run(*words: str) -> Result:
    return CliRunner().invoke(main, list(words), prog_name="echoless")


# ------------------------------------------------------------------ the file of a folder


@pytest.mark.parametrize("key", ["encoder", "verifier"])
@pytest.mark.parametrize(
    "words",
    [
        ("audit",),
        ("dedup",),
        ("search", "Jupiter"),
        ("remember", "Anna drinks tea."),
        ("mcp",),
        ("review", "--list"),
    ],
)
def test_a_stranger_s_file_sends_nothing_and_the_refusal_says_where_the_setting_may_stand(
    server: ModelServer, place: Path, tmp_path: Path, store: str, key: str, words: tuple[str, ...]
) -> None:
    """F3: memories and the key of the environment went to an address a cloned folder named."""
    file = write(place, f'{key} = "openai:some-model@{server.url}"\n')
    done = run(words[0], store, *words[1:])
    assert done.exit_code == 3
    assert done.stdout == ""
    assert server.keys == []
    for part in (str(file), key, server.url, str(tmp_path / "config" / "echoless.toml")):
        assert part in done.stderr


@pytest.mark.parametrize(
    "line",
    [
        'encoder = "model2vec:./model"',
        'encoder = "sentence-transformers:./model"',
        'encoder = "of-a-plug-in"',
        'verifier = "anthropic:some-model"',
        'detector = ["lexical", "of-a-plug-in"]',
        "questions = 100000",
        "workers = 64",
        "timeout = 1e6",
    ],
)
def test_what_loads_code_or_costs_money_counts_in_the_user_s_own_file_alone(
    place: Path, tmp_path: Path, line: str
) -> None:
    """F3: an allow list, so a key that is not on it is refused."""
    file = write(place, line + "\n")
    with pytest.raises(InputError, match=f"{file} may not set {line.partition(' ')[0]} = "):
        layered(Choices(), environment={})
    (tmp_path / "config").mkdir(mode=0o700)
    file.rename(tmp_path / "config" / "echoless.toml")
    assert layered(Choices(), environment={}) != Choices()


def test_one_key_that_is_refused_keeps_the_harmless_ones_from_counting_too(place: Path) -> None:
    """F3: nobody runs half of a file without knowing it."""
    write(place, 'survivor = "newest"\nquestions = 9\n')
    with pytest.raises(InputError, match="may not set questions = 9"):
        layered(Choices(), environment={})
    assert layered(Choices(questions=1), environment={}).survivor == "newest"


@pytest.mark.parametrize(
    "line",
    [
        'profile = "wt-memory"',
        "threshold = 0.9",
        "semantic = false",
        'survivor = "newest"',
        'grouping = "closest"',
        'action = "merge"',
        'namespace = "home"',
        'since = "2026-01-31"',
        "limit = 5",
        "cache = false",
        'locale = "de"',
        'encoder = "fast"',
        'encoder = "none"',
        'verifier = "none"',
        'detector = "sequence"',
    ],
)
def test_harmless_keys_count_in_any_folder(place: Path, line: str) -> None:
    """F3: what cannot send, load or spend works as before."""
    write(place, line + "\n")
    assert layered(Choices(), environment={}) != Choices()
    harmless = {name for name, setting in SETTINGS.items() if setting.harmless}
    assert line.partition(" ")[0] in harmless | {"encoder", "verifier", "detector"}


def test_commands_that_use_no_settings_do_not_read_the_file(place: Path, store: str) -> None:
    """F3: what mends a store works in any folder."""
    write(place, "encoder = [[[ this is no TOML")
    for words in (("check", store), ("history", store), ("undo", store, "last", "--dry-run")):
        assert "echoless.toml" not in run(*words).output
    assert run("check", store).exit_code == 0


def test_what_a_person_chooses_in_a_stronger_place_goes_before_the_file(
    server: ModelServer, place: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F3: a flag, the environment, or a word to read no file at all."""
    write(place, f'encoder = "openai:some-model@{server.url}"\n')
    assert run("audit", store, "--encoder", "none").exit_code == 0
    monkeypatch.setenv("ECHOLESS_ENCODER", "none")
    assert run("audit", store).exit_code == 0
    monkeypatch.delenv("ECHOLESS_ENCODER")
    monkeypatch.setenv("ECHOLESS_NO_CONFIG", "1")
    assert layered(Choices()) == Choices()
    assert server.keys == []


def test_a_name_in_the_file_forges_no_line(place: Path, store: str) -> None:
    """F3: what the person reads is one line."""
    write(place, 'encoder = "openai:m\\nThis file is harmless@http://127.0.0.1:9/v1"\n')
    (line,) = run("audit", store).stderr.splitlines()
    assert "may not set encoder" in line


# ------------------------------------------------------------------ addresses


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("https://api.openai.com/v1", True),
        ("https://API.openai.com:443/v1", True),
        ("http://api.openai.com/v1", False),
        ("https://api.openai.com.evil.example/v1", False),
        ("https://api.openai.com@evil.example/v1", False),
        ("https://me:word@api.openai.com/v1", False),
        ("https://api.openai.com:8443/v1", False),
        ("https://evil.example/api.openai.com", False),
        ("https://api.openai.com\\@evil.example/v1", False),
        ("https://[broken/v1", False),
        ("api.openai.com", False),
    ],
)
def test_only_the_provider_s_own_address_needs_its_key(url: str, own: bool) -> None:
    """F3: compared whole, encrypted, and nothing before the host."""
    assert destination.OPENAI.owns(url) is own


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://192.168.1.5:8000/v1", "unencrypted"),
        ("http://models.example/v1", "unencrypted"),
        ("http://127.0.0.1.evil.example/v1", "unencrypted"),
        ("http://localhost.evil.example/v1", "unencrypted"),
        ("http://127.0.0.1:8000/v1#sendkey", "unknown mark"),
        ("http://127.0.0.1:99999/v1", "base URL that is none"),
        ("http://a b/v1", "base URL that is none"),
        ("http://127.0.0.1\n.evil.example/v1", "base URL that is none"),
        ("ftp://127.0.0.1/v1", "base URL that is none"),
    ],
)
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_key_does_not_go_unencrypted_over_a_network(kind: str, url: str, says: str) -> None:
    """F3: refused before anything is sent; the message holds no key."""
    from echoless.models.llm.registry import open_model

    with pytest.raises(UsageError, match=says) as caught:
        open_model(f"{kind}:m@{url}")
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost:11434/v1",
        "http://127.0.0.2:1/v1",
        "http://[::1]:8000/v1",
        "https://models.example/v1",
        "http://models.example/v1#no-key",
        "http://models.example/v1#send-key",
    ],
)
@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_an_address_on_the_command_line_is_taken_at_its_word(kind: str, url: str) -> None:
    """F3: loopback, encrypted, or told what to do with the key."""
    from echoless.models.llm.registry import open_model

    assert open_model(f"{kind}:m@{url}") is not None


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_no_key_means_no_header_of_the_user_at_all(
    server: ModelServer, store: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F3: organisation, token and headers of the environment stay here as well."""
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", OTHERS)
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", f"X-Gateway: {OTHERS}")
    url = server.url if kind == "openai" else server.root
    verifier = f"{kind}:m@{url}#no-key"
    done = run("audit", store, "--encoder", "none", "--verifier", verifier)
    assert done.exit_code == 0, done.output
    assert server.seen
    assert {key for _, key in server.keys} == {""}
    assert all(OTHERS not in str(headers) for headers in server.headers)
    assert f"Texts of memories go to {url} (verifier {kind}:m)." in done.stderr


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("kind", ["encoder", "openai", "anthropic"])
def test_a_redirect_is_not_followed(
    server: ModelServer, store: str, kind: str, status: int
) -> None:
    """F3: texts and key would go to a host nobody named."""
    with running() as thief:
        target = f"{thief.url}/embeddings" if kind == "encoder" else f"{thief.url}/chat/completions"
        server.redirect = (status, target)
        words = {
            "encoder": ("--encoder", f"openai:m@{server.url}"),
            "openai": ("--encoder", "none", "--verifier", f"openai:m@{server.url}"),
            "anthropic": ("--encoder", "none", "--verifier", f"anthropic:m@{server.root}"),
        }[kind]
        done = run("audit", store, *words)
        assert thief.keys == []
    assert done.exit_code == 8
    assert "points to another address" in done.stderr
    assert KEY not in done.output


@pytest.mark.parametrize(
    "words",
    [
        ("--encoder", "openai:m@http://me:pass-word@127.0.0.1:9/v1"),
        ("--encoder", "opnai:m@http://me:pass-word@127.0.0.1:9/v1"),
        ("--encoder", "none:http://me:pass-word@127.0.0.1:9/v1"),
        ("--encoder", "openai:m@http://me:pass-word@models.example/v1"),
        ("--verifier", "openai:m@http://me:pass-word@127.0.0.1:9/v1"),
        ("--verifier", "anthropic:m@http://me:pass-word@127.0.0.1:9"),
    ],
)
def test_a_password_in_an_address_is_printed_nowhere(store: str, words: tuple[str, str]) -> None:
    """F3: messages, notes and the traceback of --debug."""
    more = ("--encoder", "none") if words[0] == "--verifier" else ()
    done = run("--debug", "audit", store, *words, *more)
    assert done.exit_code != 0
    assert "pass-word" not in done.output
    assert KEY not in done.output


def test_a_password_in_a_file_is_printed_nowhere(place: Path, store: str) -> None:
    """F3: neither where the file is refused nor where it is of a wrong kind."""
    write(place, 'encoder = "openai:m@http://me:pass-word@127.0.0.1:9/v1"\n')
    said = run("--debug", "audit", store).output
    write(place, 'encoder = ["openai:m@http://me:pass-word@127.0.0.1:9/v1"]\n')
    said += run("audit", store).output
    assert "wrong kind of value" in said
    assert "pass-word" not in said


# ------------------------------------------------------------------ what a stranger hands over


def test_a_plan_names_no_encoder_and_carrying_it_out_asks_nobody(
    server: ModelServer, place: Path, store: str
) -> None:
    """F3: a plan holds a digest of the settings and no address, key or password."""
    spec = f"openai:m@{server.url.replace('://', '://me:pass-word@')}"
    plan = place / "plan.json"
    done = run("dedup", store, "--encoder", spec, "--plan", str(plan))
    assert done.exit_code == 0, done.output
    asked = len(server.keys)
    assert asked
    text = plan.read_text("utf-8")
    assert not [key for key in json.loads(text) if "encoder" in key or "verifier" in key]
    for word in (server.url, "127.0.0.1", "pass-word", KEY, "openai"):
        assert word not in text
    write(place, f'encoder = "openai:m@{server.url}"\n')
    assert run("apply", store, str(plan)).exit_code in {0, 5}
    assert len(server.keys) == asked


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("limit = " + "9" * 6_000, "not valid TOML"),
        ("limit = 0x" + "f" * 6_000, "too large"),
        ("threshold = [0x" + "f" * 6_000 + "]", "too large"),
        ("namespace = 0x" + "f" * 6_000, "wrong kind of value"),
        ("threshold = " + "[" * 1_100 + "]" * 1_100, "not valid TOML"),
        ("threshold = " + "{a=" * 1_100 + "1" + "}" * 1_100, "not valid TOML"),
        ("threshold = [[0.5]]", "or a list"),
        ("limit = 5\n#" + "x" * 70_000, "more than 65,536 bytes"),
        ("x" * 60_000 + " = 1", "unknown key"),
        ("\ufeff\x00", "not valid TOML"),
    ],
)
def test_a_hostile_settings_file_is_one_clear_error(
    place: Path, store: str, text: str, says: str
) -> None:
    """F10e: no traceback, no hang, exit code 3."""
    write(place, text + "\n")
    done = run("--debug", "audit", store, "--encoder", "none")
    assert done.exit_code == 3
    assert says in done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("Error: ")
    assert len(last) < 1_000
    assert "should not happen" not in done.stderr


@pytest.mark.parametrize("value", ["9" * 6_000, "9" * 40, "-1", "٣" * 30])
def test_a_hostile_number_in_the_environment_is_one_clear_error(
    store: str, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    """F10e: likewise, exit code 2."""
    monkeypatch.setenv("ECHOLESS_LIMIT", value)
    done = run("audit", store, "--encoder", "none")
    assert done.exit_code == 2
    assert "ECHOLESS_LIMIT must be a whole number" in done.stderr
    assert len(done.stderr) < 300


@pytest.mark.parametrize("command", ["audit", "check", "history", "dedup"])
@pytest.mark.parametrize("name", ["a" * 20_000, "a/" * 10_000, "jsonl:///" + "a" * 20_000])
def test_a_path_of_20_000_characters_is_one_clear_error(command: str, name: str) -> None:
    """F10e: OSError came through."""
    done = run(command, name)
    assert done.exit_code in {2, 3}
    assert done.stderr.startswith("Error: ")
    assert len(done.stderr) < 300
    assert "should not happen" not in done.stderr

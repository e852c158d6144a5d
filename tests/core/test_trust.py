"""A stranger's `echoless.toml` sends nothing, loads nothing and costs nothing (finding F3)."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from echoless.cli.main import main
from echoless.core import destination, trust
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
    for name in ("CACHE", "DATA", "CONFIG"):
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


# ------------------------------------------------------------------ an untrusted file


@pytest.mark.parametrize("key", ["encoder", "verifier"])
@pytest.mark.parametrize(
    "words",
    [
        ("audit",),
        ("dedup",),
        ("search", "Jupiter"),
        ("remember", "Anna drinks tea."),
        ("mcp",),
        ("consolidate",),
    ],
)
def test_a_stranger_s_file_sends_nothing_and_the_refusal_says_what_it_would_send(
    server: ModelServer, place: Path, store: str, key: str, words: tuple[str, ...]
) -> None:
    """F3: memories and the key of the environment went to an address a cloned folder named."""
    file = write(place, f'{key} = "openai:some-model@{server.url}"\n')
    done = run(words[0], store, *words[1:])
    assert done.exit_code == 3
    assert done.stdout == ""
    assert server.keys == []
    for part in (str(file), repr(key), server.url, "echoless trust '"):
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
        "most_cost = 1e9",
        "price_in = 0",
        "price_out = 0",
        "requests_a_minute = 9999",
        "tokens_a_minute = 9999999",
        "timeout = 1e6",
    ],
)
def test_what_loads_code_or_costs_money_needs_trust_too(place: Path, line: str) -> None:
    """F3: an allow list, so a key that is not on it needs trust."""
    file = write(place, line + "\n")
    with pytest.raises(InputError, match="not trusted"):
        layered(Choices(), environment={})
    trust.trust(file, file.read_bytes())
    assert layered(Choices(), environment={}) != Choices()


@pytest.mark.parametrize(
    "line",
    [
        'profile = "wt-memory"',
        "threshold = 0.9",
        "semantic = false",
        'survivor = "newest"',
        'grouping = "clique"',
        'action = "merge"',
        'namespace = "home"',
        'since = "2026-01-31"',
        "limit = 5",
        "cache = false",
        'locale = "de"',
        'encoder = "use"',
        'encoder = "none"',
        'verifier = "none"',
        'detector = "sequence"',
    ],
)
def test_harmless_keys_count_without_trust(place: Path, line: str) -> None:
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


def test_what_a_person_chooses_in_a_stronger_place_needs_no_trust_of_the_file(
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


# ------------------------------------------------------------------ trusting


def test_a_trusted_file_sends_texts_and_no_key(
    server: ModelServer, place: Path, store: str
) -> None:
    """F3: the key of the environment goes to no address that comes from a file."""
    file = write(place, f'encoder = "openai:some-model@{server.url}"\n')
    trusted = run("trust", str(file), "--yes")
    assert trusted.exit_code == 0
    done = run("audit", store)
    assert done.exit_code == 0, done.output
    said = f"Texts of memories go to {server.url} (encoder openai:some-model)."
    assert done.stderr.count(said) == 1
    assert server.embedded
    assert {key for _, key in server.keys} == {""}
    assert all(OTHERS not in str(headers) for headers in server.headers)


def test_the_trust_step_shows_where_texts_go_and_whether_the_key_goes_too(
    server: ModelServer, place: Path
) -> None:
    """F3: without a terminal and without --yes nothing is trusted."""
    write(place, f'encoder = "openai:some-model@{server.url}"\nlimit = 5\n')
    done = run("trust")
    assert done.exit_code == 2
    assert f"Texts of memories go to {server.url}" in done.stdout
    assert "The key in OPENAI_API_KEY stays here." in done.stdout
    assert "limit" not in done.stdout
    assert run("trust", "--json").exit_code == 2
    assert trust.trusted() == []
    write(place, f'verifier = "anthropic:m@{server.root}#send-key"\n')
    assert "The key in ANTHROPIC_API_KEY goes there too." in run("trust").stdout


def test_a_file_that_asks_for_the_key_gets_it_once_it_is_trusted(
    server: ModelServer, place: Path, store: str
) -> None:
    """F3: the one way by which a file's address gets a key is a mark the trust step names."""
    file = write(place, f'encoder = "openai:some-model@{server.url}#send-key"\n')
    assert run("audit", store).exit_code == 3
    assert run("trust", str(file), "--yes").exit_code == 0
    assert run("audit", store).exit_code == 0
    assert {key for _, key in server.keys} == {KEY}


def test_an_edited_file_has_to_be_trusted_again(place: Path) -> None:
    """F3: trust belongs to a path and a content; going back is an edit too."""
    file = write(place, 'encoder = "model2vec:./one"\n')
    trust.trust(file, file.read_bytes())
    assert layered(Choices(), environment={}).encoder == "model2vec:./one"
    write(place, 'encoder = "model2vec:./two"\n')
    with pytest.raises(InputError, match="since it was edited"):
        layered(Choices(), environment={})
    trust.trust(file, file.read_bytes())
    write(place, 'encoder = "model2vec:./one"\n')
    with pytest.raises(InputError, match="since it was edited"):
        layered(Choices(), environment={})


def test_a_model_that_was_exchanged_has_to_be_trusted_again(place: Path) -> None:
    """Supply chain: the file was trusted by the folder's name, whatever was in it later."""
    model = place / "model"
    model.mkdir()
    (model / "weights.safetensors").write_bytes(b"as it was")
    (place / "echoless.toml").write_text('encoder = "model2vec:model"\n')
    run("trust", "--yes")
    assert layered(Choices()).encoder == "model2vec:model"
    (model / "README.md").write_text("A note changes no model.")
    assert layered(Choices()).encoder == "model2vec:model"
    (model / "weights.safetensors").write_bytes(b"exchanged")
    with pytest.raises(InputError, match="since it was edited, or a model it names was"):
        layered(Choices())
    assert "edited since" in run("trust", "--list").output
    run("trust", "--yes")
    assert layered(Choices()).encoder == "model2vec:model"


def test_the_same_content_elsewhere_is_not_trusted(place: Path, tmp_path: Path) -> None:
    """F3: a copy of a trusted file names other folders and belongs to somebody else."""
    file = write(place, 'encoder = "model2vec:./model"\n')
    trust.trust(file, file.read_bytes())
    other = tmp_path / "other"
    other.mkdir()
    (other / "echoless.toml").write_bytes(file.read_bytes())
    with pytest.raises(InputError, match="is not trusted,"):
        layered(Choices(), folder=other, environment={})


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_a_link_in_a_stranger_s_folder_to_a_trusted_file_is_not_trusted(
    place: Path, tmp_path: Path
) -> None:
    """F3: ./model of the trusted file would be the stranger's ./model."""
    file = write(place, 'encoder = "model2vec:./model"\n')
    trust.trust(file, file.read_bytes())
    other = tmp_path / "other"
    other.mkdir()
    (other / "echoless.toml").symlink_to(file)
    with pytest.raises(InputError, match="is not trusted,"):
        layered(Choices(), folder=other, environment={})
    (tmp_path / "same").symlink_to(place)
    assert layered(Choices(), folder=tmp_path / "same", environment={}).encoder


def test_trusted_files_are_listed_and_forgotten(place: Path) -> None:
    """F3: the person can look at what was trusted, and take it back."""
    file = write(place, 'encoder = "model2vec:./model"\n')
    assert run("trust", "--list").stdout == "No file is trusted.\n"
    run("trust", str(place), "--yes")
    assert run("trust", "--list").stdout == f"{file}  trusted\n"
    write(place, "limit = 1\n")
    listed = json.loads(run("trust", "--list", "--json").stdout)
    assert listed["files"][0]["state"] == "edited since, so not trusted"
    assert "trusted no longer" in run("trust", "--remove").stdout
    assert trust.trusted() == []
    assert "was not trusted" in run("trust", "--remove").stdout
    assert "nothing that needs trust" in run("trust").stdout


@pytest.mark.skipif(os.name == "nt", reason="modes of files are those of POSIX")
def test_what_is_trusted_is_readable_by_its_owner_only(place: Path) -> None:
    """F3: mode 0600 in a folder of 0700."""
    file = write(place, 'encoder = "model2vec:./model"\n')
    trust.trust(file, file.read_bytes())
    (entry,) = (trust.config_folder() / "trusted").iterdir()
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600
    assert stat.S_IMODE(entry.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("data", [b"", b"{}", b"[" * 1_100, b"\xff"])
def test_a_damaged_entry_trusts_nothing(place: Path, data: bytes) -> None:
    """F3: in doubt a file is not trusted."""
    file = write(place, 'encoder = "model2vec:./model"\n')
    trust.trust(file, file.read_bytes())
    (entry,) = (trust.config_folder() / "trusted").iterdir()
    entry.write_bytes(data)
    assert not trust.is_trusted(file, file.read_bytes())
    assert trust.trusted() == []


def test_a_name_in_the_file_forges_no_line(place: Path) -> None:
    """F3: what the person reads before trusting is one line a key."""
    write(place, 'encoder = "openai:m\\nThis file is harmless@http://127.0.0.1:9/v1"\n')
    (line,) = run("trust").stdout.splitlines()
    assert line.startswith("encoder = ")


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
def test_only_the_provider_s_own_address_gets_a_key_from_a_file(url: str, own: bool) -> None:
    """F3: compared whole, encrypted, and nothing before the host."""
    assert destination.OPENAI.owns(url) is own
    marked = destination.from_file(f"openai:m@{url}")
    assert marked == f"openai:m@{url}" + ("" if own else "#no-key")


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
    """F3: neither where the file is refused nor where it is trusted or of a wrong kind."""
    write(place, 'encoder = "openai:m@http://me:pass-word@127.0.0.1:9/v1"\n')
    said = run("--debug", "audit", store).output + run("trust").output
    said += run("trust", "--yes").output + run("audit", store).output
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

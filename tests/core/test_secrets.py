"""Secrets in memories: masked in what is printed, answered and sent; whole in what is kept."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import pytest
from benchmarks.masked_secrets import (
    ASSIGNED,
    HARMLESS,
    TOKENS,
    is_hidden,
    json_web_token,
    passwords,
    private_key,
    secrets_of,
)
from click.testing import CliRunner, Result

from echoless import open_store
from echoless.cli.main import main
from echoless.core.choices import Limits
from echoless.core.masking import OUTPUT, Masks, Veil, without_secrets
from echoless.core.secrets import from_line, may_hold, secrets_in, uncut
from echoless.models.encoders.openai import OpenAIEncoder
from echoless.models.llm import Answer, Prompt
from echoless.models.llm.counted_model import CountedModel
from tests.mcp.clients import Agent, on_stdio
from tests.model_server import running

PASSWORD, OTHER_PASSWORD = "hunter2xyz9", "tr0ub4dorand3"
PASSPHRASE = "Correct-horse-battery-7"


def _texts() -> dict[str, tuple[str, str]]:
    """A secret of each kind, with the text of a memory that holds it."""
    made = {}
    for kind in TOKENS:
        secret = next(secrets_of(kind, 1))
        made[kind] = secret, f"The {kind} key of the build server is {secret}."
    token, key = json_web_token(), private_key()
    body = key.split("-----")[2].strip().splitlines()[2]
    return {
        **made,
        "JWT": (token, f"Calls to the billing service send {token} as they are."),
        "private key": (body, f"The key of the backup host:\n{key}"),
        "URL": (PASSPHRASE, f"Reports live in postgresql://app:{PASSPHRASE}@db:5432/main"),
        "password": (PASSWORD, f"The password of the staging database is {PASSWORD}"),
        "other password": (
            OTHER_PASSWORD,
            f"The password of the staging database is {OTHER_PASSWORD}",
        ),
        "metadata": ("p4ssw0rdInMeta", "The router hangs in the hallway."),
    }


KINDS = _texts()
SECRETS = [secret for secret, _ in KINDS.values()]


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    for name in [name for name in os.environ if name.startswith("ECHOLESS_")]:
        monkeypatch.delenv(name)
    for name in ("CACHE", "DATA", "CONFIG"):
        monkeypatch.setenv(f"ECHOLESS_{name}_DIR", str(tmp_path / name))
    monkeypatch.setenv("ECHOLESS_ENCODER", "none")
    for known in ("_numbers", "_telling", "_words"):  # later tests say some of these words
        monkeypatch.setattr(OUTPUT, known, {})
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    yield work
    OUTPUT.begin()


@pytest.fixture
def notes(place: Path) -> str:
    """Each secret in two memories that say the same, two passwords in memories that do not."""
    lines = []
    for number, (kind, (secret, text)) in enumerate(KINDS.items()):
        more = {"metadata": {"password": secret}} if kind == "metadata" else {}
        for copy in ("a", "b"):
            record = {"id": f"m-{number}{copy}", "content": text, "namespace": "work", **more}
            lines.append(json.dumps({**record, "created_at": f"2026-01-{number + 1:02d}"}))
    (place / "notes.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    return "notes.jsonl"


def call(*words: str, stdin: str = "", **environment: str) -> Result:
    return CliRunner(env=environment).invoke(main, list(words), input=stdin, prog_name="echoless")


def assert_masked(output: str) -> None:
    plain = output.replace("\\n", "\n").replace("\\_", "_")
    leaked = [secret for secret in SECRETS if secret in output or secret in plain]
    assert not leaked
    folded = output.casefold()
    assert PASSWORD not in folded
    assert OTHER_PASSWORD not in folded
    assert "battery" not in folded


PAIR = [KINDS["password"][1], KINDS["other password"][1]]
LAST = len(KINDS) - 1
READING: Mapping[str, tuple[str, ...]] = {
    "audit": ("audit", "{}", "--top", "50", "--pairs", "50"),
    "audit --json": ("audit", "{}", "--json"),
    "audit --markdown": ("audit", "{}", "--format", "markdown", "--top", "50", "--pairs", "50"),
    "dedup": ("dedup", "{}", "--top", "50", "--explain"),
    "dedup --json": ("dedup", "{}", "--json"),
    "review --list": ("review", "{}", "--list"),
    "review --list --json": ("review", "{}", "--list", "--json"),
    "search": ("search", "{}", "key password database", "--limit", "50"),
    "search --json": ("search", "{}", "key password database", "--limit", "50", "--json"),
    "search for one": ("search", "{}", PASSWORD),
    "show": ("show", "{}", *(f"m-{n}a" for n in range(len(KINDS)))),
    "show --json": ("show", "{}", *(f"m-{n}a" for n in range(len(KINDS))), "--json"),
    "explain": ("explain", *PAIR),
    "explain --json": ("explain", *PAIR, "--json"),
    "explain --store": ("explain", f"m-{LAST - 1}a", f"m-{LAST - 2}a", "--store", "{}"),
    "an id that is not there": ("show", "{}", f"password: {PASSWORD}"),
    "remember, known": ("remember", "{}", KINDS["password"][1], "--namespace", "work"),
    "remember --json": ("remember", "{}", KINDS["URL"][1], "--namespace", "work", "--json"),
}


@pytest.mark.parametrize("command", READING)
def test_no_command_prints_a_secret(notes: str, command: str) -> None:
    done = call(*(word.format(notes) if word == "{}" else word for word in READING[command]))
    assert done.exit_code in {0, 3, 9}, done.output
    assert "[secret" in done.output
    assert_masked(done.output)
    assert "--show-secrets" in done.stderr
    if "--json" in command:
        assert json.loads(done.stdout)["masked"] >= 1


@pytest.mark.parametrize(
    "command",
    ["audit", "dedup", "review --list --json", "search", "show", "explain", "explain --json"],
)
def test_secrets_are_shown_on_request(notes: str, command: str) -> None:
    words = [word.format(notes) if word == "{}" else word for word in READING[command]]
    asked = call(*words, "--show-secrets")
    assert PASSWORD in asked.output
    assert "[secret" not in asked.output
    assert call(*words, ECHOLESS_SHOW_SECRETS="1").output == asked.output
    assert PASSWORD not in call(*words).output  # and only then


def test_two_secrets_differ_in_an_output_and_one_is_the_same(notes: str) -> None:
    told = call("explain", *PAIR).stdout
    marks = set(re.findall(r"\[secret \d+\]", told))
    assert len(marks) == 2
    once = call("explain", *PAIR).stdout
    assert once == told  # the same command prints the same


def test_pairs_of_texts_are_judged_as_they_are_and_told_without_secrets(place: Path) -> None:
    pair = dict(zip("ab", PAIR, strict=True))
    (place / "pairs.jsonl").write_text(json.dumps(pair) + "\n")
    for more in ([], ["--json"]):
        masked, shown = (
            call("judge", "pairs.jsonl", *more),
            call("judge", "pairs.jsonl", *more, "--show-secrets"),
        )
        assert_masked(masked.output)
        assert PASSWORD in shown.output
        verdict = "update|sibling|contradiction|distinct"
        assert re.findall(verdict, masked.stdout) == re.findall(verdict, shown.stdout) != []


def test_what_is_written_read_and_taken_back_keeps_secrets_whole(notes: str, place: Path) -> None:
    before = (place / notes).read_bytes()
    outputs = [call("dedup", notes, "--plan", "tidy.json"), call("apply", notes, "tidy.json")]
    outputs += [call("history", notes, "last"), call("history", notes, "last", "--json")]
    outputs += [call("show", notes, "m-0a", "m-0b"), call("check", notes)]
    outputs += [call("export", notes, "copy.jsonl"), call("backup", notes, "copy.db")]
    outputs += [call("undo", notes, "last"), call("history", notes, "last", "--json")]
    for done in outputs:
        assert done.exit_code == 0, done.output
        assert_masked(done.output)
    assert (place / notes).read_bytes() == before
    for name in ("copy.jsonl", "copy.db"):
        with open_store(place / name) as store:
            whole = "".join(m.content + str(dict(m.metadata)) for m in store.scan())
        assert [secret for secret in SECRETS if secret not in whole] == []
    assert (place / "tidy.json").stat().st_mode & 0o077 == 0


def test_merged_and_deleted_memories_are_told_without_secrets_and_come_back(
    notes: str, place: Path
) -> None:
    before = (place / notes).read_bytes()
    outputs = [call("dedup", notes, "--action", "delete", "--apply")]
    outputs += [call("history", notes, "last"), call("history", notes, "last", "--json")]
    outputs += [call("undo", notes, "last")]
    for done in outputs:
        assert done.exit_code == 0, done.output
        assert_masked(done.output)
    assert (place / notes).read_bytes() == before


def test_the_hook_tells_lines_without_secrets(notes: str) -> None:
    lines = "".join(json.dumps({"text": text}) + "\n" for _, text in KINDS.values())
    done = call("hook", notes, stdin=lines)
    assert_masked(done.output)


def test_a_text_cut_for_a_list_never_shows_half_a_secret(place: Path) -> None:
    secret = KINDS["GitHub"][0]
    text = "word " * 78 + secret + " word" * 50
    (place / "s.jsonl").write_text(json.dumps({"id": "m", "content": text}) + "\n")
    for words in (("search", "s.jsonl", "word"), ("dedup", "s.jsonl"), ("audit", "s.jsonl")):
        assert secret[4:10] not in call(*words).output


# ------------------------------------------------------------------ agents


async def _looks(agent: Agent) -> list[str]:
    ask = agent.call
    told = [
        await ask("memory_search", query="password key database", limit=50),
        await ask("memory_similar", text=PAIR[0]),
        await ask("memory_audit"),
        await ask("memory_consolidate", limit=50),
        await ask("memory_explain", a=PAIR[0], b=PAIR[1], given="texts"),
        await ask("memory_remember", text=KINDS["URL"][1], namespace="work"),
        await ask("memory_deduplicate"),
    ]
    run = (await ask("memory_deduplicate", plan_id=told[-1]["plan_id"]))["run"]
    told.append(await ask("memory_history", run=run))
    return [json.dumps(each, ensure_ascii=False) for each in told]


@pytest.mark.parametrize("shown", [False, True])
def test_an_agent_is_told_no_secret_unless_the_server_shows_them(
    notes: str, *, shown: bool
) -> None:
    async def story() -> None:
        options = ("--show-secrets",) if shown else ()
        async with on_stdio(notes, *options, ECHOLESS_ENCODER="none") as client:
            answers = await _looks(Agent(client))
            refused = await client.call_tool(
                "memory_explain", {"a": f"password: {PASSWORD}", "b": "x"}
            )
            said = "".join([*answers, refused.content[0].text])
            if shown:
                assert PASSWORD in said
                assert "[secret" not in said
                return
            assert_masked(said)
            assert json.loads(answers[0])["masked"] >= 1
            assert "--show-secrets" in (client.instructions or "")
            lost = await Agent(client).refused("memory_remember", text="The NAS has [secret 1].")
            assert "Nothing was stored" in lost

    anyio.run(story)


# ------------------------------------------------------------------ models


class Echo:
    """Answers with what it is sent."""

    name = "echo"

    def __init__(self) -> None:
        self.sent = ""

    def answer(self, prompt: Prompt) -> Answer:
        self.sent = prompt.whole
        return Answer(text=prompt.data)


def test_a_model_sees_marks_and_its_text_gets_the_secrets_back() -> None:
    model = Echo()
    data = json.dumps({"a": PAIR[0], "b": PAIR[1], "c": KINDS["URL"][1]})
    answer = CountedModel(model, Limits()).answer(Prompt(instruction="Unite.", data=data))
    assert_masked(model.sent)
    assert len(set(re.findall(r"\[secret \d+\]", model.sent))) == 3
    assert answer.text == data


def test_an_embedding_server_is_sent_no_secret() -> None:
    with running() as server:
        OpenAIEncoder(f"m@{server.url}").encode([text for _, text in KINDS.values()])
        sent = [text for texts in server.embedded for text in texts]
    assert len(sent) == len(KINDS)
    assert_masked("\n".join(sent))
    assert sent[list(KINDS).index("password")] == sent[list(KINDS).index("other password")]


# ------------------------------------------------------------------ forms


@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_of_a_published_form_is_found_whole(kind: str) -> None:
    for secret in secrets_of(kind, 20):
        for text in (secret, f"the key is {secret}.", f'{{"k": "{secret}"}}', f"a={secret}\nb"):
            assert is_hidden(text, secret)
            assert secret[8:] not in Masks().text(text)


@pytest.mark.parametrize("way", ASSIGNED)
def test_a_made_up_value_beside_its_name_is_found_whole(way: str) -> None:
    drawn = [s for s in passwords(60) if len(s) == 17 and sum(c.isdigit() for c in s) > 2]
    assert len(drawn) > 10
    for secret in drawn:
        assert is_hidden(way.format(secret), secret)


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_texts_stay_as_they_are(text: str) -> None:
    assert secrets_in(text) == []
    assert Masks().text(text) == text
    assert without_secrets(text) == text


@pytest.mark.parametrize("text", [text for _, text in KINDS.values()])
def test_a_secret_that_a_name_and_a_value_tell_together_has_its_sign_in_one_of_them(
    text: str,
) -> None:
    for cut in range(len(text)):
        name, value = text[:cut].rstrip(" :="), text[cut:].lstrip(" :=")
        if secrets_in(f"{name}: {value}"):
            assert may_hold(name) or may_hold(value)


@pytest.mark.parametrize("text", [text for _, text in KINDS.values()])
def test_a_mark_is_no_secret_itself(text: str) -> None:
    masks = Masks()
    once = masks.text(text)
    number = masks.count
    assert masks.text(once) == once
    assert masks.count == number


def test_a_mark_tells_kind_and_length_of_a_token_and_nothing_of_a_password() -> None:
    token = KINDS["AWS access key"][0]
    assert Masks().text(token) == "AKIA…[secret 1, 20 characters]"
    assert Masks().text(f"password: {PASSWORD}") == "password: [secret 1]"


@pytest.mark.parametrize("at", ["value", "name", "deep", "reason", "beside a harmless one"])
def test_a_secret_is_masked_wherever_it_stands_in_an_answer(at: str) -> None:
    for secret, text in KINDS.values():
        if secret not in text:
            continue
        answer = {
            "value": {"text": text},
            "name": {text: True},
            "deep": {"groups": [{"ids": ("a", text)}]},
            "reason": {"evidence": text},
            "beside a harmless one": {"text": "Anna drinks tea.", "same": [{"of": text}]},
        }[at]
        masked = Masks().json(answer)
        assert secret not in json.dumps(masked, ensure_ascii=False)
        assert secret in str(answer)


@pytest.mark.parametrize("password", ["Secret!", "Token#"])
def test_a_password_that_is_called_as_secrets_are_is_masked_in_a_reason(password: str) -> None:
    masks = Masks()
    masks.learn([f"The wifi password of the office is {password}"])
    assert masks.reason(f"name: {password[:-1]}") == "name: [secret 1]"


def test_a_text_is_cut_at_a_line_only_where_its_secrets_keep_their_labels() -> None:
    label = "password:\n" + " " * 16
    held = f"{label}{PASSWORD} and `src/gone.py`."
    assert from_line(held, held.index("src")) == held
    apart = f"{label}{PASSWORD}\nThe parser is `src/gone.py`."
    assert from_line(apart, apart.index("src")) == "The parser is `src/gone.py`."


def test_what_secrets_are_called_is_masked_in_no_reason() -> None:
    masks = Masks()
    masks.learn(["api_key: my-token-a1b2c3d4e5f6"])
    said = "holds 1 password, key or token; number: a1b2c3d4e5f6 | (nothing)"
    assert masks.reason(said) == said.replace("a1b2c3d4e5f6", "[secret 1]")


def test_an_answer_without_a_secret_is_told_as_it_is() -> None:
    answer = {"groups": [{"ids": ["a", "b"], "evidence": "same facts"}], "total": 2}
    assert Masks().json(answer) is answer


def test_a_veil_puts_every_secret_back_where_its_mark_stands() -> None:
    veil = Veil()
    text = "\n".join(text for _, text in KINDS.values())
    assert veil.lifted(veil.over(text)) == text


@pytest.mark.parametrize("cut", range(30, 90, 7))
def test_a_cut_never_ends_inside_a_secret(cut: int) -> None:
    text = KINDS["GitHub"][1]
    end = uncut(text, cut)
    assert end >= min(cut, len(text))
    assert all(not s.start < end < s.end for s in secrets_in(text))


# ------------------------------------------------------------------ forms and layouts

_DRAWN = random.Random(7)


def drawn(
    length: int, letters: str = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
) -> str:
    return "".join(_DRAWN.choice(letters) for _ in range(length))


HEX = "0123456789abcdef"
PUBLISHED = {
    "Discord": "MTk4" + drawn(20) + "." + drawn(6) + "." + drawn(38),
    "Discord, another first digit": "OTk4" + drawn(22) + "." + drawn(6) + "." + drawn(27),
    "Docker": "dckr_pat_" + drawn(27),
    "Docker, organisation": "dckr_oat_" + drawn(32),
    "Notion": "ntn_" + drawn(11, "0123456789") + drawn(35),
    "Linear": "lin_api_" + drawn(40),
    "Supabase": "sbp_" + drawn(40, HEX),
    "Grafana": "glsa_" + drawn(32) + "_" + drawn(8, HEX),
    "Atlassian": "ATATT3xFfGF0" + drawn(176),
    "Airtable": "pat" + drawn(14) + "." + drawn(64, HEX),
    "Tailscale": "tskey-auth-" + drawn(12) + "-" + drawn(32),
    "NVIDIA": "nvapi-" + drawn(64),
    "Replicate": "r8_" + drawn(37),
    "Postman": "PMAK-" + drawn(24, HEX) + "-" + drawn(34, HEX),
    "Perplexity": "pplx-" + drawn(48),
    "Mailgun": "key-" + drawn(32, HEX),
    "Entra": "abC8Q~" + drawn(34),
    "Sentry": "sntryu_" + drawn(64, HEX),
    "New Relic": "NRAK-" + drawn(27, "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"),
    "Doppler": "dp.pt." + drawn(43),
    "MiniMax": "sk-cp-" + drawn(20) + "-" + drawn(60),
    "Mem0": "m0-" + drawn(40),
    "Figma": "figd_" + drawn(40),
    "Pulumi": "pul-" + drawn(40, HEX),
    "PlanetScale": "pscale_tkn_" + drawn(43),
    "LangSmith": "lsv2_pt_" + drawn(32, HEX) + "_" + drawn(10, HEX),
    "Pinecone": "pcsk_" + drawn(60),
    "Brevo": "xkeysib-" + drawn(64, HEX) + "-" + drawn(16),
    "SonarQube": "squ_" + drawn(40, HEX),
}


@pytest.mark.parametrize("token", PUBLISHED.values(), ids=PUBLISHED.keys())
@pytest.mark.parametrize("around", ["{}", "It uses {} now.", '{{"v": "{}"}}', "a\n\n{}\nb"])
def test_a_token_of_a_published_form_is_masked_without_a_word_beside_it(
    token: str, around: str
) -> None:
    text = around.format(token)
    assert may_hold(text)
    assert token[-12:] not in without_secrets(text)


VALUE = "Gg88S0ZJqlIkXOpIqp9"


@pytest.mark.parametrize(
    "text",
    [
        "psql --password {} -h db",
        "tool --db-password={}",
        "tool --api-key '{}' run",
        "tool --auth-token \\\n  {}",
        "curl -u admin:{} https://example.org",
        "curl --user 'admin:{}' https://example.org",
        "mysql -u root -p{} shop",
        "mysqldump --single-transaction -p'{}' shop",
        "sshpass -p {} ssh host",
        "machine example.org login ann password {}",
        "machine example.org\n  login ann\n  password {}",
        "Cookie: sessionid={}",
        "Set-Cookie: theme=dark; sid={}; Path=/",
        "curl -H 'Cookie: a=1; connect.sid={}'",
    ],
)
def test_a_value_that_a_command_or_a_header_takes_as_a_secret_is_masked(text: str) -> None:
    assert VALUE not in without_secrets(text.format(VALUE))
    assert VALUE not in without_secrets(" ".join(text.format(VALUE).split()))


@pytest.mark.parametrize(
    "text",
    [
        "run it with -u 1000:1000",
        "docker run -u postgres:postgres db",
        "mkdir -p build/output2",
        "mysql -proot",
        "Add --password-file to the call.",
        "Use --token auth and --key rsa4096 here.",
        "Cookie: theme=dark; lang=en",
        "The cookie policy changed: consent=required",
        "patch-2024.11 and pattern.matching",
        "key-value pairs, r8_register, squ_are",
        "e.g. module.method.another_long_function_name_here()",
        "See docs.python.org and 10.20.30.40.",
        "The token is\n\nvalid until Friday.",
        "password:\n\n- required\n- at least 12characters",
        "API key\n\nThe weather is fine.",
        "The scan found xoxb-test-token in a fixture.",
    ],
)
def test_words_that_only_look_like_a_command_or_a_token_are_no_secrets(text: str) -> None:
    assert without_secrets(text) == text


@pytest.mark.parametrize(
    "word", ["The token is", "api_key:", "password =", "The password of the NAS is"]
)
@pytest.mark.parametrize(
    "between",
    [
        " ",
        "\n",
        "\n\n",
        "\r\n  ",
        "\n\n> ",
        "\n- ",
        "\n\n```\n",
        "\n```text\n",
        "\n\n    ",
        "\n* `",
        "\\n\\n",
    ],
)
def test_a_secret_is_one_in_every_layout_of_its_text(word: str, between: str) -> None:
    text = f"{word}{between}{VALUE}\nand more"
    laid_out = {text, " ".join(text.split()), json.dumps(text), json.dumps(json.dumps(text))}
    for each in laid_out:
        assert VALUE not in without_secrets(each), each

"""What README.md and the pages of docs/ show is what happens.

Conventions of the pages:

* ```` ```python ```` blocks of a page run in order in one namespace, in a folder that holds
  `memories.jsonl` (the file of docs/quickstart.md) and `agent.db` (the same, imported). A
  ```` ```text ```` block right behind one is what it prints.
* ```` ```console ```` blocks run in order in a folder that holds `memories.jsonl`; the lines behind
  a command are its output, and a line `...` stands for any number of lines, an `…` at the end of a
  line for what a terminal cuts. README.md has the samples of the demo there. A block without any
  output is a list of examples: its options have to exist, and it is not run.
* A command may end with `< FILE`: the file is its standard input. `python FILE` runs a file of the
  page, such as one that makes a sample store with the library of its owner.
* A block with a file name behind the language is that file.
* What asks a language model asks a server that runs beside the test and stands in for one: `say` is
  its whole mind. Its address is written as that of a server people know.
* `docs/mem0.md` finds an embedder and a model at `OPENAI_BASE_URL`, on loopback.

`python -m tests.docs.test_docs` writes the output of today into the blocks that show another one.
"""

from __future__ import annotations

import io
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from echoless import import_into, open_store
from echoless.cli.main import main
from echoless.core import errors
from echoless.core.errors import EcholessError
from echoless.workflows.consolidation.fact_check import all_sentences
from tests.model_server import Body, Says, data_of, merged, opinion, prompt_of, running

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted((DOCS / "concepts").glob("*.md"))]
SYSTEMS = sorted((DOCS / "systems").glob("*.md"))
"""Their Python blocks need stores that `tests/docs/test_systems.py` makes."""

ALL_PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
LONG = {"cli.md", "contributing/cases.md", "reference/python.md"}
"""Pages that are generated or a table."""

_BLOCK = re.compile(r"^```(\w*)[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_RUN = re.compile(r"run-\d{8}-\d{6}-[0-9a-f]{6}")
_ADDRESS = re.compile(r"127\.0\.0\.1:\d+")
_CHANGING = (
    (_RUN, "run-ID"),
    (re.compile(r"plan-[0-9a-f-]{36}"), "plan-ID"),
    (re.compile(r"\bm-[0-9a-f]{16}\b"), "m-ID"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "TIME"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d\b"), "DATE"),
    (re.compile(r"(?<=\buntil )\d{4}-\d\d-\d\d(?=: )"), "DAY"),
    (_ADDRESS, "localhost:11434"),
    (re.compile(r"(?<=/(?:de|en|ja)@)[0-9a-f]{8}"), "DIGEST"),
)


@dataclass(frozen=True, slots=True)
class Block:
    """One fenced block.

    Attributes:
        language: First word behind the fence.
        name: The file it is, or an empty text.
        text: What stands in it.
        line: Line of the fence, from 1.
        end: Offset behind it.
        start: Offset of the fence.
    """

    language: str
    name: str
    text: str
    line: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Shown:
    """A command with the output a page shows."""

    command: str
    output: str


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(m[1], m[2].strip(), m[3], text.count("\n", 0, m.start()) + 1, m.start(), m.end())
        for m in _BLOCK.finditer(text)
    ]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


# ------------------------------------------------------------------ a place to work in


@pytest.fixture(scope="module")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def place(tmp_path: Path, cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with `memories.jsonl` in it; no setting comes from outside."""
    for name in [name for name in os.environ if name.startswith("ECHOLESS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ECHOLESS_CACHE_DIR", str(cache_folder))
    monkeypatch.setenv("ECHOLESS_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("ECHOLESS_LOG_LEVEL", "warning")  # no line of progress on a slow machine
    monkeypatch.chdir(tmp_path)
    write_sample(tmp_path)
    return tmp_path


def say(body: Body) -> Says:
    """What the model of the pages says: that a pair is the same, and all sentences of a group.

    The model `forgetful` leaves figures out.
    """
    if "opinion" in prompt_of(body):
        return Says(opinion("same", "both state the same facts"), usage=(700, 20))
    text = all_sentences(data_of(body))
    if body["model"] == "forgetful":
        text = re.sub(r"\d+", "some", text)
    return Says(merged(text), usage=(500, 40))


@pytest.fixture
def asks_a_model(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with running() as server:
        server.script = [say]
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield


@cache
def sample() -> str:
    (found,) = [b for b in blocks(ROOT / "docs" / "quickstart.md") if b.name == "memories.jsonl"]
    return found.text


def write_sample(folder: Path) -> None:
    (folder / "memories.jsonl").write_text(sample(), "utf-8")


# ------------------------------------------------------------------ console blocks


def transcript(block: Block) -> list[Shown]:
    """The commands of a block; none if it is no session with echoless."""
    if not block.text.startswith(("$ echoless", "$ python ")):
        return []
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    return [Shown(*(part.split("\n", 1))) for part in parts]


def sessions(page: Path) -> Iterator[tuple[Block, list[Shown]]]:
    for block in blocks(page):
        if block.language == "console" and (shown := transcript(block)):
            yield block, shown


def is_example_list(shown: Sequence[Shown]) -> bool:
    return not any(each.output.strip() for each in shown)


def run(command: str) -> str:
    words = shlex.split(command, comments=True)
    if words[0] == "python":
        out = io.StringIO()
        with redirect_stdout(out):
            runpy.run_path(words[1], run_name="__main__")
        return out.getvalue()
    assert words[0] == "echoless"
    given = Path(words[-1]).read_bytes() if words[-2:-1] == ["<"] else None
    words = words[:-2] if given is not None else words
    return CliRunner().invoke(main, words[1:], input=given, prog_name="echoless").output


def settled(text: str) -> str:
    """Without what differs from run to run."""
    for pattern, word in _CHANGING:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").split("\n")).strip()


def matches(expected: str, found: str) -> bool:
    lines = (
        r"(?:[^\n]*\n)*"
        if line == "..."
        else re.escape(line.removesuffix("…")) + (r"[^\n]*\n" if line.endswith("…") else r"\n")
        for line in settled(expected).split("\n")
    )
    return re.fullmatch("".join(lines), settled(found) + "\n") is not None


@dataclass(slots=True)
class Session:
    """Runs commands as shown; a run id on the page stands for the id of the real run."""

    ids: dict[str, str]

    def run(self, shown: Shown) -> str:
        command = _RUN.sub(lambda m: self.ids.get(m[0], m[0]), shown.command)
        found = run(command)
        self.ids.update(zip(_RUN.findall(shown.output), _RUN.findall(found), strict=False))
        return found


def write_file(block: Block) -> None:
    Path(block.name).write_text(block.text, "utf-8")


@pytest.mark.usefixtures("asks_a_model")
@pytest.mark.parametrize("page", [*PAGES, *SYSTEMS], ids=named)
def test_commands_give_the_output_shown(page: Path, place: Path) -> None:
    session = Session({})
    if page.name == "README.md":
        samples = ROOT / "src" / "echoless" / "data"
        shutil.copytree(samples / "claude_memory", place / "claude_memory")
        shutil.copy(samples / "sample.jsonl", place)
        (place / "memories.jsonl").unlink()
    for block in blocks(page):
        if block.name:
            write_file(block)
        shown = transcript(block) if block.language == "console" else []
        if is_example_list(shown):
            continue
        for each in shown:
            found = session.run(each)
            assert matches(each.output, found), (
                f"{named(page)}:{block.line} $ {each.command}\n--- shown\n{each.output}\n"
                f"--- found\n{found}\nrun: python -m tests.docs.test_docs"
            )


def test_examples_without_output_are_calls_that_exist() -> None:
    for page in (*PAGES, *SYSTEMS):
        _check_examples(page)


def _check_examples(page: Path) -> None:
    context = click.Context(main)
    for block, shown in sessions(page):
        for each in shown if is_example_list(shown) else ():
            for call in re.split(r"&&|;", re.sub(r"\s[<>]+\s.*", "", each.command)):
                words = shlex.split(call, comments=True)
                assert words[0] == "echoless", f"{named(page)}:{block.line} {call}"
                command = main.get_command(context, words[1])
                assert command is not None, f"{named(page)}:{block.line} {call}"
                command.make_context(words[1], words[2:], parent=context)


def sessions_of_today(page: Path) -> Iterator[tuple[Block, str]]:
    """Console blocks as they would be written today."""
    session = Session({})
    for block in blocks(page):
        if block.name:
            write_file(block)
        shown = transcript(block) if block.language == "console" else []
        if not is_example_list(shown):
            body = ""
            for each in shown:
                found = session.run(each)
                output = each.output if matches(each.output, found) else found.strip("\n") + "\n\n"
                body += f"$ {each.command}\n{output}"
            yield block, body


# ------------------------------------------------------------------ python blocks


@contextmanager
def servers(page: Path) -> Iterator[None]:
    """What a page needs on loopback while its blocks run."""
    if page.name != "mem0.md":
        yield
        return
    from tests.mem0_world import serving

    with serving() as server, pytest.MonkeyPatch.context() as patch:
        server.extract = lambda _request: [
            {"text": "the gateway listens on port 8443", "attributed_to": "user"},
            {"text": "Anna lives in Graz.", "attributed_to": "user"},
        ]
        patch.setenv("OPENAI_BASE_URL", server.url)
        patch.setenv("OPENAI_API_KEY", "none")
        yield


def printed(page: Path) -> Iterator[tuple[Block, Block | None, str]]:
    """Run the blocks; each with the block that shows its output, and what it printed."""
    with open_store("memories.jsonl") as source:
        import_into(source, "agent.db")
    namespace: dict[str, object] = {"__name__": "__main__"}
    found = blocks(page)
    for block, following in zip_longest(found, found[1:]):
        if block.name:
            write_file(block)
        elif block.language == "python":
            out = io.StringIO()
            with redirect_stdout(out):
                exec(compile(block.text, f"{named(page)}:{block.line}", "exec"), namespace)
            between = page.read_text("utf-8")[block.end : following.start if following else None]
            shows = following is not None and following.language == "text" and not between.strip()
            yield block, following if shows else None, out.getvalue()


def having(language: str = "", name: str = "") -> list[Path]:
    """Pages that have a block of a language, whose file name begins with a text."""
    return [
        page
        for page in PAGES
        if any(b.language.startswith(language) and b.name.startswith(name) for b in blocks(page))
    ]


@pytest.mark.usefixtures("asks_a_model")
@pytest.mark.parametrize("page", having("python"), ids=named)
def test_python_runs_and_prints_what_is_shown(page: Path, place: Path) -> None:
    with servers(page):
        done = list(printed(page))
    for block, shown, out in done:
        assert shown is None or matches(shown.text, out), (
            f"{named(page)}:{block.line} prints\n{out}\nrun: python -m tests.docs.test_docs"
        )


@pytest.mark.parametrize("page", having(name="test_"), ids=named)
def test_files_that_are_tests_pass(page: Path, place: Path) -> None:
    """Plug-ins shown in the docs pass the conformance suite, as installed packages."""
    for block in blocks(page):
        if block.name:
            write_file(block)
    _install(place)
    shutil.copyfile(ROOT / "tests/conformance/stores.py", place / "store_conformance.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "."],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(place), str(ROOT / "examples")))},
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _install(folder: Path) -> None:
    """What pip makes of the entry points of a pyproject.toml, in a folder on the path."""
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Name: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, entries in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    (folder / "pyproject.toml").unlink()  # pytest must not take it for its own configuration


# ------------------------------------------------------------------ links, laws, errors


@cache
def slugs(page: Path) -> set[str]:
    """Anchors GitHub makes of the headings of a page."""
    text = _BLOCK.sub("", page.read_text("utf-8"))
    titles = re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_relative_links_resolve() -> None:
    for page, target in links():
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{named(page)} links to {target}"
        assert not anchor or anchor in slugs(linked), f"{named(page)} links to {target}"


def links() -> Iterator[tuple[Path, str]]:
    """Relative links of all pages, each with its page."""
    for page in ALL_PAGES:
        text = _BLOCK.sub("", page.read_text("utf-8"))
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if not re.match(r"[a-z]+:", target):
                yield page, target


def test_every_page_is_on_the_map() -> None:
    """The map is the navigation of the site; decisions have a table of their own."""
    navigation = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:")[2]
    decisions = (DOCS / "adr" / "index.md").read_text("utf-8")
    for page in ALL_PAGES[1:]:
        place = page.relative_to(DOCS).as_posix()
        if place.startswith("adr/0"):
            assert f"]({place.removeprefix('adr/')}) |" in decisions, place
        else:
            assert re.search(rf"[ :]{re.escape(place)}$", navigation, re.MULTILINE), place


def test_each_page_is_short() -> None:
    lines = {
        page.relative_to(DOCS).as_posix(): len(page.read_text("utf-8").splitlines())
        for page in ALL_PAGES[1:]
    }
    assert {page: each for page, each in lines.items() if each > 220 and page not in LONG} == {}


@pytest.mark.parametrize("page", sorted((DOCS / "concepts").glob("*.md")), ids=named)
def test_a_concept_has_one_picture_that_says_what_it_shows(page: Path) -> None:
    ((alternative, target),) = re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text("utf-8"))
    assert len(alternative) > 40
    picture = (page.parent / target).read_text("utf-8")
    for part in ("title", "desc"):
        assert re.search(rf'<{part} id="{part}">[^<]{{10,}}</{part}>', picture), part


def test_every_law_names_a_test_file_that_exists() -> None:
    text = (ROOT / "docs" / "safety.md").read_text("utf-8")
    laws = re.findall(r"^(\d+)\. (.+(?:\n {3,}.+)*)", text, re.MULTILINE)
    assert [int(number) for number, _ in laws] == [*range(1, 16), 17, 18, 19]
    for number, law in laws:
        files = re.findall(r"`(tests/laws/[\w/]+\.py)`", law)
        assert files, f"law {number} names no test"
        for file in files:
            assert f"_{int(number):02d}_" in file
            assert (ROOT / file).is_file(), file


def test_every_error_is_documented_with_its_exit_code() -> None:
    text = "".join((DOCS / name).read_text("utf-8") for name in ("reference/errors.md", "cli.md"))
    kinds = [k for k in vars(errors).values() if isinstance(k, type)]
    told = [k for k in kinds if issubclass(k, EcholessError)]
    assert len(told) > 10
    for kind in told:
        assert f"| `{kind.__name__}` | {kind.exit_code} |" in text, kind.__name__


def test_tests_and_results_that_a_page_names_are_there() -> None:
    form = re.compile(r"`((?:tests|benchmarks/results)/[\w/]+\.\w+)(?:::\w+)?`")
    for page in ALL_PAGES:
        for place in form.findall(page.read_text("utf-8")):
            assert "NAME" in place or (ROOT / place).is_file(), f"{named(page)} names {place}"


def test_no_page_names_a_folder_of_one_machine() -> None:
    for page in ALL_PAGES:
        found = re.search(r"(?<!\w)/(?:home|root|Users|work|tmp)/\S*", page.read_text("utf-8"))
        assert found is None, f"{named(page)}: {found and found[0]}"


def rewrite(page: Path) -> bool:
    """Put today's output into the blocks of a page that show another one."""
    changes = list(sessions_of_today(page))
    with servers(page):
        changes += (
            []
            if page in SYSTEMS
            else [
                (shown, out)
                for _, shown, out in printed(page)
                if shown and not matches(shown.text, out)
            ]
        )
    text = old = page.read_text("utf-8")
    for block, new in sorted(changes, key=lambda change: -change[0].start):
        told = _ADDRESS.sub("localhost:11434", new.strip("\n"))
        fenced = f"```{block.language}\n{told}\n```"
        text = text[: block.start] + fenced + text[block.end :]
    page.write_text(text, "utf-8")
    return text != old


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    for name in [name for name in os.environ if name.startswith("ECHOLESS_")]:
        del os.environ[name]
    for each in [*PAGES, *SYSTEMS]:
        with tempfile.TemporaryDirectory() as folder, chdir(folder), running() as stand_in:
            stand_in.script = [say]
            os.environ["OPENAI_BASE_URL"] = stand_in.url
            os.environ["ECHOLESS_CACHE_DIR"] = f"{folder}/cache"
            os.environ["ECHOLESS_CONFIG_DIR"] = f"{folder}/config"
            os.environ["ECHOLESS_LOG_LEVEL"] = "warning"
            write_sample(Path(folder))
            print("rewritten" if rewrite(each) else "unchanged", named(each))

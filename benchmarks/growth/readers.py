r"""Everything of echoless that reads a text of somebody else, with what its texts are made of.

Whoever adds an expression names its module here, with a reader or in `ELSEWHERE`. It begins once at
a run of what it repeats (`(?<!x)x+`), does not read past its own next beginning (`\[[^\[]*\]`),
reads a run in one way (`(?:a|b)+`, not `(?:a+|b)+`), or has a bound.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from datetime import date
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks.growth.near_misses import NearMiss, Source, expressions
from benchmarks.masked_secrets import PATTERNS as SECRETS
from echoless import Memory, open_store
from echoless.cli.terminal import drawn
from echoless.clustering import noise_score, survivor
from echoless.core import (
    claims,
    destination,
    masking,
    secrets,
    text_difference,
    timestamps,
)
from echoless.core import text as texts
from echoless.core.document import Extent, MemoryText, Quote, TextPair
from echoless.core.model import Pair
from echoless.core.settings import Choices, Settings, resolve
from echoless.ingest import ngram_index, recalled_text
from echoless.matching import claims as notes
from echoless.matching import fields, guards, languages, rule_judge
from echoless.matching.explanation import explain
from echoless.matching.facts import extraction, note_wrappers
from echoless.matching.pair_model import network
from echoless.matching.values import patterns, relative_dates, scanner
from echoless.models import tokenizer
from echoless.models.encoders import vectorizer
from echoless.models.llm import prompt_text
from echoless.stores import expiration, json_splice, scope
from echoless.stores.markdown import (
    archive,
    document,
    file_memory,
    presets,
    store_files,
    unit_memory,
)
from echoless.stores.mcp_memory import graph_lines
from echoless.web import page_blocks
from echoless.workflows.audit import between, staleness
from echoless.workflows.audit.report import audit_store
from echoless.workflows.audit.report_blocks import audit_blocks
from echoless.workflows.consolidation import fact_check
from echoless.workflows.dedupe import series
from echoless.workflows.pairs import Question, judge_pairs
from echoless_programs.sliding_context import turn, turn_decision
from echoless_stores.live import langgraph
from echoless_stores.sql import cells

PIECES: Final = (
    *("e\u0301", "(", ")", "[", "]", "{", "}", "a", "B", "A", "1", "2.5", "-", "- x\n", "* "),
    *("\u2022 a\n", ":", "=", ";", ",", ".", "!", "?", "/", "\\", "|", "&", "+", "#", "`", "```"),
    *('"', "'", "\u201e", "\n", "\r\n", "\t", "  ", "http://a.b/c?d=e&", "a@b.c ", "2026-01-02 "),
    *("10:30 ", "v1.2.3 ", "not ", "no ", "and ", "or ", "\u6771\u4eac", "\u306f", "\u3001"),
    *("\u3002", "\U0001f600", "\u2705 ", "\u200d", "\u200b", "Ab ", "aB", "Dr. ", "3 days ago "),
    *("10 % ", "$5 ", "key: v, ", '{"a": 1}, ', "<b>", "&amp;", "~", "^", "_", "x_y", "x-y "),
    *("\u00df", "\u2014", "1/2 ", "1,000 ", "0x1F ", "Mr ", "instead of ", "from A to B ", "if "),
    *("because ", "a (A) ", "A: b; ", "[x] ", "1. ", "a) ", "yesterday ", "Monday ", "5 km "),
    *("five ", "one hundred ", "the ", "isn't ", "A[", "a(b, ", "a_B_", "\u201c", "\t-", "> "),
)
"""Signs, words and values of several scripts, each the unit of a text for every reader."""

SOME: Final = "The report of March 1, 2025 (a) is in `src/a.py`. "
"""A text with a little of much, read once before anything is measured."""


class Reader(NamedTuple):
    """What reads a text.

    Attributes:
        read: Takes the text.
        modules: Names below `echoless`, by spaces, whose expressions make its texts.
        largest: Characters of the longest text, no more than it reads of one.
        more: Returns expressions that no module holds.
        known: Texts on which it was slow once, tried first.
        weight: Share of the search, 1 for most.
    """

    read: Callable[[str], object]
    modules: str
    largest: int = 64_000
    more: Callable[[], Iterable[Source]] = tuple
    known: Sequence[NearMiss] = ()
    weight: float = 1

    @property
    def sources(self) -> Iterator[Source]:
        """Yields the expressions that make its texts."""
        for name in self.modules.split():
            yield from expressions(
                import_module(name if name.startswith("echoless_") else f"echoless.{name}")
            )
        yield from self.more()


def _units(*units: str) -> Sequence[NearMiss]:
    return [NearMiss(unit) for unit in units]


def _memory(text: str) -> Memory:
    return Memory(id="a", content=text)


def _pair(text: str) -> Pair:
    """The pair of a text and the same moved by two."""
    return Pair(_memory(text), Memory(id="b", content=f"z {text[:-2]}"), {"lexical": 0.9})


@cache
def _settings() -> Settings:
    """Words and values only."""
    return resolve(Choices(semantic=False, encoder="none", cache=False))


def _judge(text: str) -> object:
    pair = _pair(text)
    return list(judge_pairs([Question("", pair.a, pair.b)], _settings()))


def _facts(text: str) -> object:
    facts = extraction.facts_of(text)
    return extraction.signs(facts), extraction.capitals(facts), extraction.small_words(facts)


def _scan(text: str) -> object:
    return [scanner.scan(text, languages.lexicon(name)) for name in ("en", "de", "ja")]


def _scanned() -> list[Source]:
    """The alternatives of the scanner in all languages."""
    table = vars(patterns)["_table"]
    tables = [table(languages.lexicon(name)) for name in ("en", "de", "ja")]
    return [(body, 0) for body in dict.fromkeys(body for table in tables for _, body in table)]


def _unframe(text: str) -> object:
    return note_wrappers.unframe(texts.normalise(text), languages.lexicon("en"))


def _merge(text: str) -> object:
    return fact_check.lost_facts([text], text[: len(text) // 2]), fact_check.all_sentences([text])


def _archive(text: str) -> object:
    lines = document.split_lines(text)
    return archive.entries(lines)


def _observation(text: str) -> object:
    said = unit_memory.statement(text), unit_memory.tags_of(text)
    return *said, unit_memory.is_relation(text), unit_memory.with_tags(text, ["x"])


def _linked(text: str) -> object:
    index = file_memory.index_lines([f"- {text}"], ["a.md"])
    return index, file_memory.linked({"a.md": text}, {})


def _front(text: str) -> object:
    front = f"name: a\npaths: {text}\n"
    return file_memory.memory("a.md", f"---\n{front}---\nb"), presets.agents_of(
        Path("/a"), ".claude/rules/a.md", front
    )


def _recalled(text: str) -> object:
    recalled = recalled_text.RecalledTexts()
    recalled.note([text])
    return recalled.holds(text)


def _marked(text: str) -> object:
    return texts.struck(text), texts.retired(text), texts.retired(f"- [ {text}")


def _masked(text: str) -> object:
    masks = masking.Masks()
    masks.learn([text])
    return masks.text(text), masks.reason(text)


def _json(text: str) -> object:
    return json_splice.records_in(f'["{text}"', lambda _: True), prompt_text.objects_with(text, "a")


def _printed(text: str) -> object:
    with redirect_stdout(io.StringIO()) as shown:
        drawn([MemoryText(text)], coloured=False)
    return shown


def _page(text: str) -> object:
    return page_blocks.element(TextPair(Quote(text, "a"), Quote(f"z {text[:-2]}", "b")))


def _pieces(text: str) -> object:
    folder = Path(network.__file__).parent / "weights"
    return tokenizer.Tokenizer.read(folder / "pieces.json").encode(text)


def _cell(text: str) -> object:
    return cells.read_array(f"{{{text}}}"), cells.write_array([text])


def _key(text: str) -> object:
    return scope.is_owner(text), expiration.puts_away(text), langgraph.place_of(f"{text}/a")


def _audit(text: str) -> object:
    """The audit of a store of two memories, as the command makes and prints it."""
    with TemporaryDirectory() as folder, redirect_stdout(io.StringIO()):
        path = Path(folder) / "a.jsonl"
        pair = _pair(text)
        rows = ({"id": each.id, "content": each.content} for each in (pair.a, pair.b))
        path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
        with open_store(path) as store:
            report = audit_store(store, _settings())
            drawn(audit_blocks(store, report, Extent(top=9, members=9, pairs=9)))
    return report


_MATCHING: Final = (
    "matching.facts.extraction matching.facts.note_wrappers core.text "
    "matching.values.patterns matching.values.scanner matching.values.quantities matching.fields "
    "matching.values.spelled matching.values.equivalence matching.languages matching.persons "
    "matching.speech"
)
_VALUES: Final = _units("\u30f6\u6708\u9593", "Fr ", "mi ", "\u65e5/", "1..", "am-", "a_B_", "1a.")
_FACTS: Final = (
    *(*_VALUES, *_units("\u534a\u65e5", "\u534a\u6642\u9593", ",,1", "Den", "isn't ")),
    *(NearMiss("\u5343", "1"), NearMiss("'s", "a"), NearMiss("a", "a1-A"), NearMiss(",", "", "1 ")),
)

READERS: Final[Mapping[str, Reader]] = {
    "normal form": Reader(texts.normalise, "core.text", known=_units("\u3002", ". ")),
    "Markdown marks": Reader(texts.undress, "core.text"),
    "struck out, done": Reader(_marked, "core.text"),
    "words": Reader(lambda t: (texts.words(t), texts.loose(t)), "core.text"),
    "n-grams": Reader(lambda t: (texts.char_ngrams(t), ngram_index.packed(t)), "core.text"),
    "tokens estimated": Reader(texts.token_estimate, "core.text"),
    "claims": Reader(
        claims.split_claims, "core.claims", known=[NearMiss(".", "", " a"), *_units("!?", "|-")]
    ),
    "claims compared": Reader(
        notes.note_of,
        "core.claims core.text matching.claims",
        known=[NearMiss("a/", "", " x"), NearMiss(".", "", " x")],
    ),
    "secrets": Reader(secrets.secrets_in, "core.secrets", known=_units(*SECRETS)),
    "secrets cut": Reader(lambda t: secrets.shortened(t, 400), "core.secrets"),
    "secrets masked": Reader(_masked, "core.secrets core.masking"),
    "signs escaped": Reader(lambda t: texts.escaped_markdown(texts.visible(t)), "core.text"),
    "differences": Reader(
        lambda t: (text_difference.word_difference(t, f"z {t}"), text_difference.alike(t, "a")),
        "core.text_difference",
        known=_units("\t", "   "),
    ),
    "terminal": Reader(_printed, "cli.terminal core.document workflows.audit.report_blocks"),
    "page": Reader(_page, "core.document core.text_difference"),
    "times": Reader(timestamps.instant, "core.timestamps"),
    "addresses": Reader(lambda t: destination.without_password(f"http://{t}"), "core.destination"),
    "language": Reader(languages.language_of, "matching.languages"),
    "relations": Reader(languages.relations_of, "matching.languages"),
    "fields": Reader(
        lambda t: (fields.fields_of(t), fields.is_statement(t)),
        "matching.fields core.text",
        known=[NearMiss(" ", "", "a)")],
    ),
    "values": Reader(_scan, "matching.values.patterns", 20_000, _scanned, _VALUES, 12),
    "days said by a word": Reader(
        lambda t: relative_dates.days_elsewhere(t, date(2026, 1, 2)),
        "matching.values.relative_dates",
    ),
    "wrappers of notes": Reader(_unframe, "matching.facts.note_wrappers"),
    "facts": Reader(_facts, _MATCHING, 20_000, _scanned, _FACTS),
    "numbers, negations": Reader(
        lambda t: (guards.numbers(t), guards.negations(t)), "matching.guards"
    ),
    "rules": Reader(
        lambda t: rule_judge.RuleJudge().judge_all([_pair(t)]),
        f"{_MATCHING} matching.rule_judge matching.rules",
        *(20_000, _scanned, _FACTS),
    ),
    "judge": Reader(
        _judge, f"{_MATCHING} matching.guards matching.decision", 20_000, _scanned, _FACTS
    ),
    "audit": Reader(_audit, "core.text", 20_000, known=_FACTS),
    "explanation": Reader(
        lambda t: explain(rule_judge.RuleJudge(), _pair(t)), "matching.explanation", 20_000
    ),
    "noise": Reader(noise_score.cleanliness, "clustering.noise_score core.text"),
    "what says why": Reader(vars(survivor)["_WHY"].search, "clustering.survivor"),
    "series": Reader(lambda t: (series.sentence(t), series.label(t)), "workflows.dedupe.series"),
    "staleness": Reader(
        lambda t: list(staleness.signs_of([_memory(t)])),
        "workflows.audit.staleness",
        known=_units("The form is due on 2025-03-01. ", "<a due ", "[x](a", "- `src/a/b.py` "),
    ),
    "reasons of rules": Reader(
        lambda t: vars(between)["_REASONS"].sub("", t),
        "workflows.audit.between",
        known=_units("\n"),
    ),
    "facts of a merge": Reader(
        _merge, "workflows.consolidation.fact_check", 20_000, known=_units("2.5", "Pro")
    ),
    "names of a merge": Reader(
        lambda t: (fact_check.names(t), fact_check.persons(t)),
        "workflows.consolidation.fact_check",
        known=_units("_", "-", "\u30a2"),
    ),
    "parts for an encoder": Reader(
        vectorizer.split_parts, "models.encoders.vectorizer", known=_units("!", "a.", "?)")
    ),
    "pieces of words": Reader(_pieces, "models.tokenizer"),
    "orders to a model": Reader(prompt_text.speaks_to_model, "models.llm.prompt_text"),
    "JSON": Reader(_json, "stores.json_splice"),
    "Markdown": Reader(
        lambda t: document.read(document.split_lines(t), dated=True), "stores.markdown.document"
    ),
    "entries": Reader(
        lambda t: document.read_entries(document.split_lines(t)), "stores.markdown.document"
    ),
    "front matter": Reader(_front, "stores.markdown.front_matter stores.markdown.presets", 16_000),
    "observations": Reader(
        _observation, "stores.markdown.unit_memory", known=_units(" #aaa ", " #aaa", "  ")
    ),
    "links of notes": Reader(_linked, "stores.markdown.file_memory", known=_units("](", "](a.md#")),
    "imports of notes": Reader(
        lambda t: store_files.imports_of(f"{t} @a/b"), "stores.markdown.store_files"
    ),
    "archive": Reader(_archive, "stores.markdown.archive"),
    "knowledge graph": Reader(
        lambda t: (graph_lines.is_graph(t), graph_lines.name_key(t)),
        "stores.mcp_memory.graph_lines",
    ),
    "arrays in cells": Reader(_cell, "echoless_stores.sql.cells"),
    "names of fields": Reader(
        _key, "stores.scope stores.expiration echoless_stores.live.langgraph"
    ),
    "recalled texts": Reader(_recalled, "core.text"),
    "injected blocks": Reader(turn.without_injected, "echoless_programs.sliding_context.turn"),
    "replies of a model": Reader(
        lambda t: turn_decision.parse_dedup_response(t, [_memory("Anna likes tea.")]),
        "echoless_programs.sliding_context.turn_decision",
    ),
}

ELSEWHERE: Final = (
    "core.answer_schemas echoless_programs.flags "
    "echoless_programs.llm_memory.tool_arguments "
    "echoless_programs.stores.llm_memory.records echoless_programs.stores.shodh.library "
    "echoless_stores.chroma.folder echoless_stores.lancedb.rows echoless_stores.lancedb.store "
    "echoless_stores.qdrant.client echoless_stores.qdrant.folder echoless_stores.sql.layout "
    "echoless_stores.sql.location echoless_stores.sql.postgres_backend "
    "echoless_stores.sql.sqlite_backend "
    "echoless_stores.sql.postgres_ledger echoless_stores.sql.table "
    "integrations.claude_events matching.facts.word_classes mcp.access mcp.tool "
    "stores.column_values stores.files "
    "stores.full_text stores.jsonl stores.known_schema stores.markdown.commit "
    "workflows.audit.first_screen workflows.retrieval.search"
)
"""Modules whose expressions read names of files, hosts, columns and versions, single characters,
words that another reader cut out, or what echoless wrote itself."""

"""The word lists of the judge: their shape, and what they know to exclude each other."""

from __future__ import annotations

import json
from collections import Counter
from importlib.resources import files
from typing import Any

import pytest

from echoless import Memory
from echoless.core.model import Duplicate, Pair, Subsumes, Verdict
from echoless.matching.guards import judge_named
from echoless.matching.languages import LANGUAGES, fold, lexicon, stem

AS_WRITTEN = ("retracting",)


def raw(language: str) -> dict[str, Any]:
    path = files("echoless.matching") / "lexicon" / f"{language}.json"
    read: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return read


def folded(words: list[str], language: str) -> list[str]:
    return [fold(word, language) for word in words]


def twice(words: list[str]) -> list[str]:
    return [word for word, count in Counter(words).items() if count > 1]


def verdict_of(a: str, b: str, *, semantic: float = 0.95) -> Verdict:
    pair = Pair(Memory(id="a", content=a), Memory(id="b", content=b), {"semantic": semantic})
    return judge_named("full").judge(pair)


def test_all_languages_have_the_same_lists() -> None:
    assert len({frozenset(raw(language)) for language in LANGUAGES}) == 1


@pytest.mark.parametrize("language", LANGUAGES)
def test_opposites_are_pairs_of_two_words_that_mean_different_things(language: str) -> None:
    pairs = [folded(pair, language) for pair in raw(language)["antonyms"]]
    synonyms = lexicon(language).synonyms
    assert all(len(pair) == 2 and pair[0] != pair[1] for pair in pairs)
    assert len({frozenset(pair) for pair in pairs}) == len(pairs)
    for one, other in pairs:
        assert synonyms.get(one, one) != synonyms.get(other, other), (one, other)
        assert lexicon(language).opposed(one, other)
        assert lexicon(language).opposed(other, one)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_word_has_one_group_of_synonyms_and_one_class(language: str) -> None:
    data = raw(language)
    assert not twice([w for group in data["synonyms"] for w in folded(group, language)])
    assert all(len(group) >= 2 for group in data["synonyms"])
    for name in ("negation", "quantifiers", "modality"):
        assert not twice([w for words in data[name].values() for w in folded(words, language)])


@pytest.mark.parametrize("language", LANGUAGES)
def test_words_kept_as_written_are_small(language: str) -> None:
    data = raw(language)
    words = [word for name in AS_WRITTEN for word in data[name]]
    words += [word for forms in data["persons"].values() for word in forms]
    assert all(word == word.lower() for word in words)


OPPOSED = [
    ("en", "enables", "disabling"),
    ("en", "accepts", "rejected"),
    ("en", "grew", "shrank"),
    ("en", "opt-in", "opt-out"),
    ("en", "assigned", "unassigned"),
    ("en", "blocking", "nonblocking"),
    ("de", "aktivieren", "deaktiviere"),
    ("de", "oeffentliche", "privater"),
    ("de", "raucher", "nichtraucher"),
    ("ja", "承認", "却下"),
    ("ja", "公開", "非公開"),
    ("ja", "対応", "未対応"),
]

UNOPPOSED = [
    ("en", "evening", "odd"),
    ("en", "it", "unit"),
    ("en", "accepts", "receives"),
    ("de", "oeffnen", "oeffnet"),
    ("ja", "開始", "起動"),
]


@pytest.mark.parametrize(("language", "one", "other"), OPPOSED)
def test_opposites_by_form_stem_and_prefix(language: str, one: str, other: str) -> None:
    lex = lexicon(language)
    assert lex.opposed(one, other)
    assert lex.opposed(other, one)


@pytest.mark.parametrize(("language", "one", "other"), UNOPPOSED)
def test_what_only_looks_like_opposites(language: str, one: str, other: str) -> None:
    assert not lexicon(language).opposed(one, other)


def test_words_that_end_like_a_form_keep_their_end() -> None:
    assert stem("evening", "en") == "evening"
    assert stem("evenings", "en") == "evening"
    assert stem("stopping", "en") == stem("stops", "en") == "stop"


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Every morning Ben drinks a cup of tea.", "Every morning Ben drinks a cup of coffee."),
        ("The repository is indented with tabs.", "The repository is indented with spaces."),
        ("Backups are checked weekly.", "Backups are checked monthly."),
        ("The gate is locked at night.", "The gate is unlocked at night."),
        ("Her aunt lives in Leeds.", "Her uncle lives in Leeds."),
        ("Anna mag Tee zum Frühstück.", "Anna mag Kaffee zum Frühstück."),
        ("Der Bericht erscheint wöchentlich.", "Der Bericht erscheint monatlich."),
        ("Der Kanal ist verschlüsselt.", "Der Kanal ist unverschlüsselt."),
        ("席は窓側を希望する。", "席は通路側を希望する。"),
        ("申請は承認された。", "申請は却下された。"),
        ("この機能は有効です。", "この機能は無効です。"),
        ("予約は不要です。", "予約は禁止です。"),
    ],
)
def test_what_excludes_each_other_is_never_merged(a: str, b: str) -> None:
    assert not isinstance(verdict_of(a, b), Duplicate | Subsumes)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("The cake is free of nuts.", "The cake is without nuts."),
        ("We serve coffee w/o sugar.", "We serve coffee without sugar."),
        ("Open a pull request for it.", "Open a PR for it."),
        ("The env of the pods is dev.", "The environment of the pods is development."),
        ("Das Kennwort steht im Tresor.", "Das Passwort steht im Tresor."),
        ("完了のはずです。", "完了のはずです"),
    ],
)
def test_two_ways_to_write_the_same_are_merged(a: str, b: str) -> None:
    assert isinstance(verdict_of(a, b), Duplicate)


def test_first_of_all_in_japanese_denies_nothing() -> None:
    verdict = verdict_of("まず電源を切る。", "電源を切る。")
    kinds = {difference.kind.value for difference in verdict.evidence.differences}
    assert "negation" not in kinds

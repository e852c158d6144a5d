"""The judge by rules: equality, values and wording decide; no model is asked.

```
equal texts, equal normal forms ........................ Duplicate
too long, nothing to compare ........................... Unsure
the same tokens in one order, no rule holds ............ Duplicate, or Subsumes (a more exact value)
one text states all of the other and adds to it ........ Unsure: what it adds may turn the rest
the same tokens, and a rule holds ...................... Unsure
one word differs, and both are spelled alike ........... Unsure
another value or state of one thing, in like words ..... Update or Contradiction
another thing, in like words ........................... Sibling
anything else .......................................... Related or Distinct
```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, takewhile
from typing import Final, NamedTuple

from rapidfuzz import fuzz
from rapidfuzz.distance import Prefix

from echoless.core.model import (
    ADDS,
    Contradiction,
    Difference,
    DifferenceKind,
    Distinct,
    Duplicate,
    Evidence,
    Memory,
    Pair,
    Related,
    Sibling,
    Side,
    Subsumes,
    Unsure,
    Update,
    Verdict,
    flipped,
    later,
    merges,
    richer,
)
from echoless.core.text import lazy_pattern, words
from echoless.matching import Judge, bindings
from echoless.matching.comparison import Comparison, compare
from echoless.matching.facts import Facts, anchored, day_of, facts_of
from echoless.matching.fields import Status, fields_of
from echoless.matching.languages import SEVERAL, WORDS, language_of, lexicon, relations_of
from echoless.matching.rules import FIRM, ONE_WORDING, VALUES, Finding, Force, findings
from echoless.matching.values.tokens import Kind, Value

SETTLED: Final = frozenset(
    {
        "same-text",
        "same-text-after-normalising",
        "permission-differs",
        "status-changed",
        "status-told-once",
        "struck-out",
    }
)
"""Rules that settle a pair: equal texts, or the same words with another status."""
ALIKE: Final = 0.6
"""Share of letters in common from which another value is another value of one thing, inclusive."""
TOPIC: Final = 0.5
"""Share of words in common (`rapidfuzz.fuzz.token_set_ratio`) from which two texts are related."""
CLOSE: Final = 0.8
"""Share of words in common from which two texts that bind otherwise are undecided, inclusive."""
_SUBJECT: Final = 3
"""Words in common from which two texts have a subject beside a label and its value."""
_LETTERS: Final = 6
"""The same in letters, for scripts that do not part words."""
VALUES_OF_ONE: Final = frozenset(
    {
        DifferenceKind.NUMBER,
        DifferenceKind.DATE,
        DifferenceKind.VERSION,
        DifferenceKind.UNIT,
        DifferenceKind.NEGATION,
        DifferenceKind.POLARITY,
        DifferenceKind.MODALITY,
        DifferenceKind.QUANTIFIER,
    }
)
"""Kinds of difference that one thing can have at two times."""
_THINGS: Final = frozenset({DifferenceKind.NAME, DifferenceKind.IDENTIFIER, DifferenceKind.PATH})
"""Kinds of difference that make another thing of it."""
_NAMED: Final = frozenset({Kind.WORD, Kind.NAME, Kind.IDENTIFIER, Kind.PATH})
"""Kinds of tokens that may be a subject in common, as a figure or an environment is not."""
_BEGINNING: Final = 0.6
"""Share of the shorter text that two texts with another end begin with, inclusive."""
_END: Final = 4
"""Words of such an end, at most."""
OF: Final = frozenset({"of", "the", "de", "du", "des", "del", "der", "von", "van", "da", "di"})
"""Words inside of a name: `University of the Arts`."""
_SMALL: Final = 3
"""Letters of a small word (`is`, `in`, `von`, `es`), inclusive, in languages without a list."""
_SUBJECT_AND_MORE: Final = 2
"""Words and values in common from which two texts may be of one thing. Of 703 conflicts about
persons that a model named 33 had fewer, and 18 of 110 that were none."""
_TOPIC_SHARED: Final = 0.4
"""Share of the shorter text's content words from which two texts have a topic in common, inclusive.
Of 45 alarms among 2,541 observations about persons 41 were false; 28 of these share less, and 9 of
250 true conflicts of the labelled persons do."""
_STATED: Final = 3
"""Smallest number of common words with which two texts count as one statement, inclusive."""
_MODELS: Final = frozenset(
    (
        *("claude", "deepseek", "gemini", "gemma", "glm", "gpt", "grok", "kimi", "llama"),
        *("mistral", "mixtral", "phi", "qwen"),
    )
)
"""First words of names of language models, in which a figure is a version."""
_HAN: Final = "\u4e00"
"""First of the Han characters. Two of a clause in Chinese, which is read as one word, count as a
word in common: of 32 updates that the pair model heard there 27 had no other (sets kept apart,
December 2026)."""
_PART: Final = lazy_pattern(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W_](?:[\w'’-]*\w)?")
"""Words, and characters of scripts that do not part them."""
_COUNTED: Final = frozenset({DifferenceKind.NUMBER, DifferenceKind.UNIT, DifferenceKind.VERSION})
COUNTED: Final = _COUNTED | {DifferenceKind.DATE}
"""Kinds of difference between figures and days."""
_STATES: Final = frozenset({DifferenceKind.NEGATION, DifferenceKind.POLARITY})
"""Kinds that need no more of a subject than what the texts share anyway."""


class RuleJudge(Judge):
    """Decides by equality, values and wording. It merges only what leaves nothing unexplained."""

    def judge(self, pair: Pair) -> Verdict:
        """Returns the verdict with its evidence."""
        if (pair.b.content, pair.b.created_at or "") < (pair.a.content, pair.a.created_at or ""):
            return with_status(pair, flipped(_judged(Pair(pair.b, pair.a, pair.signals))))
        return with_status(pair, _judged(pair))


def compared(a: Memory, b: Memory) -> Comparison:
    """Returns the comparison of two memories, relative days counted from when each was written."""
    return compare(*_facts(a, b))


def _facts(one: Memory, other: Memory) -> tuple[Facts, Facts]:
    a, b = (facts_of(fields_of(memory.content).dated) for memory in (one, other))
    if not (a.relative or b.relative):
        return a, b
    days = day_of(one.created_at), day_of(other.created_at)
    if a.relative and b.relative and (None in days or days[0] == days[1]):
        return a, b
    return anchored(a, one.created_at, beside=b), anchored(b, other.created_at, beside=a)


def _judged(pair: Pair) -> Verdict:
    a, b = _facts(pair.a, pair.b)
    settled = _without_comparison(pair, a, b)
    if settled is not None:
        return settled
    comparison = compare(a, b)
    fired = findings(comparison)
    differences = [each.difference for each in fired]
    binding = next((each for each in fired if each.rule.kind in bindings.KINDS), None)
    if binding is not None:
        return _bound(pair, comparison, binding, fired)
    if not comparison.only_a and not comparison.only_b:
        held = next((each for each in fired if each.rule.force >= Force.HOLDS), None)
        if held is not None:
            return Unsure(_evidence(pair, held.rule.name, *differences))
        if comparison.superset is not None:
            return Subsumes(_evidence(pair, "more-exact"), comparison.superset)
        return Duplicate(_evidence(pair, "same-facts"))
    if comparison.superset is not None:
        return Unsure(_evidence(pair, ADDS, *differences))
    return _apart(pair, comparison, fired)


def _bound(
    pair: Pair, comparison: Comparison, binding: Finding, fired: Sequence[Finding]
) -> Verdict:
    """Returns the verdict on two texts of which one binds what the other does not."""
    first = (binding, *(each for each in fired if each is not binding))
    differences = [each.difference for each in first]
    if bindings.opposed(comparison, binding.rule.kind):
        opposed = _evidence(pair, "permission-differs", *differences, veto=True)
        newer = newer_of(pair)
        return Contradiction(opposed) if newer is None else Update(opposed, newer)
    if binding.rule.kind is DifferenceKind.DENIAL and first[1:]:
        made = _apart(pair, comparison, (*first[1:], binding))
        if isinstance(made, Update | Contradiction):
            return made
    words = fuzz.token_set_ratio(*_sentences(pair)) / 100
    if words >= CLOSE:
        return Unsure(_evidence(pair, binding.rule.name, *differences))
    kind, name = (Related, "same-topic") if words >= TOPIC else (Distinct, "little-in-common")
    return kind(_evidence(pair, name, *differences))


def _evidence(pair: Pair, rule: str, *differences: Difference, veto: bool = False) -> Evidence:
    return Evidence(rule, *pair.best, differences, veto=veto)


def _without_comparison(pair: Pair, a: Facts, b: Facts) -> Verdict | None:
    """Returns the verdict on equal texts, and on texts that cannot be compared."""
    if a.counts == b.counts:
        if pair.a.content == pair.b.content:
            return Duplicate(_evidence(pair, "same-text"))
        if a.normal == b.normal and a.normal and a.hidden == b.hidden:
            return Duplicate(_evidence(pair, "same-text-after-normalising"))
    if a.capped or b.capped:
        return Unsure(_evidence(pair, "too-long-to-compare", veto=True))
    if not a.tokens or not b.tokens:
        return Unsure(_evidence(pair, "nothing-to-compare", veto=True))
    return None


def _apart(pair: Pair, comparison: Comparison, fired: Sequence[Finding]) -> Verdict:
    """Returns the verdict on two texts with differences."""
    differences = [each.difference for each in fired]
    if fired[0].rule.name in FIRM:
        return Unsure(_evidence(pair, fired[0].rule.name, *differences))
    one, other = _sentences(pair)
    kind, opposed = fired[0].rule.kind, _opposed(comparison, fired[0])
    if (opposed or kind is DifferenceKind.NAME) and fuzz.ratio(
        one, other, score_cutoff=100 * ALIKE
    ):
        veto = kind in VALUES or opposed
        vetoing = _evidence(pair, fired[0].rule.name, *differences, veto=veto)
        if in_one_slot(pair, differences):
            newer = newer_of(pair)
            return Contradiction(vetoing) if newer is None else Update(vetoing, newer)
        return Sibling(vetoing)
    if fuzz.token_set_ratio(one, other, score_cutoff=100 * TOPIC):
        return Related(_evidence(pair, "same-topic", *differences))
    return Distinct(_evidence(pair, "little-in-common", *differences))


def _opposed(comparison: Comparison, first: Finding) -> bool:
    """Returns whether the deciding difference is another value or state, not another wording."""
    kind, difference = first.rule.kind, first.difference
    if first.rule.force < Force.IN_ONE_WORDING:
        return False
    if kind in VALUES and comparison.a.update != comparison.b.update:
        return True  # `now 5433 instead of 5432`: the old value stands on both sides
    return bool(difference.a and difference.b) or kind is DifferenceKind.NEGATION


def _words(text: str) -> list[str]:
    return [word for word in WORDS.findall(text) if len(word) > 1]


def _sentences(pair: Pair) -> tuple[str, str]:
    return fields_of(pair.a.content).sentence, fields_of(pair.b.content).sentence


def in_one_slot(pair: Pair, differences: Sequence[Difference]) -> bool:
    """Returns whether two memories tell of one subject, and another value of it.

    `Blocked by: T1` and `Blocked by: T3` tell of two things, which stand elsewhere: what is shared
    is a label only. Another identifier, path or name is another thing, not another value; the next
    version of a language model is none.

    Args:
        pair: Both memories.
        differences: Of the two, the deciding one first.
    """
    kind = differences[0].kind if differences else None
    if kind not in VALUES_OF_ONE and not (differences and _is_next_version(differences[0])):
        return False
    if any(d.kind in _THINGS and d.a and d.b and not _is_next_version(d) for d in differences):
        return False
    if kind in _STATES:
        return True
    counted = [d for d in differences if d.kind in _COUNTED]
    if max(sum(len(d.a) for d in counted), sum(len(d.b) for d in counted)) > 1:
        return False  # `server 1 in rack 7`, `server 2 in rack 14`: two places differ
    one, other = ({*_words(said.casefold())} for said in _sentences(pair))
    shared = one & other
    return sum(len(word) for word in shared if not word.isascii()) >= _LETTERS or (
        len(shared) >= _SUBJECT
    )


def _is_next_version(difference: Difference) -> bool:
    """Returns whether two identifiers name language models of one family: `gpt-4o` and `gpt-5`."""
    both = (*difference.a, *difference.b)
    families = {"".join(takewhile(str.isalpha, word.casefold())) for word in both}
    named = all("@" not in word and any(map(str.isdecimal, word)) for word in both)
    alone = len(difference.a) == len(difference.b) == len(families) == 1
    return alone and named and families <= _MODELS


class Ends(NamedTuple):
    """What two texts with one beginning end in.

    Attributes:
        one: End of the first text.
        other: End of the second.
        beginning: Share of the shorter text that both begin with, 0 to 1.
    """

    one: str
    other: str
    beginning: float


def other_end(pair: Pair) -> Ends | None:
    """Returns the ends of two texts that begin alike, behind a small word; None if they do not.

    `The port of the gateway is 8080`: what stands behind such a beginning is the value of one
    thing more often than another thing. `is in Rome` and `is with O2` tell of two.
    """
    one, other = _sentences(pair)
    start = one.rfind(" ", 0, Prefix.similarity(one.casefold(), other.casefold())) + 1
    ends = Ends(one[start:], other[start:], start / max(1, min(len(one), len(other))))
    if ends.beginning < _BEGINNING or not one[start - 2].isalnum():
        return None
    before = _words(one[:start].casefold())
    behind = [end.casefold().rstrip(" .").split() for end in (ends.one, ends.other)]
    if len(before) < _SUBJECT or not all(0 < len(each) <= _END for each in behind):
        return None
    words = lexicon(language_of(one)).sets
    small = words["prepositions"] | words["function"] | words["articles"]
    if len(before[-1]) > _SMALL and before[-1] not in small:
        return None
    common = {*behind[0]} & {*behind[1]}
    if behind[0][0] == behind[1][0] or common & small - OF:
        return None  # one says more, or the subjects differ: `Japan is Tokyo`, `India is New Delhi`
    # each place may have a rule of its own: `ask before a deploy to staging`
    apart = any(each[0] in words["prepositions"] for each in behind) or speaks_of_consent(pair)
    return None if apart else ends


def may_conflict(
    pair: Pair,
    differences: Sequence[Difference],
    *,
    sure: bool = True,
    replaced: bool = False,
) -> bool:
    """Returns whether two texts that a model calls a conflict speak of one thing.

    They have a subject and more in common, or tell one relation of one subject (`lives in`, `moved
    to`). Where all that differs stands before a statement that both make, the subjects differ.

    Args:
        pair: Both memories.
        differences: Of the two, the deciding one first.
        sure: Whether the model is so sure that a subject in common is enough of a topic.
        replaced: Whether the model says that one replaces the other, so that one word in common, or
            two Han characters, are enough, if it is no figure and no environment.
    """
    a, b = _facts(pair.a, pair.b)
    relations = relations_of(a.body) & relations_of(b.body)
    one, other = (_PART.findall(each.body.casefold()) for each in (a, b))
    size = min(len(one), len(other))
    shared = len(a.counts.keys() & b.counts.keys())
    alike = len({*one} & {*other})
    related = bool(alike and relations - {SEVERAL})
    topic = shared >= _TOPIC_SHARED * min(len(a.counts), len(b.counts)) or 2 * alike >= size
    if not (sure or related or topic):
        return False
    before = next((n for n in range(size) if one[n] != other[n]), size)
    behind = next((n for n in range(size - before) if one[-1 - n] != other[-1 - n]), size - before)
    middles = one[before : len(one) - behind], other[before : len(other) - behind]
    if _names_in_two_places(*middles, differences):
        return False
    if in_one_slot(pair, differences):
        return True
    if differences and differences[0].kind is DifferenceKind.ORDER:
        return False  # the same words in another order: no value differs
    if relations == {SEVERAL} and not (a.update or b.update or a.outdated or b.outdated):
        return False  # whoever speaks English may speak French
    stated = alike >= _STATED and 2 * alike > size
    if shared < _SUBJECT_AND_MORE and not stated and not related:
        named = {each.value for each in a.tokens if each.kind in _NAMED}
        in_han = (w for w in {*words(a.body)} & {*words(b.body)} if len(w) > 1 and min(w) >= _HAN)
        if not replaced or (named.isdisjoint(b.counts) and not any(in_han)):
            return False
    return not (before < behind >= _STATED and before + behind < size)


def _names_in_two_places(
    one: Sequence[str], other: Sequence[str], differences: Sequence[Difference]
) -> bool:
    """Returns whether names differ before and behind words that both texts have.

    `The capital of Japan is Tokyo`, `The capital of India is New Delhi`: the subjects differ. Of
    31,000 labelled pairs 7 are such, all of two things; none of the 5,000 conflicts is.

    Args:
        one: Words of a text, folded by case, between what both begin and end with.
        other: The same of the other text.
        differences: Of the two.
    """
    named = [each for each in differences if each.kind is DifferenceKind.NAME]
    ours = {word.casefold() for each in named for word in each.a}
    theirs = {word.casefold() for each in named for word in each.b}
    parted = not {*one}.isdisjoint(other)
    return parted and {one[0], one[-1]} <= ours and {other[0], other[-1]} <= theirs


def speaks_of_consent(pair: Pair) -> bool:
    """Returns whether one text says that somebody is asked, or need not be."""
    return bindings.speaks_of_consent(*_facts(pair.a, pair.b))


def tells_change(pair: Pair) -> bool:
    """Returns whether one text alone tells of a change (`now`, `since May`, `no longer`)."""
    a, b = _facts(pair.a, pair.b)
    return a.update != b.update or a.outdated != b.outdated


def denies(pair: Pair) -> bool:
    """Returns whether one text alone denies a thing, and the other states it.

    The thing is the word behind the denial: `spaces, not tabs` denies tabs.
    """
    a, b = _facts(pair.a, pair.b)
    denied = _denied(a), _denied(b)
    if all(each is not None for each in denied):
        return False
    return any(
        said and said & other.counts.keys() for said, other in zip(denied, (b, a), strict=True)
    )


def _denied(facts: Facts) -> set[Value] | None:
    """Returns the value behind each denial of a text; None where it denies nothing."""
    return {b.value for a, b in pairwise(facts.tokens) if a.kind is Kind.NEGATION} or None


def exchanged_subjects(pair: Pair) -> bool:
    """Returns whether each text begins with a name that stands further on in the other.

    `John values Maria's passion` and `Maria supports John`: the roles may be exchanged.
    """
    one, other = (_words(sentence) for sentence in _sentences(pair))
    if not one or not other or one[0] == other[0]:
        return False
    return one[0][0].isupper() and other[0][0].isupper() and one[0] in other and other[0] in one


_ORDER: Final = {Status.OPEN: 0, Status.DONE: 2, "cancelled": 2}
"""How far a task is; any other state is between."""
_QUIET: Final = frozenset({Status.OPEN, Status.ACTIVE, Status.DONE})
"""States that writers leave out of a note."""


def with_status(pair: Pair, verdict: Verdict) -> Verdict:
    """Returns an update where two texts say the same and their marks tell another status.

    Where other words of them are struck out, or only one tells a status that matters, the pair is
    undecided. A date in front of one of them says more, and is not lost.
    """
    if not merges(verdict):
        return verdict
    one, other = (fields_of(memory.content) for memory in (pair.a, pair.b))
    a, b = one.status, other.status
    side: Side = "a" if one.date else "b"
    dated, plain = (one, other) if one.date else (other, one)
    if dated.date and not plain.date and dated.date not in plain.sentence:
        if richer(verdict) not in {None, side}:
            return Unsure(replace(verdict.evidence, rule="dated-once"))
        verdict = Subsumes(verdict.evidence, side)
    if a == b and one.struck == other.struck:
        return verdict
    evidence = verdict.evidence
    if one.struck != other.struck:
        states = ("struck out" if each.struck else "in force" for each in (one, other))
        difference = Difference(DifferenceKind.MODALITY, *((state,) for state in states))
        differences = (difference, *evidence.differences)
        return Unsure(replace(evidence, rule="struck-out", differences=differences, veto=True))
    if a is None or b is None:
        loud = {a, b} - {None, *_QUIET}
        return Unsure(replace(evidence, rule="status-told-once")) if loud else verdict
    difference = Difference(DifferenceKind.MODALITY, (a,), (b,))
    evidence = replace(
        evidence, rule="status-changed", differences=(difference, *evidence.differences), veto=True
    )
    newer = later(pair.a, pair.b)
    one_order, other_order = (_ORDER.get(state, 1) for state in (a, b))
    if newer is None and one_order == other_order:
        return Contradiction(evidence)
    return Update(evidence, newer or ("a" if one_order > other_order else "b"))


def newer_of(pair: Pair, *, unlike: bool = False) -> Side | None:
    """Returns the side that replaces the other: as words say, else their times; None if unknown.

    Words of a stage come first (`planned`, `done`), then words of change (`now`, `no longer`) and
    of the past (`used to`), then `created_at`, then dates in front of the texts.

    Args:
        pair: Both memories.
        unlike: Whether they have little in common, so that `now` in one hardly speaks of the other:
            only words of the past come before times, unless both tell one relation (`lives in`,
            `moved to`). Of 17 such updates in which both disagree all are as the times say
            (December 2026).
    """
    a, b = _facts(pair.a, pair.b)
    times = [int(later(pair.a, pair.b) == side) for side in "ab"]
    stages = (0, 0) if a.stage is None or b.stage is None else (a.stage, b.stage)
    change = (a.update - a.outdated, b.update - b.outdated)
    past = (b.outdated, a.outdated)
    apart = unlike and relations_of(a.body).isdisjoint(relations_of(b.body))
    for one, other in (past, times, stages, change) if apart else (stages, change, times):
        if one != other:
            return "a" if one > other else "b"
    dates = [fields_of(memory.content).date for memory in (pair.a, pair.b)]
    if all(dates) and dates[0] != dates[1]:
        return "a" if dates[0] > dates[1] else "b"
    return None


def known_order(pair: Pair, verdict: Verdict, letters: float) -> Side | None:
    """Returns the newer of two texts of which one may replace the other; None if that is unknown.

    In nearly one wording another value is of another thing as often as not, so nothing is replaced
    there but by what the rules, and the pair model's conflict, say.

    Args:
        pair: Both memories.
        verdict: Of the rules.
        letters: Share of letters in common, 0 to 1.
    """
    if merges(verdict) or letters >= ONE_WORDING:
        return None
    return newer_of(pair, unlike=isinstance(verdict, Related | Distinct))

"""Audits a store again and reuses pages of namespaces in which nothing changed.

A page (`workflows/audit/namespace_report.py`) depends on the memories of its namespace, on what was
decided about them, on the settings and on the versions of all stages (`core/versions.py`). It is
named by a digest of all that, so a cached page of that name is the one that would be made. The
store is only asked for digests of what it holds (`stores.base.Printed`), which costs a hundredth
of an audit.

Pages lie in a file of the user's cache folder. They quote words of the texts: others cannot read
the file, and `purge` deletes it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields, replace
from hashlib import blake2b
from importlib.metadata import version
from typing import Any, Final

from echoless.blocking.candidates import open_vectors
from echoless.core.garbage_collection import uncollected
from echoless.core.json_codec import memory_to_json
from echoless.core.model import digest
from echoless.core.overlaps import Overlap, SharedPassage
from echoless.core.own_folders import cache_folder
from echoless.core.run_notes import Progress, Tally
from echoless.core.settings import Choices, Settings, resolve
from echoless.core.versions import edition
from echoless.matching.pair_model.network import learned
from echoless.matching.runner import left_off
from echoless.stores.base import Printed, Prints, Scope, Store, StoreKind, check_namespace
from echoless.stores.ledger import Ledger
from echoless.workflows.audit.answer_cache import FILE_NAME, LARGEST, AnswerCache, PageFile
from echoless.workflows.audit.namespace_report import (
    Page,
    ReportedGroup,
    ReportedMember,
    ReportedPair,
    Share,
)
from echoless.workflows.audit.report import Report, audit, settings_json, with_store
from echoless.workflows.audit.staleness import Sign
from echoless.workflows.dedupe import pipeline
from echoless.workflows.dedupe.series import Series

KEPT_FROM: Final = 2_000
"""Memories of an audit from which pages are kept: fewer are audited in seconds, without a trace."""

_OWN_DETECTORS: Final = frozenset({"exact", "normalised", "sequence", "lexical", "semantic"})
"""Those whose version `edition` covers."""

_OWN_ENCODERS: Final = frozenset({"auto", "none", "stored", "fast", "use"})
"""Those whose vectors hang on what is installed and on nothing else."""

_LEANS_ON: Final = ("numpy", "rapidfuzz")
"""Libraries whose version may move a digit of a result."""


@uncollected()
def audit_store(
    store: Store, settings: Settings | None = None, *, progress: Progress | None = None
) -> Report:
    """Finds what a store says twice and reports it; reads only.

    Says what `with_store(audit(find(store, settings)), store)` says. What an earlier audit said of
    a namespace is taken over as long as no memory, mark or decision in it, and no setting, is
    another one, where the store can tell (`Printed`), the profile is one of those that read texts,
    and the settings neither limit the memories, nor ask a verifier, nor switch caches off.

    Args:
        store: Any open store.
        settings: Complete settings; those of the store's own profile by default.
        progress: Told how far each stage is.

    Raises:
        UsageError: A setting is unknown or out of range, or the namespace does not exist.
        InputError: The store holds records that cannot be read.
        EncoderError: The embedding model failed.
        VerifierError: The verifier cannot answer anything.
    """
    chosen = settings or resolve(Choices(), proposed=store.profile)
    if isinstance(store, Printed) and store.capabilities.repeatable and is_repeatable(chosen):
        check_namespace(store, chosen.namespace)
        if store.count(Scope(chosen.namespace)) >= KEPT_FROM:
            tell = progress or (lambda _stage, _done, _all: None)
            return with_store(_IncrementalAudit(store, store, chosen, tell).report(), store)
    return with_store(audit(pipeline.find(store, chosen, progress=progress)), store)


def is_repeatable(settings: Settings) -> bool:
    """Checks whether an audit would say the same of the same memories at any other time."""
    profile = settings.profile
    foreign = {use.name for use in profile.detectors} - _OWN_DETECTORS
    return not (
        foreign
        or profile.judge != "full"
        or profile.expiry
        or "namespace" not in profile.partition
        or not settings.cache
        or settings.verifier != "none"
        or settings.since is not None
        or settings.limit is not None
    )


def _report_of(pages: Sequence[Page], store: Store, settings: Settings) -> Report:
    """Returns the report of pages that were known."""
    return Report(
        url=store.url,
        profile=settings.profile.name,
        action=settings.profile.action,
        pages=tuple(pages),
        settings=settings_json(settings),
        off=left_off(settings),
    )


def is_lasting(store: Store, settings: Settings, report: Report) -> bool:
    """Checks whether an audit says the same as long as the one file of a store stays as it is."""
    return (
        isinstance(store, StoreKind)
        and store.one_file
        and is_repeatable(settings)
        and settings.encoder in _OWN_ENCODERS
        and report.counts["total"] >= KEPT_FROM
        and not (report.told or report.elsewhere)
    )


def keep_report(cache: AnswerCache, report: Report) -> None:
    """Keeps the pages of a report that is lasting."""
    cache.keep("pages", b"\n".join(map(_page_json, report.pages)))


def audit_file(
    store: Store, settings: Settings, cache: AnswerCache, *, progress: Progress | None = None
) -> Report:
    """Audits a store as `audit_store`, or takes over all pages that were kept of its files."""
    pages = [_page(line) for line in cache.of("pages").splitlines()]
    whole = [page for page in pages if page is not None]
    known = bool(whole) and len(whole) == len(pages)
    report = (
        with_store(_report_of(whole, store, settings), store)
        if known
        else audit_store(store, settings, progress=progress)
    )
    return replace(report, told=(*report.told, *cache.tally.notes))


class _IncrementalAudit:
    """One audit that reuses cached pages of earlier audits."""

    def __init__(
        self, store: Store, printed: Printed, settings: Settings, progress: Progress
    ) -> None:
        self._store = store
        self._printed = printed
        self._settings = settings
        self._progress = progress
        self._tally = Tally()
        self._file = PageFile(cache_folder() / FILE_NAME)
        self._rules = rules_of(settings).encode("utf-8", "surrogatepass")

    def report(self) -> Report:
        """Returns the report of pages from the cache and of pages made now."""
        self._progress("comparing with the last audit", 0, 0)
        settings, scope = self._settings, self._settings.namespace
        ledger = _Decisions(self._store.ledger)
        before = self._printed.prints(None if scope is None else [scope], ledger.ids)
        names = self._names(before, ledger)
        cached = self._cached(names)
        anew = ledger.with_linked(names.keys() - cached.keys(), before.homes)
        if anew:
            within = None if len(anew) == len(names) else anew
            made = audit(
                pipeline.find(self._store, settings, within=within, progress=self._progress)
            )
        else:
            made = _report_of((), self._store, settings)
        if made.pages:
            self._keep(made.pages, before, names)
        reused = [page for name, page in cached.items() if name not in anew]
        pages = sorted((*made.pages, *reused), key=lambda page: page.namespace)
        notes = (*made.told, *self._tally.notes)
        return replace(made, pages=tuple(pages), told=notes, taken_over=len(reused))

    def _cached(self, names: Mapping[str, bytes]) -> dict[str, Page]:
        """Returns the pages of the file by namespace; counts damaged ones."""
        entries = self._file.get([_key(name) for name in names.values()], self._tally)
        pages = {}
        for namespace, name in names.items():
            key = _key(name)
            page = unpacked(entries[key]) if key in entries else None
            if page is not None and page.namespace == namespace:
                pages[namespace] = page
        known = sum(_key(name) in entries for name in names.values())
        self._file.damaged(known - len(pages), self._tally)
        return pages

    def _keep(self, pages: Sequence[Page], before: Prints, names: Mapping[str, bytes]) -> None:
        """Writes pages of what did not change while they were made to the file."""
        ledger = _Decisions(self._store.ledger)
        after = before
        if not self._printed.still(before):
            now = self._printed.prints([page.namespace for page in pages], ledger.ids)
            homes = {**before.homes, **now.homes}
            after = Prints({**before.by_namespace, **now.by_namespace}, homes)
        names_after = self._names(after, ledger)
        entries: dict[bytes, bytes] = {}
        for page in pages:
            name = names.get(page.namespace)
            if name is None or name != names_after.get(page.namespace):
                continue
            data = packed(page)
            if len(data) > LARGEST:
                self._tally.note(
                    f"What is said of {page.total:,} memories is too much to keep; the next audit "
                    "will look again."
                )
                continue
            entries[_key(name)] = data
        self._file.put(entries, self._tally)

    def _names(self, prints: Prints, ledger: _Decisions) -> dict[str, bytes]:
        """Returns 64 bytes for each namespace, of which the first 16 name its page."""
        outside: dict[str, str] = {}
        if self._settings.namespace is not None:
            memories = self._store.get(ledger.beyond(prints.homes))
            outside = {id_: digest(memory_to_json(memory)) for id_, memory in memories.items()}
        decisions = ledger.by_namespace(prints.homes, outside)
        linked = ledger.linked(prints.homes)
        names = {}
        for namespace, own in prints.by_namespace.items():
            name = blake2b(self._rules)
            decided = repr((namespace, decisions.get(namespace)))
            for part in (own, decided.encode("utf-8", "surrogatepass")):
                name.update(len(part).to_bytes(8, "little") + part)
            for other in sorted(linked.get(namespace, ())):
                name.update(prints.by_namespace.get(other, b""))
            names[namespace] = name.digest()
        return names


def _key(name: bytes) -> bytes:
    """Returns the key of a page in the file."""
    return name[:16]


def rules_of(settings: Settings) -> str:
    """Returns all that the result for a namespace depends on, apart from the store."""
    vectors = open_vectors(settings, Tally(), lambda _stage, _done, _all: None)
    parts = (
        " ".join((edition("audit"), *(version(name) for name in _LEANS_ON))),
        settings.digest,
        None if vectors is None else vectors.basis,
        learned(),
    )
    return repr(parts)


class _Decisions:
    """Decisions of people and of earlier runs about memories, on which pages depend."""

    def __init__(self, ledger: Ledger) -> None:
        marks = ledger.marks().values()
        self._decided: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
            *(((m.duplicate, m.survivor), ("mark", m.texts)) for m in marks),
            *(((k.a, k.b), ("kept", k.print_a, k.print_b)) for k in ledger.kept()),
            *(((id_,), ("sticky",)) for id_ in sorted(ledger.sticky())),
        ]

    @property
    def ids(self) -> set[str]:
        """Returns the memories the decisions are about."""
        return {id_ for ids, _ in self._decided for id_ in ids}

    def beyond(self, homes: Mapping[str, str]) -> set[str]:
        """Returns ids outside these homes that share a decision with an id inside."""
        partly = (ids for ids, _ in self._decided if not homes.keys().isdisjoint(ids))
        return {id_ for ids in partly for id_ in ids} - homes.keys()

    def by_namespace(
        self, homes: Mapping[str, str], elsewhere: Mapping[str, str]
    ) -> dict[str, list[tuple[object, ...]]]:
        """Returns what was decided about memories of each namespace, in order.

        Args:
            homes: Namespace by id, of memories in scope.
            elsewhere: Digests of other memories, by id.
        """
        decisions: dict[str, list[tuple[object, ...]]] = {}
        for ids, what in self._decided:
            names = [homes.get(id_) for id_ in ids]
            digests = [elsewhere.get(id_) for id_ in ids]
            for name in {name for name in names if name is not None}:
                decisions.setdefault(name, []).append((ids, what, names, digests))
        return decisions

    def linked(self, homes: Mapping[str, str]) -> dict[str, set[str]]:
        """Returns other namespaces a decision reaches from each: a memory was moved after it."""
        linked: dict[str, set[str]] = {}
        for ids, _ in self._decided:
            names = {homes[id_] for id_ in ids if id_ in homes}
            for name in names if len(names) > 1 else ():
                linked.setdefault(name, set()).update(names - {name})
        return linked

    def with_linked(self, names: Iterable[str], homes: Mapping[str, str]) -> set[str]:
        """Returns namespaces, and all that are linked to them over any number of steps."""
        linked, reached, waiting = self.linked(homes), set[str](), list(names)
        while waiting:
            name = waiting.pop()
            if name not in reached:
                reached.add(name)
                waiting.extend(linked.get(name, ()))
        return reached


# ------------------------------------------------------------------ the file


_PAIRS: Final = ("held", "near")


def packed(page: Page) -> bytes:
    """Returns a page as bytes, without loss."""
    return zlib.compress(_page_json(page), 1)


def _page_json(page: Page) -> bytes:
    """Returns a page as one line of JSON."""
    data: dict[str, Any] = {field.name: getattr(page, field.name) for field in fields(Page)}
    data["months"] = {month: astuple(share) for month, share in page.months.items()}
    data["groups"] = [
        [g.survivor, g.why, [astuple(member) for member in g.members]] for g in page.groups
    ]
    for name in _PAIRS:
        data[name] = [astuple(pair) for pair in data[name]]
    data["signs"] = [astuple(sign) for sign in page.signs]
    data["series"] = [[s.members, s.newest] for s in page.series]
    data["overlaps"] = [
        [o.a, o.b, o.share_a, o.share_b, *map(_packed_passages, (o.passages, o.differing))]
        for o in page.overlaps
    ]
    return json.dumps(data, separators=(",", ":")).encode("ascii")


def _packed_passages(passages: Iterable[SharedPassage]) -> list[tuple[object, ...]]:
    """Returns shared passages as lists."""
    return [(p.a, p.b, p.verdict) for p in passages]


def _unpacked_overlap(
    a: str, b: str, share_a: float, share_b: float, *passages: list[Any]
) -> Overlap:
    """Returns an overlap of its parts."""
    shared, differing = (
        tuple([SharedPassage(tuple(in_a), tuple(in_b), verdict) for in_a, in_b, verdict in some])
        for some in passages
    )
    return Overlap(a=a, b=b, share_a=share_a, share_b=share_b, passages=shared, differing=differing)


def unpacked(packed_page: bytes) -> Page | None:
    """Returns the page of some bytes; None if they are damaged."""
    try:
        return _page(zlib.decompress(packed_page))
    except zlib.error:
        return None


def _page(line: bytes) -> Page | None:
    """Returns the page of a line of JSON; None if it is damaged."""
    try:
        data: dict[str, Any] = json.loads(line)
        data["months"] = {month: Share(*share) for month, share in data["months"].items()}
        data["groups"] = tuple(
            [
                ReportedGroup(survivor, why, tuple([ReportedMember(*member) for member in members]))
                for survivor, why, members in data["groups"]
            ]
        )
        for name in _PAIRS:
            data[name] = tuple([ReportedPair(*pair) for pair in data[name]])
        data["signs"] = tuple([Sign(*parts) for parts in data["signs"]])
        data["series"] = tuple([Series(tuple(ids), newest) for ids, newest in data["series"]])
        data["overlaps"] = tuple([_unpacked_overlap(*parts) for parts in data["overlaps"]])
        data["skipped"] = {reason: tuple(ids) for reason, ids in data["skipped"].items()}
        data["notes"], data["general"] = tuple(data["notes"]), tuple(data["general"])
        return Page(**data)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None

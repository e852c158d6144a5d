"""An audit that takes over what the last one said of namespaces in which nothing changed.

A page (`pages.py`) hangs on the memories of its namespace, on what was decided about them, on the
settings and on this package. It is named by a digest of all that, so one that is found is the one
that would be made; nothing has to be told of what changed. The store is only asked for digests of
what it holds (`stores.prints.Printed`), which costs a hundredth of an audit.

Pages lie in a file of the user's cache folder, sealed with the digest of the memories they are
about (`sealing.py`): they name words of the texts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2b
from importlib.metadata import version
from importlib.resources import files
from typing import Final

from echoless.auditing import Report, audit
from echoless.candidates import Progress, open_vectors
from echoless.codec import memory_to_json
from echoless.compiled import compiled
from echoless.core.own_folders import cache_folder
from echoless.ledger import Ledger
from echoless.matching import LEFT_OUT
from echoless.matching.pair_model.network import runtime
from echoless.model import digest
from echoless.page_packing import packed, unpacked
from echoless.pages import Page
from echoless.sealing import opened, sealed
from echoless.settings import Choices, Settings, resolve
from echoless.sources import digest_of
from echoless.stores.base import (
    Printed,
    Prints,
    Protects,
    Remarks,
    Retains,
    Scope,
    Store,
    check_namespace,
)
from echoless.tally import Tally
from echoless.uncollected import uncollected
from echoless.vectors.cache_file import BytesFile
from echoless.vectors.own import own_digest

FILE_NAME: Final = "pages.sqlite3"

MOST_BYTES: Final = 512 * 2**20
"""Bytes of the file beyond which entries leave."""

KEPT_FROM: Final = 2_000
"""Memories of an audit from which pages are kept: fewer are audited in seconds, without a trace."""

_LARGEST: Final = 64 * 2**20
"""Bytes of one page, packed, beyond which it is not kept."""

_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS pages (
    key BLOB PRIMARY KEY,
    used INTEGER NOT NULL,
    sealed BLOB NOT NULL
)
"""

_OWN_DETECTORS: Final = frozenset(
    {"exact", "normalised", "sequence", "lexical", "minhash", "semantic"}
)
"""Those whose source `_edition` covers."""

_LEANS_ON: Final = ("numpy", "rapidfuzz")
"""Libraries whose version may move a digit of a result."""


@uncollected()
def audit_store(
    store: Store, settings: Settings | None = None, *, progress: Progress | None = None
) -> Report:
    """Find what a store says twice, and report it. Reads only.

    Says what `audit(find(store, settings))` says. What an earlier audit said of a namespace is
    taken over as long as no memory, mark or decision in it, and no setting, is another one, where
    the store can tell (`Printed`), the profile is one of those that read texts, and the settings
    neither limit the memories, nor ask a verifier, nor switch caches off.

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
    if not isinstance(store, Printed) or not _repeats(store, chosen):
        return _looked(store, chosen, None, progress)
    check_namespace(store, chosen.namespace)
    if store.count(Scope(chosen.namespace)) < KEPT_FROM:
        return _looked(store, chosen, None, progress)
    return _Again(store, store, chosen, progress or (lambda _stage, _done, _all: None)).report()


def _looked(
    store: Store, settings: Settings, within: Collection[str] | None, progress: Progress | None
) -> Report:
    from echoless.pipeline import find  # noqa: PLC0415 - brings in all that looks and judges

    return audit(find(store, settings, within=within, progress=progress))


def _repeats(store: Store, settings: Settings) -> bool:
    """Whether an audit would say the same of the same memories at any other time."""
    profile = settings.profile
    foreign = {use.name for use in profile.detectors} - _OWN_DETECTORS
    return not (
        isinstance(store, Protects | Retains | Remarks)  # may hang on more than the memories
        or foreign
        or profile.judge != "full"
        or profile.expiry
        or "namespace" not in profile.partition
        or not settings.cache
        or settings.verifier != "none"
        or settings.since is not None
        or settings.limit is not None
    )


class _Again:
    """One audit, with what earlier ones said at hand."""

    def __init__(
        self, store: Store, printed: Printed, settings: Settings, progress: Progress
    ) -> None:
        self._store = store
        self._printed = printed
        self._settings = settings
        self._progress = progress
        self._tally = Tally()
        self._file = PageFile(cache_folder() / FILE_NAME)
        self._rules = _rules(settings).encode("utf-8", "surrogatepass")

    def report(self) -> Report:
        """Pages taken over, and those made now."""
        self._progress("comparing with the last audit", 0, 0)
        scope = self._settings.namespace
        ledger = _Decisions(self._store.ledger)
        before = self._printed.prints(None if scope is None else [scope], ledger.ids)
        names = self._names(before, ledger)
        known = self._known(names)
        anew = ledger.with_linked(names.keys() - known.keys(), before.homes)
        made = self._made(anew, whole=len(anew) == len(names))
        if made.pages:
            self._keep(made.pages, before, names)
        taken = [page for name, page in known.items() if name not in anew]
        pages = sorted((*made.pages, *taken), key=lambda page: page.namespace)
        told = (*made.told, *self._tally.notes)
        return replace(made, pages=tuple(pages), told=told, taken_over=len(taken))

    def _made(self, names: Collection[str], *, whole: bool) -> Report:
        """The report on some namespaces; an empty one on none."""
        if not names:
            profile = self._settings.profile
            return Report(
                url=self._store.url, profile=profile.name, action=profile.action, pages=()
            )
        return _looked(self._store, self._settings, None if whole else names, self._progress)

    def _known(self, names: Mapping[str, bytes]) -> dict[str, Page]:
        found = self._file.get([_key(name) for name in names.values()], self._tally)
        pages = {}
        for namespace, name in names.items():
            data = opened(found[_key(name)], b"", name) if _key(name) in found else None
            page = None if data is None else unpacked(data)
            if page is not None and page.namespace == namespace:
                pages[namespace] = page
        known = sum(_key(name) in found for name in names.values())
        self._file.damaged(known - len(pages), self._tally)
        return pages

    def _keep(self, pages: Sequence[Page], before: Prints, names: Mapping[str, bytes]) -> None:
        """Keep pages of what did not change while they were made."""
        ledger = _Decisions(self._store.ledger)
        after = before
        if not self._printed.still(before):
            now = self._printed.prints([page.namespace for page in pages], ledger.ids)
            homes = {**before.homes, **now.homes}
            after = Prints({**before.by_namespace, **now.by_namespace}, homes)
        still = self._names(after, ledger)
        told: dict[bytes, bytes] = {}
        for page in pages:
            name = names.get(page.namespace)
            if name is None or name != still.get(page.namespace):
                continue
            if LEFT_OUT in page.skipped:
                continue  # the next audit asks the pair model about further pairs
            data = packed(page)
            if len(data) > _LARGEST:
                self._tally.note(
                    f"What is said of {page.total:,} memories is too much to keep; the next audit "
                    "will look again."
                )
                continue
            told[_key(name)] = sealed(data, b"", name)
        self._file.put(told, self._tally)

    def _names(self, prints: Prints, ledger: _Decisions) -> dict[str, bytes]:
        """64 bytes for each namespace, of which the first half names its page."""
        lines = ledger.by_namespace(prints.homes, self._elsewhere(prints, ledger))
        linked = ledger.linked(prints.homes)
        names = {}
        for namespace, own in prints.by_namespace.items():
            told = blake2b(self._rules)
            for part in (
                own,
                repr((namespace, lines.get(namespace))).encode("utf-8", "surrogatepass"),
            ):
                told.update(len(part).to_bytes(8, "little") + part)
            for other in sorted(linked.get(namespace, ())):
                told.update(prints.by_namespace.get(other, b""))
            names[namespace] = told.digest()
        return names

    def _elsewhere(self, prints: Prints, ledger: _Decisions) -> dict[str, str]:
        """What memories outside the scope are, that a decision names beside one within."""
        if self._settings.namespace is None:
            return {}
        found = self._store.get(ledger.beyond(prints.homes))
        return {id_: digest(memory_to_json(memory)) for id_, memory in found.items()}


def _key(name: bytes) -> bytes:
    return name[:16]


def _rules(settings: Settings) -> str:
    """All that a page hangs on but the store."""
    vectors = open_vectors(settings, Tally(), lambda _stage, _done, _all: None)
    told = (
        _edition(),
        settings.digest,
        None if vectors is None else vectors.basis,
        own_digest(),
        compiled(),
        runtime(),
    )
    return repr(told)


def _edition() -> str:
    """Names the source of this package, and what it leans on."""
    here = sorted(each.name for each in files("echoless").iterdir() if each.name != "__pycache__")
    return " ".join((digest_of(*here), *(version(name) for name in _LEANS_ON)))


class _Decisions:
    """What people and earlier runs decided, as a page may hang on it."""

    def __init__(self, ledger: Ledger) -> None:
        marks = ledger.marks().values()
        self._said: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
            *(((m.duplicate, m.survivor), ("mark", m.texts)) for m in marks),
            *(((k.a, k.b), ("kept", k.print_a, k.print_b)) for k in ledger.kept()),
            *(((id_,), ("sticky",)) for id_ in sorted(ledger.sticky())),
        ]

    @property
    def ids(self) -> set[str]:
        """Memories it is about."""
        return {id_ for ids, _ in self._said for id_ in ids}

    def beyond(self, homes: Mapping[str, str]) -> set[str]:
        """Memories outside these homes that are named beside one in them."""
        said = (ids for ids, _ in self._said if not homes.keys().isdisjoint(ids))
        return {id_ for ids in said for id_ in ids} - homes.keys()

    def by_namespace(
        self, homes: Mapping[str, str], elsewhere: Mapping[str, str]
    ) -> dict[str, list[tuple[object, ...]]]:
        """What was decided about memories of each namespace, in order.

        Args:
            homes: Namespace by id, of memories in scope.
            elsewhere: What others are, by id.
        """
        found: dict[str, list[tuple[object, ...]]] = {}
        for ids, what in self._said:
            there = [homes.get(id_) for id_ in ids]
            told = [elsewhere.get(id_) for id_ in ids]
            for name in {name for name in there if name is not None}:
                found.setdefault(name, []).append((ids, what, there, told))
        return found

    def linked(self, homes: Mapping[str, str]) -> dict[str, set[str]]:
        """Other namespaces a decision reaches from each: a memory was moved after it."""
        found: dict[str, set[str]] = {}
        for ids, _ in self._said:
            names = {homes[id_] for id_ in ids if id_ in homes}
            for name in names if len(names) > 1 else ():
                found.setdefault(name, set()).update(names - {name})
        return found

    def with_linked(self, names: Iterable[str], homes: Mapping[str, str]) -> set[str]:
        """Namespaces, and all that are linked to them over any number of steps."""
        linked, found, waiting = self.linked(homes), set[str](), list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting.extend(linked.get(name, ()))
        return found


# ------------------------------------------------------------------ the file


class PageFile(BytesFile):
    """Sealed pages by name, in one file."""

    schema = (_SCHEMA,)
    name = "cache of audits"
    instead = "everything was audited anew"
    table = "pages"
    things = "pages"
    most = MOST_BYTES
    column = "sealed"

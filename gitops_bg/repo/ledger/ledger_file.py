"""The file of an app, or a release group, on the state branch: where it is, its format, and how it takes new entries,
each once, in order. Pure data.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import chain, pairwise
from typing import Any

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.environments.proven import ProvenRelease
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import UNIQUE, NotJson, read_json
from gitops_bg.core.groups.model import VersionStage, version_number
from gitops_bg.core.groups.record import GroupRecord
from gitops_bg.core.model.desired import LedgerMemory
from gitops_bg.core.model.record import LedgerEntry, Record
from gitops_bg.core.model.statements import ANSWERS, Cause, Contract, Hold, Says, Statement, Statements, holds, unwanted
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, ReleaseId, Stage, SubjectKind, Version
from gitops_bg.repo.settings import is_app
from gitops_bg.spec.codec import from_json, to_json

# --- entries, whoever they are about ---

KEPT_ENTRIES = 20
MOST_SEQUENCE = 2**53
"""No agent counts further; and the API server keeps no number beyond 2**63."""


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The last entry of an app, or of a group, in the ledger, with its epoch."""

    epoch: str
    sequence: int


NOWHERE = Position("", 0)
"""Before the first entry."""


@dataclass(frozen=True, slots=True)
class PublishedEntry:
    """An entry with its epoch, which tells it from every other entry of its file."""

    epoch: str
    entry: LedgerEntry

    @property
    def position(self) -> Position:
        """Unique in a file."""
        return Position(self.epoch, self.entry.sequence)


Revision = tuple[str, tuple[PublishedEntry, ...]]
"""A commit of a file, with what the file had then, oldest first."""


@dataclass(frozen=True, slots=True)
class MergedEntries:
    """A file with new entries. ``history`` is oldest first, ``fresh`` are those that were not there."""

    position: Position
    history: tuple[PublishedEntry, ...]
    fresh: tuple[LedgerEntry, ...]


def merge_entries(
    history: tuple[PublishedEntry, ...], position: Position, epoch: str, entries: Iterable[LedgerEntry]
) -> MergedEntries:
    """Return what a file is with the entries of one epoch: each is taken once.

    One that is there word for word under another number was renumbered (``core.transitions.record``).
    """
    offered = sorted(entries, key=lambda entry: entry.sequence)
    last = position.sequence if epoch == position.epoch else -1
    known = {published.position for published in history}
    said = {_unnumbered(published.entry) for published in history if published.epoch == epoch}
    fresh = tuple(
        entry
        for entry in offered
        if entry.sequence > last and Position(epoch, entry.sequence) not in known and _unnumbered(entry) not in said
    )
    published = (*history, *(PublishedEntry(epoch, entry) for entry in fresh))
    reached = Position(epoch, max([0, last, *(entry.sequence for entry in offered)]))
    return MergedEntries(reached, published[-max(KEPT_ENTRIES, len(fresh)) :], fresh)


def each_once(revisions: Iterable[Revision]) -> Iterator[tuple[str, PublishedEntry]]:
    """Yield every entry of a file's revisions, newest first, with the commit that brought it.

    An entry belongs to the oldest commit that has it: a file keeps the last entries from commit to commit.
    """
    yielded: set[Position] = set()
    for (commit, newer), (_, older) in pairwise(chain(revisions, [("", ())])):
        before = {published.position for published in older}
        for published in reversed(newer):
            if published.position not in before and published.position not in yielded:
                yielded.add(published.position)
                yield commit, published


def _unnumbered(entry: LedgerEntry) -> LedgerEntry:
    """Return the entry without its number, which differs in a record of an earlier backup."""
    return replace(entry, sequence=0)


# --- places ---

README, POLICIES, GROUPS = "README.md", "policies.json", "groups"
"""The overview; the file of policies; and the folder of the files of groups, beside those of namespaces: no file
of an app is below it, they are one level higher.
"""
_JSON = ".json"


def subject_at(path: str) -> AppOrGroup | None:
    """Return the app or the release group whose file this is; None for any other path.

    >>> subject_at("shop/web.json"), subject_at("groups/shop/store.json"), subject_at("groups/shop/v1/store.json")
    (AppKey(namespace='shop', name='web'), GroupKey(namespace='shop', name='store'), None)
    """
    is_group = path.startswith(f"{GROUPS}/") and path.count("/") > 1
    namespace, _, file = path.removeprefix(f"{GROUPS}/" if is_group else "").partition("/")
    name = file.removesuffix(_JSON)
    if name == file or not is_app(namespace, name):
        return None
    return GroupKey(namespace, name) if is_group else AppKey(namespace, name)


def path_of(subject: AppOrGroup) -> str:
    """Return where the file of an app, or of a release group, is."""
    above = f"{GROUPS}/" if subject.kind is SubjectKind.GROUP else ""
    return f"{above}{subject.namespace}/{subject.name}{_JSON}"


def in_order(subject: AppOrGroup) -> tuple[str, str, str]:
    """Return what they are sorted by: apps first."""
    return subject.kind, subject.namespace, subject.name


_KEPT_DIGESTS = 200


@dataclass(frozen=True, slots=True)
class VersionState:
    """One version, as far as the ledger shows it; of a release group, without a digest: its number says all."""

    version: int
    digest: str = ""
    color: str = ""
    rollout: int = 0
    source_commit: str = ""
    since: datetime | None = None
    """When live traffic came to it; None for a candidate."""
    tag: str = ""
    release: ReleaseId | None = None
    """As of a `Version`."""

    @property
    def name(self) -> str:
        """What the record calls it: its digest; of a group's, its name."""
        return self.digest or f"v{self.version}"


@dataclass(frozen=True, slots=True)
class SubjectState:
    """The state of an app or a group: the part of the record that the ledger shows."""

    rollout: int = 0
    last_version: int = 0
    active: VersionState | None = None
    candidate: VersionState | None = None
    statements: Statements = ()
    """Who said what about a version: what is on hold, and what was bad."""
    served: tuple[str, ...] = ()
    """What carried live traffic, in the order in which it was first promoted: digests of an app, versions of a group.
    """
    primary_by: str = ""
    """The commit that brought the ``primary.yaml`` of that time into main."""
    legacy: VersionState | None = None
    """Of a group: the version before, which is kept warm."""
    proven: tuple[ProvenRelease, ...] = ()
    """The releases that are proven in this cluster, oldest first: later environments take them in by that."""
    contract: Contract | None = None
    """As of a `Record`: of what ``served``, it and what came later may still come back."""

    @property
    def holds(self) -> tuple[Hold, ...]:
        """The holds in force."""
        return holds(self.statements)


@dataclass(frozen=True, slots=True)
class LedgerBatch:
    """What a subject has for the ledger: entries of this epoch that Git may not have yet, and its state."""

    epoch: str
    entries: tuple[LedgerEntry, ...]
    state: SubjectState


@dataclass(frozen=True, slots=True)
class LedgerDocument:
    """A whole file. ``history`` is oldest first."""

    state: SubjectState = SubjectState()
    position: Position = NOWHERE
    history: tuple[PublishedEntry, ...] = ()

    def taking(self, batch: LedgerBatch) -> tuple["LedgerDocument", tuple[LedgerEntry, ...]]:
        """Return the file with the new entries of the batch, and those entries: each is taken once."""
        taken = merge_entries(self.history, self.position, batch.epoch, batch.entries)
        served = _merged(self.state.served, batch.state.served)
        return LedgerDocument(replace(batch.state, served=served), taken.position, taken.history), taken.fresh

    @property
    def cautious(self) -> "LedgerDocument":
        """What may be believed of it where nobody can prove who wrote it: what holds versions up, and nothing that lets
        one pass.
        """
        return replace(self, state=replace(self.state, served=(), primary_by="", proven=()))

    @property
    def memory(self) -> LedgerMemory:
        """What a rebuilt cluster needs to know."""
        state = self.state
        before = {each.entry.to_digest: each.entry.to_version for each in self.history}
        now = {each.digest: each.version for each in (state.active, state.candidate) if each}
        numbers = tuple((digest, number) for digest, number in (before | now).items() if digest and number)
        return LedgerMemory(
            state.rollout,
            state.last_version,
            state.served,
            state.statements,
            numbers,
            state.primary_by,
            self._believed(state.active),
            self._believed(state.legacy),
            state.proven,
            state.contract,
        )

    def _believed(self, version: VersionState | None) -> str:
        """Return a version that served, where that may be believed: what served says so as well (`cautious`)."""
        return version.name if version and version.name in self.state.served else ""


def state_of(record: Record | GroupRecord) -> SubjectState:
    """Return the part of a record that the ledger shows."""
    return _of_app(record) if isinstance(record, Record) else _of_group(record)


def _of_group(record: GroupRecord) -> SubjectState:
    state = record.state
    active, legacy = state.only(VersionStage.ACTIVE), state.only(VersionStage.LEGACY)
    candidate = next(reversed(state.at(VersionStage.CANDIDATE)), "")
    active_now, candidate_now, legacy_now = (
        VersionState(version_number(each)) if each else None for each in (active, candidate, legacy)
    )
    return SubjectState(
        rollout=record.rollout,
        last_version=max((version_number(each.name) for each in state.versions), default=0),
        active=active_now,
        candidate=candidate_now,
        legacy=legacy_now,
        statements=unwanted(record.statements),
        served=tuple(filter(None, (legacy, active))),
    )


def _of_app(record: Record) -> SubjectState:
    candidates = [v for v in record.versions if v.stage is Stage.CANDIDATE and not v.retiring]
    active = record.version(record.routing.traffic) if record.routing.traffic else None
    return SubjectState(
        rollout=record.rollout,
        last_version=record.last_version,
        active=_version_state(active) if active else None,
        candidate=_version_state(candidates[-1]) if candidates else None,
        statements=unwanted(record.statements),
        served=record.routing.activations,
        primary_by=record.git.primary_by,
        proven=record.proving.proven,
        contract=record.contract,
    )


def _version_state(version: Version) -> VersionState:
    return VersionState(
        version.number,
        version.digest,
        version.color,
        version.rollout,
        version.source.commit,
        version.activated_at,
        version.tag,
        version.release,
    )


def _merged(before: Iterable[str], now: Iterable[str]) -> tuple[str, ...]:
    """Return both lists as one, each digest at its last place, the newest kept."""
    newest_first = dict.fromkeys([*reversed([*before, *now])])
    return tuple(reversed(list(newest_first)[:_KEPT_DIGESTS]))


def render(document: LedgerDocument) -> bytes:
    """Return the text of the file."""
    state = document.state
    value = {
        "active": _version_json(state.active),
        "candidate": _version_json(state.candidate),
        "epoch": document.position.epoch,
        "history": [_entry_json(published) for published in document.history],
        "lastVersion": state.last_version,
        "primaryBy": state.primary_by,
        "legacy": _version_json(state.legacy),
        "rollout": state.rollout,
        "served": list(state.served),
        "sequence": document.position.sequence,
        "statements": [_statement_json(each) for each in state.statements],
        **({"proven": [to_json(each) for each in state.proven]} if state.proven else {}),
        **({"contract": to_json(state.contract)} if state.contract else {}),
    }
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode(errors="replace")


def parse(text: bytes) -> LedgerDocument:
    """Parse a file. Raises ``ValueError`` for one that is not ours: others may write the state branch."""
    try:
        value: Mapping[str, Any] = read_json(text, UNIQUE)
        state = SubjectState(
            rollout=_number(value["rollout"]),
            last_version=_number(value["lastVersion"]),
            active=_version_of(value["active"]),
            candidate=_version_of(value["candidate"]),
            statements=tuple(filter(None, map(_statement_of, value["statements"]))),
            legacy=_version_of(value["legacy"]),
            served=tuple(_text(version) for version in value["served"]),
            primary_by=_text(value["primaryBy"]),
            proven=tuple(from_json(ProvenRelease, each) for each in value.get("proven", ())),
            contract=from_json(Contract, value["contract"]) if value.get("contract") else None,
        )
        history = tuple(_published(entry) for entry in value["history"])
        position = Position(_text(value["epoch"]), _number(value["sequence"]))
        return LedgerDocument(state, _checked(position, history), history)
    except (KeyError, TypeError, AttributeError, NotJson, InvalidInput) as error:
        raise ValueError(f"not a ledger file: {error}") from error


def adopted(text: bytes, is_named: bool) -> bytes | None:
    """Return what is kept of a file whose writer nobody can prove, for a commit of the agent; None for none.

    What holds versions up, as `LedgerDocument.cautious`; and, where the agent may have written it, how far it got.
    """
    try:
        document = parse(text).cautious
    except ValueError:
        return None
    return render(document if is_named else LedgerDocument(document.state))


def _checked(position: Position, history: Iterable[PublishedEntry]) -> Position:
    if any(one.epoch == position.epoch and one.entry.sequence > position.sequence for one in history):
        raise TypeError("its sequence is lower than that of an entry in it")
    return position


def _number(value: object) -> int:
    if type(value) is not int:
        raise TypeError("a number is expected where there is none")
    if not 0 <= value <= MOST_SEQUENCE:
        raise TypeError(f"a number is not one that an agent counts to: 0 to {MOST_SEQUENCE}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected where there is none")
    return value


def _statement_json(statement: Statement) -> dict[str, Any]:
    """Return what another life of the record takes over: neither the entry that tells of it, nor what it awaits."""
    return _plain(
        {
            "digest": statement.digest,
            "says": statement.says,
            "at": statement.at,
            "cause": "" if statement.cause is Cause.UNKNOWN else statement.cause,
            "reason": statement.reason,
            "by": statement.by,
            "commit": statement.commit,
        }
    )


def _statement_of(value: Mapping[str, Any]) -> Statement | None:
    """Parse a statement. A refusal stays one even if this release does not know its cause; what it does not know at all
    answers no refusal.
    """
    if value["says"] not in (Says.REFUSED, *ANSWERS):
        return None
    is_known = value.get("cause", "") in tuple(Cause)
    return from_json(Statement, value if is_known else {**value, "cause": Cause.UNKNOWN.value})


def _version_json(version: VersionState | None) -> dict[str, Any] | None:
    if version is None:
        return None
    return _plain(
        {
            "version": version.version,
            "digest": version.digest,
            "color": version.color,
            "rollout": version.rollout,
            "sourceCommit": version.source_commit,
            "since": version.since,
            "tag": version.tag,
            "release": to_json(version.release) if version.release else None,
        }
    )


def _version_of(value: Mapping[str, Any] | None) -> VersionState | None:
    return None if value is None else from_json(VersionState, value)


_ENTRY_FIELDS = {
    "rollout": "rollout",
    "from_version": "fromVersion",
    "from_digest": "fromDigest",
    "from_tag": "fromTag",
    "to_version": "toVersion",
    "to_digest": "toDigest",
    "to_tag": "toTag",
    "commit": "commit",
    "source_commit": "sourceCommit",
    "by": "by",
    "reason": "reason",
    "approved_by": "approvedBy",
    "release": "release",
}


def _entry_json(published: PublishedEntry) -> dict[str, Any]:
    entry = published.entry
    fields = {name: getattr(entry, field) for field, name in _ENTRY_FIELDS.items()}
    fields["release"] = to_json(entry.release) if entry.release else None
    return _plain(
        {"epoch": published.epoch, "sequence": entry.sequence, "at": entry.at, "event": entry.event, **fields}
    )


def _published(value: Mapping[str, Any]) -> PublishedEntry:
    epoch = _text(value["epoch"])
    if not epoch:  # an empty text is left out when the file is written again, and the file would become unreadable
        raise TypeError("an entry has an empty epoch")
    return PublishedEntry(epoch, from_json(LedgerEntry, value))


def _plain(value: Mapping[str, Any]) -> dict[str, Any]:
    """Drop empty values; format times in ISO 8601."""
    said = {name: item for name, item in value.items() if item not in (None, "", ())}
    return {name: item.isoformat() if isinstance(item, datetime) else item for name, item in said.items()}

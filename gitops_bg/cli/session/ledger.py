"""The ledger as verbs read it: its promotions, with what Git still has of each, and what of it is not shown, because it
is not the agent's own: a reader is told that, and whose it is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypeVar

from gitops_bg.agent.desired.policy_inputs import SignedFacts, images_served
from gitops_bg.agent.desired.releases import release_path
from gitops_bg.agent.operate.restore_version import load_from
from gitops_bg.cli.errors import NameNotFound, ObjectNotFound
from gitops_bg.cli.output import Output
from gitops_bg.core.checks.policy_facts import described_by
from gitops_bg.core.checks.policy_judge import PastPromotion
from gitops_bg.core.environments.model import Environment
from gitops_bg.core.environments.proven import MOST_PROVEN, ClusterReport, Former, KnownRelease
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.policy_facts import Approval, CommitFacts, PastMove, PolicyFacts, VersionFacts
from gitops_bg.core.model.policy_rules import Proof
from gitops_bg.core.model.record import Event, LedgerEntry
from gitops_bg.core.model.version import AppKey, AppOrGroup
from gitops_bg.repo.ledger.ledger import report_of
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import PRIMARY_FILE
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.policies.people import Directory, names, written_by

_REMEDY = "if that is the agent, its name is commitAuthor in gitops-bg.yaml"
_BACK = (Event.ROLLED_BACK, Event.ABORTED)
_Entry = TypeVar("_Entry")


def demanded(
    repository: Repository, about: AppOrGroup, entries: Sequence[_Entry], *, may_be_new: bool = False
) -> Sequence[_Entry]:
    """Return the entries. Raises `ObjectNotFound` with the reason where there are none, unless it ``may_be_new`` in
    main; `NameNotFound` where main does not have it either.
    """
    if entries:
        return entries
    branch = repository.settings.state_branch
    doubt = repository.ledger.doubts().get(about, "") or repository.ledger.trouble()
    if doubt:
        raise ObjectNotFound(f"the ledger {branch} has nothing of {about} by the agent: {doubt}; {_REMEDY}")
    others = [each for each in repository.mirror.clusters() if each != repository.settings.cluster]
    known = f"; there are ledgers of {', '.join(others)} (--cluster)" if others else ""
    is_there = about in repository.apps() or about in repository.groups()
    if is_there and may_be_new:
        return entries
    error = ObjectNotFound if is_there else NameNotFound
    raise error(f"the ledger {branch} knows nothing of {about}{known}")


def report_unverified_entries(repository: Repository, output: Output, *about: AppOrGroup) -> None:
    """Note what is not shown of these; of none: of all that the ledger has."""
    everything = repository.ledger.doubts()
    doubts = [each for each in map(everything.get, about) if each] if about else list(everything.values())
    policies = repository.policy_log.doubt()
    for doubt in [*sorted(doubts), *([policies] if policies else [])]:
        output.notice(f"not shown: what {repository.settings.state_branch} says in {doubt}; {_REMEDY}")
    trouble = repository.ledger.trouble()
    if trouble:
        output.notice(trouble)


def past_promotions(
    repository: Repository, app: AppKey, since: datetime, people: Directory, chain: "Chain"
) -> Iterator[PastPromotion]:
    """Yield the promotions of an app since a moment, oldest first. ``people`` identifies people and their groups."""
    entries = [each.entry for each in reversed(repository.history.of(app))]
    for place, entry in enumerate(entries):
        if entry.event is Event.PROMOTED and entry.at >= since:
            facts = chain.with_formers(_facts(repository, app, entry, entries[:place]), entry)
            merged = _merged(entry, entries[place + 1 :])
            if merged is not None:
                facts = _with_people(facts, repository, entry, merged, people)
            yield PastPromotion(entry.at, entry.commit, facts)


def _facts(repository: Repository, app: AppKey, entry: LedgerEntry, before: Sequence[LedgerEntry]) -> PolicyFacts:
    commits = _commits(repository, entry)
    config = _config(repository, app, entry.commit)
    primary = config.primary if config else None
    text = primary.snapshot.text if primary and primary.snapshot.digest == entry.to_digest else ""
    images, label = described_by(text) if text else (None, "")
    return PolicyFacts(
        app=app,
        to=VersionFacts(
            entry.to_digest, entry.to_version or 0, label, images, commits.get(entry.source_commit), entry.source_commit
        ),
        serving=VersionFacts(entry.from_digest, entry.from_version or 0),
        labels=config.labels if config else (),
        annotations=config.annotations if config else (),
        promoted=True,
        promotion=commits.get(entry.commit),
        promotions=_moves(before, Event.PROMOTED),
        rollbacks=_moves(before, *_BACK),
    )


class Chain:
    """What the environments before had proven, and served, when a version was promoted: by the ledgers of their
    clusters, which know the last proofs, and by main.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._environments = repository.environment.environments
        self._own = repository.environment.environment
        self._reports: dict[tuple[str, AppKey], ClusterReport] = {}
        for ledger in repository.ledgers.read() if self._environments else ():
            for who, document in ledger.documents.items():
                if isinstance(who, AppKey):
                    told = report_of(ledger.cluster, document, ledger.written, ledger.trouble)
                    self._reports[ledger.cluster, who] = told

    def _before(self) -> Iterator[Environment]:
        for each in self._environments if self._own is not None else ():
            if self._own is None or each.name == self._own.name:
                return
            yield each

    def with_formers(self, facts: PolicyFacts, entry: LedgerEntry) -> PolicyFacts:
        """Return facts of a promotion with what was known of the environments before it at that time."""
        if self._own is None:
            return facts
        release = entry.release
        return replace(
            facts,
            environment=self._own.name,
            release=KnownRelease(release, release.commit or entry.source_commit) if release is not None else None,
            formers=tuple(self._former(each, facts.app, entry.at) for each in self._before()),
            served={each.name: self._served(each.name, facts.app, entry) for each in self._before()},
            entry=self._entry(self._own.name, facts.app, entry),
        )

    def _entry(self, environment: str, app: AppKey, entry: LedgerEntry) -> CommitFacts | None:
        """Return the commit that let the release in that was there when a version was promoted."""
        path = release_path(self._repository, app, environment)
        there = bool(entry.commit) and self._repository.contains(entry.commit)
        for said in self._repository.changes_of_file(path, entry.commit, most=1) if there else ():
            made = self._repository.maker_of(path, said).commit
            return self._repository.commits.facts([made]).get(made)
        return None

    def _former(self, environment: Environment, app: AppKey, at: datetime) -> Former:
        none = ClusterReport("")
        reports = (replace(self._reports.get((each, app), none), cluster=each) for each in environment.clusters)
        return Former(environment.name, 0, tuple(_as_of(each, at) for each in reports))

    def _served(self, environment: str, app: AppKey, entry: LedgerEntry) -> frozenset[str]:
        path = f"{self._repository.places.folder(app)}/{environment}/{PRIMARY_FILE}"
        there = bool(entry.commit) and self._repository.contains(entry.commit)
        said = self._repository.changes_of_file(path, entry.commit) if there else ()
        return images_served((each.content for each in said), app)


def _as_of(report: ClusterReport, at: datetime) -> ClusterReport:
    """Return what a ledger said at a time, by what it says now. It forgets old proofs: then it counts for nothing."""
    proofs = tuple(each for each in report.proven if each.at <= at)
    is_forgotten = len(report.proven) >= MOST_PROVEN and not proofs
    trouble = "it knows the last proofs only" if is_forgotten else ""
    return ClusterReport(report.cluster, proofs, trouble=trouble)


def _merged(entry: LedgerEntry, after: Sequence[LedgerEntry]) -> LedgerEntry | None:
    """Return the entry with who merged and approved a promotion; None if no forge answered."""
    found = (each for each in after if each.event is Event.MERGED and each.commit == entry.commit)
    return next((each for each in found if each.to_digest == entry.to_digest and (each.by or each.approved_by)), None)


def _with_people(
    facts: PolicyFacts, repository: Repository, entry: LedgerEntry, merged: LedgerEntry, people: Directory
) -> PolicyFacts:
    approvals = tuple(Approval(by, entry.to_digest, entry.at, groups=people.groups_of(by)) for by in merged.approved_by)
    authors = _authors(repository, facts.app, entry, people)
    groups = people.groups_of(merged.by)
    merge = Approval(merged.by, entry.to_digest, entry.at, Proof.MERGE, groups) if merged.by else None
    return replace(facts, approvals=approvals, authors=authors, merger=merged.by or None, merge=merge)


def _authors(repository: Repository, app: AppKey, entry: LedgerEntry, people: Directory) -> frozenset[str] | None:
    """Return the authors; None where Git lacks a commit, or one is a bot: the ledger does not have who merged that."""
    try:
        since = _source_of(repository, app, entry.from_digest)
        commits = repository.changes.between(app, since, entry.source_commit) if since else None
    except GitopsBgError:
        return None
    writers = [people.writer(person) for commit in commits or () for person in written_by(commit)]
    return None if commits is None or any(each.bot for each in writers) else names(writers)


def _source_of(repository: Repository, app: AppKey, digest: str) -> str:
    """Return the commit that brought a version, from the ledger; empty if that does not have it."""
    told = (each.entry for each in repository.history.of(app) if each.entry.to_digest == digest)
    return next((each.source_commit for each in told if each.source_commit), "")


def _commits(repository: Repository, entry: LedgerEntry) -> dict[str, CommitFacts]:
    found = dict(repository.commits.facts(filter(None, (entry.commit, entry.source_commit))))
    return {id_: _signed(repository, each) if id_ == entry.commit else each for id_, each in found.items()}


def _signed(repository: Repository, promotion: CommitFacts) -> CommitFacts:
    """Add the signer, if the promotion overrode a policy; if signatures cannot be checked, there is none."""
    try:
        return SignedFacts(repository).signed_before(promotion)
    except GitopsBgError:
        return promotion


def _config(repository: Repository, app: AppKey, commit: str) -> AppConfig | None:
    """Return the configuration of the app in main when it was promoted; None where it can no longer be read."""
    try:
        if not commit or not repository.contains(commit):
            return None
        return load_from(repository, app, commit)
    except GitopsBgError:
        return None


def _moves(entries: Sequence[LedgerEntry], *events: Event) -> tuple[PastMove, ...]:
    """Return the moves, newest first."""
    return tuple(PastMove(each.at, each.to_digest, each.reason) for each in reversed(entries) if each.event in events)

"""Who signed what, if policies ask: approvals by signature, and promotions that override policies (policies.md §4).

A signature counts by the signers and people of the newest main and, for a waiting promotion, also by those before its
commit: a key that comes with it does not count, and a removed one no longer does. Only apps whose policies ask for it
cost a look. Decides nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cachetools import LRUCache

from gitops_bg.core.checks.policies.facts import awaits_promotion
from gitops_bg.core.checks.policies.judge import OVERRIDE
from gitops_bg.core.checks.policies.match import asked_of_people, asks_for_signed_override
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.groups.branches import AppOrGroup, signed_name
from gitops_bg.core.model.desired import Desired
from gitops_bg.core.model.policies.facts import Approval, CommitFacts, Policing, SignedBy
from gitops_bg.core.model.policies.rules import Proof
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.world import resolve
from gitops_bg.repo.read.approvals import Statement
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import PEOPLE_FILE, SIGNERS_FILE
from gitops_bg.spec.policies.models import PersonEntry
from gitops_bg.spec.policies.people import Directory
from gitops_bg.spec.policies.signers import Trusted, common_groups, nobody, trusted

_REMEMBERED = 64
_MOST_VOID = 3
"""How many approvals that do not count are reported: people who may push a branch could fill it."""
_NO_FILE = f"main has no {SIGNERS_FILE}"


class SignedFacts:
    """Answers for one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._trusted: LRUCache[str, Trusted] = LRUCache(_REMEMBERED)

    def added(self, policing: Policing, app: AppKey, desired: Desired, record: Record) -> Policing:
        """Add the signatures, if a policy asks for them."""
        promotion = awaits_promotion(desired, record)
        policing = self.with_overrides(policing, desired.commit, promotion)
        if not asked_of_people(policing.all_policies).approvals:
            return policing
        return self.with_approvals(policing, app, _wanted(desired, record), desired.commit, promotion)

    def with_overrides(self, policing: Policing, main: str, promotion: str) -> Policing:
        """Add who signed the promotion, where it overrides a policy that asks for that."""
        if not asks_for_signed_override(policing.all_policies):
            return policing
        try:
            files = tuple(self._files(main, promotion))
            commits = tuple(self._signed(each, promotion, files) for each in policing.commits)
        except GitopsBgError as error:
            return replace(policing, unheard=_both(policing.unheard, error))
        return replace(policing, commits=commits)

    def with_approvals(
        self, policing: Policing, subject: AppOrGroup, wanted: frozenset[str], main: str, promotion: str
    ) -> Policing:
        """Add who approved one of the ``wanted`` digests of an app or a group by a signature."""
        try:
            files = tuple(self._files(main, promotion))
            approvals = self._approvals(subject, wanted, files)
            authors = self._authors(policing, approvals or (), files[0])
        except GitopsBgError as error:
            return replace(policing, may_be_more=True, unheard=_both(policing.unheard, error))
        if approvals is None:
            return policing
        given = (each for each, _ in approvals)
        return replace(policing, approvals=(*(policing.approvals or ()), *given), authors=authors)

    def signed_before(self, promotion: CommitFacts) -> CommitFacts:
        """Add the signer to a past promotion that overrode a policy, by the signers before it."""
        if not promotion.trailer(OVERRIDE):
            return promotion
        parent = self._repository.around(promotion.commit, ()).parent
        files = (self._at(parent) if parent else Trusted(),)
        return replace(promotion, signed=self._signer(promotion.commit, files)[0])

    def _authors(
        self, policing: Policing, approvals: Iterable[tuple[Approval, str]], files: Trusted
    ) -> frozenset[str] | None:
        """Return the authors, and the approvers whose commits have an author's address: a key has no address of its
        own.
        """
        authors = policing.authors
        if not authors:
            return authors
        commits = {commit: approval for approval, commit in approvals}
        facts, directory = self._repository.commit_facts(commits), Directory(files.people)
        by = {commit: directory.writer(each.committer).name for commit, each in facts.items()}
        return authors | {commits[commit].by for commit, name in by.items() if name in authors}

    def _files(self, head: str, promotion: str) -> Iterator[Trusted]:
        """Yield the files of the newest main, and of main before the promotion."""
        yield self._at(head)
        if promotion:
            parent = self._repository.around(promotion, ()).parent
            yield self._at(parent) if parent else Trusted()

    def _at(self, commit: str) -> Trusted:
        if commit not in self._trusted:
            files = (self._repository.text_file(path, commit) for path in (SIGNERS_FILE, PEOPLE_FILE))
            self._trusted[commit] = trusted(*files)
        return self._trusted[commit]

    def _signed(self, commit: CommitFacts, promotion: str, files: tuple[Trusted, ...]) -> CommitFacts:
        """Add the signer to a promotion that overrides a policy; return any other unchanged."""
        if commit.commit != promotion or not commit.trailer(OVERRIDE):
            return commit
        return replace(commit, signed=self._signer(commit.commit, files)[0])

    def _signer(self, commit: str, files: tuple[Trusted, ...]) -> tuple[SignedBy, frozenset[str]]:
        """Return who signed a commit by all of these files, and their groups in all of them."""
        people: list[PersonEntry] = []
        expiries = []
        for file in files:
            if file.signers is None:
                return SignedBy(why_not=_NO_FILE), frozenset()
            signature = self._repository.signatures([commit], file.signers)[commit]
            if signature.why_not:
                return SignedBy(why_not=signature.why_not), frozenset()
            person = file.signer(signature.principal)
            if person is None:
                return SignedBy(why_not=nobody(signature.principal)), frozenset()
            if person.bot:
                return SignedBy(why_not=f"{person.name} is a bot, and approvals are people's"), frozenset()
            people.append(person)
            expiries.append(signature.expires)
        if len({person.name for person in people}) != 1:
            return SignedBy(why_not=f"its key was that of another person before ({people[-1].name})"), frozenset()
        expires = min((each for each in expiries if each), default=None)
        return SignedBy(people[0].name, expires=expires), common_groups(people)

    def _approvals(
        self, subject: AppOrGroup, wanted: frozenset[str], files: tuple[Trusted, ...]
    ) -> tuple[tuple[Approval, str], ...] | None:
        """Return the branch's approvals of these versions, each with its commit; None where main has no signers."""
        if files[0].signers is None:
            return None
        name = signed_name(subject)
        said = [each for each in self._repository.approvals(subject) if each.app == name]
        by_commit = {each.commit: each for each in said}
        for each in said:
            if each.withdraws in by_commit:
                self._withdraw(each, by_commit[each.withdraws], files[:1])
        relevant = [each for each in said if each.digest in wanted]
        self._repository.signatures([each.commit for each in relevant], files[0].signers)
        dated = [each for each in relevant if each.at is not None]
        return tuple(_told((self._approval(each, files), each.commit) for each in dated))

    def _withdraw(self, withdrawal: Statement, approval: Statement, files: tuple[Trusted, ...]) -> None:
        """Note that somebody withdrew their own approval."""
        by, of = (self._signer(each.commit, files)[0] for each in (withdrawal, approval))
        if by.name and by.name == of.name:
            self._repository.remember_withdrawn(approval.content, withdrawal.commit)

    def _approval(self, said: Statement, files: tuple[Trusted, ...]) -> Approval:
        assert said.at is not None
        signed, groups = self._signer(said.commit, files)
        why = signed.why_not and f"approval {said.commit[:10]} does not count: {signed.why_not}"
        if not why and not self._repository.contains(said.main):
            why = f"the approval of {signed.name} was given in another repository"
        if not why and said.content in self._repository.withdrawn_approvals():
            why = f"{signed.name} took the approval back"
        by = signed.name or f"commit {said.commit[:10]}"
        return Approval(by, said.digest, said.at, Proof.SIGNED, groups, why, signed.expires)


def _wanted(desired: Desired, record: Record) -> frozenset[str]:
    """Return the versions that may be promoted, by the names in main and the record."""
    documents = (each for each in (desired.target, desired.primary) if each)
    return frozenset(name for each in documents for name in (each.snapshot.digest, resolve(record, each.snapshot)))


def _both(unheard: str, error: GitopsBgError) -> str:
    return "; ".join(filter(None, (unheard, str(error))))


def _told(approvals: Iterable[tuple[Approval, str]]) -> Iterator[tuple[Approval, str]]:
    """Yield all that count, and the first of the others."""
    void = 0
    for approval, commit in approvals:
        void += bool(approval.void)
        if not approval.void or void <= _MOST_VOID:
            yield approval, commit

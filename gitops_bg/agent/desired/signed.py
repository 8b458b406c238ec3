"""Who signed the promotions that override policies, if policies ask (policies.md §4).

A signature counts by the signers and people of the newest main and, for a waiting promotion, also by those before its
commit: a key that comes with it does not count, and a removed one no longer does. Only apps whose policies ask for it
cost a look. Decides nothing.
"""

from collections.abc import Iterator
from dataclasses import replace

from cachetools import LRUCache

from gitops_bg.core.checks.policy_judge import OVERRIDE, asks_for_signed_override
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.policy_facts import CommitFacts, PolicyInput, SignedBy
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.verification.signatures import Keys
from gitops_bg.spec.app.layout import PEOPLE_FILE, SIGNERS_FILE
from gitops_bg.spec.policies.models import PersonEntry
from gitops_bg.spec.policies.people import Trusted, nobody, trusted

_REMEMBERED = 64
_NO_FILE = f"main has no {SIGNERS_FILE}"


class SignedFacts:
    """Answers for one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._trusted: LRUCache[str, Trusted] = LRUCache(_REMEMBERED)

    def with_overrides(self, policing: PolicyInput, main: str, promotion: str) -> PolicyInput:
        """Add who signed the promotion, where it overrides a policy that asks for that."""
        if not asks_for_signed_override(policing.all_policies):
            return policing
        try:
            files = tuple(self._files(main, promotion))
            commits = tuple(self._signed(each, promotion, files) for each in policing.commits)
        except GitopsBgError as error:
            return replace(policing, unheard="; ".join(filter(None, (policing.unheard, str(error)))))
        return replace(policing, commits=commits)

    def signed_before(self, promotion: CommitFacts) -> CommitFacts:
        """Add the signer to a past promotion that overrode a policy, by the signers before it."""
        if not promotion.trailer(OVERRIDE):
            return promotion
        parent = self._repository.around(promotion.commit, ()).parent
        files = (self._at(parent) if parent else Trusted(),)
        return replace(promotion, signed=self._signer(promotion.commit, files))

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
        return replace(commit, signed=self._signer(commit.commit, files))

    def _signer(self, commit: str, files: tuple[Trusted, ...]) -> SignedBy:
        """Return who signed a commit by all of these files."""
        people: list[PersonEntry] = []
        expiries = []
        for file in files:
            if file.signers is None:
                return SignedBy(why_not=_NO_FILE)
            signature = self._repository.signatures.of([commit], Keys(file.signers))[commit]
            if signature.why_not:
                return SignedBy(why_not=signature.why_not)
            person = file.signer(signature.principal)
            if person is None:
                return SignedBy(why_not=nobody(signature.principal))
            if person.bot:
                return SignedBy(why_not=f"{person.name} is a bot, and overrides are people's")
            people.append(person)
            expiries.append(signature.expires)
        if len({person.name for person in people}) != 1:
            return SignedBy(why_not=f"its key was that of another person before ({people[-1].name})")
        expires = min((each for each in expiries if each), default=None)
        return SignedBy(people[0].name, expires=expires)

"""Who wrote, approved and merged what is to be promoted: from the forge's answers, Git, and people.yaml.

Called by workers, and only if a policy asks or a promotion was just carried out. What cannot be known stays unknown,
with the reason. Decides nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from gitops_bg.agent.desired.promoted import Promoted
from gitops_bg.core.checks.policy_judge import AskedOfPeople, asked_of_people
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.model.journal import Merge
from gitops_bg.core.model.policy_facts import Approval, CommitFacts, Person, PolicyInput
from gitops_bg.core.model.policy_rules import Proof
from gitops_bg.core.model.record import PendingMergeLookup
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.forge.asking import ForgeAnswer
from gitops_bg.forge.offer import JudgedReviews, approvals_of
from gitops_bg.forge.port import Pull, Review, User
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import PEOPLE_FILE
from gitops_bg.spec.policies.people import (
    Account,
    Directory,
    Somebody,
    agreed,
    may_be_one,
    names,
    written_by,
)

_FORGES_OWN = "noreply@github.com"
"""GitHub's committer of merges there: no person."""
_NOT_YET = "the forge has not answered yet (only a running agent asks it; `gitops-bg explain` shows what it heard)"


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known of the next version, and of people."""

    version: Promoted
    people: Directory
    """The people in the newest main."""
    people_then: Directory | None = None
    """The people before the waiting promotion; None where none waits."""
    agent: str = ""
    """The e-mail address of the agent's own commits, in lower case."""
    has_forge: bool = False
    trouble: str = ""
    """Why the forge cannot be asked; empty where it can."""
    heard: ForgeAnswer | None = None

    @property
    def directories(self) -> tuple[Directory, ...]:
        """The people of now, and of before the promotion that waits: whoever wrote it by one of the two is an
        author.
        """
        return (self.people,) if self.people_then is None else (self.people, self.people_then)

    @property
    def kind(self) -> str:
        """The kind of the forge; empty where it is unknown."""
        return self.heard.kind if self.heard else ""

    @property
    def silence(self) -> str:
        """Why the forge has not answered; empty without a forge."""
        return (self.trouble or _NOT_YET) if self.has_forge else ""


@dataclass(frozen=True, slots=True)
class _PeopleAnswer:
    """An answer, or why there is none; ``asked`` are commits for which the forge must be asked who merged them."""

    people: frozenset[str] | None
    why: str = ""
    asked: tuple[str, ...] = ()


class PeopleFacts:
    """Answers for one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    def of(self, policing: PolicyInput, about: Circumstances) -> PolicyInput:
        """Add all that its rules ask about people; nothing if no version serves yet, or none is next."""
        asked = asked_of_people(policing.all_policies)
        return self.filled(policing, asked, about) if asked and about.version.digest else policing

    def filled(self, policing: PolicyInput, asked: AskedOfPeople, about: Circumstances) -> PolicyInput:
        """Add all that is ``asked`` about people."""
        if about.people.unread:
            why = f"nobody can tell who is who: {about.people.unread}"
            return replace(policing, unheard=why)
        approvals = self._approvals(about) if asked.approvals else None
        authors = self._authors(about, approvals) if asked.authors else _PeopleAnswer(None)
        merger = self._merger(about) if asked.merger else _PeopleAnswer(None)
        late = f"as of {about.heard.at:%Y-%m-%d %H:%M} UTC: {about.trouble}" if about.heard and about.trouble else ""
        silent = about.silence if asked.approvals and approvals is None else late
        return replace(
            policing,
            approvals=tuple(each for each, _ in approvals) if approvals is not None else None,
            authors=authors.people,
            merger=next(iter(merger.people or ()), None),
            merge=self._merge_as_approval(about) if asked.merger else None,
            unheard="; ".join(dict.fromkeys(filter(None, (silent, authors.why, merger.why)))),
            mergers_asked=authors.asked,
        )

    # --- who approved -----------------------------------------------------------------------------------------

    def _approvals(self, about: Circumstances) -> list[tuple[Approval, Account]] | None:
        """Return each person's last verdict, counted or void, with its account; None where it is unknown."""
        heard = about.heard
        if heard is None or heard.reviews is None:
            return None
        seen = _digests(about.version, heard.reviews)
        authors = _opened_by(heard.pull) | heard.ours
        judged = {
            digest: approvals_of(heard.reviews, digest, seen, authors)
            for digest in {*seen.values(), about.version.digest}
        }
        return [*self._counted(judged.values(), about), *self._void(judged, about)]

    def _counted(self, judged: Iterable[JudgedReviews], about: Circumstances) -> Iterator[tuple[Approval, Account]]:
        for each in (each for one in judged for each in one.counted):
            account = _account(each.user, about.kind)
            who, why = _named(account, about)
            may_be = about.people.may_own(account)
            yield Approval(who.name, each.digest, each.at, groups=who.groups, void=why, may_be=may_be), account

    def _void(self, judged: Mapping[str, JudgedReviews], about: Circumstances) -> Iterator[tuple[Approval, Account]]:
        """Yield the approvals that count for no digest."""
        counted = {each.user.id for one in judged.values() for each in one.counted}
        digest = about.version.digest
        for void in judged[digest].void:
            if void.user.id not in counted:
                account = _account(void.user, about.kind)
                by, may_be = about.people.owner(account).name, about.people.may_own(account)
                said = Approval(by, digest, void.at, void=void.why, objection=void.objection, may_be=may_be)
                yield said, account

    # --- who wrote it -----------------------------------------------------------------------------------------

    def _authors(self, about: Circumstances, approvals: list[tuple[Approval, Account]] | None) -> _PeopleAnswer:
        """Return the authors of all changes from the active version to the next, and who opened the pull request."""
        written = about.version.written(about.agent)
        if written.commits is None:
            return _PeopleAnswer(None, written.why)
        pushed = self._on_the_branch(about)
        if pushed is None:
            return _PeopleAnswer(None, "nobody can read what the pull request promotes: promote it again")
        writers = [
            (commit, person, directory.writer(person, about.kind))
            for directory in about.directories
            for commit in (*written.commits, *pushed)
            for person in written_by(commit)
            if person.email.lower() != about.agent
        ]
        found = {who for _, _, who in writers} | _openers(about)
        strangers = [person for _, person, who in writers if not who.is_listed and not who.bot]
        same = {
            approval.by
            for approval, account in approvals or ()
            if any(may_be_one(person, account) for person in strangers)
        }
        mergers = self._mergers_of_bots({commit.commit for commit, _, who in writers if who.bot}, about)
        if mergers.people is None:
            return mergers
        return replace(mergers, people=names(found) | same | mergers.people)

    def _on_the_branch(self, about: Circumstances) -> tuple[CommitFacts, ...] | None:
        """Return the reviewed head of the promotion branch: if a person pushed it, they are its author.

        None: there is one, and it cannot be read.
        """
        head = about.heard.pull.head if about.heard and about.heard.pull else ""
        found = self._facts(head) if head else None
        if found is None:
            return None if head else ()
        return (found,) if found.author.email.lower() != about.agent else ()

    def _mergers_of_bots(self, commits: Iterable[str], about: Circumstances) -> _PeopleAnswer:
        """Return who merged changes of bots: they count as authors (policies.md §4)."""
        asked = tuple(sorted(commits))
        people: set[str] = set()
        for commit in asked:
            who = self._mergers_of(commit, about)
            if who is None:
                why = _why_no_merger(commit, about)
                return _PeopleAnswer(None, f"who merged {commit[:10]}, which a bot wrote, is not known: {why}", asked)
            people |= {each.name for each in who if not each.bot}
        return _PeopleAnswer(frozenset(people), asked=asked if about.has_forge else ())

    # --- who merged it ----------------------------------------------------------------------------------------

    def _merger(self, about: Circumstances) -> _PeopleAnswer:
        commit = about.version.promotion
        if not commit:
            return _PeopleAnswer(frozenset())
        who = self._mergers_of(commit, about)
        if who is None:
            return _PeopleAnswer(None, _why_no_merger(commit, about))
        return _PeopleAnswer(names(who))

    def _mergers_of(self, commit: str, about: Circumstances) -> tuple[Somebody, ...] | None:
        """Return who merged a commit into main: from the forge, or, if it knows no pull request, from Git.

        None: unknown.
        """
        by = self._merged_by(commit, about)
        return None if by is None else (_somebody(by, about.people, about.kind),)

    def _merge_as_approval(self, about: Circumstances) -> Approval | None:
        """Return the merge of the promotion that waits, as an approval of it; None: nobody merged it, or unknown."""
        commit = about.version.promotion
        by, facts = (self._merged_by(commit, about), self._facts(commit)) if commit else (None, None)
        if by is None or facts is None or facts.at is None:
            return None
        who, why = _named(by, about)
        why = "the agent merged it, and approvals are people's" if _is_agents(by, about) else why
        may_be = about.people.may_own(by) if isinstance(by, Account) else frozenset[str]()
        return Approval(who.name, about.version.digest, facts.at, Proof.MERGE, who.groups, void=why, may_be=may_be)

    def _merged_by(self, commit: str, about: Circumstances) -> Account | Person | None:
        """Return who merged a commit, by an account of the forge or as Git has it; None: unknown."""
        merged = about.heard.merged.get(commit) if about.heard else None
        if about.has_forge and merged is None:
            return None
        if merged is not None and merged.pull is not None:
            by = merged.pull.merged_by
            return _account(by, about.kind) if by else None
        return self._landed_by(commit)

    def _landed_by(self, commit: str) -> Person | None:
        """Return who brought a commit into main, by Git; None where that cannot be read.

        For whom the agent did it is no proof: that is what a login or a token of the dashboard said.
        """
        try:
            landing = self._repository.landing_of(commit)
        except GitopsBgError:
            return None
        facts = self._facts(landing)
        if facts is None:
            return None
        return facts.author if facts.committer.email.lower() == _FORGES_OWN else facts.committer

    def _facts(self, commit: str) -> CommitFacts | None:
        """Return the facts of a commit; None where it cannot be read."""
        try:
            return self._repository.commits.facts([commit] if commit else []).get(commit)
        except GitopsBgError:
            return None

    # --- after the switch -------------------------------------------------------------------------------------

    def merges(self, about: Circumstances, asked: Iterable[PendingMergeLookup]) -> tuple[Merge, ...]:
        """Return the forge's answers on the promotions that a record asks about."""
        return tuple(filter(None, (self._merge(each, about) for each in asked)))

    def _merge(self, asked: PendingMergeLookup, about: Circumstances) -> Merge | None:
        merged = about.heard.merged.get(asked.commit) if about.heard else None
        if merged is None:
            return None
        if merged.pull is None:
            return Merge(asked.commit)
        if merged.reviews is None:
            return None  # Only who merged it was asked so far, for a rule.
        pull, reviews = merged.pull, merged.reviews
        seen = _digests(about.version, reviews)
        judged = approvals_of(
            reviews, asked.digest, seen, _opened_by(pull) | (about.heard.ours if about.heard else set())
        )
        approved = (about.people.owner(_account(each.user, about.kind)) for each in judged.counted)
        by = about.people.owner(_account(pull.merged_by, about.kind)).name if pull.merged_by else ""
        people = tuple(dict.fromkeys(each.name for each in approved if not each.bot))
        return Merge(asked.commit, pull.number, pull.url, by, people)


def _why_no_merger(commit: str, about: Circumstances) -> str:
    """Return why nobody can tell who merged a commit."""
    merged = about.heard.merged.get(commit) if about.heard else None
    if about.has_forge and merged is None:
        return about.silence
    return "the forge names no account" if merged and merged.pull else "nobody can read its commit in main"


def _account(user: User, kind: str) -> Account:
    return Account(kind, user.id, user.login, user.bot)


def _opened_by(pull: Pull | None) -> frozenset[str]:
    return frozenset([pull.author.id]) if pull else frozenset()


def _openers(about: Circumstances) -> set[Somebody]:
    """Return who opened the pull request, if that is a person of people.yaml; the agent is not."""
    if about.heard is None or about.heard.pull is None:
        return set()
    account = _account(about.heard.pull.author, about.kind)
    owners = {directory.owner(account) for directory in about.directories}
    return {who for who in owners if who.is_listed and not who.bot}


def _somebody(by: Account | Person, people: Directory, kind: str) -> Somebody:
    return people.owner(by) if isinstance(by, Account) else people.writer(by, kind)


def _is_agents(by: Account | Person, about: Circumstances) -> bool:
    if isinstance(by, Person):
        return by.email.lower() == about.agent
    return about.heard is not None and by.id in about.heard.ours


def _named(by: Account | Person, about: Circumstances) -> tuple[Somebody, str]:
    """Return whose approval it is, and why it does not count; empty where it may count."""
    now = _somebody(by, about.people, about.kind)
    then = _somebody(by, about.people_then, about.kind) if about.people_then is not None else now
    if now.bot or then.bot:
        return now, f"{now.name} is a bot, and approvals are people's"
    who = agreed(now, then)
    if who is None:
        had = f"had {by} as {then.name}" if then.is_listed else f"did not have {by}"
        why = f"{PEOPLE_FILE} {had} when this was promoted: promote it again"
        return now, why
    return who, ""


def _digests(version: Promoted, reviews: Iterable[Review]) -> dict[str, str]:
    """Return what each reviewed commit would promote; unreadable commits are left out."""
    found = {commit: version.digest_at(commit) for commit in {review.commit for review in reviews}}
    return {commit: digest for commit, digest in found.items() if digest is not None}


ForgeLookup = Callable[[AppOrGroup], ForgeAnswer | None]
"""Returns the forge's last answers about an app or a group; None if no forge was asked."""

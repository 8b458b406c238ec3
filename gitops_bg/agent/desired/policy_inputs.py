"""What each app gets of policies: those that match it, those before its promotion, and the facts that they ask for,
such as who signed what overrides them (policies.md §4).

Called by workers; computed only if the core asks for it, and cached by commit. A signature counts by the signers and
people of the newest main and, for a waiting promotion, also by those before its commit: a key that comes with it does
not count, and a removed one no longer does. Decides nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from cachetools import LRUCache

from gitops_bg.agent.desired.people import Circumstances, ForgeLookup, PeopleFacts
from gitops_bg.agent.desired.promoted import AppVersions, Promoted
from gitops_bg.agent.desired.reading import Reading
from gitops_bg.agent.runtime.failures import log_bug
from gitops_bg.core.checks.policy_facts import awaits_promotion, commits_asked_about, described_by
from gitops_bg.core.checks.policy_judge import (
    OVERRIDE,
    SKIPPED,
    AskedOfPeople,
    asks_for_signed_override,
    images_asked_about,
    matching,
    proofs_asked_for,
)
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, InternalError, guarded
from gitops_bg.core.model.desired import Desired, Problem
from gitops_bg.core.model.journal import Merge, PullView
from gitops_bg.core.model.policy_facts import CommitFacts, PolicyInput, SignedBy
from gitops_bg.core.model.policy_rules import PoliciesThen, Policy
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, AppOrGroup, GroupKey, PullSubject
from gitops_bg.core.written import Labels
from gitops_bg.repo.read.signatures import Keys
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import (
    PEOPLE_FILE,
    POLICIES_FOLDER,
    PRIMARY_FILE,
    RELEASE_FILE,
    SETTINGS_FILE,
    SIGNERS_FILE,
)
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.primary import primary_in
from gitops_bg.spec.app.settings import read_settings
from gitops_bg.spec.policies.load import load_policies
from gitops_bg.spec.policies.models import PersonEntry
from gitops_bg.spec.policies.people import Directory, Trusted, nobody, trusted

_SIGNED_REMEMBERED = 64
_NO_FILE = f"main has no {SIGNERS_FILE}"


class SignedFacts:
    """Answers for one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._trusted: LRUCache[str, Trusted] = LRUCache(_SIGNED_REMEMBERED)

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
        """Add the signer to a past promotion or entry that overrode a policy, by the signers before it."""
        if not (promotion.trailer(OVERRIDE) or promotion.trailer(SKIPPED)):
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


_MOST_SERVED = 50
"""How many former contents of a ``primary.yaml`` are looked through."""
_PATHS = (POLICIES_FOLDER, SETTINGS_FILE)
_REMEMBERED = 64


class PolicyInputs:
    """Answers for one repository, whose lock makes it thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._signed = SignedFacts(repository)
        self._people = PeopleFacts(repository)
        self._versions = AppVersions(repository)
        self._then: LRUCache[tuple[str, ...], _Then] = LRUCache(_REMEMBERED)
        """By the commit, and what main was before it, or may have been."""
        self._images: LRUCache[tuple[str, int], frozenset[str]] = LRUCache(_REMEMBERED)
        self.heard: ForgeLookup = lambda _: None
        """The forge's answers on who approved and who merged. Set by the forge's thread."""
        self.pull_view: Callable[[PullSubject], PullView | None] = lambda _: None
        """The forge's view of an app; None if no forge was asked. Set by the forge's thread."""

    def of(
        self, reading: Reading, app: AppKey, config: AppConfig, desired: Desired, record: Record
    ) -> PolicyInput | None:
        """Return all of it; None if no policy is for the app, nor was at the commit of its promotion.

        A bug in here shuts the app's promotions; rollbacks ask no policy and continue.
        """
        try:
            with guarded(f"asking what policies say of {app}"):
                return self._of(reading, app, config, desired, record)
        except InternalError as error:
            log_bug(error, app)
            return PolicyInput((Policy("policies", broken=str(error)),))

    def _of(
        self, reading: Reading, app: AppKey, config: AppConfig, desired: Desired, record: Record
    ) -> PolicyInput | None:
        promotion = awaits_promotion(desired, record)
        policing = self._asked(reading, app, config, promotion)
        if policing is None:
            return None
        branch, then = reading.promotions.get(app), policing.then
        beside = self._extra_files(app, branch.commit) if branch and branch.commit else ()
        if promotion:
            then = self._with_extra_files(then or PoliciesThen(promotion), app)
        policing = replace(policing, then=then, beside=beside)
        policing = replace(policing, commits=self._commits(commits_asked_about(desired, record, policing)))
        policing = replace(policing, entry=self._entry(app, policing) if config.environment else None)
        version = self._versions.of(app, desired, record)
        policing = self._people.of(policing, self._circumstances(reading, app, version, promotion))
        return self._signed.with_overrides(policing, desired.commit, promotion)

    def of_member(
        self, reading: Reading, app: AppKey, config: AppConfig, promotion: str, unknown: str
    ) -> PolicyInput | None:
        """Return what policies ask of a service whose release group moves by a commit; None if no policy is for it.

        ``unknown`` says why the commit is, which shuts the gate even where main has no policy: the commit may have
        dropped one. With neither, there is none yet. What they ask about people is asked once for the group
        (`group_people`).
        """
        policing = self._asked(reading, app, config, promotion, unknown)
        if policing is None:
            return None
        source = config.target.source.commit if config.target else ""
        policing = replace(policing, commits=self._commits(tuple(filter(None, (promotion, source)))))
        return self._signed.with_overrides(policing, reading.followed.commit, promotion)

    def _asked(
        self, reading: Reading, app: AppKey, config: AppConfig, promotion: str, unknown: str = ""
    ) -> PolicyInput | None:
        """Return the policies that are for an app, and those before its promotion, or why these are ``unknown``; or
        None.
        """
        view, labels, environment = reading.policies, config.labels, reading.environment.name
        then = self._before(promotion, app, labels, environment) if promotion else None
        then = PoliciesThen("", unread=unknown) if unknown else then
        policies, troubles = view.of(app, labels, environment), view.troubles_of(app, labels, environment)
        if not (policies or troubles or then):
            return None
        found = PolicyInput(policies, then, (), troubles, labels, config.annotations, environment=environment)
        served = {each: self._served(app, each) for each in images_asked_about(found.all_policies)}
        return replace(found, served={name: images for name, images in served.items() if images is not None})

    def _served(self, app: AppKey, environment: str) -> frozenset[str] | None:
        """Return the images that serve or served in an environment, as main says; None where nobody can tell."""
        path = f"{self._repository.places.folder(app)}/{environment}/{PRIMARY_FILE}"
        try:
            now = self._repository.text_file(path)
            key = (path, hash(now))
            if key not in self._images:
                said = self._repository.changes_of_file(path, most=_MOST_SERVED)
                self._images[key] = images_served((each.content for each in said), app)
            return self._images[key]
        except GitopsBgError:
            return None

    def _entry(self, app: AppKey, policing: PolicyInput) -> CommitFacts | None:
        """Return the commit that let the release of the target in, where a rule asks whether that is proven: who let it
        in past an environment overrides that.
        """
        made = self._repository.source(app, RELEASE_FILE) if proofs_asked_for(policing.all_policies) else None
        found = self._commits((made.commit,)) if made is not None and made.commit else ()
        try:
            signed = asks_for_signed_override(policing.all_policies)
            return self._signed.signed_before(found[0]) if found and signed else next(iter(found), None)
        except GitopsBgError:
            return found[0]

    def group_people(self, reading: Reading, group: GroupKey, asked: AskedOfPeople, version: Promoted) -> PolicyInput:
        """Return all that rules ask about people of the version that a group moves to. A bug in here shuts these
        rules.
        """
        try:
            with guarded(f"asking who approved what {group} is to serve"):
                if not version.digest:
                    return PolicyInput(unheard="nobody can read what main has of the version")
                about = self._circumstances(reading, group, version, version.promotion)
                return self._people.filled(PolicyInput(), asked, about)
        except InternalError as error:
            log_bug(error)
            return PolicyInput(unheard=str(error))

    def merges(self, reading: Reading, app: AppKey, desired: Desired, record: Record) -> tuple[Merge, ...]:
        """Return who merged what the record asks about, as far as the forge answered; nothing after a bug in here."""
        if not record.git.asked_merges:
            return ()
        try:
            with guarded(f"asking who merged what {app} serves"):
                about = self._circumstances(reading, app, self._versions.of(app, desired, record), "")
                return self._people.merges(about, record.git.asked_merges)
        except InternalError as error:
            log_bug(error, app)
            return ()

    def _circumstances(self, reading: Reading, subject: AppOrGroup, version: Promoted, promotion: str) -> Circumstances:
        view = self.pull_view(subject)
        return Circumstances(
            version=version,
            people=reading.policies.people,
            people_then=self._people_before(promotion) if promotion else None,
            agent=reading.settings.commit_author.email.lower(),
            has_forge=reading.settings.forge is not None,
            trouble=view.trouble if view else "",
            heard=self.heard(subject),
        )

    def _commits(self, asked: tuple[str, ...]) -> tuple[CommitFacts, ...]:
        if not asked:
            return ()
        try:
            return tuple(self._repository.commits.facts(asked).values())
        except GitopsBgError:
            return ()  # A commit that cannot be read is no fact: the rules report that.

    def _extra_files(self, app: AppKey, head: str) -> tuple[str, ...]:
        """Return the files besides ``primary.yaml`` on the promotion branch; an unreadable branch may hold any."""
        try:
            return self._repository.extra_files_of_offer(app, head)
        except GitopsBgError as error:
            return (f"files that nobody can read ({error})",)

    def _with_extra_files(self, then: PoliciesThen, app: AppKey) -> PoliciesThen:
        try:
            return replace(then, beside=self._repository.extra_files_of_promotion(app, then.commit))
        except GitopsBgError as error:
            return replace(then, unread=then.unread or str(error))

    def _before(self, commit: str, app: AppKey, labels: Labels, environment: str) -> PoliciesThen | None:
        """Return the policies that main had before the promotion; None if there were none, and it changed none."""
        try:
            then = self._at(commit)
        except GitopsBgError as error:
            return PoliciesThen(commit, unread=str(error))
        found = matching(then.policies, app, labels, environment)
        return PoliciesThen(commit, found, then.changed) if found or then.changed else None

    def _people_before(self, commit: str) -> Directory:
        """Return the people at that time; none if they cannot be read: the gate is shut for that, too."""
        try:
            return self._at(commit).people
        except GitopsBgError:
            return Directory()

    def _at(self, commit: str) -> "_Then":
        around = self._repository.around(commit, _PATHS)
        unless_pulled = self._repository.around_unless_pulled(commit, _PATHS)
        possible = (around, unless_pulled) if unless_pulled else (around,)
        key = (commit, *(each.parent for each in possible))
        if key not in self._then:
            policies, people = self._policies_at(around.parent) if around.before[0] else ((), Directory())
            for each in possible:
                if each.before[1] != each.after[1]:
                    settings = self._repository.settings_file(each.parent) if each.before[1] else None
                    policies += _lacking(policies, settings)
            changed = any(each.parent and each.before[0] != each.after[0] for each in possible)
            self._then[key] = _Then(policies, people, changed)
        return self._then[key]

    def _policies_at(self, commit: str) -> tuple[tuple[Policy, ...], Directory]:
        files: Mapping[str, bytes | Problem] = {
            path: file.content for path, file in self._repository.files_below(POLICIES_FOLDER, commit).items()
        }
        folder = load_policies(files)
        return tuple(each.policy for each in folder.written), Directory(folder.people.people)


def images_served(contents: Iterable[bytes | None], app: AppKey) -> frozenset[str]:
    """Return all images of what a ``primary.yaml`` said, by its contents."""
    said = (primary_in(each, app) for each in contents if each is not None)
    return frozenset(image for each in said if each is not None for image in described_by(each.snapshot.text)[0] or ())


@dataclass(frozen=True, slots=True)
class _Then:
    """The policies before a commit, and whether that commit changed them."""

    policies: tuple[Policy, ...]
    people: Directory
    changed: bool


def _lacking(policies: tuple[Policy, ...], content: bytes | Problem | None) -> tuple[Policy, ...]:
    """Return required policies that were missing: nobody can drop a requirement and promote in one commit."""
    settings = read_settings(content)[0] if isinstance(content, bytes) else None
    names = set(settings.require or ()) - {policy.name for policy in policies} if settings else set()
    why = f"{SETTINGS_FILE} required it, and policies/ did not have it"
    return tuple(Policy(name, broken=why) for name in sorted(names))

"""What one run of a verb works with: repository, catalog, cluster; each opened at first use, closed at the end. From it
come the facts about an app or a release group.

It only reads; each verb does its own writing.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property, partial
from types import TracebackType

from gitops_bg.agent.desired.catalog import Catalog
from gitops_bg.agent.desired.document_caches import asks_about_others
from gitops_bg.agent.desired.lineage import main_of_live
from gitops_bg.agent.groups.facts import GroupFacts, GroupGatherer
from gitops_bg.agent.reconcile.apps import knowing_one_another, register_rollouts
from gitops_bg.agent.reconcile.facts import Facts, gather
from gitops_bg.cli.errors import CommandFailed, NameNotFound, ObjectNotFound, UsageError
from gitops_bg.cli.options.options import ClusterOptions, GitOptions, PlaceOptions
from gitops_bg.cli.options.values import app_name
from gitops_bg.cli.session.agent_knowledge import as_the_agent_knows
from gitops_bg.cli.session.connect import open_repository, with_users_git
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cli.session.location import ALL, About, Location, assumed, demand_named, locations, with_file_defaults
from gitops_bg.cluster.api.errors import NamespaceMissing, no_namespace
from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.observation.ownership import UNOWNED, Ownership
from gitops_bg.core.errors import LASTING, GitopsBgError, guarded
from gitops_bg.core.model.main import Main
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.repo.git.errors import BranchMissing
from gitops_bg.repo.git.transport import repository_name
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import APP_FILE


class Session(LiveSession):
    """A context manager. ``author`` is the author of commits; verbs that only read need none.

    What it is ``about`` says which repository, branch and ledger are meant. What is only assumed of that is a ``note``:
    before a commit, else beside the result.
    """

    def __init__(
        self,
        git: GitOptions | None = None,
        kube: ClusterOptions | None = None,
        place: PlaceOptions | None = None,
        author: tuple[str, str] | None = None,
        *,
        about: About = ALL,
        with_ledger: bool = False,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        super().__init__(kube, place)
        self._git = git
        self._author = author
        self._about = replace(about, namespace=self._place.namespace)
        self._with_ledger = with_ledger
        self._note = note
        self._assumed = ""
        self._unasked: GitopsBgError | None = None
        """The error of a cluster that could not be asked: who needs the cluster ends with it, and says no more."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if self._assumed and type(error) is not type(self._unasked):
            self._note(self._assumed)

    @cached_property
    def repository(self) -> Repository:
        """The repository, freshly fetched."""
        return self._opened[1]

    @cached_property
    def follows(self) -> Ownership:
        """The repository, branch and ledger that the verb is about, as its live objects name them."""
        if self._git is None:
            return UNOWNED
        first = self._locations[0]
        if first.follows.repository and (first.otherwise or not first.witness):
            return first.follows
        location, repository = self._opened
        settings = repository.settings
        ours = Ownership(repository_name(settings.url), settings.cluster, settings.branch)
        return location.follows if location.follows.repository else ours

    @cached_property
    def _locations(self) -> Sequence[Location]:
        assert self._git is not None
        if self._about.follows.repository:
            return [Location(self._git, self._about.follows)]
        git, kube = self._git, self._kube
        settings = with_file_defaults(git, kube)
        if kube is None:
            return [Location(settings)]
        return locations(git, settings, lambda: self.client, self._about)

    @cached_property
    def _opened(self) -> tuple[Location, Repository]:
        """The first location that has its witness, and its repository. Raises `UsageError` where none has, or where a
        commit would be made at a place that is only assumed.
        """
        pushes = self._author is not None
        for location in self._locations:
            if pushes:
                demand_named(location, self._about)
            read = partial(self._read, location.witness)
            repository = with_users_git(location.git, read, self._stack, pushes=pushes)
            if repository is not None:
                self._print_location(location, repository, now=pushes)
                return location, repository
        raise UsageError(self._locations[0].otherwise)

    def _print_location(self, location: Location, repository: Repository, *, now: bool) -> None:
        """Tell what is assumed of a place: ``now``, or beside the result, if there is one."""
        settings = repository.settings
        said = assumed(location, self._about, settings.branch, settings.cluster)
        if said and now:
            self._note(said)
        self._assumed, self._unasked = "" if now else said, location.unasked

    def _read(self, witness: str, git: GitOptions) -> Repository | None:
        """Return the repository, fetched now; None where main lacks the witness of a location."""
        with ExitStack() as closing:
            repository = open_repository(git, closing, self._author, with_ledger=self._with_ledger)
            try:
                if repository.poll().rewritten:  # no agent acted on what this person's mirror saw earlier
                    repository.poller.accept(repository.head)
            except BranchMissing:
                if witness:
                    return None
                raise
            if witness and not repository.contains(witness):
                return None
            self._stack.push(closing.pop_all())
            return repository

    def catalog(
        self, namespaces: Iterable[str] = (), records: Iterable[Record] | None = None, *, of_groups: bool = False
    ) -> Catalog:
        """Return the apps in main, read now; without namespaces, all apps. ``records`` replace the live ones.
        ``of_groups``: release groups are looked at, too.
        """
        wanted, mains = tuple(namespaces), None if records is None else frozenset(each.git.main for each in records)

        def remembered() -> frozenset[Main]:
            known = self._remembered(wanted) if mains is None else mains
            return known | self._remembered_of_groups(wanted) if of_groups else known

        catalog = Catalog(self.repository, wanted, remembered)
        self.repository.poller.begin_again()
        catalog.refresh()
        return catalog

    def app_in_git(self, name: str) -> AppKey:
        """Return the app of this name; main must have it."""
        app = self.app(name)
        if app not in self.repository.apps():
            raise NameNotFound(f"main has no app {app}; it would be in apps/{app}/")
        return app

    def app_file(self, app: AppKey) -> str:
        """Return the path of the app.yaml of an app in main."""
        return self.repository.places.file(app, APP_FILE)

    def apps_in_git(self, names: Iterable[str]) -> list[AppKey]:
        """Return the apps of these names, each once; main must have them."""
        return list(dict.fromkeys(map(self.app_in_git, names)))

    def facts(self, app: AppKey) -> Facts:
        """Return all facts about an app now. Raises ``ObjectNotFound``."""
        facts = gather(self.catalog([app.namespace]), self.cluster, app, self.now)
        if facts is None:
            raise NameNotFound(f"neither main nor the cluster has an app {app}")
        facts = self.as_the_agent_knows(facts, self.cluster.manifest(app))
        return self._knowing_others(facts) if asks_about_others(facts.policies) else facts

    def as_the_agent_knows(self, facts: Facts, manifest: Object | None) -> Facts:
        """Return the facts with what is refused: writes, as the live object has them, or all, without a namespace.

        Raises `UsageError` where the app is live here in another environment than the one that is asked for: what main
        has for one says nothing of the pods of the other.
        """
        wanted = self._git.env if self._git is not None else ""
        here = ((manifest or {}).get("status") or {}).get("environment")
        if wanted and here and wanted != here:
            remedy = f"leave it out, or name a cluster of {wanted} by --context"
            raise UsageError(f"--env {wanted}: {facts.app} is in {here} in this cluster; {remedy}")
        known = as_the_agent_knows(facts, manifest)
        if manifest is not None or not self.lacks_namespace(facts.app.namespace):
            return known
        return replace(known, observed=replace(known.observed, refused=no_namespace(facts.app.namespace)))

    def _knowing_others(self, facts: Facts) -> Facts:
        """Add what the app's policies ask about others: all of these are looked at, once."""
        catalog = self.catalog(of_groups=True)
        others = (gather(catalog, self.cluster, app, self.now) for app in sorted(catalog.apps() - {facts.app}))
        known = [facts, *(each for each in others if each)]
        self.register_groups(catalog)
        return knowing_one_another(catalog.board, known, self.now, self.cluster.since)[0]

    def register_groups(self, catalog: Catalog) -> None:
        """Note the state of each release group for those whose policies ask about it; as in the agent, nobody waits for
        one that nobody can look at.
        """
        gatherer, reading = GroupGatherer(catalog, self.cluster), catalog.reading
        for group in reading.groups:
            try:
                with guarded(f"a look at the group {group}"):
                    facts = gatherer.gather(reading, group, self.now)
                    if isinstance(facts, GroupFacts):
                        catalog.board.register(facts.peer_after(facts.decide(self.now), self.now))
            except LASTING:
                catalog.board.failed(group)

    def nudge(self, app: AppKey) -> None:
        """Make the agent look at Git now instead of at its next poll, if we may; the change is in Git either way."""
        try:
            self.cluster.reconcile(app, self.now)
        except GitopsBgError:
            return

    def _remembered(self, namespaces: tuple[str, ...]) -> frozenset[Main]:
        """Return the mains that live records name: if main lacks one it was rewritten, even if we never saw that."""
        if self._kube is None:
            return frozenset()
        states = (state for namespace in namespaces or ("",) for state in self.cluster.bgds(namespace).values())
        return frozenset(map(main_of_live, states))

    def remembered(self) -> frozenset[Main]:
        """Return the mains from which the records of all apps and groups were decided."""
        return self._remembered(()) | self._remembered_of_groups(())

    def _remembered_of_groups(self, namespaces: tuple[str, ...]) -> frozenset[Main]:
        return self.cluster.release_groups.mains(namespaces)

    def _known(self) -> Iterable[AppKey]:
        return self.repository.apps() if self._git is not None else super()._known()


def group_in_git(session: Session, name: str, namespace: str = "") -> GroupKey:
    """Return the group of main that a person means; ``namespace`` is that of a bare name. Raises `ObjectNotFound`,
    `UsageError`.
    """
    written, name = app_name(name)
    namespace = written or namespace
    there = session.repository.groups()
    found = [key for key in there if key.name == name and namespace in ("", key.namespace)]
    if not found:
        known = f"; it has {', '.join(map(str, there))}" if there else ""
        raise NameNotFound(f"main has no group {f'{namespace}/' if namespace else ''}{name}{known}")
    if len(found) > 1:
        raise UsageError(f"{name} is ambiguous: {', '.join(map(str, found))}; name one of them in full")
    return found[0]


def group_meant(session: Session, name: str, namespace: str = "") -> GroupKey:
    """Return the group that a person means, also one whose folder left main where its namespace is named. Raises as
    `group_in_git`.
    """
    written, bare = app_name(name)
    namespace = written or namespace
    return GroupKey(namespace, bare) if namespace else group_in_git(session, name)


def group_facts(session: Session, group: GroupKey) -> GroupFacts:
    """Return all facts about a group now. Raises `CommandFailed` where main does not count, `NamespaceMissing`."""
    if session.lacks_namespace(group.namespace):
        raise NamespaceMissing(no_namespace(group.namespace))
    facts = _gathered(session, session.catalog([group.namespace], of_groups=True), group)
    return _knowing_others(session, group) if asks_about_others(facts.policies) else facts


def asking_for(facts: GroupFacts, version: str) -> GroupFacts:
    """Return the facts as if group.yaml asked for a version (empty: as it does); policies are not asked then: nobody
    has promoted it. Raises `ObjectNotFound`.
    """
    spec = facts.desired.spec
    if not version or spec is None or spec.active == version:
        return facts
    if version not in facts.desired.versions:
        known = ", ".join(facts.desired.versions)
        raise ObjectNotFound(f"main has no version {version} of {facts.group}; it has {known}")
    return replace(facts, desired=replace(facts.desired, spec=replace(spec, active=version), policing={}))


def members_facts(session: Session, group: GroupKey, names: Iterable[str]) -> dict[str, Facts]:
    """Return all facts about members, by the names of their apps; those that neither main nor the cluster has are left
    out.
    """
    catalog = session.catalog([group.namespace], of_groups=True)
    apps = (AppKey(group.namespace, name) for name in names)
    found = (gather(catalog, session.cluster, app, session.now) for app in apps)
    return {each.app.name: each for each in found if each is not None}


def _knowing_others(session: Session, group: GroupKey) -> GroupFacts:
    """Return them with what policies ask about others."""
    catalog = board_of_all(session)
    facts = _gathered(session, catalog, group)
    return facts.with_others(catalog.board.others(facts.policies, group))


def board_of_all(session: Session) -> Catalog:
    """Return a catalog whose board says how all apps and groups are: all of these are looked at, once."""
    catalog = session.catalog(of_groups=True)
    apps = (gather(catalog, session.cluster, app, session.now) for app in sorted(catalog.apps()))
    register_rollouts(catalog.board, (each for each in apps if each), session.now, session.cluster.since)
    session.register_groups(catalog)
    return catalog


def _gathered(session: Session, catalog: Catalog, group: GroupKey) -> GroupFacts:
    facts = GroupGatherer(catalog, session.cluster).gather(catalog.reading, group, session.now)
    if not isinstance(facts, GroupFacts) or (facts.desired.spec is None and not facts.desired.main.counts):
        lost = (catalog.rewritten or (facts.record.main.commit if facts else ""))[:10]
        raise CommandFailed(
            f"main no longer contains {lost}, which the cluster was decided from: nothing of {group} moves until "
            "somebody accepts that with `gitops-bg accept-history`"
        )
    return facts

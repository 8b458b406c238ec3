"""One look at the remote: what has moved since the last one. One `ls-remote`, and nothing else where nothing has.

It reports; it never decides. A poll that fails half-way reports nothing, and the next one starts where the last
successful one ended.
"""

from collections.abc import Collection, Mapping
from dataclasses import field, replace
from enum import Enum, auto

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.main import SourceVerification, VerificationFailure
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.directory import locked
from gitops_bg.repo.git.errors import HistoryNotAccepted, MainNotVerified, RemoteMoved
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import lines, text
from gitops_bg.repo.read.app_index import AppIndex, Hidden
from gitops_bg.repo.read.changes import Step, Trees, WalkedMain, promoted, walked
from gitops_bg.repo.read.history import CachedProvenance
from gitops_bg.repo.read.main_verifier import Belief, MainVerifier
from gitops_bg.repo.read.mainline import Mainline
from gitops_bg.spec.app.layout import APPS_FOLDER, ENVIRONMENTS_FILE, SETTINGS_FILE


@dataclass(frozen=True, slots=True)
class Poll:
    """The result of a poll. At the first poll of a process, ``changed`` holds every app."""

    commit: str
    """The head of main; where commits are verified, the last up to which they are."""
    apps: int
    """How many apps main has."""
    changed: frozenset[AppKey] = frozenset()
    """Added apps, apps with any changed file, and apps whose ``primary.yaml`` changed and changed back."""
    removed: frozenset[AppKey] = frozenset()
    settings_changed: bool = False
    others_changed: frozenset[str] = frozenset()
    """Other top-level folders that changed: ``groups``, ``analysis``, ``policies``."""
    hidden: Hidden = field(default_factory=Hidden)
    """The apps that are unknown."""
    rewritten: str = ""
    """The commit seen before that main no longer contains; until it is accepted, or comes back."""
    moved: bool = True
    """Whether anything has changed since the last poll."""
    verification: SourceVerification | None = None
    """What became of main's signatures; None where nobody asks for them."""


class _Course(Enum):
    """Where a step of main leads."""

    FORWARD = auto()
    BACK = auto()
    """To a commit that the last head contains, as after a reset, or on a replica that lags."""
    REWRITTEN = auto()


@dataclass(frozen=True, slots=True)
class _Reported:
    """The report of the last successful poll."""

    poll: Poll
    advertised: bytes
    branches: Mapping[str, str]
    trees: Mapping[AppKey, str]
    top: Mapping[str, str] = field(default_factory=dict)


class Poller:
    """Keeps the last report, to tell what has moved."""

    def __init__(
        self,
        mirror: Mirror,
        trees: Trees,
        index: AppIndex,
        sources: tuple[CachedProvenance, ...],
        walked: WalkedMain,
        mainline: Mainline,
        verifier: MainVerifier | None = None,
    ) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._trees = trees
        self._index = index
        self._sources = sources
        self._walked = walked
        self._mainline = mainline
        self._verifier = verifier
        self._last: _Reported | None = None
        self._before: _Reported | None = None
        """The report before that: what the reader of the last report still has, if it could not use it."""

    def poll(self) -> Poll:
        """Look at the remote once.

        Raises ``BranchMissing``, ``RemoteMoved``, ``AuthenticationFailed``, ``RemoteUnreachable``, ``MirrorBroken``,
        ``DiskProblem``, ``MainNotVerified``.
        """
        advertised = self._mirror.advertised()
        if self._verifier is not None and self._verifier.refresh():
            self.compare_again()  # also at the next poll, if this one fails
        if self._last is not None and self._last.advertised == advertised:
            return self._quiet(self._last)
        remote = self._mirror.ours(advertised)
        branches = self._mirror.follow(remote) if self._mirror.settings.branch in remote else {}
        if self._mirror.settings.branch not in branches:
            raise self._mirror.explain_missing()
        belief = self._believed(branches[self._mirror.settings.branch])
        branches = {**branches, self._mirror.settings.branch: belief.commit}
        is_settled = self._mirror.settled and belief.held is None
        reported = self._compared(advertised if is_settled else b"", branches, belief)
        self._before, self._last = self._last, reported
        return reported.poll

    def believes(self, head: str) -> str:
        """Return the commit of main to read where this is its head; empty where none may be read."""
        return self._belief(head).commit

    def doubt_of(self, head: str) -> VerificationFailure | None:
        """Return why main with this head may not be read up to it; None where it may."""
        belief = self._belief(head)
        if belief.commit == head:
            return None
        return belief.held.doubt if belief.held else VerificationFailure.NOT_CHECKABLE

    def _belief(self, head: str) -> Belief:
        if self._verifier is None:
            return Belief(head)
        known = (self._last.poll.commit, self._mirror.seen()) if self._last is not None else (self._mirror.seen(),)
        return self._verifier.belief(head, known, first=self._last is None)

    def _believed(self, head: str) -> Belief:
        """Do as `believes`, and what is not verified. Raises ``MainNotVerified`` where nothing may be read."""
        belief = self._belief(head)
        if not belief.commit and self._verifier is not None:
            raise MainNotVerified(self._verifier.verification_of(belief))
        return belief

    def compare_again(self) -> None:
        """Compare refs at the next poll, even if the remote says nothing new: the agent changed the mirror's own."""
        if self._last is not None:
            self._last = replace(self._last, advertised=b"")

    @locked
    def repeat(self) -> None:
        """Report once more what the last poll that found something reported: its reader could not use it."""
        self._last = replace(self._before, advertised=b"") if self._before is not None else None

    @locked
    def begin_again(self) -> None:
        """Report everything at the next poll, as the first one does, for a new reader."""
        self._last = None

    @locked
    def accept(self, commit: str) -> None:
        """Accept main's new history, named by one of its commits.

        Raises ``HistoryNotAccepted`` where main does not contain ``commit``.
        """
        head = self.head()
        if not self._mirror.is_ancestor(commit, head):
            raise HistoryNotAccepted(f"main does not contain {commit}; name a commit of the history to accept")
        self._mirror.remember_seen(head)
        if self._last is not None:
            self._last = replace(self._last, poll=replace(self._last.poll, rewritten=""))

    @locked
    def head(self) -> str:
        """Return the head of main as last reported. Raises ``RemoteMoved`` before the first poll."""
        if self._last is None:
            raise RemoteMoved("the repository was not polled yet")
        return self._last.poll.commit

    @staticmethod
    def _quiet(last: _Reported) -> Poll:
        poll = last.poll
        return Poll(
            poll.commit,
            poll.apps,
            hidden=poll.hidden,
            rewritten=poll.rewritten,
            moved=False,
            verification=poll.verification,
        )

    def _compared(self, advertised: bytes, branches: Mapping[str, str], belief: Belief) -> _Reported:
        last = self._last or _Reported(Poll("", 0), b"", {}, {})
        settings = self._mirror.settings
        head = branches[settings.branch]
        self._note_former(head)  # before anybody asks for main's line
        course, step = self._walk(last.poll.commit, head)  # what changed on the way need not be asked of git
        trees = self._index.at(head)
        top = last.top if head == last.poll.commit else self._top(head)
        changed, removed = _difference(last.trees, trees)
        changed |= promoted(step) & trees.keys()
        changed |= self._forget_origins(course, step, changed, trees.keys())
        folders = {name for name in top.keys() | last.top.keys() if top.get(name) != last.top.get(name)}
        poll = Poll(
            commit=head,
            apps=len(trees),
            changed=changed,
            removed=removed,
            settings_changed=bool({SETTINGS_FILE, ENVIRONMENTS_FILE} & folders) or not last.poll.commit,
            others_changed=frozenset(folders - {SETTINGS_FILE, APPS_FOLDER}),
            hidden=self._index.hidden(head),
            rewritten=self._rewritten(head),
            moved=last.branches != branches,
            verification=self._verifier.verification_of(belief) if self._verifier is not None else None,
        )
        return _Reported(poll, advertised, branches, trees, top)

    def _forget_origins(
        self, course: "_Course", step: Step, changed: frozenset[AppKey], apps: Collection[AppKey]
    ) -> frozenset[AppKey]:
        """Forget where files come from that a step of main left no longer so; return the apps that have such files.

        Another history has other commits and places for all of them. A main that went back has lost some commits: what
        they left as it had been before has its origin before them.
        """
        places = self._index.places
        if course is _Course.REWRITTEN:
            for sources in self._sources:
                sources.forget_all()
            return frozenset(apps)
        lost = self._between(step.head, step.before) if course is _Course.BACK else frozenset()
        folders = frozenset[str]().union(*(sources.folders_from(lost) for sources in self._sources if lost))
        changed |= {app for app in apps if folders and not folders.isdisjoint(places.folders(app))}
        for sources in self._sources:
            own = (folder for app in changed for folder in places.folders(app))
            sources.forget([*folders, *own], step.before, step.head)
        return changed

    def _walk(self, before: str, head: str) -> tuple["_Course", Step]:
        """Return where main went since the last poll, and on which way; remember that, if it went forward."""
        step = Step(before, head, {})
        if before == head:
            return _Course.FORWARD, step
        if before and self._mirror.is_ancestor(before, head):
            self._mirror.main_went(before, head)
            step = walked(self._trees, before, head, self._mainline.went(before, head))
            if self._mainline.is_known:
                self._walked.add(step)
            return _Course.FORWARD, step
        self._walked.forget()
        if not before:
            return _Course.FORWARD, step
        return (_Course.BACK if self._mirror.is_ancestor(head, before) else _Course.REWRITTEN), step

    def _between(self, before: str, head: str) -> frozenset[str]:
        return frozenset(map(text, lines(self._mirror.local("rev-list", head, f"^{before}"))))

    def _rewritten(self, head: str) -> str:
        seen = self._mirror.seen()
        if seen and not self._mirror.is_ancestor(seen, head):
            return seen
        if seen != head:
            self._mirror.remember_seen(head)
        return ""

    def _note_former(self, head: str) -> None:
        """Tell main's line where main was when an agent saw it last, maybe another process than this one."""
        seen = self._mirror.seen()
        if seen and seen != head and self._mirror.is_ancestor(seen, head):
            self._mainline.was_at(seen)

    def _top(self, head: str) -> dict[str, str]:
        """Return the entries of the root folder."""
        return {name: node.id for _, name, node in self._trees.listed([self._trees.root(head)])}


def _difference(before: Mapping[AppKey, str], now: Mapping[AppKey, str]) -> tuple[frozenset[AppKey], frozenset[AppKey]]:
    """Return the apps that are new or changed, and those that were removed."""
    if before is now:
        return frozenset(), frozenset()
    changed = frozenset(app for app, tree in now.items() if before.get(app) != tree)
    return changed, frozenset(before.keys() - now.keys())

"""What each app is told of policies: those that match it, those that held before its promotion, the facts they ask for.

Asked by workers. Only where the core wants to know it, and remembered by commit. Decides nothing.
"""

from collections.abc import Mapping
from dataclasses import replace

from cachetools import LRUCache

from gitops_bg.agent.desired.peers import PeerBoard
from gitops_bg.agent.desired.policy_shelf import PolicyView
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.core.checks.policies.facts import awaits_promotion, commits_asked_about
from gitops_bg.core.checks.policies.match import matching
from gitops_bg.core.errors import GitopsBgError, InternalError, guarded
from gitops_bg.core.model.desired import Desired, Problem
from gitops_bg.core.model.policies.facts import CommitFacts, Policing
from gitops_bg.core.model.policies.rules import PoliciesThen, Policy
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import POLICIES_FOLDER, SETTINGS_FILE
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.settings import read_settings
from gitops_bg.spec.policies.load import load_policies

Labels = tuple[tuple[str, str], ...]
_PATHS = (POLICIES_FOLDER, SETTINGS_FILE)
_REMEMBERED = 64


class PolicingFacts:
    """Answers for one repository; the repository's lock makes it safe."""

    def __init__(self, repository: Repository, board: PeerBoard) -> None:
        self._repository = repository
        self._board = board
        self._then: LRUCache[str, tuple[tuple[Policy, ...], bool]] = LRUCache(_REMEMBERED)

    def of(self, view: PolicyView, app: AppKey, config: AppConfig, desired: Desired, record: Record) -> Policing | None:
        """All of it; None where no policy is for the app, nor was when its promotion was committed.

        A bug in here shuts its promotions, and leaves the way back open, which asks no policy.
        """
        try:
            with guarded(f"asking what policies say of {app}"):
                return self._of(view, app, config, desired, record)
        except InternalError as error:
            log_bug(error, app)
            return Policing((Policy("policies", broken=str(error)),))

    def _of(
        self, view: PolicyView, app: AppKey, config: AppConfig, desired: Desired, record: Record
    ) -> Policing | None:
        labels, annotations = config.labels, config.annotations
        promotion = awaits_promotion(desired, record)
        then = self._before(promotion, app, labels) if promotion else None
        policies, troubles = view.of(app, labels), view.troubles_of(app, labels)
        if not (policies or troubles or then):
            return None
        policing = Policing(policies, then, troubles, labels, annotations)
        policing = replace(policing, commits=self._commits(commits_asked_about(desired, record, policing)))
        return self._board.with_peers(policing, app)

    def _commits(self, asked: tuple[str, ...]) -> tuple[CommitFacts, ...]:
        if not asked:
            return ()
        try:
            return tuple(self._repository.commit_facts(asked).values())
        except GitopsBgError:
            return ()  # What nobody can read is no fact: the rules say so.

    def _before(self, commit: str, app: AppKey, labels: Labels) -> PoliciesThen | None:
        """Those at the promotion's first parent; None where there were none, and it changed none."""
        try:
            policies, changed = self._at(commit)
        except GitopsBgError as error:
            return PoliciesThen(commit, unread=str(error))
        found = matching(policies, app, labels)
        return PoliciesThen(commit, found, changed) if found or changed else None

    def _at(self, commit: str) -> tuple[tuple[Policy, ...], bool]:
        if commit not in self._then:
            around = self._repository.around(commit, _PATHS)
            parent, (folder, settings) = around.parent, around.before
            policies = self._policies_at(parent) if folder else ()
            if settings != around.after[1]:
                policies += _lacking(policies, self._repository.settings_file(parent) if settings else None)
            self._then[commit] = policies, bool(parent) and folder != around.after[0]
        return self._then[commit]

    def _policies_at(self, commit: str) -> tuple[Policy, ...]:
        files: Mapping[str, bytes | Problem] = {
            path: file.content for path, file in self._repository.files_below(POLICIES_FOLDER, commit).items()
        }
        return tuple(each.policy for each in load_policies(files).written)


def _lacking(policies: tuple[Policy, ...], content: bytes | Problem | None) -> tuple[Policy, ...]:
    """What was required then and was not there: nobody stops to require it and promotes in one commit."""
    settings = read_settings(content)[0] if isinstance(content, bytes) else None
    names = set(settings.require or ()) - {policy.name for policy in policies} if settings else set()
    why = f"{SETTINGS_FILE} required it, and policies/ did not have it"
    return tuple(Policy(name, broken=why) for name in sorted(names))

"""Commits of edits that people ask for: their messages, and what each verb changes in an app.yaml. Nothing is printed
here.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.checks.policy_judge import OVERRIDE, REASON
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import CommandFailed
from gitops_bg.core.foreign_text import one_line
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.spec import Retry, Suspension
from gitops_bg.core.model.version import AppKey, AppOrGroup, version_name
from gitops_bg.core.world import World
from gitops_bg.repo.git.errors import PushRefused
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.write.commits import Requester
from gitops_bg.repo.write.main_branch import Edit, Edited, EditOrNew
from gitops_bg.spec.app.layout import APP_FILE, Places, member_of
from gitops_bg.spec.app.to_core import suspension_in
from gitops_bg.spec.environments.home import implied_own
from gitops_bg.spec.manifests.edit import set_retry, set_suspend
from gitops_bg.spec.manifests.members import implied_app


class CommandContext(Protocol):
    """What a command works with: of one run of the command line, or of an agent with its dashboard."""

    @property
    def repository(self) -> Repository:
        """The repository, as it was read last."""
        ...

    @property
    def cluster(self) -> Cluster:
        """The cluster."""
        ...

    @property
    def now(self) -> datetime:
        """The time, in UTC."""
        ...

    def facts(self, app: AppKey) -> Facts:
        """Return all facts about an app now. Raises ``ObjectNotFound``."""
        ...

    def nudge(self, app: AppKey) -> None:
        """Make the agent look at Git now instead of at its next poll."""
        ...


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """What to commit: files of apps, or of the repository, each by its path."""

    edits: Mapping[str, EditOrNew]
    subject: str
    reason: str = ""
    overrides: tuple[str, ...] = ()
    """The policies in spite of which it promotes (policies.md §6)."""
    said: str = ""
    """What else the message says, in lines of ours."""
    requester: Requester | None = None
    """Who asks for it, where that is not who commits."""

    @property
    def message(self) -> str:
        """The message of the commit; no text that a user typed can forge a trailer."""
        reason, by = one_line(self.reason), self.requester
        values = [("Bg-By", str(by)), *by.trailers] if by is not None else []
        values += [(REASON, reason)] if by is not None or self.overrides else []
        values += [(OVERRIDE, each) for each in self.overrides]
        trailers = "".join(f"{name}: {text}\n" for name, value in values if (text := one_line(value)))
        parts = [f"{one_line(self.subject)}\n", f"Reason: {reason}\n" if reason else "", self.said, trailers]
        return "\n".join(filter(None, parts))


def commit(repository: Repository, plan: CommitPlan) -> Edited:
    """Commit to main. Raises `PushRefused` with a remedy, and the errors of ``Edits.commit``."""
    try:
        return repository.edits.commit(plan.edits, plan.message, plan.requester)
    except PushRefused as error:
        branch, whom = repository.settings.branch, "you" if plan.requester is None else "the agent"
        message = f"{branch} takes no commit from {whom}: {error}. Make the change on a branch and open a pull request"
        raise PushRefused(message) from error


def in_app(places: Places, app: AppKey, filename: str, edit: Edit, subject: str, reason: str = "") -> CommitPlan:
    """Return the change of a file in an app's folder."""
    return CommitPlan({places.file(app, filename): edit}, f"{app.name}: {subject}", reason)


def in_app_files(
    repository: Repository,
    edits: Mapping[AppKey, Edit],
    subject: str,
    reason: str = "",
    requester: Requester | None = None,
) -> CommitPlan:
    """Return the change of the app.yaml of several apps, all or none."""
    names = ", ".join(app.name for app in edits)
    changed = {app_file(repository, app): _of_app_file(repository, app, edit) for app, edit in edits.items()}
    wanted = {path: each for path, each in changed.items() if each is not None}
    return CommitPlan(wanted, f"{names}: {subject}", reason, requester=requester)


def app_file(repository: Repository, app: AppKey) -> str:
    """Return the path of the app.yaml of an app in main."""
    return repository.places.file(app, APP_FILE)


def _of_app_file(repository: Repository, app: AppKey, edit: Edit) -> EditOrNew | None:
    """Return the edit of an app.yaml; None where nothing changes.

    A member of a release group that has no such file gets the one that counts instead; an environment that says nothing
    of its own, one that says that.
    """
    member = member_of(repository.places.folder(app))
    if repository.places.environment_of(app):
        if repository.text_file(app_file(repository, app)) is not None:
            return edit
        implied = implied_own(app)
    elif member is None or APP_FILE in repository.files(app):
        return edit
    else:
        implied = implied_app(member)
    made = edit(implied)
    return None if made == implied else made


# --- what the verbs change in an app.yaml ---


def suspending(who: AppOrGroup, file: str, suspension: Suspension, *, force: bool) -> Edit:
    """Return the edit that suspends an app or a group. Raises `CommandFailed` where it is suspended already."""

    def change(data: bytes) -> bytes:
        standing = suspension_in(data, file)
        if standing and standing != suspension and standing.lasts(datetime.now(UTC)) and not force:
            raise CommandFailed(_suspended_already(who, standing))
        return set_suspend(data, suspension, file)

    return change


def _suspended_already(who: AppOrGroup, standing: Suspension) -> str:
    by = f" by {standing.by}" if standing.by else ""
    end = f"until {standing.until.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if standing.until else "until it is resumed"
    return f"{who}: suspended already{by}, {end}: {standing.reason}; to replace that, say so by --force"


def suspended(app: AppKey, commit: str) -> str:
    """Return what became of a suspension, as a sentence; ``commit`` is empty where main has it already."""
    return f"{app}: suspended by commit {commit[:10]}" if commit else f"{app}: suspended already"


def lifting(facts: Facts, by: str, now: datetime) -> Retry | None:
    """Return the retry that lifts the hold on the target, if there is one."""
    digest = facts.world(now).target_digest
    return next_retry(facts, digest, by) if facts.record.held(digest) else None


def resuming(file: str, lifted: Retry | None) -> Edit:
    """Return the edit that ends a suspension, and lifts a hold."""

    def change(data: bytes) -> bytes:
        data = set_suspend(data, None, file)
        return set_retry(data, lifted, file) if lifted else data

    return change


def resumed(app: AppKey, commit: str, lifted: Retry | None) -> str:
    """Return what became of it, as a sentence; ``commit`` is empty where there was nothing to end."""
    if not commit:
        return f"{app}: it is neither suspended nor is its target on hold"
    return f"{app}: resumed{', the hold on its target is lifted' if lifted else ''} by commit {commit[:10]}"


def retry_of(app: AppKey, facts: Facts, world: World, by: str) -> tuple[Retry, str]:
    """Return the retry of an app's target, and the name of that version. Raises `CommandFailed`."""
    digest = world.target_digest
    run = world.record.run(AnalysisStage.POST)
    is_paused = run is not None and run.paused and run.digest == digest
    if not digest or (digest == world.record.routing.traffic and not is_paused):
        raise CommandFailed(
            f"{app}: there is nothing to try again: the target " + ("is live" if digest else "is broken")
        )
    version = world.record.version(digest)
    return next_retry(facts, digest, by), version.name if version else version_name(None, digest)


def next_retry(facts: Facts, digest: str, by: str) -> Retry:
    """Return the request for a new rollout of ``digest``, with an unused number: it lifts a hold, or restarts a failed
    rollout.
    """
    last = max(facts.record.operator.retry, facts.spec.retry.number if facts.spec.retry else 0)
    return Retry(digest, last + 1, by, facts.record.sequence)


def retrying(file: str, request: Retry) -> Edit:
    """Return the edit that asks for a retry."""
    return lambda data: set_retry(data, request, file)


def retried(app: AppKey, shown: str, commit: str) -> str:
    """Return what became of a retry of the version that is ``shown`` so, as a sentence."""
    return f"{app}: retries {shown} by commit {commit[:10]}"

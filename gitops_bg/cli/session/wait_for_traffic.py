"""Waits, for --wait, until live traffic has reached its target. Reads records only; moves nothing."""

from gitops_bg.cli.errors import CommandFailed
from gitops_bg.cli.options.durations import spoken
from gitops_bg.cli.options.options import ClusterOptions
from gitops_bg.cli.session.live_session import access
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.watching.watch_changes import changes, until
from gitops_bg.cluster.groups.group_cluster import GroupCluster
from gitops_bg.core.groups.model import VersionStage
from gitops_bg.core.model.version import AppKey, GroupKey


def wait_for_traffic(session: Session, kube: ClusterOptions, app: AppKey, digest: str, seconds: float) -> None:
    """Return once the record says that traffic goes to ``digest``. Raises `CommandFailed` after ``seconds``."""

    def arrived() -> bool:
        record = session.cluster.record(app)
        return record.routing.traffic == digest and record.routing.switch is None

    with changes(access(kube), app.namespace) as wait:
        if not until(arrived, wait, seconds):
            raise CommandFailed(f"{app}: traffic has not moved within {spoken(seconds)}; see `gitops-bg explain {app}`")


def wait_for_requests(session: Session, kube: ClusterOptions, group: GroupKey, version: str, seconds: float) -> None:
    """Return once the record says that a version of a group is active, and nothing moves any more. Raises
    `CommandFailed` after ``seconds``.
    """
    live = GroupCluster(session.client)

    def arrived() -> bool:
        record = live.seen(group).record
        return record.state.only(VersionStage.ACTIVE) == version and record.transition is None

    with changes(access(kube), group.namespace, groups=True) as wait:
        if not until(arrived, wait, seconds):
            message = f"{group}: requests have not moved to {version} within {spoken(seconds)}"
            raise CommandFailed(f"{message}; see `gitops-bg explain {group}`")

"""Waits until live traffic is where it was sent, for --wait. Looks at the record only; moves nothing."""

from gitops_bg.cli.durations import spoken
from gitops_bg.cli.errors import NotSo
from gitops_bg.cli.following import changes, until
from gitops_bg.cli.opening import access
from gitops_bg.cli.options import ClusterOptions
from gitops_bg.cli.session import Session
from gitops_bg.core.model import AppKey


def wait_for_traffic(session: Session, kube: ClusterOptions, app: AppKey, digest: str, seconds: float) -> None:
    """Return once the record says that traffic goes to ``digest``. Raises `NotSo` after ``seconds``."""

    def arrived() -> bool:
        record = session.cluster.record(app)
        return record.traffic == digest and record.switch is None

    with changes(access(kube), app.namespace) as wait:
        if not until(arrived, wait, seconds):
            raise NotSo(f"{app}: traffic has not moved within {spoken(seconds)}; see `gitops-bg explain {app}`")

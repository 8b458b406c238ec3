"""`reconcile`: makes the agent look at Git and at an app now. Writes one annotation; the agent does the rest."""

from gitops_bg.cli.options.options import App, LiveOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.session import Session


def reconcile(app: App, at: LiveOptions) -> None:
    """Have the agent look at Git and at this app now, instead of at its next poll.

    Example: gitops-bg reconcile shop/web
    """
    output = Output(at.out)
    with Session(kube=at.kube, place=at.place) as session:
        key, asked = session.app(app), session.now
        session.cluster.reconcile(key, asked)
    output.both({"app": str(key), "requestedAt": asked.isoformat()}, f"{key}: the agent was asked to look now")

"""`tree`: one app as `get APP` shows it, under the name that Flux has for it."""

from gitops_bg.cli.options import App, LiveOptions
from gitops_bg.cli.output import Output
from gitops_bg.cli.session import Session
from gitops_bg.cli.sight import look
from gitops_bg.cli.verbs.get import show_app


def tree(app: App, at: LiveOptions) -> None:
    """Show one app as a tree: the same as `get APP`.

    Example: gitops-bg tree shop/web
    """
    with Session(kube=at.kube, place=at.place) as session:
        show_app(Output(at.out), look(session, session.app(app)), session.now)

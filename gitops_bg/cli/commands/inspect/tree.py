"""`tree`: one app as `get APP` shows it, under Flux's name for that."""

from gitops_bg.cli.commands.inspect.get import show_app
from gitops_bg.cli.options.options import App, LiveOptions
from gitops_bg.cli.session.session import Session
from gitops_bg.cli.views.app_view import look
from gitops_bg.cli.views.output import Output


def tree(app: App, at: LiveOptions) -> None:
    """Show one app as a tree: the same as `get APP`.

    Example: gitops-bg tree shop/web
    """
    with Session(kube=at.kube, place=at.place) as session:
        show_app(Output(at.out), look(session, session.app(app)), session.now)

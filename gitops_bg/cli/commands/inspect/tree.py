"""`tree`: one app as `get APP` shows it, under Flux's name for that."""

from gitops_bg.cli.options.options import AppOrGroup, LiveOptions
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cli.views.app_json import json_of
from gitops_bg.cli.views.app_view import look
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.tree_view import picture_of
from gitops_bg.core.model.version import AppKey


def tree(app: AppOrGroup, at: LiveOptions) -> None:
    """Show one app as a tree: the same as `get APP`.

    Example: gitops-bg tree shop/web
    """
    with LiveSession(kube=at.kube, place=at.place) as session:
        show_app(Output(at.out), session, session.app(app))


def show_app(output: Output, session: LiveSession, app: AppKey) -> None:
    """Show one app, in either format."""
    app_view = look(session, app)
    if output.json:
        output.data({"items": [json_of(app_view)]})
    output.show(picture_of(app_view, session.now))

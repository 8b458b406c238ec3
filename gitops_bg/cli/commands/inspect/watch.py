"""`get -w`: shows apps and groups again on every change that a watch reports, until Ctrl-C. It only reads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gitops_bg.cli.options.options import LiveOptions
from gitops_bg.cli.session.live_session import LiveSession, access
from gitops_bg.cli.views.app_json import json_of
from gitops_bg.cli.views.app_view import look
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.pods import pod_labels
from gitops_bg.cli.views.rows import AnyRow, json_of_row, line_of, list_of
from gitops_bg.cli.views.tree_view import picture_of
from gitops_bg.cli.views.watching.watch_changes import Wait, changes
from gitops_bg.cli.views.watching.watch_view import follow, list_screen, picture_screen
from gitops_bg.core.model.version import AppKey


@contextmanager
def heard(at: LiveOptions, namespace: str, pods: str = "") -> Iterator[Wait]:
    """Hear of every change of a namespace, as `changes`, until Ctrl-C."""
    try:
        with changes(access(at.kube), namespace, pods, groups=True) as wait:
            yield wait
    except KeyboardInterrupt:
        return


def watch_all(
    rows: Callable[[], tuple[AnyRow, ...]], at: LiveOptions, output: Output, namespace: str, timeout: float
) -> None:
    """Keep showing the apps and groups of a namespace (empty: all), for ``timeout`` seconds."""
    with heard(at, namespace) as wait, list_screen(output, list_of, json_of_row, line_of) as screen:
        follow(rows, screen, wait, timeout)


def watch_app(session: LiveSession, at: LiveOptions, output: Output, app: AppKey, timeout: float) -> None:
    """Keep showing one app, for ``timeout`` seconds."""
    with (
        heard(at, app.namespace, pod_labels(app)) as wait,
        picture_screen(output, picture_of, json_of) as screen,
    ):
        follow(lambda: look(session, app), screen, wait, timeout)

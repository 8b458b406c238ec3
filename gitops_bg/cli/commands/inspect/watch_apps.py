"""`get -w`: shows apps again on every change that a watch reports, until Ctrl-C. It only reads."""

from gitops_bg.cli.options.options import LiveOptions
from gitops_bg.cli.session.live_session import LiveSession, access
from gitops_bg.cli.views.app_json import json_of
from gitops_bg.cli.views.app_row import Row, list_of, rows_of
from gitops_bg.cli.views.app_view import look
from gitops_bg.cli.views.output import Output
from gitops_bg.cli.views.tree_view import picture_of
from gitops_bg.cli.views.watching.watch_changes import changes
from gitops_bg.cli.views.watching.watch_view import follow, list_screen, picture_screen
from gitops_bg.cluster.api.kinds import APPS
from gitops_bg.core.model.version import AppKey


def watch_apps(
    session: LiveSession, at: LiveOptions, output: Output, app: AppKey | None, namespace: str, timeout: float
) -> None:
    """Keep showing one app, or the apps of a namespace (empty: all), for ``timeout`` seconds."""
    try:
        with changes(access(at.kube), namespace, app) as wait:
            if app:
                with picture_screen(output, picture_of, json_of) as screen:
                    follow(lambda: look(session, app), screen, wait, timeout)
            else:
                with list_screen(output, list_of, Row.json, _line) as screen:
                    follow(lambda: rows_of(session.client.list(APPS, namespace)), screen, wait, timeout)
    except KeyboardInterrupt:
        return


def _line(row: Row) -> str:
    candidate = f"candidate v{row.candidate} {row.candidate_image}" if row.candidate else "no candidate"
    active = f"v{row.version} {row.color} {row.image}" if row.version else "nothing live"
    demands = ", ".join(each.type for each in row.demands)
    parts = (str(row.app), row.phase, active, candidate, row.promotion, demands)
    return "  ".join(part for part in parts if part)

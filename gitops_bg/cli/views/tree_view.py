"""Draws one app for people: a header and a tree, from `app_view` and `tree_rows`. Reads nothing."""

from collections.abc import Iterator
from datetime import datetime

from rich.console import Group

from gitops_bg.cli.output import said
from gitops_bg.cli.views.app_row import style_of, tells_branches
from gitops_bg.cli.views.app_view import AppView
from gitops_bg.cli.views.condition_meanings import drawn
from gitops_bg.cli.views.listing import Column, Line, Listing
from gitops_bg.cli.views.tree_rows import Branch, root_of
from gitops_bg.core.model.conditions import Phase
from gitops_bg.core.model.spec import Strategy
from gitops_bg.core.model.version import Version
from gitops_bg.core.text.foreign_json import reread_json

_SIGNS = {
    Phase.HEALTHY: "✔",
    Phase.DEGRADED: "✖",
    Phase.INVALID: "✖",
    Phase.SCALED_TO_ZERO: "॥",
    Phase.PAUSED: "॥",
    Phase.WAITING: "॥",
    Phase.SUSPENDED: "॥",
    Phase.AWAITING_PROMOTION: "॥",
    Phase.HELD: "॥",
}
"""The signs of Argo Rollouts; phases in progress have another."""


def picture_of(app_view: AppView, now: datetime) -> Group:
    """Return the app as it was read; ages and countdowns count from ``now``."""
    demands = (drawn(each, app_view.row.key, told=app_view.row.message) for each in app_view.row.demands)
    return Group(_header(app_view), *demands, "", drawn_tree(root_of(app_view, now)))


def _header(app_view: AppView) -> Listing:
    lines = (Line((said(title), said(text, style))) for title, text, style in _facts(app_view))
    return Listing((Column(""), Column("")), lines, titles=False)


def _facts(app_view: AppView) -> Iterator[tuple[str, str, str]]:
    """Yield what the header says: a title, the text, its style."""
    row = app_view.row
    yield "Name:", f"{row.namespace}/{row.name}", "bold"
    if tells_branches((row.branch,)):
        yield "Branch:", row.branch, ""
    yield "Phase:", f"{_sign(row.phase)} {row.phase}", style_of(row.phase)
    if row.message:
        yield "Message:", row.message, ""
    if row.pull_request:
        yield "Pull request:", row.pull_request, ""
    if app_view.strategy:
        yield "Strategy:", ", ".join(_strategy(app_view.strategy)), ""
    for title, image in zip(_titles("Images:"), _images(app_view), strict=False):
        yield title, image, ""
    yield "Replicas:", _replicas(app_view), ""


def _sign(phase: str) -> str:
    return _SIGNS.get(Phase(phase), "◌") if phase in set(Phase) else "◌"


def _titles(first: str) -> Iterator[str]:
    """Yield the title for the first of several rows, then blanks."""
    yield first
    while True:
        yield ""


def _strategy(strategy: Strategy) -> Iterator[str]:
    yield "blue-green"
    if not strategy.auto_promotion_enabled:
        yield "promoted by a person"
    elif strategy.auto_promotion_seconds:
        yield f"promoted by itself after {strategy.auto_promotion_seconds} s"
    else:
        yield "promoted by itself"


def _images(app_view: AppView) -> Iterator[str]:
    """Yield the running images, with their roles: ``active``, ``preview``."""
    for version in app_view.versions:
        roles = [role for role, digest in _roles(app_view) if digest == version.digest]
        for image in images_of(version):
            if roles or any(each.desired for each in app_view.replica_sets_of(version)):
                yield f"{image} ({', '.join([*roles, str(version.color)])})"


def _roles(app_view: AppView) -> Iterator[tuple[str, str]]:
    yield "active", app_view.record.routing.traffic
    yield "preview", app_view.record.routing.preview


def images_of(version: Version) -> Iterator[str]:
    """Yield the images of a version's containers; none where the template is only in its ReplicaSet."""
    template = reread_json(version.snapshot.text) if version.snapshot.text else {}
    for container in (template.get("spec") or {}).get("containers") or []:
        yield str(container.get("image", ""))


def _replicas(app_view: AppView) -> str:
    """Count as Argo Rollouts does: ready and available pods of the active version, updated pods of the newest."""
    active, newest = app_view.replica_sets_of(app_view.active), app_view.replica_sets_of(app_view.newest)
    autoscaler = app_view.record.last_read.autoscaler
    counts = {
        "desired": sum(each.desired for each in active) if autoscaler else app_view.record.last_read.replicas or 0,
        "current": sum(each.current for each in app_view.replica_sets),
        "updated": sum(each.current for each in newest),
        "ready": sum(each.ready for each in active),
        "available": sum(each.available for each in active),
    }
    said = "  ".join(f"{name} {count}" for name, count in counts.items())
    by = f" ({autoscaler.minimum} to {autoscaler.maximum} by {autoscaler.copy})" if autoscaler else ""
    return said + by


_COLUMNS = (Column("NAME"), Column("KIND", 2), Column("STATUS"), Column("AGE", 1), Column("INFO"))


def drawn_tree(root: Branch) -> Listing:
    """Return a tree, one line for each branch; where there is no room for them, sentences hang below."""
    return Listing(_COLUMNS, (_line(each) for each in _lines(root, "", "")))


def _line(shown: tuple[str, str, Branch]) -> Line:
    first, others, branch = shown
    cells = (first + branch.name, branch.kind, branch.status, branch.age, branch.info)
    return Line(tuple(said(cell, branch.style) for cell in cells), f"{others}{'│' if branch.children else ' '}  ")


def _lines(branch: Branch, first: str, others: str) -> Iterator[tuple[str, str, Branch]]:
    """Yield each branch with the beginnings of its own line, ``first``, and of the lines below, ``others``."""
    yield first, others, branch
    for child in branch.children:
        last = child is branch.children[-1]
        yield from _lines(child, others + ("└─ " if last else "├─ "), others + ("   " if last else "│  "))

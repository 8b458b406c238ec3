"""Whose a live object is, in a sentence. Pure.

Ours carries our two labels and is controlled by our BlueGreenDeployment or by nobody; what a former
BlueGreenDeployment of the same name controlled is taken back. All else is left alone (DESIGN §3).
"""

from gitops_bg.cluster.kinds import APPS, Kind
from gitops_bg.cluster.states import Controller, Meta
from gitops_bg.core import names
from gitops_bg.core.model import AppKey


def owner_of(kind: Kind, meta: Meta, app: AppKey) -> str:
    """Whose an object under a name of ours is, and how to hand it over: one sentence; empty where it is ours.

    >>> from gitops_bg.cluster.kinds import SERVICES
    >>> meta = Meta("shop", "web", "uid", "1", manager="Helm")
    >>> print(owner_of(SERVICES, meta, AppKey("shop", "web")).partition(" app.kubernetes.io")[0])
    Service shop/web is managed by Helm; to hand it over: kubectl label service web -n shop
    """
    reason = _reason(kind, meta, app)
    return f"{kind.called(meta.namespace, meta.name)} is {reason}" if reason else ""


def _reason(kind: Kind, meta: Meta, app: AppKey) -> str:
    if meta.controller is not None and not _is_our_app(meta.controller, app):
        return f"controlled by {meta.controller.kind} {meta.controller.name}"
    if meta.manager != names.MANAGER:
        manager = f"managed by {meta.manager}" if meta.manager else "made by somebody else"
        return f"{manager}; {_hand_over(kind, meta, app)}"
    if kind != APPS and meta.app != names.app_label(app):
        other = f"part of the app {meta.app}" if meta.app else f"not labelled {names.APP}"
        return f"{other}; {_hand_over(kind, meta, app)}"
    return ""


def _is_our_app(controller: Controller, app: AppKey) -> bool:
    group = controller.api_version.partition("/")[0]
    return (group, controller.kind, controller.name) == (names.GROUP, names.KIND, app.name)


def _hand_over(kind: Kind, meta: Meta, app: AppKey) -> str:
    labels = f"{names.MANAGED_BY}={names.MANAGER} {names.APP}={names.app_label(app)}"
    return f"to hand it over: kubectl label {kind.name.lower()} {meta.name} -n {meta.namespace} {labels} --overwrite"

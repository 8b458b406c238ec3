"""Which description of an app is in force: main's, or, where main has no readable one, the live object's.

The last good state keeps serving (DESIGN §10): this handles a broken ``app.yaml`` and a folder that left main.
"""

from dataclasses import replace

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.model.spec import AppSpec, DeletionPolicy, Strategy
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig, app_config_from_live
from gitops_bg.spec.app.to_core import NO_ALERTING
from gitops_bg.spec.notifications.alert_providers import Alerting, alerts_of

FEW = 2
"""This many apps may always leave at once, whatever share of all they are."""


def config_for(
    app: AppKey, from_git: AppConfig | None, live: Object | None, alerting: Alerting = NO_ALERTING
) -> AppConfig | None:
    """The description in force; None where neither main nor the cluster describes the app.

    ``alerting`` is what main says of alerts, whatever is wrong with the app.
    """
    if from_git and from_git.spec and from_git.target:
        return from_git
    remembered = app_config_from_live(app, live, alerting, from_git.folder if from_git else "") if live else None
    if from_git and from_git.spec:
        return _with_ready_seconds_of(remembered, from_git, from_git.spec)
    if from_git is None:
        return remembered if remembered and remembered.spec else None
    if remembered and remembered.spec:
        return replace(from_git, spec=remembered.spec, body=remembered.body)
    return _only_to_carry_the_condition(app, from_git, alerting)


def _with_ready_seconds_of(remembered: AppConfig | None, from_git: AppConfig, spec: AppSpec) -> AppConfig:
    """Keep the live ``minReadySeconds`` where a broken target does not state it."""
    key = "minReadySeconds"
    if remembered is None or remembered.spec is None or key in from_git.body or key not in remembered.body:
        return from_git
    body = {**from_git.body, key: remembered.body[key]}
    return replace(from_git, body=body, spec=replace(spec, min_ready_seconds=remembered.spec.min_ready_seconds))


def _only_to_carry_the_condition(app: AppKey, from_git: AppConfig, alerting: Alerting) -> AppConfig:
    """An app that never ran: its object exists so that `kubectl get` shows what is wrong with its file.

    Recipients of alerts for every app are notified as well.
    """
    strategy = Strategy(active_service=app.name, hooks=alerts_of(app, None, alerting.document, alerting).hooks)
    body = {"strategy": {"blueGreen": {"activeService": app.name}}}
    return replace(from_git, spec=AppSpec(app, strategy), body=body, target=None, primary=None)


def too_many_gone(gone: int, live: int, most_percent: int) -> bool:
    """Whether so many apps left main that it looks like an accident: then none of them is deleted (gitops.md §1)."""
    return gone > FEW and gone * 100 > most_percent * live


def kept(spec: AppSpec) -> AppSpec:
    """Return the same app, not to be deleted."""
    return replace(spec, deletion_policy=DeletionPolicy.KEEP)

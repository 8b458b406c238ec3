"""A plain Deployment becomes an app. Reads nothing; the Services come later (`beside`)."""

from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.importing.draft import AppDraft, of_other_tools, target_of
from gitops_bg.spec.importing.fields import Table, imported, left, left_fields
from gitops_bg.spec.importing.manifest import Manifest

_DEFAULT_STRATEGY = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
"""What the API server writes: https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy."""

TABLE: Table = {
    **imported(
        "replicas", "selector", "template", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"
    ),
    **imported("paused"),
    **left(
        "is of pods that are replaced a few at a time, and here a version comes up whole beside the live one",
        "leave it out",
        "strategy",
        unless=(_DEFAULT_STRATEGY, {"type": "RollingUpdate"}, {}),
    ),
}
"""Every field of `spec` of a Deployment."""


def draft_of(deployment: Manifest) -> AppDraft:
    """The app that a Deployment becomes: the target is the Deployment as it is."""
    app = AppKey(deployment.namespace, deployment.name)
    draft = AppDraft(app, deployment, deployment, target_of(deployment))
    for key in ("progressDeadlineSeconds", "revisionHistoryLimit"):
        draft.put(key, deployment.spec.get(key))
    if deployment.spec.get("paused"):
        draft.suspend(f"spec.paused of the Deployment {deployment.name}")
    draft.listed.extend(of_other_tools(deployment))
    draft.listed.extend(left_fields(deployment, TABLE))
    return draft

"""From the model of app.yaml to the core's `AppSpec`; also from a live BlueGreenDeployment, when Git is unreachable,
and the suspension of a file that is wrong otherwise.

Applies the defaults that depend on more than one field, and checks what a schema cannot: the labels and annotations
that pods get, and what means nothing for a DaemonSet (decision 68), which leaves nothing to size.
"""

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.hooks import Hook
from gitops_bg.core.model.spec import (
    AppSpec,
    DeletionPolicy,
    PromoteVia,
    Retry,
    Suspension,
)
from gitops_bg.core.model.version import AppKey, PodMetadata
from gitops_bg.core.names import GROUP
from gitops_bg.spec.analysis.block import FlaggerAnalysis
from gitops_bg.spec.analysis.plans import Plans, unknown_plans
from gitops_bg.spec.app.fields import whole_seconds
from gitops_bg.spec.app.layout import folder_of
from gitops_bg.spec.app.models import AppFields
from gitops_bg.spec.app.validation import validate
from gitops_bg.spec.declared import DeclaredModel, model_of
from gitops_bg.spec.notifications import Alerting, alerts_of, to_hook
from gitops_bg.spec.yaml.reader import Document, read_one
from gitops_bg.spec.yaml.scalars import Path, as_map


def suspension_in(data: bytes, file: str) -> Suspension | None:
    """Return the suspension of an app.yaml, over or not, whatever else is wrong with the file; None where there is
    none, or no YAML.
    """
    document, _ = read_one(file, data)
    written = as_map(as_map(document.value).get("spec")).get("suspend") if document else None
    if written is None:
        return None
    try:
        return model_of(Suspension).model_validate(written).value()  # type: ignore[no-any-return]
    except ValidationError:
        return Suspension(f"spec.suspend of {file} cannot be read")


NO_ALERTING = Alerting()
TEMPLATES_UNKNOWN = "what is to be measured is not known before app.yaml was read from Git"


def to_core(
    app: AppKey, spec: AppFields, plans: Plans, alerts: Sequence[Hook], target_min_ready_seconds: int = 0
) -> AppSpec:
    """Return the core's view of an app. The target's minReadySeconds applies where app.yaml does not set its own."""
    min_ready = spec.min_ready_seconds
    window = spec.rollback_window
    return AppSpec(
        app=app,
        strategy=replace(
            spec.strategy.blue_green.strategy,
            pre_promotion_analysis=plans.before,
            post_promotion_analysis=plans.after,
            hooks=(*_hooks(spec), *alerts),
        ),
        promote_via=_promote_via(spec),
        merge_when_green=spec.promotion is not None and spec.promotion.merge == "whenGreen",
        min_ready_seconds=target_min_ready_seconds if min_ready is None else min_ready,
        progress_deadline_seconds=spec.progress_deadline_seconds,
        progress_deadline_abort=spec.progress_deadline_abort,
        revision_history_limit=spec.revision_history_limit,
        rollback_window_revisions=window.revisions if window else None,
        successful_run_history_limit=_analysis(spec).successful_run_history_limit,
        unsuccessful_run_history_limit=_analysis(spec).unsuccessful_run_history_limit,
        deletion_policy=DeletionPolicy(spec.deletion_policy),
        restart_at=spec.restart_at,
        held_releases=tuple(sorted((spec.held_releases or {}).items())),
        suspend=spec.suspend,
        retry=spec.retry,
        revision=spec.revision,
        adopt=spec.adopt,
        release=spec.release,
        before_pods=plans.jobs,
        after_settled=plans.contract,
    )


def _analysis(spec: AppFields) -> FlaggerAnalysis:
    return spec.analysis or FlaggerAnalysis.model_validate({})


def _hooks(spec: AppFields) -> tuple[Hook, ...]:
    """Return the hooks of the strategy, and those of Flagger's analysis with its limits."""
    own = [to_hook(webhook) for webhook in spec.strategy.blue_green.webhooks or ()]
    analysis = spec.analysis
    if analysis is None:
        return tuple(own)
    interval, limit = max(1, whole_seconds(analysis.interval)), analysis.threshold - 1
    theirs = [to_hook(webhook, interval, analysis.iterations, limit) for webhook in analysis.webhooks or ()]
    return (*own, *theirs)


def _promote_via(spec: AppFields) -> PromoteVia:
    if spec.promotion is not None and spec.promotion.via is not None:
        return PromoteVia(spec.promotion.via)
    return PromoteVia.COMMIT if spec.strategy.blue_green.strategy.auto_promotion_enabled else PromoteVia.PULL_REQUEST


def retry_in(data: bytes, file: str, model: type[DeclaredModel]) -> Retry | None:
    """Return the retry of a former ``app.yaml`` or ``group.yaml``, of the form ``model``; one of number 0 where it has
    none, None where that is unknown.
    """
    document, _ = read_one(file, data)
    spec = document.value.get("spec") if document else None
    if document is None or not isinstance(spec, dict):
        return None
    if spec.get("retry") is None:
        return Retry("", 0)
    retry, _ = validate(model, replace(document, value=spec["retry"]))
    return retry.value() if retry else None


def without_nulls(value: Any) -> Any:
    """Return a JSON value without map entries that are null, as Kubernetes keeps it.

    >>> without_nulls({"a": None, "b": [{"c": None}]})
    {'b': [{}]}
    """
    if isinstance(value, Mapping):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def spec_from_live(
    app: AppKey, live: Mapping[str, Any], alerting: Alerting = NO_ALERTING, folder: str = ""
) -> tuple[AppSpec | None, tuple[Problem, ...]]:
    """Return the spec of a live BlueGreenDeployment (the raw object): what was last applied from Git.

    ``alerting`` is what main says of alerts, as far as it was read: a broken app.yaml must be reported to them as well.
    ``folder`` is the app's folder, named in alerts; empty: that of an app in no release group.
    Fields that this release does not know, written by a newer one, are ignored: a rollback must always be possible
    (DESIGN §1). Without a usable spec: None and the problems, which have no place in a file.
    """
    body = copy.deepcopy(dict(live.get("spec") or {}))
    _remove_unknown_fields(body)
    document = Document(f"live BlueGreenDeployment {app}", body)
    model, problems = validate(AppFields, document)
    if model is None:
        return None, problems
    alerts = alerts_of(app, model.alerts, document, alerting, f"{folder or folder_of(app)}/{model.target}")
    return to_core(app, model, unknown_plans(model, TEMPLATES_UNKNOWN), alerts.hooks), problems


def _remove_unknown_fields(body: dict[str, Any]) -> None:
    try:
        AppFields.model_validate(body)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            if detail["type"] == "extra_forbidden":
                _remove(body, detail["loc"])


def _remove(body: Any, path: tuple[str | int, ...]) -> None:
    for part in path[:-1]:
        body = body[part]
    del body[path[-1]]


ROLES = ("activeMetadata", "previewMetadata")
_BLUE_GREEN: Path = ("spec", "strategy", "blueGreen")

# https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set
_NAME = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_PREFIX = 253


def check_pod_metadata(document: Document, spec: AppFields, selected: Mapping[str, str]) -> Iterator[Problem]:
    """Yield the problems of the two in app.yaml; ``selected``: the labels by which the target selects, and their
    fields.
    """
    strategy = spec.strategy.blue_green.strategy
    for role, written in zip(ROLES, (strategy.active_metadata, strategy.preview_metadata), strict=True):
        yield from _check(document, (*_BLUE_GREEN, role), written, selected)


def _check(document: Document, path: Path, written: PodMetadata, selected: Mapping[str, str]) -> Iterator[Problem]:
    for key, value in written.labels:
        at = (*path, "labels", key)
        yield from _check_key(document, at, key)
        if key in selected:
            message = f"the target selects its pods by this label ({selected[key]}), so no role may change it"
            yield document.problem(at, message, "use a label of its own", at_key=True)
        if value and not _NAME.fullmatch(value):
            remedy = (
                "at most 63 letters, digits, - _ and ., letters or digits at both ends; an annotation takes any text"
            )
            yield document.problem(at, f"{value!r} is no value of a label", remedy)
    for key, _ in written.annotations:
        yield from _check_key(document, (*path, "annotations", key), key)


def _check_key(document: Document, path: Path, key: str) -> Iterator[Problem]:
    prefix, slash, name = key.rpartition("/")
    if prefix == GROUP or prefix.endswith(f".{GROUP}"):
        yield document.problem(path, f"{GROUP}/ is reserved for gitops-bg", "use a prefix of your own", at_key=True)
    elif not _NAME.fullmatch(name) or (slash and not _is_prefix(prefix)):
        remedy = "at most 63 letters, digits, - _ and ., after a DNS name and / where you like"
        yield document.problem(path, f"{key!r} is no key that Kubernetes takes", remedy, at_key=True)


def _is_prefix(prefix: str) -> bool:
    return len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix) is not None


_SCALERS = ("HorizontalPodAutoscaler", "ScaledObject")

_FIELDS: dict[Path, str] = {
    ("spec", "adopt"): "only a Deployment can be adopted, by an app whose target is one",
    ("spec", "release"): "live traffic can be handed back only to a Deployment that the app was adopted from",
    ("spec", "autoscalerRef"): "the target is a DaemonSet, which has one pod on each of its nodes: nothing scales it",
    (*_BLUE_GREEN, "antiAffinity"): "the target is a DaemonSet: both versions have a pod on every node",
    (*_BLUE_GREEN, "previewReplicaCount"): "the target is a DaemonSet, which has one pod on each of its nodes",
}
"""By field of app.yaml: why not."""


def check_app_of_daemon_set(app: Document) -> Iterator[Problem]:
    """Check that app.yaml has no field that means nothing for a DaemonSet."""
    for path, why in _FIELDS.items():
        if _has(app.value, path):
            yield app.problem(path, why, "remove it, or make the target a Deployment", at_key=True)


def check_beside_daemon_set(documents: Iterable[Document]) -> Iterator[Problem]:
    """Check that nothing in the folder wants to scale the target."""
    for document in documents:
        if document.value["kind"] in _SCALERS:
            message = f"nothing scales a DaemonSet, which the target is: this {document.value['kind']} would do nothing"
            yield document.problem(("kind",), message, "remove it, or make the target a Deployment")


def _has(value: Any, path: Path) -> bool:
    for part in path:
        if not isinstance(value, dict) or value.get(part) is None:
            return False
        value = value[part]
    return True

"""`pods/eviction`: a deletion that asks the pod's PodDisruptionBudget first. Budgets are counted in `controllers/`.

Rules: kubernetes `pkg/registry/core/pod/storage/eviction.go`.
"""

from __future__ import annotations

from gitops_bg.sandbox.http.errors import ApiError, bad_request, cause, not_found
from gitops_bg.sandbox.objects import selectors
from gitops_bg.sandbox.objects.kinds import BUDGETS, ServedKind
from gitops_bg.sandbox.objects.objects import Manifest, copy_of, dig, is_pod_ready, labels_of, timestamp
from gitops_bg.sandbox.verbs import deleting
from gitops_bg.sandbox.verbs.deleting import Deletion
from gitops_bg.sandbox.verbs.writing import Writer

_MANAGER = "kube-apiserver"
_VERSIONS = ("policy/v1", "policy/v1beta1")
_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_STILL_PROCESSING_SECONDS = 10


def evict(writer: Writer, kind: ServedKind, namespace: str, name: str, eviction: Manifest) -> None:
    """Delete a pod unless its budget forbids it; raise 429 where it does, 500 where it has several."""
    _check(eviction, name)
    deletion = Deletion.read(eviction.get("deleteOptions") or {}, {})
    with writer.store.lock:
        found = writer.store.get(kind.key, (namespace, name))
        if found is None:
            raise not_found(kind.qualified, name)
        if not _needs_no_budget(found.obj):
            _ask_budget(writer, found.obj, dry_run=deletion.dry_run)
        deleting.delete(writer.store, kind, namespace, name, deletion)


def budgets_of(writer: Writer, pod: Manifest) -> list[Manifest]:
    """Return the budgets that select a pod; one without a selector selects none, an empty selector all (policy/v1)."""
    found = (stored.obj for stored in writer.store.all(BUDGETS, pod["metadata"]["namespace"]))
    return [budget for budget in found if is_selected(budget, pod)]


def is_selected(budget: Manifest, pod: Manifest) -> bool:
    """Return whether a budget counts a pod."""
    selector = dig(budget, ("spec", "selector"))
    return selector is not None and selectors.accepts(selectors.from_object(selector), labels_of(pod))


def _check(eviction: Manifest, name: str) -> None:
    given = eviction.get("apiVersion"), eviction.get("kind")
    if given[0] not in _VERSIONS or given[1] != "Eviction":
        raise bad_request(f"no kind {given[1]!r} is registered for version {given[0]!r}")
    said = dig(eviction, ("metadata", "name"), "")
    if said and said != name:
        raise bad_request("name in URL does not match name in Eviction object")


def _needs_no_budget(pod: Manifest) -> bool:
    """Return whether a pod disrupts nobody: it never ran, has ended or is ending."""
    phase = dig(pod, ("status", "phase"), "Pending")
    return phase in ("Pending", "Succeeded", "Failed") or "deletionTimestamp" in pod["metadata"]


def _ask_budget(writer: Writer, pod: Manifest, *, dry_run: bool) -> None:
    budgets = budgets_of(writer, pod)
    if len(budgets) > 1:
        raise ApiError(
            500, "InternalError",
            "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.", {},
        )  # fmt: skip
    for budget in budgets:
        if not (_is_spare(budget) and not is_pod_ready(pod)):
            _evict_one(writer, budget, pod, dry_run)


def _is_spare(budget: Manifest) -> bool:
    """Return whether an unready pod may go without counting: `unhealthyPodEvictionPolicy: IfHealthyBudget`, the
    default.
    """
    status = budget.get("status") or {}
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)


def _evict_one(writer: Writer, budget: Manifest, pod: Manifest, dry_run: bool) -> None:
    status, name = dict(budget.get("status") or {}), budget["metadata"]["name"]
    if status.get("observedGeneration", 0) < budget["metadata"]["generation"]:
        raise _refusal(f"The disruption budget {name} is still being processed by the server.", retry=True)
    if status.get("disruptionsAllowed", 0) <= 0:
        needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        raise _refusal(f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently")
    status["disruptionsAllowed"] -= 1
    status["disruptedPods"] = {**copy_of(status.get("disruptedPods") or {}), pod["metadata"]["name"]: timestamp()}
    if not dry_run:
        writer.edit_status(writer.kinds.of(BUDGETS), budget, status, _MANAGER)


def _refusal(why: str, *, retry: bool = False) -> ApiError:
    details: Manifest = {"causes": [cause("", why, "DisruptionBudget")]}
    if retry:
        details["retryAfterSeconds"] = _STILL_PROCESSING_SECONDS
    return ApiError(429, "TooManyRequests", _REFUSED, details)

"""Rules about the number of pods: replicas, autoscalers, budgets, the old version. For `check` only."""

from collections.abc import Iterator

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.lint.app_folder import MAIN, AppFolder, name_of
from gitops_bg.spec.lint.finding import note
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS, HPA
from gitops_bg.spec.manifests.auxiliary import BUDGET
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.reader import Document
from gitops_bg.spec.yaml.values import as_map, maps


def _replicas(folder: AppFolder) -> Iterator[Problem]:
    scaler = next(folder.of_kind(*AUTOSCALERS), None)
    spec = as_map(folder.target.value.get("spec")) if folder.target else {}
    if folder.target and scaler and spec.get("replicas") is not None:
        message = f"counts for the first version only: {scaler.value['kind']} {name_of(scaler)} sizes the pods"
        yield folder.target.problem(("spec", "replicas"), message, "remove it; minReplicas is what you mean")


def _no_pods(folder: AppFolder) -> Iterator[Problem]:
    scaled = next(folder.of_kind(*AUTOSCALERS), None)
    spec = as_map(folder.target.value.get("spec")) if folder.target else {}
    if folder.target and not scaled and type(spec.get("replicas")) is int and spec["replicas"] == 0:
        message = (
            "takes every pod away from the live version as soon as it is in main: the size is no part of a "
            "version, and waits for no promotion"
        )
        remedy = "write how many pods are to serve; to stop promotions alone, write spec.suspend in app.yaml"
        yield folder.target.problem(("spec", "replicas"), message, remedy)


def _nothing_to_measure(folder: AppFolder) -> Iterator[Problem]:
    """An HPA divides what pods use by what they request, and leaves out pods with a container that requests nothing."""
    if folder.pod.get("resources"):
        return  # requests of the pod as a whole
    for scaler in folder.of_kind(HPA):
        for resource, path in _utilizations(scaler):
            silent = [each for each in folder.containers() if each.group == MAIN and not _requests(each.body, resource)]
            if silent:
                message = f"cannot be measured: container {silent[0].name} requests no {resource}"
                yield scaler.problem(path, message, f"add resources.requests.{resource} to the target")


def _utilizations(scaler: Document) -> Iterator[tuple[str, Path]]:
    """The resources of which an HPA wants a share of the request to be used, each with its place."""
    spec = as_map(scaler.value.get("spec"))
    if spec.get("targetCPUUtilizationPercentage"):
        yield "cpu", ("spec", "targetCPUUtilizationPercentage")
    for place, metric in maps(spec.get("metrics")):
        resource = as_map(metric.get("resource"))
        target = as_map(resource.get("target"))
        if isinstance(resource.get("name"), str) and target.get("averageUtilization"):
            yield resource["name"], ("spec", "metrics", place, "resource", "target", "averageUtilization")


def _requests(container: object, resource: str) -> bool:
    resources = as_map(as_map(container).get("resources"))
    return any(resource in as_map(resources.get(kind)) for kind in ("requests", "limits"))


def _blocking_budget(folder: AppFolder) -> Iterator[Problem]:
    spec = as_map(folder.target.value.get("spec")) if folder.target else {}
    replicas = spec.get("replicas", 1) if not next(folder.of_kind(*AUTOSCALERS), None) else None
    for budget in folder.of_kind(BUDGET):
        limits = as_map(budget.value.get("spec"))
        least, most = limits.get("minAvailable"), limits.get("maxUnavailable")
        remedy = "allow one pod to be missing, or nodes cannot be drained and `restart` waits"
        if most in (0, "0%"):
            message = "allows no pod to be evicted"
            yield budget.problem(("spec", "maxUnavailable"), message, remedy)
        elif least == "100%" or (isinstance(least, int) and isinstance(replicas, int) and least >= replicas > 0):
            message = (
                f"allows no pod to be evicted: {least} of {replicas} must be available"
                if least != "100%"
                else ("allows no pod to be evicted: all must be available")
            )
            yield budget.problem(("spec", "minAvailable"), message, remedy)


def _nothing_warm(folder: AppFolder) -> Iterator[Problem]:
    if folder.blue_green.get("scaleDownDelaySeconds") == 0:
        message = "the old version loses its pods without a delay after the switch: going back starts them anew"
        path = ("spec", "strategy", "blueGreen", "scaleDownDelaySeconds")
        yield folder.app.problem(path, message, "keep it warm for some minutes: the default is 600")


SCALING_RULES = (
    note("replicas", "replicas beside an autoscaler.", _replicas),
    note("no-pods", "A target that asks for no pods, which the live version loses at once.", _no_pods),
    note(
        "autoscaler-request", "An autoscaler divides by a request that a container does not have.", _nothing_to_measure
    ),
    note("budget-blocks", "A PodDisruptionBudget that lets no pod be evicted.", _blocking_budget),
    note("nothing-warm", "The old version does not stay warm for the way back.", _nothing_warm),
)

"""Rules about the number of pods: replicas, autoscalers, the old version. For `check` only."""

from collections.abc import Iterator

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.lint.app_folder import AppFolder, name_of
from gitops_bg.spec.lint.finding import note
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS
from gitops_bg.spec.yaml.values import as_map


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


def _nothing_warm(folder: AppFolder) -> Iterator[Problem]:
    if folder.blue_green.get("scaleDownDelaySeconds") == 0:
        message = "the old version loses its pods without a delay after the switch: going back starts them anew"
        path = ("spec", "strategy", "blueGreen", "scaleDownDelaySeconds")
        yield folder.app.problem(path, message, "keep it warm for some minutes: the default is 600")


SCALING_RULES = (
    note("replicas", "replicas beside an autoscaler.", _replicas),
    note("no-pods", "A target that asks for no pods, which the live version loses at once.", _no_pods),
    note("nothing-warm", "The old version does not stay warm for the way back.", _nothing_warm),
)

"""What in a Canary and its ScaledObject is of the copies that Flagger makes (flagger.md §1.5, §1.7). Reads nothing.

Here nothing is called as they are, ``<target>-primary``. ``<target>-canary`` in the query of a trigger becomes the
Service that carries live traffic (`manifests.autoscaling`); a query of primaryScalerQueries is taken word for word.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.importing.manifest import Manifest
from gitops_bg.spec.manifests.autoscaling import PAUSED_AT, SCALED_OBJECT
from gitops_bg.spec.yaml.paths import Path
from gitops_bg.spec.yaml.scalars import as_map, maps, texts


class Copies:
    """The copies of one Canary."""

    def __init__(self, canary: Manifest, target: str, apex: str) -> None:
        """``target`` is the name of the workload, ``apex`` the Service that carries live traffic."""
        self._canary = canary
        self._target = target
        self._apex = apex

    def asked_for(self, scaler: Manifest | None) -> Iterator[Problem]:
        """The queries and hooks that name a copy, and the pause in which Flagger keeps the target's own autoscaler."""
        queries = dict(texts(as_map(self._canary.spec.get("autoscalerRef")).get("primaryScalerQueries")))
        for name, query in queries.items():
            place: Path = ("spec", "autoscalerRef", "primaryScalerQueries", name)
            yield from self._of(self._canary, place, query, "canary|primary")
        if scaler is not None and scaler.kind == SCALED_OBJECT:
            yield from self._of_triggers(scaler, queries)
        yield from self._of_analysis()

    def _of_triggers(self, scaler: Manifest, queries: Mapping[str, str]) -> Iterator[Problem]:
        for number, trigger in maps(scaler.spec.get("triggers")):
            query = str(as_map(trigger.get("metadata")).get("query"))
            if str(trigger.get("name")) not in queries:
                yield from self._of(scaler, ("spec", "triggers", number, "metadata", "query"), query, "primary")
        if is_paused(scaler.value):
            message = "is how Flagger keeps the target at 0 pods, and the app would have none"
            yield scaler.problem(("metadata", "annotations", PAUSED_AT), message, "it is left out", at_key=True)

    def _of_analysis(self) -> Iterator[Problem]:
        analysis = as_map(self._canary.spec.get("analysis"))
        for number, metric in maps(analysis.get("metrics")):
            if metric.get("query"):
                place: Path = ("spec", "analysis", "metrics", number, "query")
                yield from self._of(self._canary, place, str(metric["query"]), "primary")
        for number, hook in maps(analysis.get("webhooks")):
            asked = [str(hook.get("url")), *(text for _, text in texts(hook.get("metadata")))]
            place = ("spec", "analysis", "webhooks", number)
            yield from self._of(self._canary, place, "\n".join(asked), "primary")

    def _of(self, manifest: Manifest, place: Path, text: str, suffixes: str) -> Iterator[Problem]:
        names = "|".join(re.escape(each) for each in {self._target: None, self._apex: None})
        found = re.search(rf"(?<![\w-])(?:{names})-(?:{suffixes})(?![\w-])", text, flags=re.ASCII)
        if found:
            message = f"asks for {found.group()}, and nothing is called so here"
            remedy = f"ask for the Service {self._apex}, which carries live traffic, or for the labels of the pods"
            yield manifest.problem(place, message, remedy)


def is_paused(value: Mapping[str, Any]) -> bool:
    """Whether a ScaledObject is as Flagger leaves it in the cluster."""
    annotations = as_map(as_map(value.get("metadata")).get("annotations"))
    return value.get("kind") == SCALED_OBJECT and annotations.get(PAUSED_AT) == "0"


def resumed(value: Mapping[str, Any]) -> dict[str, Any]:
    """The ScaledObject without that pause."""
    metadata = dict(as_map(value.get("metadata")))
    annotations = {key: each for key, each in as_map(metadata.pop("annotations", None)).items() if key != PAUSED_AT}
    return {**value, "metadata": {**metadata, **({"annotations": annotations} if annotations else {})}}

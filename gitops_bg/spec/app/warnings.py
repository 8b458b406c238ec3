"""The notes of `check` on an app besides its errors: what has no effect, and what comes from outside of the folder.

A note is no error: the app is valid with it.
"""

from collections.abc import Iterable, Iterator

from gitops_bg.core.model.auxiliary import AuxiliaryObject
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import APP_FILE, Member, member_of
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS
from gitops_bg.spec.manifests.configuration import TRACKING, is_tracked
from gitops_bg.spec.manifests.members import live_name
from gitops_bg.spec.manifests.references import CONFIG_MAP, SECRET
from gitops_bg.spec.manifests.service_ports import service_fields
from gitops_bg.spec.yaml.reader import Document


def notes_of(config: AppConfig, app: Document | None, others: Iterable[Document]) -> Iterator[Problem]:
    """The notes on an app: of its app.yaml, and of the documents of its other files."""
    anchor = app or Document(f"{config.folder}/{APP_FILE}", {})
    named = tuple(service_fields(config.spec.strategy, anchor.value)) if config.spec else ()
    yield from _measuring_nothing(config, anchor)
    yield from _counting_for_nothing(config, anchor)
    yield from _reaching_no_candidate(config, anchor)
    for document in others:
        yield from _without_effect(document, {name for name, _, _ in named}, config, member_of(config.folder))
    copied = {each.service: each.ports for each in config.ports}
    for name, field, carries in named:
        if name not in config.services:
            made = "with the ports of the active one" if copied.get(name) else "of the pods' ports"
            message = f"Service {name} ({carries}) is not in Git: the agent makes it {made}"
            remedy = "one that the cluster has already is taken only if it has the label gitops-bg.dev/app"
            yield anchor.problem(field, message, remedy)


def _measuring_nothing(config: AppConfig, app: Document) -> Iterator[Problem]:
    """Note an analysis without templates, which is none, as in Argo Rollouts."""
    if config.spec is None:
        return
    strategy = config.spec.strategy
    plans = {
        "prePromotionAnalysis": strategy.pre_promotion_analysis,
        "postPromotionAnalysis": strategy.post_promotion_analysis,
    }
    written = app.value["spec"]["strategy"]["blueGreen"]
    for field, plan in plans.items():
        if field in written and plan is None:
            place = ("spec", "strategy", "blueGreen", field)
            yield app.problem(place, "names no template: nothing is measured", "add templates, or remove it")


def _counting_for_nothing(config: AppConfig, app: Document) -> Iterator[Problem]:
    """Note a countdown without effect: nothing goes live by itself unless the app says so (docs/decisions/0023)."""
    if config.spec and config.spec.strategy.auto_promotion_seconds and not config.spec.strategy.auto_promotion_enabled:
        place = ("spec", "strategy", "blueGreen", "autoPromotionSeconds")
        yield app.problem(place, "does nothing: nobody waits for it", "add autoPromotionEnabled: true, or remove it")


def _reaching_no_candidate(config: AppConfig, app: Document) -> Iterator[Problem]:
    """Note a route by which no request can reach a candidate."""
    if config.auxiliary_objects.route and config.spec and config.spec.strategy.preview_service is None:
        place = ("spec", "strategy", "blueGreen", "routes")
        yield app.problem(place, "leads to the live version only: there is no preview Service", "add previewService")


def _is_tracked(kind: str, name: str, config: AppConfig) -> bool:
    return any((each.ref.kind, each.ref.name) == (kind, name) for each in config.configuration)


def _without_effect(
    document: Document, services: set[str], config: AppConfig, member: Member | None
) -> Iterator[Problem]:
    kind, name = document.value["kind"], document.value["metadata"]["name"]
    if kind in AUTOSCALERS:
        yield from _one_of_several(document, config)
    elif AuxiliaryObject(kind, live_name(config.folder, name)) in config.auxiliary_objects.manifests:
        yield from _used_by_nothing(document)
    elif _is_tracked(kind, name, config):
        return
    elif kind != "Service":
        message = f"{kind} {name} is only checked: the agent does not apply it yet"
        yield document.problem(("kind",), message, "apply it by other means")
    elif name not in services and config.spec is not None and not (member and name == member.service):
        message = f"Service {name} is only checked: {APP_FILE} does not name it, so the agent does not apply it"
        yield document.problem(("metadata", "name"), message, "apply it by other means, or remove it")


def _one_of_several(document: Document, config: AppConfig) -> Iterator[Problem]:
    """Note an autoscaler that app.yaml does not name."""
    kind, name = document.value["kind"], document.value["metadata"]["name"]
    chosen = config.auxiliary_objects
    if chosen.autoscaler and (chosen.autoscaler.copy.kind, chosen.scaled_by) != (kind, name):
        message = f"{kind} {name} is only checked: autoscalerRef in {APP_FILE} names another"
        yield document.problem(("metadata", "name"), message, "remove it")


def _used_by_nothing(document: Document) -> Iterator[Problem]:
    """Note a ConfigMap or Secret that would be part of the version if the target referred to it."""
    kind, name = document.value["kind"], document.value["metadata"]["name"]
    if kind in (CONFIG_MAP, SECRET) and is_tracked(document.value, frozenset({(kind, name)})):
        message = f"the target does not refer to {kind} {name}: it is applied as it is, a change of it makes no version"
        remedy = f"refer to it, or remove it; if it is meant so, say it: annotation {TRACKING[0]}: disabled"
        yield document.problem(("metadata", "name"), message, remedy)

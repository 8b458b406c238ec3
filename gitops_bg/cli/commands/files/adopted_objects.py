"""Which live objects belong to an app that is to be adopted, why one of them prevents it, and what `check` would find
wrong with its folder, said of the live objects: its files are not there. Pure.

Every reason is found before anything is written: a half adopted app is worse than none.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from gitops_bg.cluster.lint import lint
from gitops_bg.cluster.observation.on_demand import LiveWorkload
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import folder_of
from gitops_bg.spec.manifests.autoscaling import copy_name
from gitops_bg.spec.manifests.configuration import SECRET, references

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AdoptionChoices:
    """What the person who adopts says of an app."""

    app: AppKey
    active: tuple[str, ...] = ()
    """The Services that carry live traffic; empty: the only one that selects the pods."""
    preview: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The objects of an app, as they are live."""

    app: AppKey
    deployment: Object
    services: tuple[Object, ...]
    """The Services that carry live traffic."""
    preview: str
    autoscaler: Object | None
    budgets: tuple[Object, ...]
    config_maps: tuple[Object, ...]
    secrets: tuple[str, ...]
    """The names of the Secrets that the pods refer to: they stay where they are."""
    concerned: tuple[str, ...]
    """The NetworkPolicies that select the pods."""

    @property
    def objects(self) -> tuple[Object, ...]:
        """Every object that the app's folder is to have."""
        scaler = (self.autoscaler,) if self.autoscaler is not None else ()
        return (self.deployment, *self.services, *self.budgets, *scaler, *self.config_maps)


def choose(live: LiveWorkload, wanted: AdoptionChoices) -> tuple[Chosen, tuple[Problem, ...]]:
    """Return the objects of the app, and every reason why it cannot be adopted as a whole."""
    labels = _pod_labels(live.deployment)
    selecting = tuple(
        each
        for each in live.services
        if _selects(each, labels) and (_name(each) in wanted.active or not _may_have_every_version(each))
    )
    named = wanted.active or tuple(_name(each) for each in selecting)
    services = tuple(each for each in selecting if _name(each) in named)
    preview = wanted.preview or f"{wanted.app.name}-preview"
    autoscalers = [each for each in live.autoscalers if _scales(each, live.deployment) and not _controller(each)]
    budgets = tuple(each for each in live.budgets if _matches((each["spec"] or {}).get("selector"), labels))
    chosen = Chosen(
        wanted.app,
        live.deployment,
        services,
        preview,
        autoscalers[0] if autoscalers else None,
        budgets,
        tuple(each for each in live.config_maps.values() if each is not None),
        tuple(sorted(each for kind, each in references(live.deployment["spec"]["template"]) if kind == SECRET)),
        tuple(_name(each) for each in live.policies if _matches(each["spec"].get("podSelector"), labels)),
    )
    reasons = (
        *_of_the_app(live, wanted.app),
        *_of_the_deployment(live.deployment),
        *_of_services(live, wanted, selecting, services),
        *_of_preview(live, preview, wanted),
        *_of_autoscalers(live, autoscalers),
        *(reason for each in budgets for reason in _of_what_selects(live, each, "spec.selector", _budget_selector)),
        *_of_config_maps(live),
    )
    return chosen, reasons


def _of_the_app(live: LiveWorkload, app: AppKey) -> Iterator[Problem]:
    if live.app is not None:
        yield Problem(f"BlueGreenDeployment {app}", "the name is an app already", remedy="it was adopted before")


def _of_the_deployment(deployment: Object) -> Iterator[Problem]:
    what, spec, status = called(deployment), deployment["spec"], deployment.get("status") or {}
    yield from _of_owners(deployment)
    if "deletionTimestamp" in deployment["metadata"]:
        yield Problem(what, "is being deleted")
    wanted, ours = spec.get("replicas", 1), f"{names.GROUP}/"
    if wanted == 0:
        yield Problem(what, "has no pod that serves", field="spec.replicas", remedy="scale it up first")
    if spec.get("paused"):
        yield Problem(what, "is paused", field="spec.paused", remedy="kubectl rollout resume, and wait")
    elif wanted and (
        status.get("observedGeneration", 0) < deployment["metadata"].get("generation", 0)
        or min(status.get("updatedReplicas", 0), status.get("availableReplicas", 0)) < wanted
    ):
        up = f"{status.get('availableReplicas', 0)} of {wanted} pods are available"
        yield Problem(what, f"a rollout of it is under way: {up}", field="status", remedy="wait until it is complete")
    for key in _pod_labels(deployment):
        if key.startswith(ours):
            yield Problem(what, f"{key} is a label of the agent's", field="spec.template.metadata.labels")


def _of_services(
    live: LiveWorkload, wanted: AdoptionChoices, selecting: Sequence[Object], services: Sequence[Object]
) -> Iterator[Problem]:
    what = called(live.deployment)
    if not selecting:
        yield Problem(what, "no Service selects its pods: there is no traffic to take over", remedy="make one first")
    there = {_name(each) for each in selecting}
    for name in wanted.active:
        if name not in there:
            yield Problem(f"Service {wanted.app.namespace}/{name}", "does not select the Deployment's pods")
    if len(selecting) > 1:
        for each in selecting:
            if not wanted.active or _name(each) not in wanted.active:
                yield Problem(
                    called(each),
                    "selects the pods as well, and its role is not clear",
                    field="spec.selector",
                    remedy=f"if it carries live traffic: --active {_name(each)}; if it may have the pods of every "
                    f"version: annotate it {names.ALL_VERSIONS}=true; else change its selector first",
                )
    for each in services:
        yield from _of_owners(each)
        yield from _of_what_selects(live, each, "spec.selector", _service_selector)
        if all(key.startswith(f"{names.GROUP}/") for key in each["spec"]["selector"]):
            yield Problem(called(each), "selects by labels of the agent's alone", field="spec.selector")


def _of_preview(live: LiveWorkload, preview: str, wanted: AdoptionChoices) -> Iterator[Problem]:
    if any(_name(each) == preview for each in live.services):
        yield Problem(
            f"Service {wanted.app.namespace}/{preview}",
            "exists already, and the candidate needs a Service of this name",
            field="metadata.name",
            remedy="choose another name with --preview, or delete it",
        )


def _of_autoscalers(live: LiveWorkload, autoscalers: Sequence[Object]) -> Iterator[Problem]:
    if len(autoscalers) > 1:
        for each in autoscalers:
            yield Problem(
                called(each),
                "several autoscalers scale the Deployment",
                field="spec.scaleTargetRef",
                remedy="keep one",
            )
    taken = {(each["kind"], copy_name(_name(each))): each for each in autoscalers}
    for each in live.autoscalers:
        if own := taken.get((each["kind"], _name(each))):
            yield Problem(
                called(each),
                f"exists already, and the copy of {own['kind']} {_name(own)} that scales what is live has this name",
                field="metadata.name",
                remedy=f"delete it, or call {own['kind']} {_name(own)} otherwise",
            )


def _of_config_maps(live: LiveWorkload) -> Iterator[Problem]:
    optional = _optional(live.deployment["spec"]["template"]["spec"])
    for name, body in live.config_maps.items():
        if body is None and name not in optional:
            namespace = live.deployment["metadata"]["namespace"]
            yield Problem(
                f"ConfigMap {namespace}/{name}", "does not exist, and the pods refer to it", remedy="make it first"
            )


def _of_what_selects(live: LiveWorkload, body: Object, field: str, selector: Any) -> Iterator[Problem]:
    """Yield a Service or budget that selects pods of others, too: it cannot become this app's alone."""
    own = f"Deployment {_name(live.deployment)}"
    others = [pod for pod in live.pods if pod.owner != own and _matches(selector(body), pod.labels)]
    whose = sorted({pod.owner or f"pod {pod.name}" for pod in others})
    if whose:
        yield Problem(called(body), f"selects pods of {', '.join(whose[:5])} as well", field=field, remedy="narrow it")


def _of_owners(body: Object) -> Iterator[Problem]:
    controller = _controller(body)
    if controller:
        said = f"is controlled by {controller['kind']} {controller['name']}, which would change it back"
        yield Problem(called(body), said, field="metadata.ownerReferences")
    app = (body["metadata"].get("labels") or {}).get(names.APP)
    if app:
        yield Problem(called(body), f"is part of the app {app}", field=f"metadata.labels[{names.APP}]")


def _optional(pod: Object) -> frozenset[str]:
    """Return the ConfigMaps that the pods start without."""
    found: set[str] = set()
    for container in [*pod.get("containers", ()), *pod.get("initContainers", ())]:
        sources = [(each.get("valueFrom") or {}).get("configMapKeyRef") for each in container.get("env") or ()]
        sources += [each.get("configMapRef") for each in container.get("envFrom") or ()]
        found |= {each["name"] for each in sources if each and each.get("optional")}
    volumes = [each.get("configMap") for each in pod.get("volumes") or ()]
    for volume in pod.get("volumes") or ():
        volumes += [each.get("configMap") for each in (volume.get("projected") or {}).get("sources") or ()]
    return frozenset(found | {each["name"] for each in volumes if each and each.get("optional")})


def _scales(autoscaler: Object, deployment: Object) -> bool:
    target = autoscaler["spec"].get("scaleTargetRef") or {}
    return target.get("kind", "Deployment") == "Deployment" and target.get("name") == _name(deployment)


def _service_selector(body: Object) -> Object:
    return {"matchLabels": body["spec"].get("selector") or {}}


def _budget_selector(body: Object) -> Object | None:
    found: Object | None = body["spec"].get("selector")
    return found


def _selects(service: Object, labels: Mapping[str, str]) -> bool:
    selector = service["spec"].get("selector") or {}
    return bool(selector) and selector.items() <= labels.items()


def _may_have_every_version(service: Object) -> bool:
    """Return whether somebody agreed that a Service selects pods that nobody promoted, as the agent understands it."""
    return (service["metadata"].get("annotations") or {}).get(names.ALL_VERSIONS) == "true"


def _matches(selector: Object | None, labels: Mapping[str, str]) -> bool:
    """Return whether a selector of Kubernetes accepts labels; an empty one accepts all, none accepts nothing.

    https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#resources-that-support-set-based-requirements
    """
    if selector is None:
        return False
    equal = (selector.get("matchLabels") or {}).items() <= labels.items()
    return equal and all(_fulfils(each, labels) for each in selector.get("matchExpressions") or ())


def _fulfils(requirement: Object, labels: Mapping[str, str]) -> bool:
    key, values = requirement["key"], requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case _:
            return key not in labels


def _controller(body: Object) -> Object:
    owners = body["metadata"].get("ownerReferences") or ()
    return next((each for each in owners if each.get("controller")), {})


def _pod_labels(deployment: Object) -> Mapping[str, str]:
    return (deployment["spec"]["template"].get("metadata") or {}).get("labels") or {}


def _name(body: Object) -> str:
    return str(body["metadata"]["name"])


def called(body: Object) -> str:
    """Return a live object as messages name it: ``Service shop/web``."""
    return f"{body['kind']} {body['metadata']['namespace']}/{_name(body)}"


Origins = Mapping[str, Sequence[Object | None]]
"""The live object of each document of a file, by the file's name; None for what is new."""


def problems_of(
    chosen: Chosen,
    files: Mapping[str, str],
    origins: Origins,
    repository: Mapping[str, bytes | Problem],
    said: Collection[Problem],
    now: datetime,
) -> Iterator[Problem]:
    """Yield every error that `check` would find with these files, by name in the app's folder, and does not find now.

    One of a file is told of the field of the live object, unless one of this field is ``said`` already; one elsewhere
    in the repository, which the new files contradict, with its own place. What the folder has already is left out.
    """
    folder = folder_of(chosen.app)
    there = {path: each for path, each in repository.items() if not path.startswith(f"{folder}/")}
    known = set(check_repository(there.items(), lint, now).problems)
    after = there | {f"{folder}/{name}": text.encode() for name, text in files.items()}
    for found in check_repository(after.items(), lint, now).problems:
        name = found.file.removeprefix(f"{folder}/")
        if name not in files:
            if found not in known:
                yield found
            continue
        live = _origin_of(found, files[name], origins.get(name, ()))
        subject = called(live) if live else f"{found.file}, as it would be"
        if not any(each.file == subject and _is_inside(found.field, each.field) for each in said):
            message = f"would be wrong as {found.file}: {found.message}" if live else found.message
            yield Problem(subject, message, field=found.field, remedy=found.remedy)


def _origin_of(problem: Problem, text: str, origins: Sequence[Object | None]) -> Object | None:
    """Return the live object of the document that a problem is of."""
    before = text.split("\n")[: (problem.line or 1) - 1]
    number = before.count("---")
    return origins[number] if number < len(origins) else None


def _is_inside(field: str, outer: str) -> bool:
    return bool(outer) and (field == outer or field.startswith((f"{outer}.", f"{outer}[")))

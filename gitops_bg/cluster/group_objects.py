"""The objects of a release group: their manifests, live HTTPRoutes as the core's, and the status of the ReleaseGroup
with its record; and the HTTPRoutes of whomever in a namespace, seen, and taken away where their owner left main.

HTTPRoutes are rendered in `cluster.manifests.services`. One list of them serves all apps of a namespace for some
seconds; a list that the server refuses stops no app. All else is pure.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from threading import Lock
from typing import Any, TypeVar

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import ForeignObject, NotFound
from gitops_bg.cluster.api.kinds import HTTP_ROUTES, RELEASE_GROUPS, SERVICES, Object
from gitops_bg.cluster.manifests.stored_record import packed, unpacked
from gitops_bg.cluster.observation.routes import acceptance, is_reported
from gitops_bg.cluster.observation.states import Meta
from gitops_bg.cluster.status import conditions_with_times, facts_of, gate_of, newest_first, pull_request
from gitops_bg.core import names
from gitops_bg.core.errors import InternalError, InvalidInput, Refused, Transient
from gitops_bg.core.groups.model import GroupState, GroupVersion, VersionStage
from gitops_bg.core.groups.record import GroupDecision, GroupMove, GroupRecord, Transition
from gitops_bg.core.groups.subject import version_of
from gitops_bg.core.groups.world import member_name
from gitops_bg.core.model.analysis import AnalysisRun
from gitops_bg.core.model.auxiliary import (
    Backend,
    Deny,
    ExtensionRef,
    HttpMatch,
    HttpRoute,
    HttpRule,
    ParentRef,
    PathKind,
    RivalRoute,
    RouteClaim,
)
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.version import GroupKey
from gitops_bg.spec import status as shown
from gitops_bg.spec.codec import from_json, to_json
from gitops_bg.spec.manifests.traffic import rewritten_path
from gitops_bg.spec.status import moment_of

WRITTEN_ONCE = ("type", "externalTrafficPolicy")
"""The fields that a stable Service has from the first member that it follows, and that others may change."""
_COPIED = ("ports", "sessionAffinity", "sessionAffinityConfig", *WRITTEN_ONCE)
"""The fields of a member's Service that the stable one has as well, beside its selector."""


def group_labels(group: GroupKey) -> dict[str, str]:
    """Return the labels of what belongs to a group."""
    return {names.MANAGED_BY: names.MANAGER, names.RELEASE_GROUP: names.fit(group.name)}


def group_manifest(group: GroupKey, spec: Mapping[str, object], annotations: Mapping[str, str]) -> Object:
    """Return the ReleaseGroup, with the spec of group.yaml as it is written there."""
    metadata: Object = {"name": group.name, "namespace": group.namespace, "labels": group_labels(group)}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": RELEASE_GROUPS.api_version,
        "kind": RELEASE_GROUPS.name,
        "metadata": metadata,
        "spec": dict(spec),
    }


def stable_service(group: GroupKey, name: str, member: Object) -> Object:
    """Return the Service of a service's own name, which selects what the Service of a member selects now.

    The ReleaseGroup does not own it: deleting that by hand must not take the traffic along (decision 22).
    """
    spec = {key: member["spec"][key] for key in _COPIED if key in member["spec"]}
    spec["ports"] = [{key: port[key] for key in port if key != "nodePort"} for port in spec.get("ports") or ()]
    labels = {**group_labels(group), names.MEMBER: names.fit(member["metadata"]["name"])}
    return {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.name,
        "metadata": {"name": name, "namespace": group.namespace, "labels": labels},
        "spec": {**spec, "selector": dict(member["spec"].get("selector") or {})},
    }


def owner_of(meta: Meta, labels: Mapping[str, str], group: GroupKey) -> str:
    """Return whose an object is, in a sentence; empty where it is this group's."""
    if meta.controller is not None:
        return f"it is controlled by {meta.controller.kind} {meta.controller.name}"
    if labels.get(names.MANAGED_BY) == names.MANAGER and labels.get(names.RELEASE_GROUP) == names.fit(group.name):
        return ""
    wanted = " ".join(f"{key}={value}" for key, value in group_labels(group).items())
    manager = labels.get(names.MANAGED_BY)
    if other := owner_in(labels):
        return f"it belongs to {other}"  # Labels would hand it over, and leave the other's routes where they are.
    return (
        f"it is {f'managed by {manager}' if manager else 'made by somebody else'}; to hand it over, label it {wanted}"
    )


def owner_in(labels: Mapping[str, str]) -> str:
    """Return the release group or the app of ours that labels name; empty where they name none."""
    if labels.get(names.MANAGED_BY) != names.MANAGER:
        return ""
    if group := labels.get(names.RELEASE_GROUP):
        return f"the release group {group}"
    return f"the app {app}" if (app := labels.get(names.APP)) else ""


_GATEWAY_API = "gateway.networking.k8s.io"


_T = TypeVar("_T")


class _Foreign(Exception):
    """The object says something that no agent writes."""


def read_route(body: Object) -> HttpRoute | None:
    """Return what an HTTPRoute says, without what the API server adds by default; None where it says more than we
    write.
    """
    spec = body.get("spec") or {}
    try:
        _only(spec, "hostnames", "parentRefs", "rules")
        return HttpRoute(
            name=body["metadata"]["name"],
            hosts=tuple(spec.get("hostnames") or ()),
            parents=tuple(map(_parent, spec.get("parentRefs") or ())),
            rules=tuple(map(_rule, spec.get("rules") or ())),
        )
    except (_Foreign, LookupError, TypeError, ValueError):
        return None


def rival_of(body: Object) -> RivalRoute:
    """Return what an HTTPRoute of somebody else claims. What it says in a way that no agent writes, is left out: only
    requests that a group says in the same words are asked for.
    """
    metadata, spec = body["metadata"], body.get("spec") or {}
    labels = metadata.get("labels") or {}
    manager = labels.get(names.MANAGED_BY)
    rules: list[dict[str, Any]] = spec.get("rules") or []
    matches: list[dict[str, Any]] = [each for rule in rules for each in rule.get("matches") or [{}]]
    parents, hosts = spec.get("parentRefs") or [], tuple(spec.get("hostnames") or ())
    claim = RouteClaim(tuple(_known(_parent, parents)), hosts, tuple(dict.fromkeys(_known(_match, matches))))
    is_ours = manager == names.MANAGER
    return RivalRoute(
        name=metadata["name"],
        owner=owner_in(labels) or manager or "somebody else",
        claim=claim,
        born=metadata.get("creationTimestamp", ""),
        whole=(len(claim.parents), len(list(_known(_match, matches)))) == (len(parents), len(matches)),
        answered=is_reported(body),
        taken=acceptance(body)[0],
        app=labels.get(names.APP, "") if is_ours else "",
        group=labels.get(names.RELEASE_GROUP, "") if is_ours else "",
    )


def _known(read: Callable[[Mapping[str, Any]], _T], parts: Iterable[Mapping[str, Any]]) -> Iterator[_T]:
    for each in parts:
        with suppress(_Foreign, LookupError, TypeError, ValueError):
            yield read(each)


def _rule(rule: Mapping[str, Any]) -> HttpRule:
    _only(rule, "matches", "filters", "backendRefs", "timeouts", "name")
    matches = tuple(map(_match, rule.get("matches") or ()))
    rewrite, extension = "", None
    for each in rule.get("filters") or ():
        if each.get("type") == "URLRewrite":
            rewrite = _rewrite(each["urlRewrite"], matches[0].kind)
        elif each.get("type") == "ExtensionRef":
            extension = _extension(each["extensionRef"])
        else:
            raise _Foreign
    timeouts = rule.get("timeouts") or {}
    _only(timeouts, "request")
    return HttpRule(matches, _destination(rule, extension, rewrite), rewrite, timeouts.get("request", ""))


def _destination(rule: Mapping[str, Any], extension: ExtensionRef | None, rewrite: str) -> Backend | Deny:
    backends = list(map(_backend, rule.get("backendRefs") or ()))
    if extension is not None:
        if backends or rewrite:
            raise _Foreign
        return Deny(extension=extension)
    if len(backends) > 1:
        raise _Foreign
    return backends[0] if backends else Deny()


def _backend(ref: Mapping[str, Any]) -> Backend:
    _only(ref, "group", "kind", "name", "port", "weight")
    if (ref.get("group", ""), ref.get("kind", "Service"), ref.get("weight", 1)) != ("", "Service", 1):
        raise _Foreign
    return Backend(ref["name"], int(ref["port"]))


def _rewrite(said: Mapping[str, Any], matched: PathKind) -> str:
    _only(said, "path")
    path = said["path"]
    by = str(path.get("replacePrefixMatch") or path["replaceFullPath"])
    if path != rewritten_path(matched, by):
        raise _Foreign
    return by


def _extension(ref: Mapping[str, Any]) -> ExtensionRef:
    _only(ref, "group", "kind", "name")
    return ExtensionRef(ref["group"], ref["kind"], ref["name"])


def _match(match: Mapping[str, Any]) -> HttpMatch:
    _only(match, "path", "headers", "method")
    path = match.get("path") or {}
    headers = tuple(sorted(_headers(match.get("headers") or ())))
    return HttpMatch(path.get("value", "/"), PathKind(path.get("type", "PathPrefix")), headers, match.get("method", ""))


def _headers(headers: Any) -> Iterator[tuple[str, str]]:
    for header in headers:
        _only(header, "type", "name", "value")
        if header.get("type", "Exact") != "Exact":
            raise _Foreign
        yield header["name"], header["value"]


def _parent(ref: Mapping[str, Any]) -> ParentRef:
    _only(ref, "group", "kind", "name", "namespace", "sectionName", "port")
    return ParentRef(
        ref["name"],
        ref.get("namespace", ""),
        ref.get("sectionName", ""),
        int(ref.get("port", 0)),
        ref.get("kind", "Gateway"),
        ref.get("group", _GATEWAY_API),
    )


def _only(said: Mapping[str, Any], *known: str) -> None:
    if set(said) - set(known):
        raise _Foreign


def load_group_record(body: Object | None) -> GroupRecord:
    """Return the record in a live ReleaseGroup. Raises `InvalidInput` for one that somebody edited, or that this
    release cannot read: nothing is guessed.
    """
    live = body or {}
    record = unpacked(live.get("status") or {})
    if record is None:
        raise _without_record(live, Problem("status.record", "is not as an agent wrote it"))
    try:
        return from_json(GroupRecord, record, "status.record")
    except InvalidInput as error:
        raise _without_record(live, *error.problems) from error


def _without_record(live: Object, *problems: Problem) -> InvalidInput:
    remedy = (
        "put back the folders of services that only serve on, then kubectl delete releasegroup: it is made again "
        "from Git, and routes and Services stay as they are"
    )
    name = live.get("metadata", {}).get("name", "")
    return InvalidInput(*problems, Problem(f"ReleaseGroup {name}", "has no record", remedy=remedy))


def group_status(
    body: Object, decision: GroupDecision, commit: str, now: datetime, pull: PullRequest | None = None
) -> dict[str, Any]:
    """Return the whole status; ``pull`` is the pull request of the group's branch."""
    generation = body["metadata"].get("generation", 0)
    state = decision.record.state
    before = body.get("status") or {}
    said = shown.GroupStatus(
        observed_generation=generation,
        phase=decision.phase.value,
        message=next((each.message for each in decision.conditions), None),
        commit=commit or None,
        active=state.only(VersionStage.ACTIVE) or None,
        legacy=state.only(VersionStage.LEGACY) or None,
        candidates=state.at(VersionStage.CANDIDATE) or None,
        versions=tuple(map(partial(_version, state), state.versions)) or None,
        transition=_transition(decision.record.transition),
        gates=tuple(map(gate_of, decision.gates)) or None,
        pull_request=pull_request(pull),
        analysis_runs=tuple(map(_run, newest_first(decision.record.analyses))) or None,
        history=tuple(map(_move, reversed(decision.record.moves))) or None,
        record=packed(to_json(decision.record), before),
    ).stored()
    conditions = conditions_with_times(before.get("conditions") or [], decision.conditions, generation, now)
    return {**said, "conditions": list(conditions)}


def _version(state: GroupState, version: GroupVersion) -> shown.GroupVersionStatus:
    serving = (each for each in state.endpoints if each.version == version.name)
    services = tuple(sorted(member_name(each.service, each.initial_version) for each in serving))
    changed = moment_of(version.changed_at)
    return shown.GroupVersionStatus(name=version.name, stage=version.stage, changed_at=changed, services=services)


def _move(move: GroupMove) -> shown.GroupMoveStatus:
    return shown.GroupMoveStatus(
        kind=move.kind.value,
        source=move.source,
        target=move.target,
        at=moment_of(move.at),
        commit=move.commit or None,
        reason=move.reason or None,
    )


def _run(run: AnalysisRun) -> shown.GroupAnalysisRun:
    return shown.GroupAnalysisRun(version=version_of(run), **facts_of(run))


def _transition(moving: Transition | None) -> shown.GroupTransitionStatus | None:
    if moving is None:
        return None
    return shown.GroupTransitionStatus(
        kind=moving.kind.value,
        source=moving.source,
        target=moving.target,
        step=moving.step.value,
        started_at=moment_of(moving.started_at),
        withdrawn=moving.withdrawn or None,
    )


_ROUTES_SECONDS = 5.0
"""The age of a list that suffices."""


class RivalRoutes:
    """Lists them. Thread-safe. ``clock`` counts seconds from any moment."""

    def __init__(self, client: Client, clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._lock = Lock()
        self._known: dict[str, tuple[float, tuple[RivalRoute, ...]]] = {}

    def of(self, namespace: str) -> tuple[RivalRoute, ...]:
        """Return all HTTPRoutes of a namespace, in the order of their names; a failed list leaves what was known
        before.
        """
        began = self._clock()
        with self._lock:
            asked, known = self._known.get(namespace, (-math.inf, ()))
        if began - asked < _ROUTES_SECONDS:
            return known
        try:
            return self.now(namespace)
        except InternalError:
            raise
        except (Refused, Transient):
            with self._lock:
                self._known[namespace] = (began, known)
        return known

    def now(self, namespace: str) -> tuple[RivalRoute, ...]:
        """Return all HTTPRoutes of a namespace, listed now; none where the cluster lacks the kind. Raises the errors of
        the cluster: whoever ends by what is there must know it.
        """
        began = self._clock()
        try:
            found = tuple(rival_of(each) for each in sorted(self._client.list(HTTP_ROUTES, namespace), key=_name))
        except NotFound:
            found = ()
        with self._lock:
            self._known[namespace] = (began, found)
        return found

    def delete(self, namespace: str, name: str, owner: str) -> Object | None:
        """Do as `delete_of_owner`; the next list is a new one."""
        with self._lock:
            self._known.pop(namespace, None)
        return delete_of_owner(self._client, namespace, name, owner)


def delete_of_owner(client: Client, namespace: str, name: str, owner: str) -> Object | None:
    """Delete an HTTPRoute as long as it is that of an owner (`RivalRoute.owner`), and return it; None where it is gone.

    Raises `ForeignObject` where it is somebody else's by now.
    """
    live = client.get(HTTP_ROUTES, namespace, name)
    if live is None:
        return None
    if (whose := rival_of(live).owner) != owner:
        raise ForeignObject(f"{HTTP_ROUTES.called(namespace, name)} is of {whose}, and not of {owner} any more")
    client.delete(HTTP_ROUTES, namespace, name, live["metadata"]["uid"])
    return live


def _name(body: Object) -> str:
    return str(body["metadata"]["name"])

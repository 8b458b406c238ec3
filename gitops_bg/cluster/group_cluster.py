"""The groups of one cluster: looked at, saved, and changed; the counterpart of `cluster.Cluster` for apps.

Every method raises only the errors of `core.errors`. Reads live; foreign objects are never changed.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, assert_never

from gitops_bg.cluster.api.client import Client, EndpointSliceVersion
from gitops_bg.cluster.api.errors import ForeignObject, NotFound
from gitops_bg.cluster.api.kinds import HTTP_ROUTES, RELEASE_GROUPS, SERVICES, Kind, Object, name_of
from gitops_bg.cluster.execution.operator_requests import OperatorRequests, requests_at
from gitops_bg.cluster.execution.writer import Intents
from gitops_bg.cluster.group_objects import (
    WRITTEN_ONCE,
    delete_of_owner,
    group_labels,
    group_manifest,
    group_status,
    load_group_record,
    owner_of,
    read_route,
    rival_of,
    stable_service,
)
from gitops_bg.cluster.manifests.patches import keep_before, removals, unchanged
from gitops_bg.cluster.manifests.services import http_route
from gitops_bg.cluster.observation.additions import additions
from gitops_bg.cluster.observation.drift import ports_are
from gitops_bg.cluster.observation.ownership import UNOWNED, Ownership
from gitops_bg.cluster.observation.reader import foreign_slices
from gitops_bg.cluster.observation.routes import acceptance_of_rules, is_reported, unresolved
from gitops_bg.cluster.observation.states import meta_of
from gitops_bg.cluster.status import differs_in_process_view_only, pull_in, with_condition
from gitops_bg.core import names
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput, WorldChanged
from gitops_bg.core.groups.inputs import FormerGroup, LiveRoute, Member, ObservedGroup, StableService
from gitops_bg.core.groups.plan import object_of
from gitops_bg.core.groups.record import (
    AdoptObject,
    ApplyGroup,
    ApplyRoute,
    DeleteGroup,
    DeleteRoute,
    DeleteService,
    FollowMember,
    GroupAction,
    GroupDecision,
    GroupRecord,
)
from gitops_bg.core.model.auxiliary import RivalRoute
from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.drift import ActionResult, Change, ChangeSetEntry, Drift
from gitops_bg.core.model.journal import PullRequest
from gitops_bg.core.model.main import Main
from gitops_bg.core.model.observed import Request
from gitops_bg.core.model.record import OperatorState
from gitops_bg.core.model.version import GroupKey

DELETING = (DeleteRoute, DeleteService, DeleteGroup)


class NoPodAnswers(WorldChanged):
    """Requests would leave members that answer for ones that do not, as the cluster says at that moment."""


@dataclass(frozen=True, slots=True)
class SeenGroup:
    """A live ReleaseGroup at one moment; ``body`` None: there is none."""

    body: Object | None
    record: GroupRecord

    @property
    def version(self) -> str:
        """Its resourceVersion; empty where there is none."""
        return str(self.body["metadata"]["resourceVersion"]) if self.body else ""

    @property
    def pull(self) -> PullRequest | None:
        """The pull request that its status names."""
        return pull_in((self.body or {}).get("status") or {})


class GroupCluster:
    """The live side of release groups. Thread-safe as long as each group has one thread at a time.

    ``us`` is what the agent follows: no group is somebody else's where that is nothing.
    """

    def __init__(self, client: Client, us: Ownership = UNOWNED) -> None:
        self._client = client
        self._us = us
        self._uids: dict[GroupKey, str] = {}
        self._intents = Intents()
        self._slice_kind = EndpointSliceVersion(client)
        self._requests = OperatorRequests(RELEASE_GROUPS, client.get, client.merge_patch, _answered)

    def seen(self, group: GroupKey) -> SeenGroup:
        """Return the live ReleaseGroup and its record. Raises `InvalidInput` for a damaged record."""
        body = self._client.get(RELEASE_GROUPS, group.namespace, group.name)
        if body is None:
            self._uids.pop(group, None)
        else:
            self._uids[group] = body["metadata"]["uid"]
        return SeenGroup(body, load_group_record(body))

    def uid_of(self, group: GroupKey) -> str:
        """Return the uid that the live ReleaseGroup had when it was `seen` last; empty where there was none."""
        return self._uids.get(group, "")

    def live(self, namespaces: Collection[str]) -> list[GroupKey]:
        """Return all groups that are live in some namespaces (none: all) and ours; none where the cluster lacks the
        kind.
        """
        found = (body["metadata"] for body in self._live(namespaces))
        return [GroupKey(each["namespace"], each["name"]) for each in found]

    def mains(self, namespaces: Collection[str]) -> frozenset[Main]:
        """Return the mains that the records of these groups were decided from; those that nobody can read name none."""
        return frozenset(_record_or_why_not(body)[0].main for body in self._live(namespaces))

    def _live(self, namespaces: Collection[str]) -> Iterator[Object]:
        try:
            bodies = [body for each in namespaces or ("",) for body in self._client.list(RELEASE_GROUPS, each)]
        except NotFound:
            return iter(())
        return filter(self.is_ours, bodies)

    def is_ours(self, body: Object) -> bool:
        """Return whether the object names the repository and cluster that this agent follows."""
        return not self._us.repository or Ownership.of(body["metadata"].get("annotations") or {}) == self._us

    def observe(
        self,
        group: GroupKey,
        seen: SeenGroup,
        spec: Mapping[str, Any],
        members: Mapping[str, Member],
        in_main: Collection[GroupKey] = (),
    ) -> ObservedGroup:
        """Return all that is live of a group. ``members`` is what the agent knows of its apps, ``spec`` what Git says
        of it, ``in_main`` are all groups that Git has.
        """
        found = self._routes(group)
        routes = None if found is None else [each for each in found if _is_of(group, each)]
        body = seen.body
        if body is None:
            return ObservedGroup(members=members, has_gateway_api=routes is not None)
        labels = body["metadata"].get("labels") or {}
        foreign = owner_of(meta_of(body), labels, group)
        return ObservedGroup(
            uid=body["metadata"]["uid"],
            foreign=f"ReleaseGroup {group}: {foreign}" if foreign and not seen.record.state.versions else "",
            members=members,
            services={name: self._stable(group, each) for name, each in self._services(group, members).items()},
            routes={each["metadata"]["name"]: _live_route(group, each) for each in routes or ()},
            rivals=tuple(sorted((rival_of(each) for each in found or () if not _is_of(group, each)), key=_by_name)),
            formers=tuple(self._former(group, each, found or ()) for each in self._left_main(group, in_main)),
            has_gateway_api=routes is not None,
            drifted=body.get("spec") != spec or not self._names_its_agent(body),
            requests=requests_at(body),
        )

    def _names_its_agent(self, body: Object) -> bool:
        return self._us.annotations.items() <= (body["metadata"].get("annotations") or {}).items()

    def save(
        self,
        seen: SeenGroup,
        decision: GroupDecision,
        commit: str,
        now: datetime,
        pull: PullRequest | None = None,
        may_report: Callable[[], bool] = lambda: True,
    ) -> bool:
        """Write the status for a decision, unless it is already so; return whether it was written. ``may_report`` is as
        in `Cluster.save`.

        The ``resourceVersion`` that the record was read from is the lock: of two agents, or two promotions, one wins
        (`WorldChanged`).
        """
        if seen.body is None:
            return False
        status = group_status(seen.body, decision, commit, now, pull)
        before = seen.body.get("status") or {}
        if status == before or (differs_in_process_view_only(before, status) and not may_report()):
            return False
        (namespace, name), version = name_of(seen.body), seen.body["metadata"]["resourceVersion"]
        self._client.save_status(RELEASE_GROUPS, namespace, name, version, status)
        return True

    def warn(self, group: GroupKey, condition: Condition, now: datetime) -> bool:
        """Write one condition where no decision can be written; return whether it is new. It needs nothing of the
        record. Raises as `save`.
        """
        body = self._client.get(RELEASE_GROUPS, group.namespace, group.name)
        if body is None or not self.is_ours(body):
            return False
        before = body.get("status") or {}
        status = {**before, **with_condition(before, body["metadata"].get("generation", 0), condition, now)}
        if status["conditions"] == before.get("conditions"):
            return False
        self._client.save_status(RELEASE_GROUPS, *name_of(body), body["metadata"]["resourceVersion"], status)
        return True

    def request(self, group: GroupKey, request: Request) -> None:
        """Write an operator's request for the agent, beside those that wait. Raises as `OperatorRequests.add`."""
        self._requests.add(group, request)

    def withdraw(self, group: GroupKey, request: Request) -> None:
        """Take an operator's request back, unless it is answered."""
        self._requests.withdraw(group, request)

    def carry_out(self, group: GroupKey, spec: Mapping[str, Any], action: GroupAction) -> ActionResult:
        """Carry out one action; return the object that it wrote to, with what that repaired of a change of somebody
        else.

        Raises `ForeignObject`, and `WorldChanged` where the object is not what it was.
        """
        (kind, name), drift = object_of(group, action), self._written(group, spec, action)
        change = Change.DELETED if isinstance(action, DELETING) else Change.CONFIGURED
        return ActionResult(action, (ChangeSetEntry(kind, group.namespace, name, change, drift),))

    def _written(self, group: GroupKey, spec: Mapping[str, Any], action: GroupAction) -> Drift | None:
        match action:
            case ApplyGroup():
                return self._apply_group(group, spec)
            case ApplyRoute():
                for move in sorted(action.moves):
                    self._demand_pods(group, *move)
                live = self._own(HTTP_ROUTES, group, action.route.name)
                return self._apply(HTTP_ROUTES, http_route(group.namespace, group_labels(group), action.route), live)
            case DeleteRoute():
                self._delete_route(group, action)
            case FollowMember():
                return self._follow(group, action)
            case DeleteService():
                self._delete(SERVICES, group, action.service)
            case AdoptObject():
                self._adopt(group, action)
            case DeleteGroup():
                self._delete_group(GroupKey(group.namespace, action.name))
            case _:
                assert_never(action)
        return None

    def _apply_group(self, group: GroupKey, spec: Mapping[str, Any]) -> Drift | None:
        body = group_manifest(group, spec, self._us.annotations)
        live = self._client.get(RELEASE_GROUPS, group.namespace, group.name)
        drift = self._intents.drift(RELEASE_GROUPS, live, body)
        if change := removals(live, body):
            self._client.json_patch(RELEASE_GROUPS, *name_of(body), change)
        self._intents.applied(RELEASE_GROUPS, body, self._client.apply(RELEASE_GROUPS, body, force=True))
        return drift

    # --- services ---------------------------------------------------------------------------------------------

    def _services(self, group: GroupKey, members: Iterable[str]) -> dict[str, Object]:
        """Return the group's Services, and those of the names that its members' services have, whoever's they are."""
        labels = ",".join(f"{key}={value}" for key, value in group_labels(group).items())
        found = {body["metadata"]["name"]: body for body in self._client.list(SERVICES, group.namespace, labels)}
        for name in sorted({member.rpartition("-")[0] for member in members}.difference(found)):
            if other := self._client.get(SERVICES, group.namespace, name):
                found[name] = other
        return found

    def _stable(self, group: GroupKey, body: Object) -> StableService:
        """Return the member that a stable Service follows: none where it selects other pods than its member's
        Service.
        """
        labels = body["metadata"].get("labels") or {}
        foreign = owner_of(meta_of(body), labels, group)
        name = labels.get(names.MEMBER, "")
        member = self._client.get(SERVICES, group.namespace, name) if name else None
        if member is None:
            return StableService(foreign=foreign, label=name)
        wanted = stable_service(group, body["metadata"]["name"], member)
        same = _says(body["spec"], wanted["spec"]) and not additions(body, wanted)
        return StableService(name if same else "", foreign, name)

    def _follow(self, group: GroupKey, action: FollowMember) -> Drift | None:
        """Point a stable Service at the pods of a member, in one write over exactly the Service that was read."""
        live = self._own(SERVICES, group, action.service)
        member = self._client.get(SERVICES, group.namespace, action.member)
        if member is None:
            raise WorldChanged(f"Service {group.namespace}/{action.member} is gone")
        self._demand_pods(group, {action.expected} - {""}, {action.member})
        before = ((live or {}).get("metadata", {}).get("labels") or {}).get(names.MEMBER, "")
        if action.expected and before != names.fit(action.expected):
            raise WorldChanged(f"Service {group.namespace}/{action.service} does not follow {action.expected} any more")
        return self._point(stable_service(group, action.service, member), live)

    def _demand_pods(self, group: GroupKey, leaves: Collection[str], to: Collection[str]) -> None:
        """Check I1 live: raise `NoPodAnswers` where requests would leave members that answer for ones that do not."""
        if not any(self._answers(group, each) for each in to) and any(self._answers(group, each) for each in leaves):
            raise NoPodAnswers(f"Service {group.namespace}/{min(to)} has no pod that answers, and {min(leaves)} has")

    def _answers(self, group: GroupKey, member: str) -> bool:
        """Return whether the Service of a member has a ready endpoint, read live."""
        return any(each.ready for each in foreign_slices(self._client, self._slice_kind(), group.namespace, member))

    # --- objects ----------------------------------------------------------------------------------------------

    def _own(self, kind: Kind, group: GroupKey, name: str) -> Object | None:
        body = self._client.get(kind, group.namespace, name)
        foreign = owner_of(meta_of(body), body["metadata"].get("labels") or {}, group) if body else ""
        if foreign:
            raise ForeignObject(f"{kind.called(group.namespace, name)}: {foreign}")
        return body

    def _apply(self, kind: Kind, body: Object, live: Object | None) -> Drift | None:
        drift = self._intents.drift(kind, live, body)
        if live is not None:
            body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
        self._intents.applied(kind, body, self._client.apply(kind, body, force=live is not None))
        return drift

    def _point(self, body: Object, live: Object | None) -> Drift | None:
        """Create a Service, or replace what we write of it, unless somebody wrote to it since it was read.

        Server-side apply of older servers would merge the selectors by key.
        """
        said = {**body, "spec": {key: value for key, value in body["spec"].items() if key not in WRITTEN_ONCE}}
        drift = self._intents.drift(SERVICES, live, said)
        if live is None:
            self._intents.applied(SERVICES, said, self._client.create(SERVICES, body))
            return drift
        before = live["metadata"].get("labels") or {}
        labels = {**before, **body["metadata"]["labels"]}
        change = [
            *unchanged(live["metadata"]["resourceVersion"]),
            *([] if names.MEMBER in before else keep_before(live)),
            *removals(live, body),
            {"op": "add", "path": "/metadata/labels", "value": labels},
            {"op": "add", "path": "/spec/selector", "value": body["spec"]["selector"]},
            {"op": "add", "path": "/spec/ports", "value": body["spec"]["ports"]},
            *_affinity_change(body["spec"]),
        ]
        self._intents.applied(SERVICES, said, self._client.json_patch(SERVICES, *name_of(body), change))
        return drift if names.MEMBER in before else None  # Else labels just handed it over.

    def _delete(self, kind: Kind, group: GroupKey, name: str) -> None:
        live = self._own(kind, group, name)
        if live is not None:
            self._client.delete(kind, group.namespace, name, live["metadata"]["uid"])
            self._intents.forget(kind, group.namespace, name)

    def _delete_route(self, group: GroupKey, action: DeleteRoute) -> None:
        """Delete an HTTPRoute of the group, or of the owner that the action names, as long as that one has it."""
        if not action.owner:
            self._delete(HTTP_ROUTES, group, action.name)
        else:
            delete_of_owner(self._client, group.namespace, action.name, action.owner)
            self._intents.forget(HTTP_ROUTES, group.namespace, action.name)

    def _routes(self, group: GroupKey) -> list[Object] | None:
        """Return all HTTPRoutes of the namespace; None where the cluster lacks the kind."""
        try:
            return self._client.list(HTTP_ROUTES, group.namespace)
        except NotFound:
            return None

    # --- groups that left main ----------------------------------------------------------------------------------

    def _left_main(self, group: GroupKey, in_main: Collection[GroupKey]) -> Iterator[Object]:
        """Yield the other ReleaseGroups of the namespace that are ours and whose folder left main; none where nobody
        knows what main has.
        """
        for body in self._client.list(RELEASE_GROUPS, group.namespace) if in_main else ():
            key = GroupKey(group.namespace, body["metadata"]["name"])
            if self.is_ours(body) and key != group and key not in in_main:
                yield body

    def _former(self, group: GroupKey, body: Object, routes: Iterable[Object]) -> FormerGroup:
        former = GroupKey(group.namespace, body["metadata"]["name"])
        labels = ",".join(f"{key}={value}" for key, value in group_labels(former).items())
        services = self._client.list(SERVICES, former.namespace, labels)
        record, unreadable = _record_or_why_not(body)
        return FormerGroup(
            name=former.name,
            record=record,
            unreadable=unreadable,
            services={each["metadata"]["name"]: self._stable(former, each) for each in services},
            routes={each["metadata"]["name"]: _live_route(former, each) for each in routes if _is_of(former, each)},
        )

    def _adopt(self, group: GroupKey, action: AdoptObject) -> None:
        """Label an object of a group that left main as this group's, as it is, unless somebody has written to it."""
        kind = SERVICES if action.kind == SERVICES.name else HTTP_ROUTES
        live = self._own(kind, GroupKey(group.namespace, action.former), action.name)
        if live is not None:
            labels = {**live["metadata"]["labels"], **group_labels(group)}
            change = [
                *unchanged(live["metadata"]["resourceVersion"]),
                {"op": "add", "path": "/metadata/labels", "value": labels},
            ]
            self._client.json_patch(kind, group.namespace, action.name, change)
            self._intents.forget(kind, group.namespace, action.name)

    def _delete_group(self, former: GroupKey) -> None:
        live = self._client.get(RELEASE_GROUPS, former.namespace, former.name)
        if live is not None:
            self._client.delete(RELEASE_GROUPS, former.namespace, former.name, live["metadata"]["uid"])
            self._intents.forget(RELEASE_GROUPS, former.namespace, former.name)


def _is_of(group: GroupKey, body: Object) -> bool:
    """Return whether an HTTPRoute is a group's, or has its name, whoever's it is."""
    labels = body["metadata"].get("labels") or {}
    is_labelled = all(labels.get(key) == value for key, value in group_labels(group).items())
    return is_labelled or body["metadata"]["name"] == names.fit(group.name)


def _answered(body: Object) -> OperatorState:
    return load_group_record(body).operator


def _by_name(rival: RivalRoute) -> str:
    return rival.name


def _record_or_why_not(body: Object) -> tuple[GroupRecord, str]:
    """Return the record of a group that left main; else an empty one, and what is wrong with it."""
    try:
        return load_group_record(body), ""
    except InvalidInput as error:
        return GroupRecord(), str(error.problems[0])


def _live_route(group: GroupKey, body: Object) -> LiveRoute:
    accepted, reason = acceptance_of_rules(body)
    foreign = owner_of(meta_of(body), body["metadata"].get("labels") or {}, group)
    return LiveRoute(
        route=read_route(body),
        accepted=accepted,
        reason=reason,
        foreign=foreign,
        answered=is_reported(body),
        unresolved=unresolved(body),
        born=body["metadata"].get("creationTimestamp", ""),
    )


def _says(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether a live spec says what is wanted; the server may have added fields, but to no selector."""
    if (live.get("selector") or {}) != wanted.get("selector"):
        return False
    same_ports = ports_are(live.get("ports") or (), wanted.get("ports") or ())
    return same_ports and _affinity(live) == _affinity(wanted)


def _affinity(spec: Mapping[str, Any]) -> tuple[str, Any]:
    """Return which clients stay with a pod, with the default of the API server."""
    return spec.get("sessionAffinity") or "None", spec.get("sessionAffinityConfig")


def _affinity_change(wanted: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the operations after which a Service keeps clients as is wanted; with none, the server drops the
    details.
    """
    kind, details = _affinity(wanted)
    said = {"sessionAffinity": kind} | ({"sessionAffinityConfig": details} if details is not None else {})
    return [{"op": "add", "path": f"/spec/{name}", "value": value} for name, value in said.items()]

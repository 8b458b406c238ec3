"""Reads, applies and deletes the auxiliary objects of an app, by name, when a pass needs them (docs/decisions/0014).

An app without any costs nothing. An object that cannot be read, or whose kind the server lacks, has a trouble of its
own: versions and traffic go on without it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.errors import Forbidden, ForeignObject, NotFound, grant_for_secrets
from gitops_bg.cluster.api.kinds import HTTP_ROUTES, SECRETS, Kind, Object
from gitops_bg.cluster.execution.writer import Anchors, Intents, entry_between, entry_of, let_go
from gitops_bg.cluster.group_objects import RivalRoutes
from gitops_bg.cluster.manifests.auxiliary import (
    SCALE_TARGET_REF,
    auxiliary_manifest,
    content_of,
    is_as_given,
    is_labelled,
    more_data,
    scale_target_of,
    scale_target_ref,
    sentence,
)
from gitops_bg.cluster.manifests.patches import disown, removals, without
from gitops_bg.cluster.manifests.services import (
    attached_as,
    attachment_of,
    following,
    is_for_candidate,
    named_version_of,
    ports_of,
    route_kind_in,
)
from gitops_bg.cluster.observation.additions import left_behind
from gitops_bg.cluster.observation.auxiliary_kinds import WATCHED, AuxiliaryKinds, why_unserved
from gitops_bg.cluster.observation.ownership import controlling_app, is_unclaimed, owner_of
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.cluster.observation.routes import acceptance, is_reported, refusal_of
from gitops_bg.cluster.observation.states import Meta, meta_of
from gitops_bg.cluster.observation.views import live_name
from gitops_bg.core import names
from gitops_bg.core.errors import Refused, Transient, WorldChanged
from gitops_bg.core.model.actions import ApplyAuxiliaryObject, DeleteAuxiliaryObject
from gitops_bg.core.model.auxiliary import ROUTES, AuxiliaryObject, RivalRoute
from gitops_bg.core.model.drift import Change, ChangeSetEntry
from gitops_bg.core.model.observed import AuxiliaryView
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey, short
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.autoscaling import AUTOSCALERS
from gitops_bg.spec.manifests.auxiliary import BUDGET

Given = Mapping[str, Any]


class AuxiliaryWriter:
    """The auxiliary objects of a cluster's apps. Thread-safe as long as each app has one thread at a time."""

    def __init__(self, client: Client, anchors: Anchors, intents: Intents, reader: Reader) -> None:
        self._client = client
        self._reader = reader
        self._anchors = anchors
        self._intents = intents
        self._kinds = AuxiliaryKinds(client)
        self._rivals = RivalRoutes(client)
        self._settled: dict[tuple[AppKey, AuxiliaryObject], tuple[str, str]] = {}
        self._seen: dict[tuple[AppKey, AuxiliaryObject], AuxiliaryView | None] = {}
        """The last views, for as long as the server does not answer: traffic does not wait for an auxiliary object."""

    def views(
        self, app: AppKey, app_uid: str, config: AppConfig | None, record: Record, *, lost: bool = False
    ) -> tuple[AuxiliaryView, ...]:
        """Return the present state of the objects that Git names or the record remembers; none for missing ones.

        ``lost``: a record that may have remembered routes is gone. They have the name of the app, and are looked for.
        """
        given = config.auxiliary_objects.manifests if config is not None else {}
        wanted = dict.fromkeys((*given, *record.last_read.auxiliary_objects))
        seen = [self._view_or_last(app, app_uid, one, _given(config, one), config) for one in wanted]
        beside = _auxiliary_route(config) if any(view is not None and view.moves for view in seen) else None
        if beside is not None and beside not in wanted:
            seen.append(self._view_or_last(app, app_uid, beside, _given(config, beside), config))
        named = (app.name, names.candidate_route(app)) if lost else ()
        routes = (AuxiliaryObject(kind, name) for kind in ROUTES for name in named)
        seen += [self._own_route(app, app_uid, one, config) for one in routes if one not in wanted]
        return tuple(view for view in seen if view is not None)

    def _own_route(
        self, app: AppKey, app_uid: str, route: AuxiliaryObject, config: AppConfig | None
    ) -> AuxiliaryView | None:
        """Return a route that nobody names any more, if it is ours; None as well where the agent may not look."""
        try:
            view = self._view(app, app_uid, route, None, config)
        except Transient as error:
            return AuxiliaryView(route, trouble=str(error))  # unknown is not absent: it is looked at again
        return view if view is not None and not (view.owner or view.former or view.trouble) else None

    def carry_out(
        self, app: AppKey, app_uid: str, config: AppConfig | None, action: ApplyAuxiliaryObject | DeleteAuxiliaryObject
    ) -> tuple[ChangeSetEntry, ...]:
        """Carry out the action.

        Raises `ForeignObject` where the object is not ours, `NotFound` where the server lacks its kind.
        """
        if isinstance(action, ApplyAuxiliaryObject):
            return (self._apply(app, app_uid, config, action),)
        if action.owner:
            gone = self._rivals.delete(app.namespace, action.auxiliary_object.name, action.owner)
            return (entry_of(HTTP_ROUTES, gone, Change.DELETED),) if gone is not None else ()
        return self._delete(app, action.auxiliary_object)

    def rivals(self, app: AppKey, config: AppConfig | None) -> tuple[RivalRoute, ...]:
        """Return the HTTPRoutes of others in the namespace of an app that has one. Those of the app that it was before
        go by what becomes of that (docs/decisions/0070).
        """
        route = config.auxiliary_objects.route if config is not None else None
        if config is None or route is None or route.live.kind != HTTP_ROUTES.name:
            return ()
        adopt = config.spec.adopt if config.spec is not None else None
        own = {names.app_label(app)}
        own |= {names.app_label(AppKey(app.namespace, each)) for each in (adopt.names if adopt is not None else ())}
        found = self._rivals.of(app.namespace)
        return tuple(each for each in found if each.app not in own and each.name != route.live.name)

    def http_routes(self, namespace: str) -> tuple[RivalRoute, ...]:
        """Return all HTTPRoutes of a namespace, as `RivalRoutes.now`."""
        return self._rivals.now(namespace)

    def disown(
        self, app: AppKey, app_uid: str, auxiliary_objects: Iterable[AuxiliaryObject]
    ) -> Iterator[ChangeSetEntry]:
        """Let these objects go, as they are, without any mark of ours; what is not ours, or not there, stays so."""
        for one in auxiliary_objects:
            kind = self._kinds.kind(one.kind)
            live = self._client.get(kind, app.namespace, one.name) if kind is not None else None
            if kind is not None and live is not None and not owner_of(kind, meta_of(live), app):
                yield entry_between(
                    kind, live, self._client.json_patch(kind, app.namespace, one.name, disown(live, app_uid))
                )

    def is_replaced(self, app: AppKey, kind: str, former: AppKey, route: AuxiliaryObject) -> bool:
        """Return whether an app has a route of its own for the ``route`` of its ``former`` name: it is live, and taken
        by the Gateways where that one is. No, where that cannot be read now.
        """
        try:
            live, before = self._of_app(app, kind, app.name), self._of_app(former, route.kind, route.name)
        except (Refused, Transient):
            return False
        if live is None:
            return False
        taken = acceptance(live)[0]
        return taken is not False and (taken is True or before is None or acceptance(before)[0] is not True)

    def _of_app(self, app: AppKey, name: str, called: str) -> Object | None:
        """Return an object of an app that is not being deleted."""
        kind = self._kinds.kind(name)
        live = self._client.get(kind, app.namespace, called) if kind is not None else None
        if kind is None or live is None or owner_of(kind, meta_of(live), app) or meta_of(live).deleting:
            return None
        return live

    def let_route_go(self, app: AppKey, body: Object) -> tuple[ChangeSetEntry, ...]:
        """Leave the route of an app to its live object (``body``) alone, so that it is deleted with that."""
        wanted = route_kind_in(body.get("spec") or {})
        kind = self._kinds.kind(wanted) if wanted else None
        if kind is None:
            return ()
        live = self._client.get(kind, app.namespace, app.name)
        operations = let_go(live) if live is not None and not owner_of(kind, meta_of(live), app) else []
        if not operations:
            return ()
        return (entry_between(kind, live, self._client.json_patch(kind, app.namespace, app.name, operations)),)

    def _apply(
        self, app: AppKey, app_uid: str, config: AppConfig | None, action: ApplyAuxiliaryObject
    ) -> ChangeSetEntry:
        """Apply what Git says; of an object that Git does not describe at present, change only the scale target."""
        auxiliary_object = action.auxiliary_object
        given = _given(config, auxiliary_object)
        kind = self._kind(auxiliary_object, given)
        live = self._own(kind, app, auxiliary_object.name, config)
        scale_target = self._scale_target(app, action)
        if given is None:
            return self._retarget(kind, app, live, auxiliary_object, scale_target)
        if auxiliary_object.kind in ROUTES:
            made = auxiliary_manifest(app, app_uid, kind, auxiliary_object.name, given)
            manifest = self._anchors.anchored(kind, following(made, short(action.digest), action.ports))
            manifest = attached_as(manifest, live) if action.stays and live is not None else manifest
        else:
            manifest = auxiliary_manifest(app, app_uid, kind, auxiliary_object.name, given, scale_target)
        drift = self._intents.drift(kind, live, manifest)
        if change := removals(live, manifest):
            self._client.json_patch(kind, app.namespace, auxiliary_object.name, change)
        answer = self._client.apply(kind, manifest, force=live is not None)
        if live is not None and (left := without(answer, left_behind(live, answer, manifest))):
            answer = self._client.json_patch(kind, app.namespace, auxiliary_object.name, left)
        extra = more_data(answer, manifest)
        if extra:
            answer = self._client.merge_patch(kind, app.namespace, auxiliary_object.name, extra)
        self._settled[app, auxiliary_object] = _content(answer)
        self._intents.applied(kind, manifest, answer)
        return entry_between(kind, live, answer, drift)

    def _scale_target(self, app: AppKey, action: ApplyAuxiliaryObject) -> str:
        return live_name(self._reader, app, action.number, action.digest) if action.number and action.digest else ""

    def _delete(self, app: AppKey, auxiliary_object: AuxiliaryObject) -> tuple[ChangeSetEntry, ...]:
        kind = self._kind(auxiliary_object, None)
        live = self._own(kind, app, auxiliary_object.name)
        self._settled.pop((app, auxiliary_object), None)
        self._seen.pop((app, auxiliary_object), None)
        if live is None:
            return ()
        self._client.delete(kind, app.namespace, auxiliary_object.name, live["metadata"]["uid"])
        self._intents.forget(kind, app.namespace, auxiliary_object.name)
        return (entry_of(kind, live, Change.DELETED),)

    def _retarget(
        self, kind: Kind, app: AppKey, live: Object | None, auxiliary_object: AuxiliaryObject, scale_target: str
    ) -> ChangeSetEntry:
        if live is None:
            raise WorldChanged(f"{sentence(auxiliary_object, app)} is gone")
        answer = self._client.merge_patch(
            kind, app.namespace, auxiliary_object.name, {"spec": {SCALE_TARGET_REF: scale_target_ref(scale_target)}}
        )
        return entry_between(kind, live, answer)

    def _view_or_last(
        self,
        app: AppKey,
        app_uid: str,
        auxiliary_object: AuxiliaryObject,
        given: Given | None,
        config: AppConfig | None,
    ) -> AuxiliaryView | None:
        """Return the view; where the server cannot answer now, the last one, with its trouble: nothing is written then.

        An autoscaler must have been seen once: the agent must not scale the version that it scales.
        """
        place = (app, auxiliary_object)
        try:
            self._seen[place] = self._view(app, app_uid, auxiliary_object, given, config)
        except Transient as error:
            if place not in self._seen and auxiliary_object.kind in AUTOSCALERS:
                raise
            return replace(self._seen.get(place) or AuxiliaryView(auxiliary_object), trouble=str(error))
        return self._seen[place]

    def _view(
        self,
        app: AppKey,
        app_uid: str,
        auxiliary_object: AuxiliaryObject,
        given: Given | None,
        config: AppConfig | None,
    ) -> AuxiliaryView | None:
        version = given["apiVersion"] if given is not None else ""
        try:
            kind = self._kinds.kind(auxiliary_object.kind, version)
            if kind is not None and kind.name in WATCHED:
                self._reader.follow(kind)
            live = self._get(kind, app, auxiliary_object) if kind is not None else None
        except Refused as error:
            return AuxiliaryView(auxiliary_object, trouble=_with_remedy(app, auxiliary_object, error))
        if kind is None:
            why = f"{sentence(auxiliary_object, app)}: {why_unserved(auxiliary_object.kind, version)}"
            return AuxiliaryView(auxiliary_object, trouble=why) if given is not None else None
        if live is None:
            return None
        meta = meta_of(live)
        owner = _owner_of(kind, meta, app, config)
        former = _is_of_former(meta, app, config)
        drifted = given is not None and not owner and self._drifted(app, app_uid, kind, auxiliary_object, given, live)
        return AuxiliaryView(
            auxiliary_object,
            owner,
            former,
            drifted,
            scale_target_of(live),
            meta.deleting,
            names_version=named_version_of(live),
            ports=ports_of(live),
            refused=_refused(app, auxiliary_object, live),
            moves=_moves(given, live),
            taken=acceptance(live)[0] if auxiliary_object.kind in ROUTES else None,
            answered=is_reported(live),
            born=live["metadata"].get("creationTimestamp", "") if auxiliary_object.kind in ROUTES else "",
        )

    def _drifted(
        self, app: AppKey, app_uid: str, kind: Kind, auxiliary_object: AuxiliaryObject, given: Given, live: Object
    ) -> bool:
        """Return whether it differs from what Git says; how the server normalised the last apply is no drift (I5)."""
        manifest = auxiliary_manifest(app, app_uid, kind, auxiliary_object.name, given, scale_target_of(live))
        if auxiliary_object.kind in ROUTES:
            manifest = following(manifest, named_version_of(live), ports_of(live))
            manifest = manifest if is_for_candidate(given) else attached_as(manifest, live)
        settled = is_as_given(live, manifest) or self._settled.get((app, auxiliary_object)) == _content(live)
        return not (settled and is_labelled(live, manifest))

    def _get(self, kind: Kind, app: AppKey, auxiliary_object: AuxiliaryObject) -> Object | None:
        try:
            return self._client.get(kind, app.namespace, auxiliary_object.name)
        except NotFound:
            self._kinds.forget(auxiliary_object.kind)
            raise

    def _kind(self, auxiliary_object: AuxiliaryObject, given: Given | None) -> Kind:
        version = given["apiVersion"] if given is not None else ""
        kind = self._kinds.kind(auxiliary_object.kind, version)
        if kind is None:
            raise NotFound(f"{auxiliary_object}: {why_unserved(auxiliary_object.kind, version)}")
        return kind

    def _own(self, kind: Kind, app: AppKey, name: str, config: AppConfig | None = None) -> Object | None:
        live = self._client.get(kind, app.namespace, name)
        owner = _owner_of(kind, meta_of(live), app, config) if live is not None else ""
        if owner:
            raise ForeignObject(owner)
        return live


def _owner_of(kind: Kind, meta: Meta, app: AppKey, config: AppConfig | None) -> str:
    """Return `owner_of`; empty for a disruption budget that the app's file agrees to take over (docs/decisions/0023),
    and for whatever the app that it was before has, or has let go (0070).

    A second budget beside it would not do: Kubernetes evicts no pod that two budgets select.
    """
    if _is_of_former(meta, app, config):
        return ""
    adopt = config.spec.adopt if config is not None and config.spec is not None else None
    covered = adopt is not None and (kind.name == BUDGET or bool(adopt.app))
    agreed = covered and is_unclaimed(meta, app)
    return "" if agreed else owner_of(kind, meta, app, adopt)


def _is_of_former(meta: Meta, app: AppKey, config: AppConfig | None) -> bool:
    """Return whether an object is that of the app that this one was before, as its own file says."""
    adopt = config.spec.adopt if config is not None and config.spec is not None else None
    theirs = controlling_app(meta)
    return adopt is not None and theirs is not None and theirs.namespace == app.namespace and adopt.was(theirs.name)


def _with_remedy(app: AppKey, auxiliary_object: AuxiliaryObject, error: Refused) -> str:
    """Return why an auxiliary object cannot be read; for a Secret also who must grant the right."""
    if auxiliary_object.kind != SECRETS.name or not isinstance(error, Forbidden):
        return str(error)
    return f"the agent may not apply {sentence(auxiliary_object, app)}: {grant_for_secrets(app.namespace)}; {error}"


def _refused(app: AppKey, auxiliary_object: AuxiliaryObject, live: Object) -> str:
    reason = refusal_of(live) if auxiliary_object.kind in ROUTES else ""
    return f"a Gateway refuses {sentence(auxiliary_object, app)}: {reason}" if reason else ""


def _content(live: Object) -> tuple[str, str]:
    return live["metadata"]["uid"], content_of(live)


def _auxiliary_route(config: AppConfig | None) -> AuxiliaryObject | None:
    route = config.auxiliary_objects.route if config is not None else None
    return route.beside if route is not None else None


def _given(config: AppConfig | None, one: AuxiliaryObject) -> Given | None:
    """Return what Git says of an object; of a route beside the live one, what it says of that."""
    if config is None:
        return None
    route, manifests = config.auxiliary_objects.route, config.auxiliary_objects.manifests
    if route is not None and one == route.beside and (main := manifests.get(route.live)) is not None:
        return {**main, "metadata": {**main["metadata"], "name": one.name}}
    return manifests.get(one)


def _moves(given: Given | None, live: Object) -> bool:
    """Return whether the live route is at other Gateways or hosts than Git says; never one of a candidate's hosts: no
    live traffic depends on that.
    """
    if given is None or live.get("kind", given.get("kind")) not in ROUTES or is_for_candidate(given):
        return False
    return attachment_of(dict(given)) != attachment_of(live)

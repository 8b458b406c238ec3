"""Creates and deletes the copies of ConfigMaps and Secrets that pods use, as the core decided.

Their content comes from Git's files and goes only to the API server.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import assert_never

from gitops_bg.cluster.api.errors import Forbidden, NotFound, grant_for_secrets
from gitops_bg.cluster.api.kinds import CONFIGURATION, SECRETS, Kind, Object
from gitops_bg.cluster.execution.writer import Writer
from gitops_bg.cluster.manifests.render import configuration_manifest
from gitops_bg.cluster.observation.project import snapshot_in
from gitops_bg.cluster.observation.reader import Reader
from gitops_bg.core import names
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.actions import ApplyConfiguration, DeleteConfiguration
from gitops_bg.core.model.drift import ChangeSetEntry
from gitops_bg.core.model.version import AppKey, ConfigurationRef
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.manifests.configuration import Configuration, configuration_of, find


class Copies:
    """The copies of one cluster.

    ``own`` reads an object live and raises where it is not ours; ``uid`` returns the app's.
    """

    def __init__(
        self,
        reader: Reader,
        writer: Writer,
        own: Callable[[Kind, AppKey, str], Object | None],
        uid: Callable[[AppKey], str],
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._own = own
        self._uid = uid

    def carry_out(
        self, app: AppKey, config: AppConfig | None, action: ApplyConfiguration | DeleteConfiguration
    ) -> tuple[ChangeSetEntry, ...]:
        """Carry out the action, or raise as `Executor.carry_out`; a refusal to access Secrets says who grants the
        right.
        """
        try:
            match action:
                case ApplyConfiguration():
                    return self._apply(app, config, action)
                case DeleteConfiguration():
                    return self._delete(app, action)
            assert_never(action)
        except Forbidden as error:
            if SECRETS.plural not in str(error):
                raise
            grant = grant_for_secrets(app.namespace)
            raise Forbidden(f"the agent may not copy the Secrets of {app}: {grant}; {error}") from error

    def _apply(self, app: AppKey, config: AppConfig | None, action: ApplyConfiguration) -> tuple[ChangeSetEntry, ...]:
        """Apply a copy. One with other content is recreated: an immutable object cannot be changed."""
        held = find(config.configuration if config else (), action.ref)
        if held is None:
            raise WorldChanged(f"Git no longer has what {action.name} is to hold")
        kind = CONFIGURATION[action.ref.kind]
        existing = self._own(kind, app, action.name)
        if existing is not None and "deletionTimestamp" in existing["metadata"]:
            raise WorldChanged(f"{kind.name} {action.name} is still being deleted")
        manifest = configuration_manifest(app, self._uid(app), held)
        drift = self._writer.drift(kind, existing, manifest)
        gone: tuple[ChangeSetEntry, ...] = ()
        if existing is not None and content_of(action.ref, existing).ref != action.ref:
            gone, existing = (self._make_room(kind, existing),), None
        return (*gone, replace(self._writer.apply(kind, manifest, existing).entry, drift=drift))

    def _make_room(self, kind: Kind, existing: Object) -> ChangeSetEntry:
        deleted = self._writer.delete(kind, existing)
        if existing["metadata"].get("finalizers"):
            raise WorldChanged(f"{kind.name} {existing['metadata']['name']} is kept by a finalizer")
        return deleted

    def _delete(self, app: AppKey, action: DeleteConfiguration) -> tuple[ChangeSetEntry, ...]:
        used = (ref for state in self._reader.replica_sets(app) for ref in snapshot_in(state).configuration)
        if (action.kind, action.name) in {(ref.kind, names.configuration_name(app, ref)) for ref in used}:
            raise WorldChanged(f"a ReplicaSet uses {action.kind} {action.name}")
        kind = CONFIGURATION[action.kind]
        body = self._own(kind, app, action.name)
        return (self._writer.delete(kind, body),) if body is not None else ()

    def held(self, app: AppKey, ref: ConfigurationRef) -> Configuration:
        """The content of a live copy, where it is that of ``ref``. Raises `NotFound`, and as `Executor.carry_out`."""
        name = names.configuration_name(app, ref)
        body = self._writer.get(CONFIGURATION[ref.kind], app.namespace, name)
        held = content_of(ref, body) if body is not None else None
        if held is None or held.ref != ref:
            raise NotFound(f"the cluster has no copy of {ref} as {app} had it")
        return held


def content_of(ref: ConfigurationRef, body: Object) -> Configuration:
    """The content of a live object, under the name of its original in Git."""
    return configuration_of(ref.kind, ref.name, body)

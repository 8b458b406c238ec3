"""The live checks before a write: the object exists and is ours, and no other decision was saved since."""

from gitops_bg.cluster.api.errors import ForeignObject
from gitops_bg.cluster.api.kinds import APPS, Kind, Object
from gitops_bg.cluster.execution.writer import Writer
from gitops_bg.cluster.observation.ownership import UNOWNED, Ownership, app_owner_of, owner_of
from gitops_bg.cluster.observation.project import app_state
from gitops_bg.cluster.observation.reader import Reader, WriteThrough
from gitops_bg.cluster.observation.states import meta_of
from gitops_bg.core.errors import WorldChanged
from gitops_bg.core.model.version import AppKey


class Guards:
    """The safeguards that all parts of the executor share. Thread-safe."""

    def __init__(self, reader: Reader, memory: WriteThrough, writer: Writer, us: Ownership = UNOWNED) -> None:
        self._reader = reader
        self._memory = memory
        self._writer = writer
        self._us = us

    def own(self, kind: Kind, app: AppKey, name: str) -> Object | None:
        """The object in its present state, None where there is none. Raises `ForeignObject` where it is not ours."""
        body = self._writer.get(kind, app.namespace, name)
        if body is None:
            return None
        if not self._memory.version(kind, app.namespace, name):
            self._memory.found(kind, app, name)
        owner = self._owner_of(kind, app, body)
        if owner:
            raise ForeignObject(owner)
        return body

    def _owner_of(self, kind: Kind, app: AppKey, body: Object) -> str:
        if kind == APPS:
            return app_owner_of(app_state(body), app, self._us)
        return owner_of(kind, meta_of(body), app)

    def existing(self, kind: Kind, app: AppKey, name: str) -> Object:
        """As `own`; raises `WorldChanged` where there is none."""
        body = self.own(kind, app, name)
        if body is None:
            raise WorldChanged(f"{kind.called(app.namespace, name)} is gone")
        return body

    def uid(self, app: AppKey) -> str:
        """The uid of the BlueGreenDeployment. Raises `WorldChanged` where there is none."""
        state = self._reader.app(app)
        if state is None:
            raise WorldChanged(f"{APPS.called(app.namespace, app.name)} is gone")
        return state.meta.uid

    def refuse_if_overtaken(self, app: AppKey, decided_on: str) -> None:
        """Raise `WorldChanged` where the BlueGreenDeployment is at another version; with an empty one,
        check nothing.
        """
        if not decided_on:
            return
        live = self._writer.get(APPS, app.namespace, app.name)
        if live is None or live["metadata"]["resourceVersion"] != decided_on:
            raise WorldChanged(f"{APPS.called(app.namespace, app.name)} is not what this was decided on")


def refuse_if_deleting(kind: Kind, body: Object) -> None:
    """Raise `WorldChanged` where an object is being deleted."""
    if "deletionTimestamp" in body["metadata"]:
        raise WorldChanged(f"{kind.name} {body['metadata']['name']} is still being deleted")

"""The status that a thread unpacked last: a pass reads it twice, to decide on it and to compare what it saves."""

import threading

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.observation.states import AppState
from gitops_bg.core.foreign_json import PackedJson


class LastStatus(threading.local):
    """One for each thread, so that it holds few."""

    def __init__(self) -> None:
        self._packed: PackedJson | None = None
        self._status: Object = {}

    def of(self, state: AppState) -> Object:
        """The status of an app. Whoever gets it changes nothing in it: the next one gets the same."""
        if state.status is not self._packed:
            self._packed, self._status = state.status, state.status.read()
        return self._status

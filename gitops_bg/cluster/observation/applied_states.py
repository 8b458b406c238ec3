"""Remembers how the server normalised our last apply, so that it is not reported as drift.

`drift` does not know every normalisation of every server. The live state right after an apply of our whole intent is no
drift, and repairing it again and again would be a hot loop (DESIGN §5, I5).
"""

from collections.abc import Hashable

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.cluster.observation.states import AppState, ReplicaSetState, ServiceState

Fingerprint = tuple[Hashable, ...]


class AppliedStates:
    """Pairs of intent and resulting live state. Thread-safe: single dict operations."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], tuple[Fingerprint, Fingerprint]] = {}

    def add(self, state: ReplicaSetState | ServiceState | AppState, intent: Fingerprint) -> None:
        """Note that applying ``intent`` resulted in ``state``."""
        self._known[_key(state)] = (_fingerprint(state), intent)

    def covers(self, state: ReplicaSetState | ServiceState | AppState, intent: Fingerprint) -> bool:
        """Whether this state is the result of this intent."""
        return self._known.get(_key(state)) == (_fingerprint(state), intent)


def intent_of(manifest: Object) -> Fingerprint:
    """A comparable form of a manifest."""
    return (repr(manifest),)


def _key(state: ReplicaSetState | ServiceState | AppState) -> tuple[str, str, str]:
    return type(state).__name__, state.meta.namespace, state.meta.name


def _fingerprint(state: ReplicaSetState | ServiceState | AppState) -> Fingerprint:
    if isinstance(state, ReplicaSetState):
        version = (state.full_digest, state.snapshot, state.configuration, state.color, state.number)
        return state.meta, state.meta.generation, version
    content = state.content if isinstance(state, ServiceState) else state.spec
    return state.meta, content

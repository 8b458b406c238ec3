"""The one act loop: carries the actions of a decision out on the cluster, for the agent and for commands without Git.

It says what came of them as a change set, and decides nothing: what an error means to the caller is the caller's.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gitops_bg.cluster.cluster import Cluster
from gitops_bg.core.errors import GitopsBgError, InvalidInput, Refused
from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    ClusterAction,
    CommitPrimary,
    DeleteAuxiliaryObject,
    OfferPromotion,
    PublishLedger,
    WithdrawPromotion,
)
from gitops_bg.core.model.change_set import NOTHING, ActionResult, ChangeSet
from gitops_bg.core.model.decision import Decision
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.load import AppConfig

REFUSALS = (Refused, InvalidInput)
"""Somebody said no: the same again is refused again."""

GIT_ACTIONS = (CommitPrimary, OfferPromotion, WithdrawPromotion, PublishLedger)
FOR_AUXILIARY_OBJECTS = (ApplyAuxiliaryObject, DeleteAuxiliaryObject)


@dataclass(frozen=True, slots=True)
class Acted:
    """What came of the cluster's part of a decision."""

    changes: ChangeSet = NOTHING
    stopped: GitopsBgError | None = None
    """Why an action failed that the ones after it build on: those were not tried."""
    troubled: GitopsBgError | None = None
    """Why an auxiliary object could not be written, the first of several: it holds up nothing else (decision 14)."""

    @property
    def moved_on(self) -> bool:
        """Whether an action on versions or traffic was carried out."""
        return any(not isinstance(result.action, FOR_AUXILIARY_OBJECTS) for result in self.changes.carried_out)


def act(
    cluster: Cluster,
    app: AppKey,
    config: AppConfig | None,
    decision: Decision,
    on_result: Callable[[ActionResult], None],
) -> Acted:
    """Carry out what ``decision`` wants of the cluster; ``on_result`` is called with each result as it is there.

    The actions on versions and traffic go first, in their order, up to the first that fails. Auxiliary objects are
    tried one by one then, unless it was something passing that stopped the others: the next pass looks again.
    """
    loop = _Loop(cluster, app, config, on_result)
    wanted = [action for action in decision.actions if not isinstance(action, GIT_ACTIONS)]
    stopped = loop.in_order(action for action in wanted if not isinstance(action, FOR_AUXILIARY_OBJECTS))
    troubled = None
    if stopped is None or isinstance(stopped, REFUSALS):
        troubled = loop.each(action for action in wanted if isinstance(action, FOR_AUXILIARY_OBJECTS))
    return Acted(ChangeSet(tuple(loop.results)), stopped, troubled)


class _Loop:
    """One run of the loop, and what came of it so far."""

    def __init__(
        self, cluster: Cluster, app: AppKey, config: AppConfig | None, on_result: Callable[[ActionResult], None]
    ) -> None:
        self._cluster = cluster
        self._app = app
        self._config = config
        self._on_result = on_result
        self.results: list[ActionResult] = []

    def in_order(self, actions: Iterable[ClusterAction]) -> GitopsBgError | None:
        """Up to the first that fails; why it did."""
        return next((error for action in actions if (error := self._try(action))), None)

    def each(self, actions: Iterable[ClusterAction]) -> GitopsBgError | None:
        """Each of them, whatever becomes of the others; the first error."""
        errors = [error for action in actions if (error := self._try(action))]
        return errors[0] if errors else None

    def _try(self, action: ClusterAction) -> GitopsBgError | None:
        try:
            result = self._cluster.carry_out(self._app, self._config, action)
        except REFUSALS as error:
            self._note(ActionResult(action, refused=str(error)))
            return error
        except GitopsBgError as error:
            return error
        self._note(result)
        return None

    def _note(self, result: ActionResult) -> None:
        self.results.append(result)
        self._on_result(result)

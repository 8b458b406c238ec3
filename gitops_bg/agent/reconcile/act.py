"""The one act loop: carries out the actions of a decision about an app or a group on the cluster, for the agent and for
commands without Git.

It returns the results as a change set, and decides nothing: the caller decides what an error means.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from gitops_bg.core.errors import GitopsBgError, InvalidInput, Refused, Transient
from gitops_bg.core.model.actions import (
    ApplyAuxiliaryObject,
    CommitPrimary,
    DeleteAuxiliaryObject,
    OfferPromotion,
    PublishLedger,
    WithdrawPromotion,
)
from gitops_bg.core.model.drift import NOTHING, ActionResult, ChangeSet
from gitops_bg.core.plan.chains import stands_alone, waits_for

REFUSALS = (Refused, InvalidInput)
"""Errors of a refusal: the same write would be refused again."""

GIT_ACTIONS = (CommitPrimary, OfferPromotion, WithdrawPromotion, PublishLedger)
FOR_AUXILIARY_OBJECTS = (ApplyAuxiliaryObject, DeleteAuxiliaryObject)


@dataclass(frozen=True, slots=True)
class Acted:
    """The results of the cluster's part of a decision."""

    changes: ChangeSet = NOTHING
    stopped: GitopsBgError | None = None
    """The error that ended the pass, else the first refusal: what depends on a refused action was not tried."""
    troubled: GitopsBgError | None = None
    """The first error of writing an auxiliary object: it blocks nothing else (decision 14)."""

    @property
    def moved_on(self) -> bool:
        """Whether an action on versions or traffic was carried out."""
        return any(not isinstance(result.action, FOR_AUXILIARY_OBJECTS) for result in self.changes.carried_out)


def act(
    actions: Iterable[object],
    carry_out: Callable[[Any], ActionResult],
    on_result: Callable[[ActionResult], None],
    waits_for: Callable[[Any, Any], bool] = waits_for,
) -> Acted:
    """Carry out those of these actions that are the cluster's; ``on_result`` is called with each result at once, and
    ``waits_for`` tells whether an action waits for one that failed.

    The actions on versions and traffic go first, in their order. A refusal holds up the actions that depend on it; any
    other error ends the pass for all but the way back of other Services, and the next one looks again. Auxiliary
    objects follow one by one.
    """
    loop = _Loop(carry_out, on_result, waits_for)
    wanted = [action for action in actions if not isinstance(action, GIT_ACTIONS)]
    stopped = loop.in_order(action for action in wanted if not isinstance(action, FOR_AUXILIARY_OBJECTS))
    troubled = None
    if stopped is None or isinstance(stopped, REFUSALS):
        troubled = loop.each(action for action in wanted if isinstance(action, FOR_AUXILIARY_OBJECTS))
    return Acted(ChangeSet(tuple(loop.results)), stopped, troubled)


class _Loop:
    """One run of the loop, with its results so far."""

    def __init__(
        self,
        carry_out: Callable[[Any], ActionResult],
        on_result: Callable[[ActionResult], None],
        waits: Callable[[Any, Any], bool],
    ) -> None:
        self._carry_out = carry_out
        self._on_result = on_result
        self._waits = waits
        self.results: list[ActionResult] = []

    def in_order(self, actions: Iterable[object]) -> GitopsBgError | None:
        """Carry out what depends on no refused action; return the error that ended it, else the first refusal.

        After it only what stands alone is tried.
        """
        refused: GitopsBgError | None = None
        ended: GitopsBgError | None = None
        failed: list[object] = []
        for action in actions:
            if ended is not None and not stands_alone(action):
                continue
            if any(self._waits(action, each) for each in failed):
                failed.append(action)
            elif error := self._try(action):
                failed.append(action)
                if isinstance(error, REFUSALS):
                    refused = refused or error
                elif isinstance(error, Transient):
                    ended = ended or error
                else:
                    return error
        return ended or refused

    def each(self, actions: Iterable[object]) -> GitopsBgError | None:
        """Carry out every action, even if others fail; return the first error."""
        errors = [error for action in actions if (error := self._try(action))]
        return errors[0] if errors else None

    def _try(self, action: object) -> GitopsBgError | None:
        try:
            result = self._carry_out(action)
        except REFUSALS as error:
            self._keep(ActionResult(action, refused=str(error)))
            return error
        except GitopsBgError as error:
            return error
        self._keep(result)
        return None

    def _keep(self, result: ActionResult) -> None:
        self.results.append(result)
        self._on_result(result)

"""What the merge of a group's branch would do to the live group: where requests go then, and what stands before it.
Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from gitops_bg.core.groups.desired import DesiredGroup
from gitops_bg.core.groups.gates import gates_before_merge
from gitops_bg.core.groups.model import PromotionRejected, VersionStage
from gitops_bg.core.groups.observed import ObservedGroup
from gitops_bg.core.groups.plan import after_of
from gitops_bg.core.groups.record import GroupRecord, TransitionKind
from gitops_bg.core.groups.requests import retry_version
from gitops_bg.core.groups.world import GroupWorld
from gitops_bg.core.inspect.forecast import Forecast, forecast
from gitops_bg.core.model.decision import GateResult
from gitops_bg.core.model.version import GroupKey, Source


@dataclass(frozen=True, slots=True)
class Proposal:
    """What people are asked to merge."""

    version: str
    """The version that it asks for; empty where nobody can read that."""
    live: str
    """The version that serves now."""
    forecast: Forecast
    deleted: tuple[str, ...] = ()
    """The versions whose folders it removes."""
    gates: tuple[GateResult, ...] = ()
    """What stands between the group and the version, as far as it can be open before the merge."""
    refused: str = ""
    """Why it must not be merged; empty where it may be."""
    later: bool = False
    """Whether an analysis or a hook is asked once it is merged."""
    named: str = ""
    """The version that main names without it."""

    @property
    def promotes(self) -> bool:
        """Whether requests move forward with it."""
        return self.forecast.ahead is not None and self.forecast.ahead.kind is TransitionKind.PROMOTION

    @property
    def is_back(self) -> bool:
        """Whether requests went back already, and main is to say so."""
        return self.version == self.live != self.named

    @property
    def goes_back(self) -> bool:
        """Whether requests go back with it, or did so already: for that nothing is waited for."""
        return self.is_back or (self.forecast.ahead is not None and not self.promotes)

    @property
    def change(self) -> str:
        """All of it in a few words."""
        if not self.version:
            return "a group.yaml that nobody can read"
        if self.goes_back:
            return f"back to {self.version}"
        if self.version != self.live:
            return f"{self.live} → {self.version}"
        return f"delete {', '.join(self.deleted)}" if self.deleted else "another group.yaml"


def proposal_of(
    key: GroupKey, main: DesiredGroup, merged: DesiredGroup, observed: ObservedGroup, record: GroupRecord, now: datetime
) -> Proposal:
    """Return what becomes of a group by a merge: ``main`` is what its folder says, ``merged`` what it says then."""
    record = replace(record, transition=None)  # What is on its way by main alone ends before, or because of it.
    live, named = record.state.only(VersionStage.ACTIVE), main.spec.active if main.spec is not None else ""
    if merged.spec is not None and merged.spec.retry is not None:  # It is on hold no longer then.
        world, asked = GroupWorld(key, merged.spec, merged, observed, record, now), Source(merged.commit or "merged")
        record = retry_version(world, asked, merged.spec.retry).record
    ahead = forecast(key, merged, observed, record, now)
    if merged.spec is None:
        why = str(merged.problems[0]) if merged.problems else "nobody can read what it would say"
        return Proposal("", live, ahead, refused=why, named=named)
    world = GroupWorld(key, merged.spec, merged, observed, record, now)
    version = merged.spec.active
    return Proposal(
        version,
        live,
        ahead,
        deleted=tuple(sorted(main.versions.keys() - merged.versions.keys())),
        gates=gates_before_merge(world, version) if version != live else (),
        refused=next(_against(world, version, live), ""),
        later=version != live and bool(merged.spec.pre_promotion_analysis or merged.spec.hooks),
        named=named,
    )


def _against(world: GroupWorld, version: str, live: str) -> Iterator[str]:
    """Yield why the group would reject it."""
    if version != live:
        try:
            after_of(world, version)
        except PromotionRejected as error:
            yield str(error)

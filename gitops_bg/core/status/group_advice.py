"""What people are told to do about a release group: what it does next by itself and what they can do, in two sentences
for `group explain`. Pure.
"""

from collections.abc import Callable, Iterator, Sequence

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.groups.inputs import DesiredGroup, ObservedGroup
from gitops_bg.core.groups.model import Endpoint, TransitionStep, VersionStage, version_in
from gitops_bg.core.groups.record import GroupDecision, GroupRecord, Transition, TransitionKind
from gitops_bg.core.groups.subject import version_of
from gitops_bg.core.groups.world import UNKNOWN_MEMBER, member_name
from gitops_bg.core.model.analysis import AnalysisStage
from gitops_bg.core.model.conditions import PROMOTION_REJECTED
from gitops_bg.core.model.decision import GateKind
from gitops_bg.core.model.version import GroupKey
from gitops_bg.core.status.groups import RECORD_LOST


@dataclass(frozen=True, slots=True)
class Advice:
    """What a person can do, and the command for it where there is one."""

    what: str
    command: str = ""


_MOST_NAMED = 3
_MEND = Advice("correct the line that is named, and push", "gitops-bg check")


@dataclass(frozen=True, slots=True)
class NextStep:
    """``next``: what happens without anybody."""

    next: str
    advice: tuple[Advice, ...] = ()


def next_step(key: GroupKey, desired: DesiredGroup, observed: ObservedGroup, decision: GroupDecision) -> NextStep:
    """Return what comes after a decision: the first row that fits, as in `core.status.groups`."""
    group = _Group(key, desired, observed, decision)
    return next(found for row in _ROWS if (found := row(group)) is not None)


@dataclass(frozen=True, slots=True)
class _Group:
    key: GroupKey
    desired: DesiredGroup
    observed: ObservedGroup
    decision: GroupDecision

    @property
    def record(self) -> GroupRecord:
        return self.decision.record

    @property
    def active(self) -> str:
        return self.record.state.only(VersionStage.ACTIVE)

    @property
    def serves_on(self) -> str:
        return f"{self.active} serves on" if has_served(self.record, self.observed) else "nothing serves yet"


def _unusable(group: _Group) -> NextStep | None:
    if group.observed.foreign:
        return NextStep("nothing moves: the ReleaseGroup is not the agent's", (Advice(group.observed.foreign),))
    if group.desired.spec is None:
        return NextStep(f"{group.serves_on}; nothing moves until its files are valid", (_MEND,))
    return None


def _shared_invalid(group: _Group) -> NextStep | None:
    """Return what the group shares with others is broken: that stops promotions alone."""
    if group.desired.problems:
        return NextStep(f"{group.serves_on}; nothing is promoted until its files are valid", (_MEND,))
    return None


def _without_record(group: _Group) -> NextStep | None:
    if not any(each.reason == RECORD_LOST for each in group.decision.conditions):
        return None
    said = "what serves serves on; nothing moves until the record can be made again from main"
    return NextStep(said, (Advice("put back the folder that the condition names, or do what else it says, and push"),))


def _new(group: _Group) -> NextStep | None:
    if not group.observed.uid:
        return NextStep("the agent makes the ReleaseGroup, and its services come up")
    return None


def _moving(group: _Group) -> NextStep | None:
    moving = group.record.transition
    if moving is None:
        return None
    if moving.withdrawn:
        said = f"requests stay with {moving.source}, or go back to it: {moving.withdrawn}"
        return NextStep(said, tuple(_out_of_withdrawn(group, moving)))
    if moving.goes_back:
        return NextStep(f"requests go back from {moving.source} to {moving.target} now, whatever the Gateway says")
    advice = (Advice(f"go back to {moving.source}", f"gitops-bg rollback {group.key} --to {moving.source}"),)
    if moving.step is TransitionStep.PREPARE:
        shut = [gate for gate in group.decision.gates if not gate.open]
        gated = " and every gate is open" if shut else ""
        said = f"once the Gateway has taken the rules with the version's header{gated}, all other requests move"
        mends = dict.fromkeys(Advice(gate.remedy) for gate in shut if gate.remedy)
        return NextStep(f"{said} from {moving.source} to {moving.target}", (*mends, *advice))
    return NextStep(f"once the Gateway has taken its routes, {moving.target} is active", advice)


def _out_of_withdrawn(group: _Group, moving: Transition) -> Iterator[Advice]:
    """Yield what to do where the way back finds no pods: mend them, or go on to the version that has the requests."""
    ill = tuple(_of_ill(group, moving.source))
    yield from ill
    asks = group.desired.spec is not None and group.desired.spec.active == moving.target
    if asks:
        yield from dict.fromkeys(Advice(gate.remedy) for gate in group.decision.gates if not gate.open and gate.remedy)
    elif ill and moving.moved:
        verb = "promote" if moving.kind is TransitionKind.PROMOTION else "rollback"
        yield Advice(f"or go on to {moving.target}", f"gitops-bg {verb} {group.key} --to {moving.target}")


def _after_failure(group: _Group) -> NextStep | None:
    """Advise where traffic has left a version that failed, and main still names that one."""
    override = group.record.override
    if override is None:
        return None
    left, to = version_in(override.from_digest), version_in(override.to_digest)
    if group.active != to:
        return NextStep(f"requests go back from {left} to {to} as soon as that answers", tuple(_of_ill(group, to)))
    if not override.diverged:
        return NextStep(f"{group.serves_on}; the agent commits active: {to} to main")
    branch = group.observed.to_merge(to)
    by_hand = f"merge {branch}, which names {to}" if branch else f"name {to} in group.yaml"
    back = Advice(by_hand) if branch else Advice(by_hand, f"gitops-bg rollback {group.key} --to {to}")
    again = Advice("or have it tried again as it is", f"gitops-bg retry {group.key}")
    return NextStep(f"{group.serves_on}; {left} is not promoted again by itself", (back, again))


def _rejected(group: _Group) -> NextStep | None:
    if not any(each.type == PROMOTION_REJECTED and each.status for each in group.decision.conditions):
        return None
    said = "put back what the condition names, or name a candidate, or the version before, as active"
    return NextStep(f"{group.serves_on}; what main asks for is rejected", (Advice(said),))


def _gated(group: _Group) -> NextStep | None:
    if not group.decision.gates or group.desired.spec is None:
        return None
    wanted, shut = group.desired.spec.active, [gate for gate in group.decision.gates if not gate.open]
    if not shut:
        return NextStep(f"requests begin to move to {wanted} now")
    advice = (Advice(gate.remedy) for gate in shut if gate.remedy)
    waits_for_pods = any(gate.kind == GateKind.AVAILABILITY for gate in shut)
    ill = _of_ill(group, wanted) if waits_for_pods else ()
    by_itself = f"requests begin to move to {wanted} by themselves once every gate is open"
    is_held = any(gate.kind is GateKind.HOLD for gate in shut)  # It opens for nobody who only waits.
    said = f"{group.serves_on}; {f'{wanted} waits until somebody has it tried again' if is_held else by_itself}"
    return NextStep(said, tuple(dict.fromkeys((*ill, *advice))))


def _coming_up(group: _Group) -> NextStep | None:
    """Return services of the active version that no request has ever reached: they may wait for gates of their own."""
    new = tuple(_unserved(group.record, group.observed))
    if not new:
        return None
    said = f"{_few_names(new)} serve{'s' if len(new) == 1 else ''} nobody yet"
    advice = (Advice(f"see what {each} waits for", f"gitops-bg explain {group.key.namespace}/{each}") for each in new)
    return NextStep(f"{said}: a service does once its pods are ready and its own gates are open", tuple(advice))


def _measured(group: _Group) -> NextStep | None:
    """Return what serves is measured, or its measurement has paused."""
    run = group.record.analyses.run(AnalysisStage.POST)
    if run is None or version_of(run) != group.active or not (run.running or run.paused):
        return None
    back = Advice(f"go back to {run.fallback}", f"gitops-bg rollback {group.key} --to {run.fallback}")
    if run.running:
        return NextStep(
            f"{group.serves_on} while it is measured; if it fails, requests go back to {run.fallback}", (back,)
        )
    stay = Advice("or end the pause: promote another version, or remove postPromotionAnalysis from group.yaml")
    return NextStep(f"{group.serves_on}; its analysis is inconclusive, and waits for somebody", (back, stay))


def _ill(group: _Group) -> NextStep | None:
    ill = tuple(_of_ill(group, group.active))
    return NextStep(f"{group.serves_on}; its services recover by themselves if they can", ill) if ill else None


def _settling(group: _Group) -> NextStep | None:
    if not group.active:
        return NextStep("the first version serves once its services are healthy")
    if group.decision.actions or group.record.left_at is not None:
        return NextStep(f"{group.active} serves; routes and Services are brought in line with main")
    return None


def _at_rest(group: _Group) -> NextStep | None:
    said = f"nothing: {group.active} serves until group.yaml names another version"
    return NextStep(said, tuple(_choices(group)))


_ROWS: tuple[Callable[[_Group], NextStep | None], ...] = (
    _unusable,
    _without_record,
    _moving,
    _after_failure,
    _shared_invalid,
    _new,
    _rejected,
    _gated,
    _coming_up,
    _measured,
    _ill,
    _settling,
    _at_rest,
)


def _of_ill(group: _Group, version: str) -> Iterator[Advice]:
    for each in serving_in(group.record, version):
        app = member_name(each.service, each.initial_version)
        if not group.observed.members.get(app, UNKNOWN_MEMBER).healthy:
            yield Advice(f"find out why {app} is not healthy", f"gitops-bg explain {group.key.namespace}/{app}")


def _choices(group: _Group) -> Iterator[Advice]:
    state = group.record.state
    for version in state.at(VersionStage.CANDIDATE):
        ill = tuple(_of_ill(group, version))
        yield from ill or (Advice(f"promote {version}", f"gitops-bg promote {group.key} --to {version}"),)
    legacy = state.only(VersionStage.LEGACY)
    if legacy:
        yield Advice(f"go back to {legacy}", f"gitops-bg rollback {group.key} --to {legacy}")


def has_served(record: GroupRecord, observed: ObservedGroup) -> bool:
    """Return whether requests have ever reached a service of the active version."""
    active = record.state.only(VersionStage.ACTIVE)
    return len(tuple(_unserved(record, observed))) < len(serving_in(record, active))


def _unserved(record: GroupRecord, observed: ObservedGroup) -> Iterator[str]:
    """Yield the members of the active version whose Service has never led anywhere."""
    for each in serving_in(record, record.state.only(VersionStage.ACTIVE)):
        if each.service not in observed.services:
            yield member_name(each.service, each.initial_version)


def _few_names(members: Sequence[str]) -> str:
    more = f" and {len(members) - _MOST_NAMED} more" if len(members) > _MOST_NAMED else ""
    return ", ".join(members[:_MOST_NAMED]) + more


def serving_in(record: GroupRecord, version: str) -> tuple[Endpoint, ...]:
    """Return what serves in a version, by service: its own, and what it has from older ones."""
    found = (each for each in record.state.endpoints if each.version == version)
    return tuple(sorted(found, key=lambda each: each.service))

"""What the status of an app says: its conditions, for people and ``kubectl wait``, and how many pods it has. Nothing
here decides anything.
"""

from collections.abc import Callable, Iterator

from gitops_bg.core.checks.adoption import at_rest
from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.onboarding import Exposure, exposures
from gitops_bg.core.checks.phase import failure, ledger_error
from gitops_bg.core.checks.pods import stuck, without_traffic
from gitops_bg.core.checks.ports import ports_of, unservable
from gitops_bg.core.checks.situations import SITUATIONS, standing_of
from gitops_bg.core.checks.sizes import refused_pods, restart_story, wanted_size
from gitops_bg.core.checks.subject import round_of
from gitops_bg.core.delivery.hooks import describe
from gitops_bg.core.model.conditions import (
    Condition,
    Phase,
    Situation,
    Standing,
    conditions_that_hold,
    kstatus_of,
)
from gitops_bg.core.model.decision import Counts, GateResult
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.hooks import Hook, HookAnswer, HookRun, HookType, has_accepted
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.record import FormerService
from gitops_bg.core.model.version import SubjectKind, Version
from gitops_bg.core.names import ALL_VERSIONS
from gitops_bg.core.status.alike import analysis_passed, git_reachable, ledger_trusted, source_verified
from gitops_bg.core.status.progress import STUCK_REASONS, adopting, progress_conditions, releasing
from gitops_bg.core.world import World


def counts_of(world: World) -> Counts:
    """The present number of pods of an app, in the words of Argo Rollouts (argo-rollouts.md §4)."""
    active, target = world.replica_set(world.record.routing.traffic), world.replica_set(world.target_digest)
    return Counts(
        desired=wanted_size(world, world.active) if world.active and world.active.on_every_node else world.full_size,
        current=sum(view.pods for view in world.observed.replica_sets if view.ours),
        updated=target.pods if target else 0,
        ready=active.ready if active else 0,
        available=active.available if active else 0,
    )


# --- Services ---

EXPOSED = "Exposed"
_MOST = 3
_WHAT_TO_DO = (
    "name it in activeServices, or have it select a label of activeMetadata as well; "
    f"if it may have the pods of every version, annotate it {ALL_VERSIONS}=true"
)


def _selected_once_up(world: World) -> str:
    """That Services which the app does not name have pods that nobody promoted, or would have them."""
    found = exposures(world)
    more = f"; and {len(found) - _MOST} more Services" if len(found) > _MOST else ""
    return f"{'; '.join(map(_exposed_service, found[:_MOST]))}{more}: {_WHAT_TO_DO}" if found else ""


def _selected_by_others(world: World) -> str:
    return _selected_once_up(world) if any(each.versions for each in exposures(world)) else ""


def _services_unreadable(world: World) -> str:
    refused = world.observed.other_services_refused
    return f"whether other Services select the pods of the app is unknown: {refused}" if refused else ""


def _exposed_service(exposure: Exposure) -> str:
    """One Service, as `Exposed` names it.

    The selector is what somebody else wrote, of Kubernetes' alphabet and length.
    """
    selector = ",".join(f"{key}={value}" for key, value in exposure.service.selector)
    has, would = _named(exposure.versions), _named(exposure.at_rest)
    what = f"has the pods of {has}" if has else f"would have the pods of {would} if there were any"
    more = f" and would have those of {would} if there were any" if has and would else ""
    return f"Service {exposure.service.name} ({selector}) {what}{more}, which nobody promoted"


def _named(versions: tuple[Version, ...]) -> str:
    return ", ".join(each.name for each in versions)


def _not_managed(world: World) -> str:
    return next((_left(world, each) for each in world.record.last_read.former_services if not world.follows(each)), "")


def _followed(world: World) -> str:
    return next((_follows(world, each) for each in world.record.last_read.former_services), "")


def _ports_wait(world: World) -> str:
    active = world.active
    waits = (_waits(world, active, name) for name in world.spec.strategy.active_services) if active else ()
    return next(filter(None, waits), "")


def _left(world: World, former: FormerService) -> str:
    app, name = world.spec.app, world.spec.strategy.preview_service
    if former.preview:
        instead = f"Service {name} shows it" if name else "app.yaml names none"
        return (
            f"Service {former.name} shows the preview no longer ({instead}), and is no longer managed: "
            f"`kubectl delete service -n {app.namespace} {former.name}`, or name it in app.yaml"
        )
    delete = f"kubectl delete service -n {app.namespace} {former.name}"
    return f"Service {former.name} is no longer managed: it stays where it points; `{delete}`, or name it in app.yaml"


def _follows(world: World, former: FormerService) -> str:
    until = world.followed_until(former)
    if until:
        end = f"until {until:%Y-%m-%dT%H:%M:%SZ}"
    elif waits := without_traffic(world):
        end = f"until Service {', '.join(waits)} carries it, and some time longer"
    else:
        end = "as long as its manifest is in Git"
    if former.name == world.spec.strategy.preview_service:
        return f"Service {former.name} carried live traffic: it moves with it {end}, and shows the preview then"
    return f"Service {former.name} is not named by app.yaml any more: it moves with live traffic {end}"


def _waits(world: World, active: Version, service: str) -> str:
    """The ports of Git that the live version does not serve, in a sentence; empty where it serves all of them."""
    said = next((each.ports for each in world.desired.ports if each.service == service and each.ports), "")
    now = ports_of(world, active, service) if said else ""
    if said == now:
        return ""
    missing = unservable(world.snapshot(active).text, said, [now])
    names = ", ".join(str(target) for target, _ in missing)
    shown = active.name
    return (
        f"Service {service} keeps its ports: no container of {shown} has the port {names} that Git says"
        if names
        else ""
    )


# --- all conditions ---

OFFER_WRITABLE, LEDGER_WRITABLE, MAIN_WRITABLE = "OfferWritable", "LedgerWritable", "MainWritable"


PUSH_REFUSED = "PushRefused"
"""The reason of these two where the remote refuses the branch; the message quotes the remote."""


MAIN_REFUSES = "MainRefuses"
"""The reason of the condition MainWritable where main takes no commit of the agent; its message says why."""


def conditions_of(world: World, gates: tuple[GateResult, ...] | None = None) -> tuple[Condition, ...]:
    """Five conditions that each app has from the start; the others only while there is something to say
    (`docs/reference/status.md`).

    A caller that has computed `gates_to_show` already passes them.
    """
    standing, git, coming = standing_of(world), world.observed.git, world.incoming or world.candidate
    return (
        *conditions_that_hold((*SITUATIONS, *OTHERS), world),
        _healthy(standing),
        *kstatus_of(standing.phase, standing.message),
        *progress_conditions(world, gates_to_show(world) if gates is None else gates),
        *_candidate_ready(world),
        *analysis_passed(round_of(world), coming.digest if coming is not None else ""),
        *_hooks_passed(world, coming.digest if coming is not None else world.target_digest),
        *adopting(world),
        *releasing(world),
        *git_reachable(git.unreachable, git.unread_reason),
        *source_verified(git.verification),
        *ledger_trusted(world.record, git.ledger_doubt, git.ledger_at, SubjectKind.APP),
    )


def _healthy(standing: Standing) -> Condition:
    return Condition("Healthy", standing.phase is Phase.HEALTHY, standing.phase.value, standing.message)


def _candidate_ready(world: World) -> Iterator[Condition]:
    candidate = world.candidate
    if candidate is None or at_rest(world):
        return
    if candidate.available_since:
        yield Condition("CandidateReady", True, "Available", f"{candidate.name} is available")
    elif candidate.failure:
        yield Condition("CandidateReady", False, candidate.failure, failure(world))
    elif pods := stuck(world, candidate):
        said = f"{candidate.name} waits: {pods.message}"
        yield Condition("CandidateReady", False, STUCK_REASONS[pods.cause], said)
    else:
        yield Condition("CandidateReady", False, "Progressing", f"{candidate.name} comes up")


def _hooks_passed(world: World, digest: str) -> Iterator[Condition]:
    """What the hooks say of a version that does not serve: the first that blocks it, with its whole body.

    It is the version on its way, or else the target, which the hooks may have put on hold.
    """
    runs = _last_answers(world, digest) if digest != world.record.routing.traffic else []
    shut = next(((hook, run) for hook, run in runs if not _lets_through(hook, run)), None)
    if shut is not None:
        yield Condition("HooksPassed", False, _standing_of(shut[1]), _in_full(world, *shut))
    elif runs:
        asked = round_of(world)
        yield Condition("HooksPassed", True, "Passed", "; ".join(describe(asked, *each) for each in runs))


def _last_answers(world: World, digest: str) -> list[tuple[Hook, HookRun]]:
    """The last answer of each hook about a version; where it was asked again when traffic would move, that answer."""
    hooks = {(hook.name, hook.type): hook for hook in world.spec.strategy.hooks}
    asked = (run for run in world.record.hook_state.runs if run.digest == digest)
    runs = [(hooks[key], run) for run in asked if (key := (run.hook, run.type)) in hooks]
    again = {run.hook for _, run in runs if run.final}
    return [(hook, run) for hook, run in runs if run.final or run.hook not in again]


def _lets_through(hook: Hook, run: HookRun) -> bool:
    return hook.type is HookType.ROLLBACK or has_accepted(run, hook)


def _standing_of(run: HookRun) -> str:
    if run.expired:
        return "Expired"
    return {None: "Asked", HookAnswer.UNANSWERED: "Unanswered"}.get(run.answer, "Refused")


def _in_full(world: World, hook: Hook, run: HookRun) -> str:
    sentence = describe(round_of(world), hook, run)
    return sentence if run.text in sentence else f"{sentence}\n{run.text}"


def _pull_request(state: PullState) -> Callable[[World], str]:
    """Whether the pull request is open, or was closed."""

    def says(world: World) -> str:
        pull = world.observed.git.pull
        if pull is None or pull.state is not state:
            return ""
        named = f"#{pull.number} {pull.url}".strip()
        if state is PullState.OPEN:
            return f"{named} is open{', marked as a draft by people' if pull.draft else ''}"
        return f"{named} was closed{f' by {pull.closed_by}' if pull.closed_by else ''}"

    return says


def _restart(world: World) -> str:
    restart = world.record.operator.restart
    return restart_story(world, restart) if restart is not None and restart.begun else ""


def _pods_unreadable(world: World) -> str:
    return _restart(world) if world.observed.pods_refused else ""


def _eviction_refused(world: World) -> str:
    return _restart(world) if refused_pods(world) else ""


def _restart_to_come(world: World) -> str:
    restart = world.record.operator.restart
    if restart is None or restart.begun:
        return ""
    return f"pods older than {restart.at:%Y-%m-%dT%H:%M:%SZ} are restarted at that time"


def _invalid_policies(world: World) -> str:
    policing = world.desired.policing
    return "; ".join(policing.problems) if policing is not None else ""


def _main_refuses(world: World) -> str:
    """Why main takes no commit, of an app with something to commit: other apps do not show it while the agent tries."""
    has_to_commit = bool(world.candidate or world.record.override) or world.desired.primary is Missing.ABSENT
    return world.observed.git.main_refused if has_to_commit else ""


def _clock(word: str, sign: int) -> Callable[[World], str]:
    """That the clocks differ. The skew itself is a metric: a message that changes each second would be a write each
    second.
    """
    said = f"the API server's clock is some seconds or more {word} the agent's"
    return lambda world: said if world.observed.clock_skew * sign > 0 else ""


OTHERS: tuple[Situation[World], ...] = (
    Situation("Conflict", lambda world: world.observed.app_claimed, reason="ClaimedTwice"),
    Situation("Restarting", _restart_to_come, reason="Scheduled", status=False),
    Situation("Restarting", _pods_unreadable, reason="PodsUnreadable"),
    Situation("Restarting", _eviction_refused, reason="EvictionRefused"),
    Situation("Restarting", _restart, reason="Restarting"),
    Situation("InvalidPolicy", _invalid_policies, reason="InvalidPolicy"),
    Situation("Exposed", _selected_by_others, reason="SelectedByOthers"),
    Situation("Exposed", _selected_once_up, reason="SelectedOnceUp"),
    Situation("Exposed", _services_unreadable, reason="ServicesUnreadable", status=None),
    Situation("ServicesInGit", _not_managed, reason="NotManaged", status=False),
    Situation("ServicesInGit", _followed, reason="Followed", status=False),
    Situation("ServicesInGit", _ports_wait, reason="PortsWait", status=False),
    Situation(MAIN_WRITABLE, _main_refuses, reason=MAIN_REFUSES, status=False),
    Situation(OFFER_WRITABLE, lambda world: world.observed.git.offer_refused, reason=PUSH_REFUSED, status=False),
    Situation("PullRequest", lambda world: world.observed.git.pull_trouble, reason="Trouble", status=None),
    Situation("PullRequest", lambda world: world.observed.git.pull_queued, reason="Queued", status=False),
    Situation("PullRequest", _pull_request(PullState.OPEN), reason="Open"),
    Situation("PullRequest", _pull_request(PullState.CLOSED), reason="Closed", status=False),
    Situation(LEDGER_WRITABLE, ledger_error, reason=PUSH_REFUSED, status=False),
    Situation("ClockSynchronized", _clock("ahead of", 1), reason="ApiServerAhead", status=False),
    Situation("ClockSynchronized", _clock("behind", -1), reason="ApiServerBehind", status=False),
)
"""What changes no phase: as `SITUATIONS`."""

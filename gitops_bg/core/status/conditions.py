"""What the status of an app says: its conditions, for people and ``kubectl wait``, and how many pods it has. Nothing
here decides anything.
"""

from collections.abc import Callable

from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.onboarding import Exposure, exposures
from gitops_bg.core.checks.phase import MERGE, PHASES, TREE, ledger_error
from gitops_bg.core.checks.pods import without_traffic
from gitops_bg.core.checks.ports import ports_of, unservable
from gitops_bg.core.checks.situations import SITUATIONS, standing_of
from gitops_bg.core.checks.sizes import refused_pods, restart_story, wanted_size
from gitops_bg.core.checks.subject import round_of
from gitops_bg.core.model.conditions import (
    CALM,
    GIT_REACHABLE,
    OF_THE_PHASE,
    STAYS,
    Condition,
    Meaning,
    Meanings,
    Phase,
    Situation,
    Standing,
    Who,
    conditions_that_hold,
    kstatus_of,
    meanings_of,
)
from gitops_bg.core.model.decision import Counts, GateResult
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.record import FormerService
from gitops_bg.core.model.version import SubjectKind, Version
from gitops_bg.core.names import ALL_VERSIONS
from gitops_bg.core.status.alike import analysis_passed, git_reachable, ledger_trusted, of_both, source_verified
from gitops_bg.core.status.progress import (
    PROGRESS_MEANINGS,
    adopting,
    candidate_ready,
    hooks_passed,
    progress_conditions,
)
from gitops_bg.core.world import World


def counts_of(world: World) -> Counts:
    """Return the present number of pods of an app, in the words of Argo Rollouts (argo-rollouts.md §4)."""
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
    """Say that Services which the app does not name have pods that nobody promoted, or would have them."""
    found = exposures(world)
    more = f"; and {len(found) - _MOST} more Services" if len(found) > _MOST else ""
    return f"{'; '.join(map(_exposed_service, found[:_MOST]))}{more}: {_WHAT_TO_DO}" if found else ""


def _selected_by_others(world: World) -> str:
    return _selected_once_up(world) if any(each.versions for each in exposures(world)) else ""


def _services_unreadable(world: World) -> str:
    refused = world.observed.other_services_refused
    return f"whether other Services select the pods of the app is unknown: {refused}" if refused else ""


def _exposed_service(exposure: Exposure) -> str:
    """Return one Service, as `Exposed` names it.

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
    """Return the ports of Git that the live version does not serve, in a sentence; empty where it serves all of
    them.
    """
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
"""The reason of the first two where the remote refuses the branch; the message quotes the remote."""

MAIN_REFUSES = "MainRefuses"
"""The reason of the condition MainWritable where main takes no commit of the agent; its message says why."""

_RECONCILE = "gitops-bg reconcile {app}"
_NARROW = "name the Service in activeServices, narrow its selector, or agree to it, as the message says"
_SKEWED = Meaning(
    "is not affected; no wait gets longer, but shown times may be wrong",
    Who.PLATFORM,
    "set the clocks, of the agent's node and of the control plane, by NTP",
    "timedatectl status",
)


def conditions_of(world: World, gates: tuple[GateResult, ...] | None = None) -> tuple[Condition, ...]:
    """Return the five conditions that each app has from the start; the others only while there is something to say
    (`docs/reference/status.md`).

    A caller that has computed `gates_to_show` already passes them.
    """
    standing, git, coming = standing_of(world), world.observed.git, world.incoming or world.candidate
    return (
        *conditions_that_hold((*SITUATIONS, *OTHERS), world),
        _healthy(standing),
        *kstatus_of(standing.phase, standing.message),
        *progress_conditions(world, gates_to_show(world) if gates is None else gates),
        *candidate_ready(world),
        *analysis_passed(round_of(world), coming.digest if coming is not None else ""),
        *hooks_passed(world, coming.digest if coming is not None else world.target_digest),
        *adopting(world),
        *git_reachable(git.unreachable, git.unread_reason),
        *source_verified(git.verification),
        *ledger_trusted(world.record, git.ledger_doubt, git.ledger_at, SubjectKind.APP),
    )


def _healthy(standing: Standing) -> Condition:
    return Condition("Healthy", standing.phase is Phase.HEALTHY, standing.phase.value, standing.message)


def _pull_request(state: PullState) -> Callable[[World], str]:
    """Return whether the pull request is open, or was closed."""

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
    """Return why main takes no commit, of an app with something to commit: other apps do not show it while the agent
    tries.
    """
    has_to_commit = bool(world.candidate or world.record.override) or world.desired.primary is Missing.ABSENT
    return world.observed.git.main_refused if has_to_commit else ""


def _clock(word: str, sign: int) -> Callable[[World], str]:
    """Say that the clocks differ. The skew itself is a metric: a message that changes each second would be a write each
    second.
    """
    said = f"the API server's clock is some seconds or more {word} the agent's"
    return lambda world: said if world.observed.clock_skew * sign > 0 else ""


OTHERS: tuple[Situation[World], ...] = (
    Situation("Conflict", lambda world: world.observed.app_claimed, reason="ClaimedTwice").means(
        "follows this repository; the other agent leaves it alone",
        Who.PLATFORM,
        "remove the app from one of the two repositories, then the claim that the message names",
    ),
    Situation("Restarting", _restart_to_come, reason="Scheduled", status=False).means(
        STAYS, Who.NOBODY, "wait: pods are replaced at that time", TREE
    ),
    Situation("Restarting", _pods_unreadable, reason="PodsUnreadable").means(
        STAYS, Who.PLATFORM, "give the agent the right that the message names", "kubectl auth can-i --list"
    ),
    Situation("Restarting", _eviction_refused, reason="EvictionRefused").means(
        STAYS, Who.OPERATOR, "let the PodDisruptionBudget spare a pod", "kubectl get poddisruptionbudgets -A"
    ),
    Situation("Restarting", _restart, reason="Restarting").means(
        STAYS, Who.NOBODY, "wait: pods are replaced, a few at a time", TREE
    ),
    Situation("InvalidPolicy", _invalid_policies, reason="InvalidPolicy").means(
        STAYS,
        Who.PLATFORM,
        "correct the file of policies/ that is named, and push; what it said last holds until then",
        "gitops-bg check",
    ),
    Situation("Exposed", _selected_by_others, reason="SelectedByOthers").means(
        "of the Service that is named also reaches what nobody promoted", Who.OPERATOR, _NARROW
    ),
    Situation("Exposed", _selected_once_up, reason="SelectedOnceUp").means(
        "of the Service named reaches what nobody promoted, once it is up", Who.OPERATOR, _NARROW
    ),
    Situation("Exposed", _services_unreadable, reason="ServicesUnreadable", status=None).means(
        "may also reach what nobody promoted, by Services of others",
        Who.PLATFORM,
        "mend what the message names: the agent must be able to list the Services of the namespace",
    ),
    Situation("ServicesInGit", _not_managed, reason="NotManaged", status=False).means(
        "of this Service stays where it is: nobody moves it any more",
        Who.OPERATOR,
        "delete the Service, or name it in app.yaml again",
    ),
    Situation("ServicesInGit", _followed, reason="Followed", status=False).means(
        "goes through the Service as before, until the time that is named",
        Who.AUTHOR,
        "send its clients to the Services that app.yaml names",
        TREE,
    ),
    Situation("ServicesInGit", _ports_wait, reason="PortsWait", status=False).means(
        "goes through the ports that the live version has",
        Who.AUTHOR,
        "promote a version whose containers declare these ports; they move with it",
    ),
    Situation(MAIN_WRITABLE, _main_refuses, reason=MAIN_REFUSES, status=False).means(
        "stays as it is until somebody merges",
        Who.PROMOTER,
        "merge the promotion branch: main takes none of the agent",
        MERGE,
    ),
    Situation(OFFER_WRITABLE, lambda world: world.observed.git.offer_refused, reason=PUSH_REFUSED, status=False).means(
        "stays with the live version: nobody can merge a promotion",
        Who.REMOTE,
        "let the agent push gitops-bg/promote/* and promote-in/*; it tries again by itself, and at once when asked",
        _RECONCILE,
    ),
    Situation("PullRequest", lambda world: world.observed.git.pull_trouble, reason="Trouble", status=None).means(
        "is not affected: the promotion branch can be merged with git",
        Who.OPERATOR,
        "do what the message says; the agent tries again by itself",
        MERGE,
    ),
    Situation("PullRequest", lambda world: world.observed.git.pull_queued, reason="Queued", status=False, meaning=CALM),
    Situation("PullRequest", _pull_request(PullState.OPEN), reason="Open", meaning=CALM),
    Situation("PullRequest", _pull_request(PullState.CLOSED), reason="Closed", status=False, meaning=CALM),
    Situation(LEDGER_WRITABLE, ledger_error, reason=PUSH_REFUSED, status=False).means(
        "is not affected: it moves, and the record keeps what is to be told",
        Who.REMOTE,
        "let the agent push gitops-bg/state/*; it tries again by itself, and at once when asked",
        _RECONCILE,
    ),
    Situation("ClockSynchronized", _clock("ahead of", 1), reason="ApiServerAhead", status=False, meaning=_SKEWED),
    Situation("ClockSynchronized", _clock("behind", -1), reason="ApiServerBehind", status=False, meaning=_SKEWED),
)
"""What changes no phase: as `SITUATIONS`."""

MEANINGS: Meanings = {
    **of_both(read_again=_RECONCILE),
    (GIT_REACHABLE, "Unreachable"): Meaning(
        "stays as it is; going back works without Git",
        Who.REMOTE,
        "bring the remote back; in an emergency, go back without it",
        "gitops-bg rollback {app} --offline",
    ),
    **meanings_of((*SITUATIONS, *OTHERS)),
    **{(kind, phase): words.meaning for kind in OF_THE_PHASE for phase, words in PHASES.items()},
    **PROGRESS_MEANINGS,
}
"""What each condition of an app means for traffic now, who must do what, and the command."""

"""What the status of an app says: its conditions, for people and ``kubectl wait``, and how many pods it has. Nothing
here decides anything.
"""

from collections.abc import Iterator
from itertools import islice

from gitops_bg.core.checks.adoption import at_rest
from gitops_bg.core.checks.auxiliary import requests_claimed_by_others
from gitops_bg.core.checks.gates import gates_to_show
from gitops_bg.core.checks.onboarding import Exposure, exposures
from gitops_bg.core.checks.phase import (
    failure,
    foreign_object,
    led_elsewhere,
    ledger_error,
    refusal,
    stays,
    unavailable,
    unreached,
)
from gitops_bg.core.checks.pods import stuck, without_traffic
from gitops_bg.core.checks.ports import ports_of, unservable
from gitops_bg.core.checks.situations import (
    AT_ZERO,
    diverged,
    left,
    main_is_away,
    no_target,
    on_hold,
    standing_of,
)
from gitops_bg.core.checks.sizes import is_scaled_to_zero, refused_pods, restart_story, wanted_size
from gitops_bg.core.checks.subject import round_of
from gitops_bg.core.delivery.hooks import describe
from gitops_bg.core.model.conditions import INVALID_SPEC, Condition, Phase, Standing, kstatus_of
from gitops_bg.core.model.decision import Counts, GateResult
from gitops_bg.core.model.desired import Missing
from gitops_bg.core.model.hooks import Hook, HookAnswer, HookRun, HookType, has_accepted
from gitops_bg.core.model.journal import PullRequest, PullState
from gitops_bg.core.model.record import FormerService
from gitops_bg.core.model.version import SubjectKind, Version
from gitops_bg.core.names import ALL_VERSIONS
from gitops_bg.core.status import alike
from gitops_bg.core.status.alike import (
    RefusalCause,
    analysis_passed,
    cause_of,
    git_reachable,
    history_rewritten,
    invalid_spec,
    ledger_trusted,
    source_verified,
    suspended,
)
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


def exposed(world: World) -> Iterator[Condition]:
    """The condition that Services which the app does not name have pods that nobody promoted, or would have them;
    unknown where the Services of the namespace cannot be listed.
    """
    if found := exposures(world):
        more = f"; and {len(found) - _MOST} more Services" if len(found) > _MOST else ""
        said = "; ".join(map(_exposed_service, found[:_MOST]))
        reason = "SelectedByOthers" if any(each.versions for each in found) else "SelectedOnceUp"
        yield Condition(EXPOSED, True, reason, f"{said}{more}: {_WHAT_TO_DO}")
    elif refused := world.observed.other_services_refused:
        why = f"whether other Services select the pods of the app is unknown: {refused}"
        yield Condition(EXPOSED, None, "ServicesUnreadable", why)


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


def services_in_git(world: World) -> Iterator[Condition]:
    """The condition that live Services are not as Git says, and which.

    The most lasting difference alone: Services no longer managed, Services followed for a while, ports that wait for a
    promotion.
    """
    return islice(_differences(world), 1)


def _differences(world: World) -> Iterator[Condition]:
    former, active = world.record.last_read.former_services, world.active
    for each in former:
        if not world.follows(each):
            yield Condition("ServicesInGit", False, "NotManaged", _left(world, each))
    for each in former:
        yield Condition("ServicesInGit", False, "Followed", _followed(world, each))
    for name in world.spec.strategy.active_services:
        if active and (waits := _waits(world, active, name)):
            yield Condition("ServicesInGit", False, "PortsWait", waits)


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


def _followed(world: World, former: FormerService) -> str:
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

CLOCK_SYNCHRONIZED = "ClockSynchronized"


MAIN_WRITABLE, FOLDER_IN_MAIN = "MainWritable", "FolderInMain"
LEAVING = "Leaving"
"""The reason of FolderInMain of an app that ends, as main asked for."""


OFFER_WRITABLE, LEDGER_WRITABLE = "OfferWritable", "LedgerWritable"


PUSH_REFUSED = "PushRefused"
"""The reason of these two where the remote refuses the branch; the message quotes the remote."""


MAIN_REFUSES = "MainRefuses"
"""The reason of the condition MainWritable where main takes no commit of the agent; its message says why."""


_REFUSED = {
    RefusalCause.OBJECT: "ObjectInvalid",
    RefusalCause.POLICY: "PolicyDenied",
    RefusalCause.QUOTA: "QuotaExceeded",
    RefusalCause.OTHER: "WriteRefused",
}
"""The reasons of the condition Refused, by who can mend it; its message says which write was refused, and why."""


def conditions_of(world: World, gates: tuple[GateResult, ...] | None = None) -> tuple[Condition, ...]:
    """Five conditions that each app has from the start; the others only while there is something to say
    (`docs/reference/status.md`).

    A caller that has computed `gates_to_show` already passes them.
    """
    standing, git, coming = standing_of(world), world.observed.git, world.incoming or world.candidate
    return (
        _available(world),
        _healthy(standing),
        *kstatus_of(standing.phase, standing.message),
        *progress_conditions(world, gates_to_show(world) if gates is None else gates),
        *_candidate_ready(world),
        *analysis_passed(round_of(world), coming.digest if coming is not None else ""),
        *_hooks_passed(world, coming.digest if coming is not None else world.target_digest),
        *_restarting(world),
        *alike.on_hold(on_hold(world)),
        *suspended(world.spec.suspend if world.suspended else None),
        *_invalid(world),
        *_invalid_policy(world),
        *adopting(world),
        *releasing(world),
        *_conflict(world),
        *exposed(world),
        *_refused(world),
        *_diverged(world),
        *services_in_git(world),
        *git_reachable(git.unreachable, git.unread_reason),
        *_main_writable(world),
        *_folder_in_main(world),
        *source_verified(git.verification),
        *history_rewritten(world.lost),
        *_offer_writable(world),
        *pull_request(world),
        *_ledger_writable(world),
        *ledger_trusted(world.record, git.ledger_doubt, git.ledger_at, SubjectKind.APP),
        *_clock(world),
    )


def _available(world: World) -> Condition:
    active = world.active
    if elsewhere := at_rest(world):
        return Condition("Available", False, "Released", elsewhere)
    if active is None:
        return Condition("Available", False, "NothingServes", "no version was deployed yet")
    if obstacle := next(_obstacles(world), None):
        return obstacle
    return Condition("Available", True, "Serving", f"live traffic goes to {active.name}")


def _obstacles(world: World) -> Iterator[Condition]:
    """What keeps requests from the version that serves."""
    if said := unavailable(world):
        yield Condition("Available", False, "NoPodAvailable", said)
    if is_scaled_to_zero(world):
        yield Condition("Available", False, "ScaledToZero", AT_ZERO)
    if said := led_elsewhere(world):
        yield Condition("Available", False, "LedElsewhere", said)
    if said := unreached(world):
        yield Condition("Available", False, "NoEndpoint", said)


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


def _restarting(world: World) -> Iterator[Condition]:
    restart = world.record.operator.restart
    if restart is None:
        return
    if not restart.begun:
        said = f"pods older than {restart.at:%Y-%m-%dT%H:%M:%SZ} are restarted at that time"
        yield Condition("Restarting", False, "Scheduled", said)
    elif world.observed.pods_refused:
        yield Condition("Restarting", True, "PodsUnreadable", restart_story(world, restart))
    else:
        reason = "EvictionRefused" if refused_pods(world) else "Restarting"
        yield Condition("Restarting", True, reason, restart_story(world, restart))


def _invalid(world: World) -> Iterator[Condition]:
    if not world.desired.problems and (missing := no_target(world)):
        yield Condition(INVALID_SPEC, True, "NoTarget", missing)
    yield from invalid_spec(world.desired.problems)


def _invalid_policy(world: World) -> Iterator[Condition]:
    policing = world.desired.policing
    if policing is not None and policing.problems:
        yield Condition("InvalidPolicy", True, "InvalidPolicy", "; ".join(policing.problems))


def _conflict(world: World) -> Iterator[Condition]:
    if whose := foreign_object(world):
        yield Condition("Conflict", True, "ForeignObject", whose)
    elif not world.desired.twins and (rival := requests_claimed_by_others(world)):
        yield Condition("Conflict", True, "RequestsTaken", rival)
    elif world.observed.app_claimed:
        yield Condition("Conflict", True, "ClaimedTwice", world.observed.app_claimed)
    elif world.desired.twins:
        yield Condition("Conflict", True, "SameShortDigest", world.desired.twins)


def _refused(world: World) -> Iterator[Condition]:
    if why := refusal(world):
        yield Condition("Refused", True, _REFUSED[cause_of(why)], why)


def _diverged(world: World) -> Iterator[Condition]:
    override = world.record.override
    if override is not None:
        reason = "MainRefusesCommit" if override.diverged else "MainAway" if main_is_away(world) else "CommitPending"
        yield Condition("Diverged", True, reason, diverged(world))


def _offer_writable(world: World) -> Iterator[Condition]:
    """The condition of an app with something to offer or to withdraw."""
    if why := world.observed.git.offer_refused:
        yield Condition(OFFER_WRITABLE, False, PUSH_REFUSED, why)


def _ledger_writable(world: World) -> Iterator[Condition]:
    """The condition of an app with ledger entries to write; other apps do not show the refusal."""
    if why := ledger_error(world):
        yield Condition(LEDGER_WRITABLE, False, PUSH_REFUSED, why)


def _clock(world: World) -> Iterator[Condition]:
    """The condition of the clocks.

    The skew itself is a metric: a message that changes each second would be a write each second.
    """
    if skew := world.observed.clock_skew:
        reason = "ApiServerAhead" if skew > 0 else "ApiServerBehind"
        message = f"the API server's clock is some seconds or more {'ahead of' if skew > 0 else 'behind'} the agent's"
        yield Condition(CLOCK_SYNCHRONIZED, False, reason, message)


def _has_to_commit(world: World) -> bool:
    """Whether a refusal of main matters to the app; other apps do not show it when the agent tries main again."""
    return bool(world.candidate or world.record.override) or world.desired.primary is Missing.ABSENT


def _main_writable(world: World) -> Iterator[Condition]:
    """The condition of an app with something to commit."""
    refused = world.observed.git.main_refused
    if refused and _has_to_commit(world):
        yield Condition(MAIN_WRITABLE, False, MAIN_REFUSES, refused)


def _folder_in_main(world: World) -> Iterator[Condition]:
    if said := left(world):
        yield Condition(FOLDER_IN_MAIN, False, "Orphaned" if stays(world) else LEAVING, said)


PULL_REQUEST = "PullRequest"


def pull_request(world: World) -> Iterator[Condition]:
    """Whether the pull request is open; nothing where there is none, and none is to be."""
    git = world.observed.git
    if git.pull_trouble:
        yield Condition(PULL_REQUEST, None, "Trouble", git.pull_trouble)
    elif git.pull_queued:
        yield Condition(PULL_REQUEST, False, "Queued", git.pull_queued)
    elif git.pull is not None and git.pull.state is not PullState.MERGED:
        yield _pull_request(git.pull)


def _pull_request(pull: PullRequest) -> Condition:
    named = f"#{pull.number} {pull.url}".strip()
    if pull.state is PullState.OPEN:
        draft = ", marked as a draft by people" if pull.draft else ""
        return Condition(PULL_REQUEST, True, "Open", f"{named} is open{draft}")
    by = f" by {pull.closed_by}" if pull.closed_by else ""
    return Condition(PULL_REQUEST, False, "Closed", f"{named} was closed{by}")

"""What each condition means for traffic now, who must do what, and the command: one table for every screen.

Every condition of an app needs a row here, and every one of a release group a row in `core.status.group_advice`,
else `tests/core/status/test_meanings.py` fails and names it. Nothing here decides anything; `{app}` in a command is
NAMESPACE/NAME.
"""

from collections.abc import Mapping

from gitops_bg.core.model.conditions import (
    ANALYSIS_PASSED,
    AUTHOR,
    COMMITTER,
    GIT_REACHABLE,
    HISTORY_REWRITTEN,
    INVALID_SPEC,
    LEDGER_TRUSTED,
    NOBODY,
    OF_THE_PHASE,
    OPERATOR,
    PLATFORM,
    PROMOTER,
    REMOTE,
    SOURCE_VERIFIED,
    Meaning,
    Phase,
)

ANY = ""
"""Stands for every reason without a row of its own, where reasons come from Kubernetes or from hooks."""

CALM = Meaning("", "", "", "")
"""Nothing is to be done: not worth a line. (Where nothing else is to be said either, there is no condition.)"""

STAYS = "stays with the live version"
_AS_KNOWN = "stays as it is: what is pushed or merged has no effect"
_AS_BEFORE = "goes to the Deployment's pods as before"
_TREE = "gitops-bg tree {app}"
_MERGE = "git merge --no-ff origin/gitops-bg/promote/{app}"
_WAITS = Meaning(STAYS, NOBODY, "wait: it goes on by itself")
_COMES_UP = Meaning(STAYS, NOBODY, "wait: its pods come up", _TREE)
_TAKEN_OVER = Meaning("goes to the pods of the app", NOBODY, "wait: the Deployment's pods go when spec.adopt says so")
_LATE = Meaning(STAYS, OPERATOR, "find out why its pods do not come up; push a better one, or abort it")
_NOTHING = Meaning("nothing serves yet", NOBODY, "wait: the first version goes live once its pods are available", _TREE)
_DOWN = Meaning(
    "fails: no pod of the live version is available", OPERATOR, "mend its pods, or go back", "gitops-bg rollback {app}"
)
_NO_ENDPOINT = Meaning(
    "fails: a port of the Service leads to no pod",
    AUTHOR,
    "correct the targetPort of the Service that is named, or go back",
    "gitops-bg rollback {app}",
)
_AT_ZERO = Meaning(
    "fails: target.yaml asks for 0 replicas", AUTHOR, "set spec.replicas of target.yaml, and push", _TREE
)
_HELD = Meaning(
    STAYS, OPERATOR, "push a better version; or, if this one is good, lift the hold", "gitops-bg resume {app}"
)
RESUME_IT = Meaning(STAYS, OPERATOR, "resume it when the reason is gone; going back works", "gitops-bg resume {app}")
BROKEN = Meaning(STAYS, AUTHOR, "correct the line that is named, and push", "gitops-bg check")
_CONFIRM = Meaning(STAYS, PROMOTER, "see what its hooks and manual gates say; open the gate")
_PROMOTE = Meaning(STAYS, PROMOTER, "merge the promotion branch, or promote it", "gitops-bg promote {app}")
_MEASURED = Meaning(STAYS, NOBODY, "wait: an analysis measures")
_UNCLEAR = Meaning(
    STAYS, OPERATOR, "find out why the analysis has no answer; measure anew, or abort", "gitops-bg promote {app}"
)
_FOUND_BAD = Meaning(
    "stays with, or is back at, the last good version",
    AUTHOR,
    "push a better one; or try again",
    "gitops-bg retry {app}",
)

_SKEWED = Meaning(
    "is not affected; no wait gets longer, but shown times may be wrong",
    PLATFORM,
    "set the clocks, of the agent's node and of the control plane, by NTP",
    "timedatectl status",
)

_STUCK: Mapping[str, Meaning] = {
    "PodsUnschedulable": Meaning(
        STAYS,
        PLATFORM,
        "give its pods a node: the message says what the scheduler misses; two versions with one hostPort need a node "
        "for each pod of both",
        _TREE,
    ),
    "PodsWaiting": Meaning(STAYS, AUTHOR, "correct what its pods name: an image, a command, a ConfigMap; and push"),
    "PodsAtGate": Meaning(
        STAYS,
        AUTHOR,
        "let what sets their readiness gate see them: previewSwitch: immediate in app.yaml, with a previewService",
    ),
    "PodsRefused": Meaning(
        STAYS, OPERATOR, "make room for its pods: a quota, a policy or a webhook refuses them", _TREE
    ),
}
"""What keeps the pods of a version from coming up (``core.checks.pods``)."""

_PHASES: Mapping[Phase, Meaning] = {
    Phase.HEALTHY: CALM,
    Phase.INVALID: BROKEN,
    Phase.SUSPENDED: RESUME_IT,
    Phase.ADOPTING: Meaning(
        "stays with what the app is adopted from, until all is there", NOBODY, "wait: see the condition Adopting"
    ),
    Phase.DEPLOYING: _NOTHING,
    Phase.ROLLING_BACK: Meaning("goes back once the pods there are available", NOBODY, "wait", _TREE),
    Phase.DEGRADED: Meaning(STAYS, OPERATOR, "mend what the message names"),
    Phase.SCALED_TO_ZERO: Meaning(
        "reaches no pod of the app; the condition Available says why",
        AUTHOR,
        "set spec.replicas of target.yaml; after a release, nothing",
    ),
    Phase.WAITING: _CONFIRM,
    Phase.PAUSED: _UNCLEAR,
    Phase.PROMOTING: Meaning("moves to the promoted version once every gate is open", NOBODY, "wait: see its gates"),
    Phase.RESTARTING: Meaning(STAYS, NOBODY, "wait: its pods are replaced, a few at a time"),
    Phase.PROGRESSING: _COMES_UP,
    Phase.AWAITING_PROMOTION: _PROMOTE,
    Phase.HELD: _HELD,
}

Meanings = Mapping[tuple[str, str], Meaning]
"""Rows by the type and the reason of a condition."""


def of_both(read_again: str) -> Meanings:
    """The rows of conditions that apps and groups have alike; ``read_again`` is the command that has Git read again."""
    doubted = Meaning(
        "is not affected: the record counts, and not the ledger",
        REMOTE,
        "let nobody but the agent push gitops-bg/state/*; its next commit there writes the file again",
        "gitops-bg history {app}",
    )
    return {
        (INVALID_SPEC, "InvalidSpec"): BROKEN,
        ("InternalError", "InternalError"): Meaning(
            "stays as it is: the agent does nothing about it",
            PLATFORM,
            "report the bug; where it does not end, run the command in the message: the record is made anew",
            read_again,
        ),
        ("InternalError", "RecordUnreadable"): Meaning(
            "stays as it is: the agent does nothing about it",
            PLATFORM,
            "run the release that wrote the record, or the command in the message, which makes it anew",
            read_again,
        ),
        (ANALYSIS_PASSED, "Successful"): CALM,
        (ANALYSIS_PASSED, "Skipped"): CALM,
        (ANALYSIS_PASSED, "NotBegun"): Meaning(STAYS, NOBODY, "wait: it begins by itself"),
        (ANALYSIS_PASSED, "Running"): Meaning(STAYS, NOBODY, "wait: an analysis measures"),
        (LEDGER_TRUSTED, "WrittenByOthers"): doubted,
        (LEDGER_TRUSTED, "Ahead"): doubted,
        (LEDGER_TRUSTED, "Behind"): doubted,
        (GIT_REACHABLE, "Unreachable"): Meaning(_AS_KNOWN, REMOTE, "bring the remote back", read_again),
        (GIT_REACHABLE, "AuthenticationFailed"): Meaning(
            _AS_KNOWN,
            PLATFORM,
            "give the agent credentials that may read the repository; it reads their file anew at each poll",
            read_again,
        ),
        (GIT_REACHABLE, "BranchMissing"): Meaning(
            _AS_KNOWN, REMOTE, "push back the branch that is named, or have the agent follow another one", read_again
        ),
        (HISTORY_REWRITTEN, "MainMovedBackwards"): Meaning(
            "stays where it is: main moves nothing, forward or back",
            REMOTE,
            "push the former history back; or, if it was meant, accept the new one",
            "gitops-bg accept-history",
        ),
        (SOURCE_VERIFIED, "KeysUnreadable"): Meaning(
            "is not affected: the keys that were read last still count",
            OPERATOR,
            "mend the file of keys that the agent was given; it is read again",
            read_again,
        ),
        (SOURCE_VERIFIED, "NotCheckedYet"): Meaning(
            STAYS, NOBODY, "wait: the signatures of many new commits are being checked"
        ),
        (SOURCE_VERIFIED, "RecordsUnknown"): Meaning(
            STAYS, OPERATOR, "let the agent read all namespaces of its apps; its log says which it cannot"
        ),
        (SOURCE_VERIFIED, ANY): Meaning(
            "stays as it is; what main says since then is not read",
            COMMITTER,
            "sign the commit and push again; or vouch for it by a signed merge",
            "git log --first-parent --format='%h %G? %an %s'",
        ),
    }


MEANINGS: Meanings = {
    **of_both(read_again="gitops-bg reconcile {app}"),
    ("Available", "Serving"): CALM,
    ("Available", "NothingServes"): _NOTHING,
    # What it means is said of the condition Released.
    **{(kind, "Released"): CALM for kind in ("Available", "Progressing", "Completed")},
    ("Available", "NoPodAvailable"): _DOWN,
    ("Available", "LedElsewhere"): Meaning(
        "goes elsewhere, or nowhere, through the Service that is named",
        OPERATOR,
        "wait: it is led back at once; where that is refused, mend what the condition Refused names",
    ),
    ("Available", "NoEndpoint"): _NO_ENDPOINT,
    ("Available", "ScaledToZero"): _AT_ZERO,
    **{(kind, phase): meaning for kind in OF_THE_PHASE for phase, meaning in _PHASES.items()},
    # --- how far the rollout is ---
    ("Progressing", "ReplicaSetUpdated"): _COMES_UP,
    **{(kind, reason): meaning for kind in ("Progressing", "CandidateReady") for reason, meaning in _STUCK.items()},
    ("Progressing", "RolloutProgressing"): _WAITS,
    ("Progressing", "NewReplicaSetAvailable"): CALM,
    ("Progressing", "RolloutPaused"): _PROMOTE,
    ("Progressing", "RolloutAborted"): _HELD,
    ("Progressing", "NoVersion"): _NOTHING,
    ("Progressing", ANY): _LATE,
    ("Completed", "RolloutCompleted"): CALM,
    ("Completed", "NothingServes"): _NOTHING,
    ("Completed", "RolloutNotCompleted"): _WAITS,
    ("Completed", "AwaitingVerdict"): _MEASURED,
    ("Paused", "InconclusiveAnalysis"): _UNCLEAR,
    ("Paused", "Suspended"): RESUME_IT,
    ("Paused", "AwaitingConfirmation"): _CONFIRM,
    ("Paused", "AwaitingPromotion"): _PROMOTE,
    ("Paused", "AwaitingPolicy"): Meaning(
        STAYS, NOBODY, "wait until the policy that is named opens, or change it in main"
    ),
    ("Paused", "AutoPromotionCountdown"): Meaning(
        STAYS, NOBODY, "wait for the countdown, or promote it at once", "gitops-bg promote {app}"
    ),
    ("CandidateReady", "Available"): CALM,
    ("CandidateReady", "Progressing"): _COMES_UP,
    ("CandidateReady", ANY): _LATE,
    ("AnalysisPassed", "Inconclusive"): _UNCLEAR,
    ("AnalysisPassed", "Error"): _FOUND_BAD,
    ("AnalysisPassed", "Failed"): _FOUND_BAD,
    ("HooksPassed", "Passed"): CALM,
    ("HooksPassed", ANY): _CONFIRM,
    ("Restarting", "Scheduled"): Meaning(STAYS, NOBODY, "wait: pods are replaced at that time", _TREE),
    ("Restarting", "Restarting"): Meaning(STAYS, NOBODY, "wait: pods are replaced, a few at a time", _TREE),
    ("Restarting", "EvictionRefused"): Meaning(
        STAYS, OPERATOR, "let the PodDisruptionBudget spare a pod", "kubectl get poddisruptionbudgets -A"
    ),
    ("Restarting", "PodsUnreadable"): Meaning(
        STAYS, PLATFORM, "give the agent the right that the message names", "kubectl auth can-i --list"
    ),
    # --- what is to be done ---
    ("ReplicaFailure", ANY): _STUCK["PodsRefused"],
    ("OnHold", "Hold"): _HELD,
    ("Suspended", "Suspended"): RESUME_IT,
    ("InvalidSpec", "NoTarget"): Meaning(
        STAYS, AUTHOR, "push the target: target.yaml, or what spec.target of app.yaml names", "gitops-bg check"
    ),
    ("InvalidPolicy", "InvalidPolicy"): Meaning(
        STAYS,
        PLATFORM,
        "correct the file of policies/ that is named, and push; what it said last holds until then",
        "gitops-bg check",
    ),
    ("Conflict", "ClaimedTwice"): Meaning(
        "follows this repository; the other agent leaves it alone",
        PLATFORM,
        "remove the app from one of the two repositories, then the claim that the message names",
    ),
    ("Conflict", "SameShortDigest"): Meaning(
        "stays where it is: two versions could not be told apart",
        AUTHOR,
        "change anything in the pod template of target.yaml, such as an annotation, and push",
    ),
    ("Conflict", "ForeignObject"): Meaning(
        "stays as it is: the agent writes nothing over what is not its own",
        PLATFORM,
        "hand the object over, or rename it, as the message says",
    ),
    ("Conflict", "RequestsTaken"): Meaning(
        "by the route goes to the owner that is named; by Services, it stays",
        OPERATOR,
        "delete the older route, or give one of the two other hosts; where it stays although its owner left main, the "
        "message says why",
    ),
    ("Exposed", "SelectedByOthers"): Meaning(
        "of the Service that is named also reaches what nobody promoted",
        OPERATOR,
        "name the Service in activeServices, narrow its selector, or agree to it, as the message says",
    ),
    ("Exposed", "SelectedOnceUp"): Meaning(
        "of the Service named reaches what nobody promoted, once it is up",
        OPERATOR,
        "name the Service in activeServices, narrow its selector, or agree to it, as the message says",
    ),
    ("Exposed", "ServicesUnreadable"): Meaning(
        "may also reach what nobody promoted, by Services of others",
        PLATFORM,
        "mend what the message names: the agent must be able to list the Services of the namespace",
    ),
    ("Adopting", "Adopted"): CALM,
    ("Adopting", "WaitingForPods"): Meaning(
        _AS_BEFORE, NOBODY, "wait: the Services are handed over once its own pods are available", _TREE
    ),
    ("Adopting", "HandingOver"): Meaning(
        "moves from the Deployment's pods to those of the app", NOBODY, "wait: the Services follow", _TREE
    ),
    ("Adopting", "Conflict"): Meaning(
        _AS_BEFORE, PLATFORM, "hand over each object that is named, or rename it, as the message says"
    ),
    ("Adopting", "OldPodsStay"): _TAKEN_OVER,
    ("Adopting", "ScalingDown"): _TAKEN_OVER,
    ("Adopting", "DeploymentUnreadable"): Meaning(
        "goes to the pods of the app",
        PLATFORM,
        "bind the ClusterRole gitops-bg-adopt in the namespace, or set spec.adopt.scaleDown: never",
    ),
    ("Adopting", "OtherDeployment"): Meaning(
        "goes to the pods of the app",
        AUTHOR,
        "correct spec.adopt.deployment, or set scaleDown: never, and scale the Deployment by hand",
    ),
    ("Released", "Released"): Meaning(
        "goes to the Deployment's pods",
        AUTHOR,
        "delete the app's folder; or remove spec.release, and the app is adopted anew",
    ),
    ("Released", "WaitingForPods"): Meaning(
        STAYS, NOBODY, "wait: the Deployment's pods come up, or pods of another app that the Services would select go"
    ),
    ("Released", "HandingBack"): Meaning("moves to the Deployment's pods", NOBODY, "wait: the Services follow"),
    ("Released", "Conflict"): Meaning(STAYS, PLATFORM, "mend what the message names, or remove spec.release"),
    ("Refused", "ObjectInvalid"): Meaning(
        "stays as it is until the write goes through",
        AUTHOR,
        "correct the field that the API server names, and push",
        "gitops-bg check",
    ),
    ("Refused", "PolicyDenied"): Meaning(
        "stays as it is until the write goes through",
        AUTHOR,
        "change what the policy of the cluster names; who runs the cluster knows what it wants",
    ),
    ("Refused", "QuotaExceeded"): Meaning(
        "stays as it is until the write goes through",
        OPERATOR,
        "make room: ask for less, delete what is not needed, or have the quota raised",
        "kubectl get resourcequotas -A",
    ),
    ("Refused", "WriteRefused"): Meaning(
        "stays as it is until the write goes through", PLATFORM, "mend what the API server names: a right, an object"
    ),
    ("ServicesInGit", "PortsWait"): Meaning(
        "goes through the ports that the live version has",
        AUTHOR,
        "promote a version whose containers declare these ports; they move with it",
    ),
    ("ServicesInGit", "Followed"): Meaning(
        "goes through the Service as before, until the time that is named",
        AUTHOR,
        "send its clients to the Services that app.yaml names",
        _TREE,
    ),
    ("ServicesInGit", "NotManaged"): Meaning(
        "of this Service stays where it is: nobody moves it any more",
        OPERATOR,
        "delete the Service, or name it in app.yaml again",
    ),
    ("Diverged", "CommitPending"): Meaning(
        "goes where the rollback sent it; primary.yaml does not say so yet", NOBODY, "wait: the commit follows"
    ),
    ("Diverged", "MainAway"): Meaning(
        "goes where the rollback sent it; primary.yaml does not say so yet",
        REMOTE,
        "bring main back, as the other conditions say: the commit follows then",
    ),
    ("Diverged", "MainRefusesCommit"): Meaning(
        "goes where the rollback sent it; primary.yaml does not say so",
        PROMOTER,
        "merge the promotion branch, or let the agent push to main",
        _MERGE,
    ),
    ("GitReachable", "Unreachable"): Meaning(
        "stays as it is; going back works without Git",
        REMOTE,
        "bring the remote back; in an emergency, go back without it",
        "gitops-bg rollback {app} --offline",
    ),
    ("MainWritable", "MainRefuses"): Meaning(
        "stays as it is until somebody merges",
        PROMOTER,
        "merge the promotion branch: main takes none of the agent",
        _MERGE,
    ),
    ("FolderInMain", "Leaving"): Meaning(
        "goes where the message says", NOBODY, "wait: the app ends, as main asks for", _TREE
    ),
    ("FolderInMain", "Orphaned"): Meaning(
        STAYS, AUTHOR, "bring the folder back; or, to delete the app, set deletionPolicy first", "git revert COMMIT"
    ),
    ("OfferWritable", "PushRefused"): Meaning(
        "stays with the live version: nobody can merge a promotion",
        REMOTE,
        "let the agent push gitops-bg/promote/*; it tries again by itself, and at once when asked",
        "gitops-bg reconcile {app}",
    ),
    ("PullRequest", "Open"): CALM,
    ("PullRequest", "Closed"): CALM,
    ("PullRequest", "Queued"): CALM,
    ("PullRequest", "Trouble"): Meaning(
        "is not affected: the promotion branch can be merged with git",
        OPERATOR,
        "do what the message says; the agent tries again by itself",
        _MERGE,
    ),
    ("ClockSynchronized", "ApiServerAhead"): _SKEWED,
    ("ClockSynchronized", "ApiServerBehind"): _SKEWED,
    ("LedgerWritable", "PushRefused"): Meaning(
        "is not affected: it moves, and the record keeps what is to be told",
        REMOTE,
        "let the agent push gitops-bg/state/*; it tries again by itself, and at once when asked",
        "gitops-bg reconcile {app}",
    ),
}

AS_IT_IS = (STAYS, _NOTHING.traffic, _AS_BEFORE, _TAKEN_OVER.traffic)
"""What is said of live traffic where it stays."""


def meaning_of(kind: str, reason: str, table: Meanings = MEANINGS) -> Meaning | None:
    """The row of a condition's type and reason; None where this version does not know them."""
    return table.get((kind, reason)) or table.get((kind, ANY))

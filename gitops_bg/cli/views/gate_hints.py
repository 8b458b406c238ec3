"""What a person can do about a gate that is shut: words for `explain`, nothing that decides."""

from gitops_bg.core.model.decision import Gate, GateKind
from gitops_bg.core.model.spec import AppSpec, PromoteVia
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.layout import promotion_branch


def advice(gate: Gate, app: AppKey, spec: AppSpec, offered: bool) -> str:
    """The next step where ``gate`` is shut; empty where waiting is all there is to do.

    ``offered`` is whether the promotion branch is there.
    """
    if gate.open:
        return ""
    if gate.kind is GateKind.APPROVAL:
        return _approval(app, spec, offered)
    words = {
        GateKind.AVAILABILITY: f"`gitops-bg tree {app}` shows its pods; `kubectl describe` them if they do not come up",
        GateKind.ENDPOINTS: f"`gitops-bg tree {app}` shows its pods",
        GateKind.HOLD: f"push a new version, or lift it: gitops-bg resume {app}",
        GateKind.SUSPENSION: f"when it is over: gitops-bg resume {app}",
        GateKind.HISTORY: "check what was rewritten, then: gitops-bg accept-history",
        GateKind.SPEC: "correct the file and push; `gitops-bg check` names every mistake",
        GateKind.PAUSE: f"wait, or do not: gitops-bg promote {app}",
    }
    return words.get(gate.kind, "")


def _approval(app: AppKey, spec: AppSpec, offered: bool) -> str:
    promote = f"gitops-bg promote {app}"
    if spec.promote_via is PromoteVia.COMMIT and not spec.strategy.auto_promotion_enabled:
        return promote
    if not offered:
        return f"the agent offers it on {promotion_branch(app)} once nothing else stands in the way"
    return f"merge the branch {promotion_branch(app)}, or: {promote}"

"""Gates that have nothing to do with pods: a hold on the version, and what stops the app as a whole.

Shown only while they are shut. Those of the app take any version, and none of them stands in the way back.
"""

from gitops_bg.core.model.decision import GateKind, GateResult
from gitops_bg.core.model.version import Version
from gitops_bg.core.world import World

_MEND = "correct the file and push; `gitops-bg check` names every mistake"
_ACCEPT = "check what was rewritten, then: gitops-bg accept-history"


def hold(world: World, version: Version) -> GateResult | None:
    """Somebody, or a check, said that this version is not to be promoted again (DESIGN §4.9)."""
    return hold_on(world, version.digest)


def hold_on(world: World, digest: str) -> GateResult | None:
    """The same of a digest, whose version may be forgotten."""
    held = world.record.held(digest)
    if held is None:
        return None
    resume = f"gitops-bg resume {world.spec.app}"
    reason = f"on hold: {held.reason}; `{resume}` lifts it"
    return GateResult(GateKind.HOLD, False, reason, remedy=f"push a new version, or lift it: {resume}")


def suspension(world: World, _: Version | None) -> GateResult | None:
    """``spec.suspend`` stops everything but going back (DESIGN §4.10)."""
    suspend = world.spec.suspend
    if world.suspended and suspend:
        by = f" by {suspend.by}" if suspend.by else ""
        remedy = f"when it is over: gitops-bg resume {world.spec.app}"
        return GateResult(GateKind.SUSPENSION, False, f"suspended{by}: {suspend.reason}", suspend.until, remedy)
    return None


def main_looked_at(world: World, _: Version | None) -> GateResult | None:
    """An agent that has just started knows nothing of main yet."""
    if not world.desired.seen and world.desired.knowledge.counts:
        return GateResult(GateKind.SPEC, False, "nobody has looked at main yet", remedy=_MEND)
    return None


def files_valid(world: World, _: Version | None) -> GateResult | None:
    """A broken file stops the app where it is; what serves goes on serving."""
    if world.desired.problems:
        return GateResult(GateKind.SPEC, False, str(world.desired.problems[0]), remedy=_MEND)
    return None


def folder_in_main(world: World, _: Version | None) -> GateResult | None:
    """An app whose folder has left main stays as it is (DESIGN §4.11)."""
    if not world.desired.in_git:
        return GateResult(GateKind.SPEC, False, "the app's folder has left main", remedy=_MEND)
    return None


def history_kept(world: World, _: Version | None) -> GateResult | None:
    """A main that moved backwards, or that nobody can read, moves nothing (decision 19)."""
    desired = world.desired
    if desired.history_rewritten:
        lost = (world.record.git.lost or desired.history_rewritten)[:10]
        reason = f"main was rewritten: {lost} is gone; `gitops-bg accept-history` goes on"
        return GateResult(GateKind.HISTORY, False, reason, remedy=_ACCEPT)
    if not desired.knowledge.counts:
        reason = "main, as it was seen last, cannot be read just now"
        return GateResult(GateKind.HISTORY, False, reason, remedy=_ACCEPT)
    return None

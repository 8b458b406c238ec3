"""What each condition of a release group means for traffic now, who must do what, and the command.

As `core.status.meanings` for apps; `{app}` in a command is the group.
"""

from collections.abc import Mapping

from gitops_bg.core.model.conditions import (
    DIVERGED,
    FOLDER_MISSING,
    INVALID_SPEC,
    OF_THE_PHASE,
    ON_HOLD,
    PROMOTION_REJECTED,
    SUSPENDED,
    Phase,
)
from gitops_bg.core.status.groups import CANDIDATES_ANSWER, MAIN_REFUSES, RECORD_LOST, ROUTES_ACCEPTED
from gitops_bg.core.status.meanings import (
    ANY,
    AUTHOR,
    BROKEN,
    CALM,
    NOBODY,
    OPERATOR,
    PLATFORM,
    PROMOTER,
    REMOTE,
    RESUME_IT,
    STAYS,
    Meaning,
    Meanings,
    of_both,
)

_EXPLAIN = "gitops-bg explain {app}"
_HISTORY = "gitops-bg history {app}"
_UNCLEAR = Meaning(STAYS, OPERATOR, "find out why the analysis has no answer; go back, or promote another", _EXPLAIN)
_HELD = Meaning(
    "stays with, or is back at, the last good version",
    AUTHOR,
    "change a file of the version on hold, or name another one; or, if it is good, try it again",
    "gitops-bg retry {app}",
)

_PHASES: Mapping[Phase, Meaning] = {
    Phase.HEALTHY: CALM,
    Phase.INVALID: BROKEN,
    Phase.SUSPENDED: RESUME_IT,
    Phase.DEPLOYING: Meaning(
        "reaches services as they come up", NOBODY, "wait: the first version serves once they are healthy", _EXPLAIN
    ),
    Phase.ROLLING_BACK: Meaning("goes back now, as far as the Gateway takes it", NOBODY, "wait", _EXPLAIN),
    Phase.PROMOTING: Meaning("moves to the promoted version step by step", NOBODY, "wait", _EXPLAIN),
    Phase.WAITING: Meaning(STAYS, PROMOTER, "see which gate is shut", _EXPLAIN),
    Phase.PAUSED: _UNCLEAR,
    Phase.PROGRESSING: Meaning(STAYS, NOBODY, "wait: something is measured, or written", _EXPLAIN),
    Phase.DEGRADED: Meaning(STAYS, OPERATOR, "mend what the message names", _EXPLAIN),
    Phase.HELD: _HELD,
}

GROUP_MEANINGS: Meanings = {
    **of_both(_EXPLAIN, read_again=_EXPLAIN, history=_HISTORY),
    **{(kind, phase): meaning for kind in OF_THE_PHASE for phase, meaning in _PHASES.items()},
    (SUSPENDED, "Suspended"): RESUME_IT,
    (INVALID_SPEC, "Conflict"): Meaning(STAYS, OPERATOR, "hand the object over, or call the group otherwise", _EXPLAIN),
    (PROMOTION_REJECTED, RECORD_LOST): Meaning(
        "stays where it is: nothing of the group is changed",
        AUTHOR,
        "put the folder back that the message names, or do what else it says",
        _EXPLAIN,
    ),
    (PROMOTION_REJECTED, ANY): Meaning(STAYS, AUTHOR, "name a candidate, or the version before, as active", _EXPLAIN),
    (ROUTES_ACCEPTED, "Accepted"): CALM,
    (ROUTES_ACCEPTED, "Pending"): Meaning(STAYS, NOBODY, "wait: its routes are being written", _EXPLAIN),
    (ROUTES_ACCEPTED, "NoPods"): Meaning(
        "reaches the services that answer",
        AUTHOR,
        "see why the service that the message names has no pods",
        _EXPLAIN,
    ),
    (ROUTES_ACCEPTED, "NotAccepted"): Meaning(STAYS, PLATFORM, "mend what the Gateway says", _EXPLAIN),
    (CANDIDATES_ANSWER, "Answered"): CALM,
    (CANDIDATES_ANSWER, "NobodyAnswers"): Meaning(
        "without the header is not affected; with it nobody answers",
        AUTHOR,
        "mend the service that the message names, and push; until then the candidate cannot be promoted",
        _EXPLAIN,
    ),
    ("AnalysisPassed", "Inconclusive"): _UNCLEAR,
    ("AnalysisPassed", "Error"): _HELD,
    ("AnalysisPassed", "Failed"): _HELD,
    (ON_HOLD, "Hold"): _HELD,
    (DIVERGED, "GoingBack"): Meaning(
        "goes back to the version before as soon as its pods answer",
        OPERATOR,
        "mend the pods that it waits for",
        _EXPLAIN,
    ),
    (DIVERGED, "CommitPending"): Meaning(
        "is back at the version before; group.yaml does not say so yet", NOBODY, "wait: the commit follows", _HISTORY
    ),
    (DIVERGED, FOLDER_MISSING): Meaning(
        "is back at the version before; group.yaml cannot say so",
        AUTHOR,
        "put the folder of that version back",
        _EXPLAIN,
    ),
    (DIVERGED, MAIN_REFUSES): Meaning(
        "is back at the version before; group.yaml does not say so",
        REMOTE,
        "set active to the version that serves, or let the agent push to main",
        _EXPLAIN,
    ),
}

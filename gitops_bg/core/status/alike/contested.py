"""The condition Contested, of an app or a release group: somebody else changes a live object again and again.

Without times and counts: a message that changes with every repair would be one more write each time.
"""

from collections.abc import Sequence

from gitops_bg.core.model.conditions import Condition
from gitops_bg.core.model.drift import Contest

CONTESTED = "Contested"
CHANGED_AGAIN = "ChangedAgain"
"""Its reason where another writer does; its message says who, and to which object."""

_MOST_FIGHTS = 3
_LEAVE_IT = "only one may own an object, see “Beside Argo CD or Flux” in the documentation"


def contested(fights: Sequence[Contest], said: str, whose: str) -> Condition:
    """The condition for these fights, or for what the agent ``said`` of some, for commands that only know its status.

    ``whose`` are the objects: the app's, the group's.
    """
    if not fights and not said:
        return Condition(CONTESTED, False, "NotContested", f"nobody else changes an object of {whose} again and again")
    more = f"; and {len(fights) - _MOST_FIGHTS} more" if len(fights) > _MOST_FIGHTS else ""
    message = f"{'; '.join(map(str, fights[:_MOST_FIGHTS]))}{more}; {_LEAVE_IT}" if fights else said
    return Condition(CONTESTED, True, CHANGED_AGAIN, message)

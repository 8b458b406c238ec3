"""The condition of the pull request of an app's promotion branch; none where no forge is configured."""

from gitops_bg.core.model.decision import Condition
from gitops_bg.core.model.git.pulls import PullState
from gitops_bg.core.world import World

PULL_REQUEST = "PullRequest"


def pull_request(world: World) -> tuple[Condition, ...]:
    """One condition, or none: without a forge, the status shows nothing new."""
    git = world.observed.git
    if git.pull_trouble:
        return (Condition(PULL_REQUEST, None, "Trouble", git.pull_trouble),)
    if git.pull_queued:
        return (Condition(PULL_REQUEST, False, "Queued", git.pull_queued),)
    if git.pull is None or git.pull.state is PullState.MERGED:
        return ()
    named = f"#{git.pull.number} {git.pull.url}".strip()
    if git.pull.state is PullState.OPEN:
        draft = ", marked as a draft by people" if git.pull.draft else ""
        return (Condition(PULL_REQUEST, True, "Open", f"{named} is open{draft}"),)
    by = f" by {git.pull.closed_by}" if git.pull.closed_by else ""
    return (Condition(PULL_REQUEST, False, "Closed", f"{named} was closed{by}"),)

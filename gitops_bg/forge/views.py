"""What each app learns of its pull request, from what is known of the forge: plain data for the core. Pure."""

from collections.abc import Iterator, Mapping

from gitops_bg.core.model.git.looks import Awaited
from gitops_bg.core.model.git.pulls import PullRequest, PullView
from gitops_bg.core.model.git.pulls import PullState as State
from gitops_bg.core.model.version import AppOrGroup
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.known import Known
from gitops_bg.forge.marker import marker_in
from gitops_bg.forge.offer import DesiredPull
from gitops_bg.forge.port import PullState

NOTHING = PullView()
_EXACT = 5
_ROUNDED = (1000, 500, 200, 100, 50, 20, 10)


def views(
    all_desired: Mapping[AppOrGroup, DesiredPull],
    known: Known,
    queued: Mapping[AppOrGroup, int],
    troubles: Mapping[str, str],
    most: int,
) -> Iterator[tuple[AppOrGroup, PullView]]:
    """Yield the view of each app of which something is known; other apps keep theirs. ``troubles``: by branch."""
    for app, desired in all_desired.items():
        branch = promotion_branch(app)
        trouble = troubles.get(branch, troubles.get("", "")) if desired.needs_the_forge else ""
        if known.listed_once and _is_asked(known, branch, desired):
            place = place_said(queued[app], most) if app in queued else ""
            yield app, PullView(_pull(known, branch), place, trouble)
        elif trouble:
            yield app, PullView(None, "", trouble)


def _is_asked(known: Known, branch: str, desired: DesiredPull) -> bool:
    return branch in known.asked or (desired.offer is None and not desired.declined)


def _pull(known: Known, branch: str) -> PullRequest | None:
    opened = known.open.get(branch)
    if opened is not None:
        marker = marker_in(opened.body)
        offer = marker.offer if marker else ""
        return PullRequest(opened.number, opened.url, State.OPEN, offer, seen_at=Awaited(), draft=opened.is_draft)
    ended = known.ended.get(branch)
    if ended is None or ended.pull.state is not PullState.CLOSED or not known.is_no(branch, ended.offer):
        return None
    pull, by = ended.pull, ended.pull.closed_by
    return PullRequest(pull.number, pull.url, State.CLOSED, ended.offer, by.login if by else "", ended.seen_at)


def place_said(place: int, most: int) -> str:
    """Return its place in the queue: exact near the head, else rounded, so that not every merge changes every text.

    >>> place_said(2, 50)
    'place 2 in the queue: 50 pull requests are open already (forge.maxOpenPullRequests); its branch can be merged'
    >>> place_said(173, 50)[:28]
    'more than 100 are before it '
    """
    rough = next((each for each in _ROUNDED if place > each), _EXACT)
    where = f"place {place} in the queue" if place <= _EXACT else f"more than {rough} are before it in the queue"
    return f"{where}: {most} pull requests are open already (forge.maxOpenPullRequests); its branch can be merged"

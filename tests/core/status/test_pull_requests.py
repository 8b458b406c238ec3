"""The condition PullRequest: open, closed by whom, in the queue, in trouble; none where no forge is known."""

import pytest

from gitops_bg.core.model.git.pulls import PullRequest, PullState
from gitops_bg.core.model.observed import GitView
from gitops_bg.core.status.pull_requests import pull_request
from tests.core.worlds import active, candidate, world

URL = "https://forge.example/shop/pulls/7"
TABLE = {
    "no forge is known": (GitView(), None),
    "it is open": (GitView(pull=PullRequest(7, URL)), (True, "Open", f"#7 {URL} is open")),
    "people marked it as a draft": (
        GitView(pull=PullRequest(7, URL, draft=True)),
        (True, "Open", f"#7 {URL} is open, marked as a draft by people"),
    ),
    "it has no address": (GitView(pull=PullRequest(7)), (True, "Open", "#7 is open")),
    "it was merged": (GitView(pull=PullRequest(7, URL, PullState.MERGED)), None),
    "somebody closed it": (
        GitView(pull=PullRequest(7, URL, PullState.CLOSED, closed_by="ada")),
        (False, "Closed", f"#7 {URL} was closed by ada"),
    ),
    "nobody says who closed it": (
        GitView(pull=PullRequest(7, URL, PullState.CLOSED)),
        (False, "Closed", f"#7 {URL} was closed"),
    ),
    "others are before it": (GitView(pull_queued="place 2"), (False, "Queued", "place 2")),
    "the forge cannot be asked": (
        GitView(pull=PullRequest(7, URL), pull_queued="place 2", pull_trouble="refused"),
        (None, "Trouble", "refused"),
    ),
}


@pytest.mark.parametrize("name", TABLE)
def test_what_is_said_of_a_pull_request(name: str) -> None:
    git, said = TABLE[name]
    found = pull_request(world(active(1), candidate(2), observed={"git": git}))
    shown = [(each.status, each.reason, each.message) for each in found]
    assert shown == ([said] if said else [])
    assert all(each.type == "PullRequest" for each in found)

"""The promotion branch is shared with people: what they put on it is not replaced by what was wanted before."""

from pathlib import Path

import pytest

from gitops_bg.core.model.record import Event
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import RepositorySettings
from gitops_bg.repo.write.commits import Movement
from gitops_bg.repo.write.promotion import PrimaryChange
from gitops_bg.repo.write.push import PushAnswer, Pusher, Update
from tests.support.scenario import App, Scenario


def _offer_rollback(web: App, folder: Path) -> None:
    """What `gitops-bg rollback web` does where main refuses its push."""
    with Repository(RepositorySettings(url=web.scenario.remote.url, directory=folder, cluster="test")) as person:
        person.poll()
        content = person.find_primary(web.key, digest=web.digest("v1"))
        assert content is not None
        moves = Movement(
            subject=web.key,
            event=Event.ROLLED_BACK,
            from_version=2,
            from_digest=web.digest("v2"),
            to_version=1,
            to_digest=web.digest("v1"),
            reason="5xx",
        )
        person.promotions.offer([PrimaryChange(content, person.head, moves, seen="")])


def test_a_rollback_that_a_person_offers_is_not_replaced_by_an_older_wish_of_the_agent(
    world: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.remote.protect()
    world.start()
    web = world.app().deploy_by_merge("v1")
    web.promote("v2")
    web.wait(lambda: not web.offered(), "the branch of v2 is gone")
    real, pushes = Pusher.push, list[list[Update]]()

    def push(self: Pusher, updates: list[Update]) -> PushAnswer:
        offers = [each for each in updates if each.branch == web.promotion_branch]
        if offers:
            pushes.append(offers)
            if len(pushes) == 1:
                _offer_rollback(web, tmp_path / "person")  # Just before the agent's own push gets there.
                pushes[1:] = []
        return real(self, updates)

    monkeypatch.setattr(Pusher, "push", push)
    web.push_image("v3")
    web.wait(lambda: bool(pushes), "the agent offers v3")
    web.wait_preview("v3")
    world.settle()
    assert web.primary_digest(web.promotion_branch) == web.digest("v1")
    assert len(pushes) == 1, "it has looked again, and wants nothing of that branch"
    web.merge_offer()
    web.wait_live("v1")

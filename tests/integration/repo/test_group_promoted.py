"""Who wrote, approved and merged what a group is to serve next: over real Git, by what a forge said."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gitops_bg.agent.desired.people import Circumstances, PeopleFacts
from gitops_bg.agent.groups.policy_inputs import GroupVersions, VersionFolder
from gitops_bg.core.checks.policy_judge import AskedOfPeople
from gitops_bg.core.checks.policy_people import approvals, separation, standing
from gitops_bg.core.model.journal import PullState
from gitops_bg.core.model.policy_facts import PolicyFacts, PolicyInput, VersionFacts
from gitops_bg.core.model.policy_rules import Approvals, Proof, Role, Separation
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.names import promotion_branch
from gitops_bg.forge.asking import ForgeAnswer, Merged
from gitops_bg.forge.port import Pull, Review, ReviewVerdict, User
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.policies.load import load_people
from gitops_bg.spec.policies.people import Directory
from tests.integration.repo.conftest import NOON, Opener
from tests.support.git.remote import GitRemote

STORE = GroupKey("shop", "store")
FOLDER = "groups/shop/store"
AGENT = "gitops-bg <gitops-bg@localhost>"
ADA, BEN, EVE = "Ada <ada@example.com>", "Ben <ben@example.com>", "Eve <eve@example.com>"
PEOPLE = Directory(
    load_people(b"""apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: ada, emails: [ada@example.com], forge: {gitea: 3}}
- {name: ben, emails: [ben@example.com], forge: {gitea: 4}}
- {name: eve, emails: [eve@example.com], forge: {gitea: 5}}
- {name: robot, emails: [robot@example.com], bot: true}
""").people
)
SIGNING = """apiVersion: gitops-bg.dev/v1alpha1
kind: People
people:
- {name: ben, emails: [ben@example.com], signers: [ben]}
"""
ACCOUNTS = {"ada": User("3", "ada"), "ben": User("4", "ben"), "eve": User("5", "eve"), "agent": User("2", "agent")}


class Team:
    """People who write a group, each under their own name."""

    def __init__(self, remote: GitRemote) -> None:
        self.remote = remote

    def commits(self, author: str, files: dict[str, str], message: str = "store") -> str:
        """A commit of the branch that is checked out, pushed."""
        for path, text in files.items():
            self.remote.write(f"{FOLDER}/{path}", text)
        commit = self.remote.commit(message, author=author, date=NOON)
        self.remote.push()
        return commit

    def names(self, version: str, author: str, more: str = "") -> str:
        return self.commits(author, {"group.yaml": f"spec:\n  active: {version}\n{more}"}, f"store: {version}")


@pytest.fixture
def team(remote: GitRemote) -> Team:
    """v1 is Ben's, v2 is Eve's and Ada's."""
    team = Team(remote)
    team.names("v1", BEN)
    team.commits(BEN, {"v1/cart/target.yaml": "a: 1\n"})
    team.commits(EVE, {"v2/cart/target.yaml": "a: 2\n", "v2/auth/target.yaml": "a: 2\n"})
    team.commits(ADA, {"v2/auth/routes.yaml": "routes: []\n"})
    return team


@pytest.fixture
def repository(opened: Opener, team: Team) -> Repository:
    return opened()


def told(
    repository: Repository, heard: ForgeAnswer | None = None, *, has_forge: bool = True
) -> tuple[VersionFolder, PolicyInput]:
    """What is known of people now, if main names v2, or a branch offers it."""
    repository.poll()
    versions = GroupVersions(repository)
    found = versions.promotion_of(STORE, "v2", repository.head)
    promotion = found.commit if found is not None else ""
    versions.fetch_reviewed(heard, repository.head)
    version = versions.of(STORE, "v2", repository.head, promotion=promotion, heard=heard)
    about = Circumstances(version, PEOPLE, agent="gitops-bg@localhost", has_forge=has_forge, heard=heard)
    asked = AskedOfPeople(approvals=True, authors=True, merger=True)
    return version, PeopleFacts(repository).filled(PolicyInput(), asked, about)


ANY_APPROVAL = Approvals()


def opens(
    version: VersionFolder, policing: PolicyInput, rule: Approvals | Separation = ANY_APPROVAL
) -> tuple[bool, str]:
    """What a rule says of it."""
    facts = PolicyFacts(
        AppKey("shop", "cart-v2"),
        VersionFacts(version.digest),
        promoted=bool(version.promotion),
        approvals=standing(policing.approvals),
        authors=policing.authors,
        merger=policing.merger,
        merge=policing.merge,
        unheard=policing.unheard,
        group="shop/store",
    )
    judge: Any = approvals if isinstance(rule, Approvals) else separation
    answer = judge(rule, facts, NOON + timedelta(hours=1))
    return answer.open, answer.reason


def pull(head: str, **changes: Any) -> Pull:
    opened = Pull(7, promotion_branch(STORE), head, "main", PullState.OPEN, "", "", "", ACCOUNTS["agent"], NOON)
    return replace(opened, **changes)


def reviewed(head: str, *by: str, merged: str = "", merger: str = "ben", **changes: Any) -> ForgeAnswer:
    """A forge that has reviews of a head, and that somebody merged it by a commit."""
    reviews = tuple(Review(ACCOUNTS[name], ReviewVerdict.APPROVED, NOON, head) for name in by)
    found = pull(head, **changes)
    how = {merged: Merged(replace(found, merged_by=ACCOUNTS[merger]))} if merged else {}
    return ForgeAnswer("gitea", NOON, found, reviews, how)


def offered(team: Team, version: str = "v2", author: str = AGENT) -> str:
    """The head of a branch that asks for a version."""
    team.remote.checkout(promotion_branch(STORE), new=True)
    head = team.names(version, author)
    team.remote.checkout("main")
    return head


def squashed(team: Team, branch: str, author: str = AGENT) -> str:
    """A squash of a branch into main, after which the branch is gone."""
    files = {"group.yaml": team.remote.show(branch, f"{FOLDER}/group.yaml") or ""}
    commit = team.commits(author, files)
    team.remote.delete_branch(branch)
    return commit


# --- who wrote it ----------------------------------------------------------------------------------------------------


def test_authors_are_all_who_ever_changed_the_folder_of_the_version_and_nobody_else(
    repository: Repository, team: Team
) -> None:
    team.commits(BEN, {"v1/cart/target.yaml": "a: 3\n"})
    team.commits(BEN, {"group.yaml": "spec:\n  active: v1\n  archiveSize: 2\n"})
    assert told(repository)[1].authors == {"eve", "ada"}
    team.commits(BEN, {"v2/cart/service.yaml": "b: 1\n"})
    assert told(repository)[1].authors == {"eve", "ada", "ben"}


def test_what_the_agent_writes_in_a_version_makes_nobody_an_author(repository: Repository, team: Team) -> None:
    team.commits(AGENT, {"v2/cart/primary.yaml": "digest: x\n"})
    team.remote.remove(f"{FOLDER}/v2/auth")
    team.remote.commit("store: delete", author=AGENT)
    team.remote.push()
    assert told(repository)[1].authors == {"eve", "ada"}


def test_nobody_is_no_author_by_writing_under_the_agents_address(repository: Repository, team: Team) -> None:
    forged = team.commits(AGENT, {"v2/cart/target.yaml": "a: evil\n"})
    version, policing = told(repository, reviewed(offered(team), "ben"))
    said = f"{forged[:10]} is under the agent's address, and the agent writes only primary.yaml and group.yaml"
    assert (policing.authors, policing.unheard) == (None, said)
    assert opens(version, policing) == (False, f"nobody can tell its authors: {said}")


WAYS = {
    "renamed": lambda remote: remote.run("mv", f"{FOLDER}/v3", f"{FOLDER}/v2"),
    "copied": lambda remote: remote.write(f"{FOLDER}/v2/cart/target.yaml", "a: bad\n"),
    "brought by a rename of the whole group": lambda remote: (
        remote.run("mv", FOLDER, "groups/shop/other"),
        remote.run("mv", "groups/shop/other/v3", "groups/shop/other/v2"),
        remote.run("mv", "groups/shop/other", FOLDER),
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_who_wrote_a_version_is_its_author_also_once_somebody_has_copied_or_renamed_its_folder(
    opened: Opener, remote: GitRemote, way: str
) -> None:
    """Found so: only who copied it was an author, and who had written it could approve it."""
    team = Team(remote)
    team.commits(BEN, {"group.yaml": "spec:\n  active: v1\n", "v1/cart/target.yaml": "a: 1\n"})
    team.commits(EVE, {"v3/cart/target.yaml": "a: bad\n"})
    WAYS[way](remote)
    remote.run("add", "--all")
    remote.commit("a better name", author=ADA, date=NOON)
    remote.push()
    _, policing = told(opened())
    assert policing.authors == {"ada", "eve"}


def test_who_wrote_what_was_promoted_before_is_no_author_of_a_copy(opened: Opener, remote: GitRemote) -> None:
    team = Team(remote)
    first = {"v1/cart/target.yaml": "a: 1\n", "v1/auth/target.yaml": "b: 1\n"}
    team.commits(BEN, {"group.yaml": "spec:\n  active: v1\n", **first})
    team.commits(ADA, {"v2/cart/target.yaml": "a: 2\n", "v2/auth/target.yaml": "b: 1\n"})
    _, policing = told(opened())
    assert policing.authors == {"ada"}


def test_who_pushed_into_the_version_that_serves_is_an_author_of_what_is_copied_from_it(
    opened: Opener, remote: GitRemote
) -> None:
    """It was not promoted with that version: nobody has judged it."""
    team = Team(remote)
    team.commits(BEN, {"group.yaml": "spec:\n  active: v1\n", "v1/cart/target.yaml": "a: 1\n"})
    team.commits(EVE, {"v1/cart/target.yaml": "a: bad\n"})
    team.commits(ADA, {"v2/cart/target.yaml": "a: bad\n"})
    _, policing = told(opened())
    assert policing.authors == {"ada", "eve"}


def test_under_the_agents_address_nobody_hides_what_is_copied_later(opened: Opener, remote: GitRemote) -> None:
    team = Team(remote)
    team.commits(BEN, {"group.yaml": "spec:\n  active: v1\n", "v1/cart/target.yaml": "a: 1\n"})
    team.commits(AGENT, {"v3/cart/target.yaml": "a: bad\n"})
    team.commits(ADA, {"v2/cart/target.yaml": "a: bad\n"})
    _, policing = told(opened())
    assert policing.authors is None
    assert "is under the agent's address" in policing.unheard


def test_of_a_bot_s_change_whoever_merged_it_is_an_author(repository: Repository, team: Team) -> None:
    commit = team.commits("Robot <robot@example.com>", {"v2/cart/target.yaml": "a: 3\n"})
    head = offered(team)
    version, policing = told(repository, reviewed(head, "ben"))
    assert (policing.authors, policing.mergers_asked) == (None, (commit,))
    heard = replace(reviewed(head, "ben"), merged={commit: Merged(replace(pull(head), merged_by=ACCOUNTS["ben"]))})
    version, policing = told(repository, heard)
    assert policing.authors == {"eve", "ada", "robot", "ben"}
    assert opens(version, policing) == (False, "0 of 1 approvals; ben is an author")


# --- who approved ----------------------------------------------------------------------------------------------------


def test_an_approval_of_the_branch_counts_for_the_version_and_none_of_an_author(
    repository: Repository, team: Team
) -> None:
    head = offered(team)
    assert opens(*told(repository, reviewed(head, "eve"))) == (False, "0 of 1 approvals; eve is an author")
    assert opens(*told(repository, reviewed(head, "ben", "eve"))) == (True, "1 of 1 approvals: ben; eve is an author")
    by_hand = reviewed(head, "ben", author=ACCOUNTS["ben"])
    assert opens(*told(repository, by_hand))[1].startswith("0 of 1 approvals; ben is an author")


def test_who_wrote_the_commit_that_was_reviewed_is_an_author(repository: Repository, team: Team) -> None:
    head = offered(team, author=BEN)
    assert opens(*told(repository, reviewed(head, "ben"))) == (False, "0 of 1 approvals; ben is an author")


def test_an_approval_is_void_once_a_member_s_folder_says_something_else(repository: Repository, team: Team) -> None:
    head = offered(team)
    team.commits(EVE, {"v2/cart/target.yaml": "a: evil\n"})
    assert opens(*told(repository, reviewed(head, "ben"))) == (False, "0 of 1 approvals; ben approved other content")
    team.commits(EVE, {"v2/cart/target.yaml": "a: 2\n"})
    assert opens(*told(repository, reviewed(head, "ben")))[0], "content that comes back is approved again"


def test_an_approval_of_another_version_is_none_of_this_one(repository: Repository, team: Team) -> None:
    team.commits(ADA, {"v3/cart/target.yaml": "a: 2\n", "v3/auth/target.yaml": "a: 2\n"})
    head = offered(team, "v3")
    assert opens(*told(repository, reviewed(head, "ben"))) == (False, "0 of 1 approvals; ben approved other content")


def test_what_else_changes_in_main_voids_no_approval(repository: Repository, team: Team) -> None:
    head = offered(team)
    team.commits(BEN, {"v1/cart/target.yaml": "a: 9\n", "v2/cart/primary.yaml": "digest: y\n"})
    team.commits(BEN, {"group.yaml": "spec:\n  active: v1\n  archiveSize: 2\n"})
    assert opens(*told(repository, reviewed(head, "ben")))[0]


def test_a_squash_of_anybody_s_branch_keeps_its_approvals_though_the_branch_is_gone(
    repository: Repository, team: Team
) -> None:
    team.remote.checkout("release", new=True)
    head = team.names("v2", ADA)
    team.remote.checkout("main")
    commit = squashed(team, "release", ADA)
    version, policing = told(repository, reviewed(head, "ben", merged=commit, merger="eve"))
    assert (version.promotion, policing.merger) == (commit, "eve")
    assert opens(version, policing) == (True, "1 of 1 approvals: ben")


def test_who_wrote_what_a_squash_hides_is_an_author(repository: Repository, team: Team) -> None:
    """Some forges name whoever opened a pull request as the author of its squash, and nobody else."""
    team.remote.checkout("release", new=True)
    team.commits(BEN, {"v2/cart/service.yaml": "b: 1\n"})
    head = team.names("v2", ADA)
    team.remote.checkout("main")
    team.remote.write(f"{FOLDER}/v2/cart/service.yaml", "b: 1\n")
    commit = squashed(team, "release", ADA)
    version, policing = told(repository, reviewed(head, "ben", merged=commit, merger="ada"))
    assert version.digest_at(head) == version.digest
    assert opens(version, policing) == (False, "0 of 1 approvals; ben is an author")


def test_a_review_of_a_commit_that_nobody_has_counts_for_nothing_and_is_asked_for_once_a_head(
    repository: Repository, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = "d" * 40
    opened, reason = opens(*told(repository, reviewed(gone, "ben")))
    assert (opened, reason.partition(";")[0]) == (
        False,
        f"nobody can tell its authors: nobody can read {gone[:10]}: promote it again",
    )
    asked: list[str] = []
    monkeypatch.setattr(repository.mirror, "fetch_commit", lambda commit: bool(asked.append(commit)))
    versions = GroupVersions(repository)
    for main in ("1", "1", "2"):
        versions.fetch_reviewed(reviewed(gone, "ben"), main)
    assert asked == [gone, gone]


@pytest.mark.parametrize("broken", ["spec: [\n", "spec: {}\n", "spec: {active: v9}\n"])
def test_a_reviewed_commit_that_names_no_version_approves_none(repository: Repository, team: Team, broken: str) -> None:
    team.remote.checkout(promotion_branch(STORE), new=True)
    head = team.commits(AGENT, {"group.yaml": broken})
    team.remote.checkout("main")
    assert opens(*told(repository, reviewed(head, "ben"))) == (
        False,
        f"0 of 1 approvals; nobody can tell what ben approved: commit {head[:10]} is gone",
    )


def test_until_the_forge_has_answered_and_without_one_nothing_is_approved(repository: Repository, team: Team) -> None:
    team.names("v2", ADA)
    opened, reason = opens(*told(repository))
    assert (opened, reason.startswith("nobody tells who approved: the forge has not answered yet")) == (False, True)
    opened, reason = opens(*told(repository, has_forge=False))
    assert (opened, reason) == (False, "nobody tells who approved: connect a forge")


# --- who merged ------------------------------------------------------------------------------------------------------


def test_the_promotion_is_the_commit_that_names_the_version_whatever_else_is_edited_later(
    repository: Repository, team: Team
) -> None:
    """Else an approval of a harmless edit of group.yaml would promote what nobody looked at."""
    first = team.names("v2", EVE)
    team.names("v2", BEN, "  archiveSize: 2\n")
    assert told(repository)[0].promotion == first
    team.names("v1", BEN)
    assert told(repository)[0].promotion == ""
    again = team.names("v2", ADA)
    team.commits(BEN, {"group.yaml": "spec: ["})
    assert told(repository)[0].promotion == again, "a mistake hides nothing"


def test_who_merges_it_approves_by_that_unless_they_wrote_it(repository: Repository, team: Team) -> None:
    head = offered(team)
    rule, commit = Approvals(proof=Proof.MERGE), squashed(team, promotion_branch(STORE))
    assert opens(*told(repository, reviewed(head, merged=commit, merger="ben")), rule)[0]
    assert opens(*told(repository, reviewed(head, merged=commit, merger="eve")), rule) == (
        False,
        "0 of 1 approvals; eve is an author",
    )


def test_without_a_forge_git_says_who_merged(repository: Repository, team: Team) -> None:
    team.remote.run("config", "user.email", "ben@example.com")
    team.names("v2", BEN)
    found = told(repository, has_forge=False)
    assert found[1].merger == "ada", "the committer of these tests"
    roles = Separation((Role.AUTHOR, Role.MERGER))
    assert opens(*found, roles) == (False, "ada is author and merger")


@pytest.mark.parametrize(("merger", "may"), [("ben", True), ("eve", False)])
def test_no_author_of_a_member_merges_where_the_roles_are_separate(
    repository: Repository, team: Team, merger: str, may: bool
) -> None:
    head = offered(team)
    commit = squashed(team, promotion_branch(STORE))
    roles = Separation((Role.AUTHOR, Role.MERGER))
    assert opens(*told(repository, reviewed(head, merged=commit, merger=merger)), roles)[0] is may

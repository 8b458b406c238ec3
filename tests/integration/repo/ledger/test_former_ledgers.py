"""What one cluster says is proven, as the agent of a later environment reads it: with the one look at the remote, and
as nothing where nobody can tell, or prove, that it was said.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gitops_bg.agent.desired.environments import FormerLedgers
from gitops_bg.core.environments.model import Environment, Environments
from gitops_bg.core.environments.proven import ProvenRelease
from gitops_bg.core.model.version import ReleaseId
from gitops_bg.repo.ledger.ledger_file import SubjectState, VersionState
from gitops_bg.repo.read.environment import EnvironmentAt
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import API, NOON, WEB, Opener
from tests.integration.repo.ledger.test_ledger import batch, entry
from tests.support.git.remote import GitRemote

STAGING, PROD = Environment("staging", ("staging-1",)), Environment("prod", ("prod-1",))
AT_PROD = EnvironmentAt(PROD, Environments((STAGING, PROD)))
R1 = ReleaseId(1, "r1:" + "1" * 64, "9be1" * 10)
PROOF = ProvenRelease(R1, 1800, "v1:1", NOON, NOON, R1.commit)
STATE = SubjectState(1, 1, VersionState(1, "v1:1", release=R1, since=NOON), proven=(PROOF,))
BRANCH = "gitops-bg/state/staging-1"


@pytest.fixture
def staging(opened: Opener) -> Repository:
    """What the agent of staging-1 works with."""
    repository = opened(mirror="staging", cluster="staging-1")
    repository.poll()
    return repository


@pytest.fixture
def prod(opened: Opener) -> Repository:
    repository = opened(mirror="prod", cluster="prod-1")
    repository.poll()
    return repository


@pytest.fixture
def ledgers(prod: Repository) -> FormerLedgers:
    made = FormerLedgers(prod)
    assert made.follow(AT_PROD)
    return made


def test_what_is_proven_there_is_read_here_and_only_what_moved_is_read_again(
    staging: Repository, prod: Repository, ledgers: FormerLedgers
) -> None:
    staging.ledger.publish({WEB: batch(entry(1), state=STATE), API: batch(entry(1))})
    prod.poll()
    assert ledgers.read() == {WEB, API}
    report = ledgers.report("staging-1", WEB)
    assert (report.proven, report.serves, report.since, report.written) == ((PROOF,), R1, NOON, NOON)
    assert not report.trouble
    prod.poll()
    assert ledgers.read() == set()
    staging.ledger.publish({API: batch(entry(2))})
    prod.poll()
    assert ledgers.read() == {API}


def test_where_nothing_was_written_or_the_branch_is_deleted_nothing_is_proven(
    staging: Repository, prod: Repository, ledgers: FormerLedgers, remote: GitRemote
) -> None:
    prod.poll()
    ledgers.read()
    gone = "its agent has written none yet, or somebody deleted its branch"
    assert ledgers.report("staging-1", WEB).trouble == gone
    staging.ledger.publish({WEB: batch(entry(1), state=STATE)})
    prod.poll()
    ledgers.read()
    assert ledgers.report("staging-1", WEB).proven
    remote.run("update-ref", "-d", f"refs/heads/{BRANCH}", cwd=remote.bare)
    prod.poll()
    assert ledgers.read() == {WEB}
    report = ledgers.report("staging-1", WEB)
    assert (report.proven, report.trouble) == ((), gone)


def test_what_a_stranger_pushed_to_the_branch_does_not_count(
    staging: Repository, prod: Repository, ledgers: FormerLedgers, remote: GitRemote
) -> None:
    staging.ledger.publish({WEB: batch(entry(1))})
    staging.ledger.publish({WEB: batch(entry(1), state=STATE)})
    staging.ledger.publish({WEB: batch(entry(2))})
    commit = remote.run("commit-tree", "-m", "mine", "-p", BRANCH, f"{BRANCH}~1^{{tree}}", cwd=remote.bare).strip()
    remote.run("update-ref", f"refs/heads/{BRANCH}", commit, cwd=remote.bare)
    prod.poll()
    ledgers.read()
    assert ledgers.report("staging-1", WEB).proven == ()


def test_a_cluster_that_comes_after_is_not_read_and_one_that_is_no_longer_before_is_forgotten(
    prod: Repository, ledgers: FormerLedgers
) -> None:
    assert prod.mirror.former == {BRANCH}
    assert prod.mirror.environment == "prod"
    assert not ledgers.follow(AT_PROD)
    assert ledgers.follow(EnvironmentAt(STAGING, Environments((STAGING, PROD))))
    assert prod.mirror.former == set()
    assert ledgers.follow(EnvironmentAt())
    assert prod.mirror.environment == ""


def test_a_branch_that_was_set_back_proves_nothing_until_its_agent_writes_again(
    staging: Repository, prod: Repository, ledgers: FormerLedgers, remote: GitRemote
) -> None:
    staging.ledger.publish({WEB: batch(entry(1), state=STATE)})
    old = remote.head(BRANCH)
    assert old is not None
    prod.poll()
    ledgers.read()
    staging.ledger.publish({WEB: batch(entry(2), state=replace(STATE, proven=()))})
    prod.poll()
    ledgers.read()
    remote.run("update-ref", f"refs/heads/{BRANCH}", old, cwd=remote.bare)
    prod.poll()
    ledgers.read()
    report = ledgers.report("staging-1", WEB)
    assert report.proven == ()
    assert report.trouble.startswith(f"its branch was set back to {old[:10]}, before ")
    staging.poll()
    staging.ledger.publish({WEB: batch(entry(3), state=STATE)})
    prod.poll()
    ledgers.read()
    report = ledgers.report("staging-1", WEB)
    assert (report.proven, report.trouble) == ((PROOF,), "")

"""Where signatures are required, what another cluster says is proven counts only if its agent signed it."""

from __future__ import annotations

from gitops_bg.agent.desired.environments import FormerLedgers
from gitops_bg.repo.repository import Repository
from tests.integration.repo.conftest import WEB, Opener
from tests.integration.repo.ledger.test_former_ledgers import AT_PROD, PROOF, STATE
from tests.integration.repo.ledger.test_ledger import batch, entry
from tests.integration.repo.verification.forger import Forger
from tests.integration.repo.verification.signed import Signed


def said_by(staging: Repository, prod: Repository) -> tuple[int, str]:
    """How much prod believes of what staging wrote, and why not all."""
    staging.poll()
    staging.ledger.publish({WEB: batch(entry(1), state=STATE)})
    ledgers = FormerLedgers(prod)
    ledgers.follow(AT_PROD)
    prod.poll()
    ledgers.read()
    report = ledgers.report("staging-1", WEB)
    assert report.proven in ((), (PROOF,))
    return len(report.proven), report.trouble


def test_a_signed_proof_counts(signed: Signed, forger: Forger) -> None:
    staging = signed.open(mirror="staging", cluster="staging-1")
    assert said_by(staging, signed.open(mirror="prod", cluster="prod-1")) == (1, "")


def test_an_unsigned_proof_counts_as_absent_and_the_reason_says_so(
    signed: Signed, forger: Forger, opened: Opener
) -> None:
    unsigned = opened(mirror="staging", cluster="staging-1")
    proven, why = said_by(unsigned, signed.open(mirror="prod", cluster="prod-1"))
    assert proven == 0
    assert "no signature that proves it" in why

"""The next ``spec.retry`` of an app: lifts a hold, or restarts a failed rollout; the core carries it out."""

from gitops_bg.agent.reconcile.facts import Facts
from gitops_bg.core.model.spec import Retry


def next_retry(facts: Facts, digest: str, by: str) -> Retry:
    """Return the request for a new rollout of ``digest``, with an unused number."""
    last = max(facts.record.operator.retry, facts.spec.retry.number if facts.spec.retry else 0)
    return Retry(digest, last + 1, by, facts.record.sequence)

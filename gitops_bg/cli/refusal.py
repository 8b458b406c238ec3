"""What only a running agent finds out, that main refuses its commits, for verbs that decide as it does. Asks nobody."""

from dataclasses import replace

from gitops_bg.agent.gathering import Facts
from gitops_bg.cluster.kinds import Object
from gitops_bg.core.status.conditions import MAIN_REFUSES


def as_the_agent_knows(facts: Facts, manifest: Object | None) -> Facts:
    """The facts with what the agent last wrote about main into the live object, where there is one."""
    conditions = ((manifest or {}).get("status") or {}).get("conditions") or []
    refused = next((each["message"] for each in conditions if each["reason"] == MAIN_REFUSES), "")
    if not refused:
        return facts
    git = replace(facts.observed.git, main_refused=refused)
    return replace(facts, observed=replace(facts.observed, git=git))

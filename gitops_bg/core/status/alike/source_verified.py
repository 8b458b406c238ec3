"""The condition of main's signatures; none where the agent was given no keys."""

from gitops_bg.core.checks.git.unverified import describe
from gitops_bg.core.model.decision import Condition
from gitops_bg.core.model.git.verification import Doubt, SourceVerification

SOURCE_VERIFIED = "SourceVerified"


def source_verified(verification: SourceVerification | None) -> tuple[Condition, ...]:
    """One condition of an app or a group, or none: without keys, the status shows nothing new."""
    if verification is None:
        return ()
    trouble = verification.keys_trouble
    if held := verification.held:
        message = "; ".join(filter(None, [describe(held), trouble]))
        if held.doubt is Doubt.PENDING:
            return (Condition(SOURCE_VERIFIED, False, "NotCheckedYet", message),)
        if held.doubt is Doubt.RECORDS_UNKNOWN:
            return (Condition(SOURCE_VERIFIED, False, "RecordsUnknown", message),)
        return (Condition(SOURCE_VERIFIED, False, held.doubt.value, message),)
    if trouble:
        return (Condition(SOURCE_VERIFIED, True, "KeysUnreadable", trouble),)
    return (Condition(SOURCE_VERIFIED, True, "Verified", "each commit that main got is signed by a listed key"),)

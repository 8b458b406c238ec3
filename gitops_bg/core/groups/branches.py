"""The branches for people: what they are asked to merge, and what they have signed, of each app and each group."""

from gitops_bg.core.groups.model import GroupKey
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import (
    APPROVALS_PREFIX,
    GROUP_APPROVALS_PREFIX,
    GROUP_PROMOTION_PREFIX,
    PROMOTION_PREFIX,
    approvals_branch,
    promotion_branch,
)

AppOrGroup = AppKey | GroupKey
"""Two of the same name are never equal, and there is no order between them: sort by `branch_of`."""
PROMOTION_PREFIXES = (PROMOTION_PREFIX, GROUP_PROMOTION_PREFIX)
APPROVALS_PREFIXES = (APPROVALS_PREFIX, GROUP_APPROVALS_PREFIX)


def group_branch(group: GroupKey) -> str:
    """The one branch that asks for a version of a group.

    >>> group_branch(GroupKey("shop", "store"))
    'gitops-bg/promote-groups/shop/store'
    """
    return f"{GROUP_PROMOTION_PREFIX}{group.namespace}/{group.name}"


def branch_of(subject: AppOrGroup) -> str:
    """The branch that asks for a version of an app, or of a group; no two have the same.

    >>> branch_of(AppKey("shop", "store")), branch_of(GroupKey("shop", "store"))
    ('gitops-bg/promote/shop/store', 'gitops-bg/promote-groups/shop/store')
    """
    return group_branch(subject) if isinstance(subject, GroupKey) else promotion_branch(subject)


def approvals_branch_of(subject: AppOrGroup) -> str:
    """The branch with the signed approvals of an app, or of a group.

    >>> approvals_branch_of(AppKey("shop", "store")), approvals_branch_of(GroupKey("shop", "store"))
    ('gitops-bg/approvals/shop/store', 'gitops-bg/approvals-groups/shop/store')
    """
    if isinstance(subject, GroupKey):
        return f"{GROUP_APPROVALS_PREFIX}{subject.namespace}/{subject.name}"
    return approvals_branch(subject)


def signed_name(subject: AppOrGroup) -> str:
    """What a signed approval calls an app, or a group: a signature for the one is none for the other.

    >>> signed_name(AppKey("shop", "store")), signed_name(GroupKey("shop", "store"))
    ('shop/store', 'group shop/store')
    """
    return f"group {subject}" if isinstance(subject, GroupKey) else str(subject)

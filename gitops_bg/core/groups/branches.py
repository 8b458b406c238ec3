"""The branches for people: what they are asked to merge, of each app and each group."""

from gitops_bg.core.groups.model import GroupKey
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import (
    GROUP_PROMOTION_PREFIX,
    PROMOTION_PREFIX,
    promotion_branch,
)

AppOrGroup = AppKey | GroupKey
"""Two of the same name are never equal, and there is no order between them: sort by `branch_of`."""
PROMOTION_PREFIXES = (PROMOTION_PREFIX, GROUP_PROMOTION_PREFIX)


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

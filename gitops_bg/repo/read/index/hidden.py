"""Which apps are unknown at a commit: unknown is not absent, so that nothing is concluded from their absence."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.app.layout import APPS_FOLDER
from gitops_bg.spec.groups.layout import GROUPS_FOLDER

_MEMBER = re.compile(r".-(v[1-9][0-9]*)\Z")


@dataclass(frozen=True, slots=True)
class Hidden:
    """Why apps are unknown."""

    places: Mapping[str, Problem] = field(default_factory=dict)
    """The folders above apps in whose place is something that is not followed."""
    apps: Mapping[AppKey, Problem] = field(default_factory=dict)
    """The apps that were there before, or that are in two places."""

    def __bool__(self) -> bool:
        return bool(self.places or self.apps)

    def above(self, folder: str) -> Problem | None:
        """What hides a folder; None where nothing does."""
        if not self.places:
            return None
        names = folder.split("/")
        return next(filter(None, (self.places.get("/".join(names[:count])) for count in range(1, len(names)))), None)

    def may_hide(self, app: AppKey) -> Problem | None:
        """Why an app that was not found may be there all the same; None where it is known to be absent.

        >>> link = Problem("groups/shop/store/v1", "is a symbolic link")
        >>> hidden = Hidden({link.file: link})
        >>> [bool(hidden.may_hide(AppKey("shop", name))) for name in ("cart-v1", "cart-v2", "cart")]
        [True, False, False]
        """
        return self.apps.get(app) or next(
            (problem for place, problem in self.places.items() if _may_hold(place, app)), None
        )


def _may_hold(place: str, app: AppKey) -> bool:
    """Whether an app may have its folder below a place."""
    top, *names = place.split("/")
    if names[:1] not in ([], [app.namespace]):
        return False
    if top == APPS_FOLDER:
        return True
    version = _MEMBER.search(app.name)
    return top == GROUPS_FOLDER and version is not None and names[2:] in ([], [version[1]])

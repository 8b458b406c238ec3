"""What the commits of a work tree change beyond main: whether a promotion among them comes alone (policies.md §5).

It asks the user's own git, and concludes nothing if that has no main to compare with.
"""

from collections.abc import Iterator
from pathlib import Path

from gitops_bg.cli.clone.user_git import asked
from gitops_bg.core.model.desired import Problem
from gitops_bg.spec.app.layout import POLICIES_FOLDER, PRIMARY_FILE, app_of
from gitops_bg.spec.policies.load import is_policy_file

_MOST_NAMED = 3


def promotions_with_company(path: Path, branch: str) -> Iterator[Problem]:
    """Yield a problem for each ``primary.yaml`` that is promoted together with a change that makes the
    promotion wait.
    """
    base = f"origin/{branch}"
    files = [each for each in asked("-C", str(path), "diff", "--name-only", "-z", f"{base}...HEAD").split("\0") if each]
    primaries = {each: found[0] for each in files if (found := app_of(each)) and found[1] == PRIMARY_FILE}
    if not primaries:
        return
    judging = [each for each in files if each.startswith(f"{POLICIES_FOLDER}/")]
    for file in primaries if judging else ():
        message = f"is promoted together with {judging[0]}: it would be its own judge, so traffic waits"
        yield Problem(file, message, remedy="change policies/ by a commit of its own, before or after")
    if not _has_policies(path):
        return
    said = asked("-C", str(path), "log", "--format=%B", f"{base}..HEAD").splitlines()
    for file, app in primaries.items() if "Bg-Event: promoted" in said else ():
        beside = [each for each in files if each != file]
        if beside and f"Bg-App: {app}" in said:
            message = f"is promoted by its promotion branch together with {', '.join(beside[:_MOST_NAMED])}"
            yield Problem(file, f"{message}, so traffic waits", remedy="take that out of the branch")


def _has_policies(path: Path) -> bool:
    names = (each.name for each in (path / POLICIES_FOLDER).glob("*") if each.is_file())
    return any(is_policy_file(f"{POLICIES_FOLDER}/{name}") for name in names)

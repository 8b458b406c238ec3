"""What a plan may be of instead of main and the cluster as they are: main as it would be after a push or a merge, in a
repository of its own in a temporary folder; and the live side as `plan --dump-observed` wrote it. It decides nothing
about apps.

The proposed main borrows the objects of the mirror and of the user's clone, and writes to neither.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from gitops_bg.agent.reconcile.facts import Live
from gitops_bg.cli.errors import CommandFailed, ObjectNotFound, UsageError
from gitops_bg.cli.options.options import GitOptions
from gitops_bg.cli.repository.user_git import answered, asked, git_answers_no
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.foreign_json import DocumentLimits, read_json
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.observed import Observed
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.repository import Repository
from gitops_bg.repo.settings import TRACKING_PREFIX, is_app
from gitops_bg.spec.codec import from_json, to_json

_NOBODY = {
    f"GIT_{who}_{what}": text
    for who in ("AUTHOR", "COMMITTER")
    for what, text in (("NAME", "gitops-bg plan"), ("EMAIL", "gitops-bg@localhost"))
}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: a work tree, or a commit of the clone in the current directory, merged into another one."""

    worktree: Path | None = None
    base: str = ""
    """A ref; empty: the branch that is deployed."""
    head: str = ""

    @property
    def clone(self) -> Path:
        """Where the user's git is asked."""
        return self.worktree or Path()


@dataclass(frozen=True, slots=True)
class ProposedMain:
    """Main before and after; ``git`` are the options that lead to it."""

    before: str
    after: str
    git: GitOptions
    folder: Path

    def accept(self) -> None:
        """Have main be what it would be."""
        _here(self.folder, "update-ref", f"refs/heads/{self.git.branch}", self.after)


@contextmanager
def proposed_main(repository: Repository, git: GitOptions, question: Question) -> Iterator[ProposedMain]:
    """Make the repository, main as it is before. Raises `CommandFailed`, `ObjectNotFound`, `UsageError`."""
    objects = asked("-C", str(question.clone), "rev-parse", "--path-format=absolute", "--git-path", "objects")
    if not objects:
        place = question.clone.absolute()
        raise UsageError(f"{place} is no clone of the repository; run it in one, or name one by --worktree")
    with tempfile.TemporaryDirectory(prefix="gitops-bg-") as temporary:
        folder = Path(temporary) / "proposed.git"
        _begin(folder, Path(objects), repository)
        settings = repository.settings
        main = f"refs/heads/{settings.branch}"
        before = _commit(question.base, question, folder) if question.base else _here(folder, "rev-parse", main)
        after = _merged(folder, before, _head(folder, question))
        _here(folder, "update-ref", main, before)
        options = replace(
            git,
            repo=str(folder),
            branch=settings.branch,
            cluster=settings.cluster,
            state_dir=Path(temporary) / "mirror",
        )
        yield ProposedMain(before, after, options, folder)


def _begin(folder: Path, objects: Path, repository: Repository) -> None:
    """Make a repository with all branches of the remote, as they were fetched just now."""
    answered("init", "--quiet", "--bare", str(folder))
    mirror = repository.settings.mirror
    (folder / "objects" / "info" / "alternates").write_text(f"{objects}\n{mirror / 'objects'}\n", encoding="utf-8")
    _here(folder, "fetch", "--quiet", "--no-tags", str(mirror), f"+{TRACKING_PREFIX}*:refs/heads/*")


def _head(folder: Path, question: Question) -> str:
    """Return the commit that is to come to main: that of a ref, or one made of the work tree as it is."""
    if question.worktree is None:
        return _commit(question.head, question, folder)
    clone = str(question.worktree)
    work = {"GIT_INDEX_FILE": str(folder / "proposed.index"), "GIT_OBJECT_DIRECTORY": str(folder / "objects")}
    theirs = (folder / "objects" / "info" / "alternates").read_text(encoding="utf-8").splitlines()[0]
    work |= {"GIT_ALTERNATE_OBJECT_DIRECTORIES": theirs} | _NOBODY
    answered("-C", clone, "read-tree", "HEAD", **work)
    answered("-C", clone, "add", "--all", ":/", **work)
    tree = answered("-C", clone, "write-tree", **work)
    return answered("-C", clone, "commit-tree", tree, "-p", "HEAD", "-m", "the work tree", **work)


def _commit(name: str, question: Question, folder: Path) -> str:
    """Return the commit of a ref: of the clone, of its origin, or a branch of the remote."""
    for found in (
        asked("-C", str(question.clone), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"),
        asked("--git-dir", str(folder), "rev-parse", "--verify", "--quiet", f"refs/heads/{name}^{{commit}}"),
    ):
        if found:
            return found
    raise ObjectNotFound(f"neither this clone nor the remote knows {name}; name a branch, a tag or a commit")


def _merged(folder: Path, before: str, head: str) -> str:
    """Return what main is once it has a commit: that commit, or a merge. Raises `CommandFailed` for a conflict."""
    if not git_answers_no("--git-dir", str(folder), "merge-base", "--is-ancestor", before, head):
        return head
    if not git_answers_no("--git-dir", str(folder), "merge-base", "--is-ancestor", head, before):
        return before
    try:
        tree = _here(folder, "merge-tree", "--write-tree", before, head)
    except CommandFailed as error:
        why = f"{head[:10]} cannot be merged into {before[:10]}"
        raise CommandFailed(f"{why}: {error}; a shallow clone lacks what they have in common") from error
    return _here(folder, "commit-tree", tree, "-p", before, "-p", head, "-m", "the merge", **_NOBODY)


def _here(folder: Path, *arguments: str, **environment: str) -> str:
    return answered("--git-dir", str(folder), *arguments, **environment)


_FORM = "gitops-bg.dev/observed-v1"
_LARGEST = 1024**3
_REMEDY = "write it with `gitops-bg plan --dump-observed FILE`"


def dump(live: Mapping[AppKey, Live], file: Path) -> None:
    """Write the observed state. Raises `UsageError` where the file cannot be written."""
    apps = {
        str(app): {"manifest": each.manifest, "record": to_json(each.record), "observed": to_json(each.observed)}
        for app, each in sorted(live.items())
    }
    try:
        file.write_text(json.dumps({"form": _FORM, "apps": apps}, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--dump-observed: {file} cannot be written: {error.strerror}") from error


def load(file: Path) -> dict[AppKey, Live]:
    """Return the state that was observed when the file was written. Raises `InvalidInput`, `UsageError`."""
    try:
        data = read_json(file.read_bytes(), DocumentLimits(bytes=_LARGEST))
    except OSError as error:
        raise UsageError(f"--observed: {file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InvalidInput(Problem(str(file), f"is no JSON: {error}", remedy=_REMEDY)) from error
    if not isinstance(data, dict) or data.get("form") != _FORM or not isinstance(data.get("apps"), dict):
        raise InvalidInput(Problem(str(file), f"is not of the form {_FORM}", remedy=_REMEDY))
    return {_key(name, file): _live(each, f"{file}: {name}") for name, each in data["apps"].items()}


def _key(name: str, file: Path) -> AppKey:
    namespace, _, rest = name.partition("/")
    if not is_app(namespace, rest):
        raise InvalidInput(Problem(str(file), f"{name!r} is no app", remedy="name apps NAMESPACE/NAME"))
    return AppKey(namespace, rest)


def _live(data: Any, place: str) -> Live:
    if not isinstance(data, dict):
        raise InvalidInput(Problem(place, "is no object", remedy=_REMEDY))
    record = from_json(Record, data.get("record", {}), place)
    return Live(data.get("manifest"), record, from_json(Observed, data.get("observed", {}), place))

"""The promotion branches: which of the remote concern anything that main has, and their content, compared with the main
they start from; cached as long as nothing moves.
"""

from collections.abc import Iterable, Iterator, Mapping

from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import lines_of
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey, GroupKey
from gitops_bg.core.names import ENVIRONMENT_PROMOTION_PREFIX, PROMOTION_PREFIX
from gitops_bg.repo.git.directory import locked
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.read.app_index import AppIndex, groups_at
from gitops_bg.repo.read.changes import Trees
from gitops_bg.repo.read.files import Blobs, File, Files, TreeEntry, blobs_in_tree
from gitops_bg.repo.read.mainline import BranchPoints
from gitops_bg.repo.settings import app_of_branch, app_of_environment_branch, entry_of_branch, group_of_branch
from gitops_bg.spec.app.layout import PRIMARY_FILE, Places


class ConcernedBranches:
    """Compares the names of branches with the apps and groups of main: anybody who may push can make thousands of
    others.
    """

    def __init__(self, mirror: Mirror, trees: Trees, index: AppIndex) -> None:
        self._mirror = mirror
        self._trees = trees
        self._index = index

    def among(self, branches: Iterable[str], head: str) -> set[str]:
        """Return those of an app or a group that main has at ``head``, or may have, and those that are followed by now:
        of an app that main had, the branch is still to be deleted.
        """
        followed = self._mirror.tracked()
        strange = [name for name in branches if name not in followed]
        apps, hidden = self._index.at(head) if head else {}, self._index.hidden(head) if head else None
        places = self._index.places
        named = {name: app_offered(places, name) or group_of_branch(name) or _entered(name) for name in strange}
        groups = groups_at(self._trees, head) if any(isinstance(one, GroupKey) for one in named.values()) else {}
        found = {name for name in branches if name in followed}
        for name, one in named.items():
            if isinstance(one, GroupKey):
                known = one in groups or bool(hidden and hidden.places)
            else:
                known = one is not None and (one in apps or bool(hidden and hidden.may_hide(one)))
            if known:
                found.add(name)
        return found


def _entered(branch: str) -> AppKey | None:
    entry = entry_of_branch(branch)
    return entry[1] if entry else None


def app_offered(places: Places, branch: str) -> AppKey | None:
    """Return the app whose promotion branch this is, in the environment that counts; None for any other branch."""
    found = app_of_environment_branch(branch)
    app = found[1] if found is not None else app_of_branch(branch)
    return app if app is not None and places.branch(app) == branch else None


_MESSAGES = ("log", "-z", "--encoding=UTF-8", "--no-walk=unsorted", "--format=%H%x00%B%x00", "--stdin")
_LONGEST = 64 * 1024
"""Bytes of a message that are read."""
_PREFIXES = (PROMOTION_PREFIX, ENVIRONMENT_PROMOTION_PREFIX)
_EVENT, _BY, _REASON, _SKIPPED = "Bg-Event: ", "Bg-By: ", "Bg-Reason: ", "Bg-Skipped: "


@dataclass(frozen=True, slots=True)
class OfferedBlobs:
    """The promotion branch of an app as ids: its head, and ``primary.yaml`` there and where it leaves main."""

    commit: str
    blob: str | None
    base_blob: str | None
    own_commits: int = 1
    """How many commits its line of first parents has that main does not contain."""


@dataclass(frozen=True, slots=True)
class FetchedPromotion:
    """The promotion branch of an app. A file is None where it does not exist."""

    commit: str
    primary: File | None
    base_primary: File | None
    """``primary.yaml`` on main where the branch leaves it."""
    asks_for: str = ""
    """The event that the branch's commit asks for, by its trailer; empty where it does not say."""
    own_commits: int = 1
    """How many commits its line of first parents has that main does not contain."""
    cluster: str = ""
    """The cluster that offers it, by the subject of the branch's commit; empty where it does not say."""
    asked_by: str = ""
    """Who asks for it, and why, by the trailers of its commit; empty where it does not say."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AskedBy:
    """Who asks for a release on a branch, as its commit says."""

    cluster: str = ""
    """Whose agent made it, or was used by a person; empty where it does not say."""
    by_person: bool = False
    """Whether a person asks for it: the commit names one, passes by an environment, or is by no agent at all."""
    name: str = ""
    """Who that is, where the commit says so."""
    skipped: tuple[str, ...] = ()
    """The environments that it passes by, because somebody says so."""


class PromotionBranches:
    """Reads the promotion branches."""

    def __init__(self, mirror: Mirror, trees: Trees, blobs: Blobs, files: Files, index: AppIndex) -> None:
        self._mirror = mirror
        self.lock = mirror.lock
        self._index = index
        self._branch_points = BranchPoints(mirror)
        self._trees = trees
        self._blobs = blobs
        self._files = files
        self._key: tuple[dict[str, str], Places] = ({}, Places())
        self._found: dict[AppKey, OfferedBlobs] = {}
        self._read: dict[AppKey, FetchedPromotion] | None = None

    def blobs(self) -> Mapping[AppKey, OfferedBlobs]:
        """Return all promotion branches as last fetched, as ids."""
        tracked = self._mirror.tracked()
        main = self._mirror.settings.branch
        at = {name: commit for name, commit in tracked.items() if name == main or name.startswith(_PREFIXES)}
        places = self._index.places
        key = (at, places)
        if key != self._key:
            heads = {app: commit for name, commit in at.items() if (app := app_offered(places, name)) is not None}
            self._found = self._offered_blobs(heads, at.get(main, ""))
            self._key, self._read = key, None
        return self._found

    @locked
    def promotions(self) -> Mapping[AppKey, FetchedPromotion]:
        """Return all promotion branches as last fetched, with contents."""
        found = self.blobs()
        if self._read is None:
            paths = {app: self._index.places.file(app, PRIMARY_FILE) for app in found}
            entries = {
                (app, blob): TreeEntry(f"{paths[app]}@{blob}", "100644", blob)
                for app, offer in found.items()
                for blob in (offer.blob, offer.base_blob)
                if blob is not None
            }
            files, said = self._files.read(entries.values(), lenient=True), self._messages(found.values())
            self._read = {
                app: FetchedPromotion(
                    offer.commit,
                    _file(files, paths[app], offer.blob),
                    _file(files, paths[app], offer.base_blob),
                    event_in(said.get(offer.commit, "")),
                    offer.own_commits,
                    cluster_in(said.get(offer.commit, "")),
                    _trailer(said.get(offer.commit, ""), _BY),
                    _trailer(said.get(offer.commit, ""), _REASON),
                )
                for app, offer in found.items()
            }
        return self._read

    def stands_on_main(self, offer: OfferedBlobs) -> bool:
        """Return whether what a branch asks for is one commit on top of main. Whose message asks for nothing, is of
        people.
        """
        return offer.own_commits <= 1 or not event_in(self._messages([offer]).get(offer.commit, ""))

    @locked
    def asked_by(self, commit: str) -> AskedBy:
        """Return who asks for what a branch has at a commit."""
        message = self._messages([OfferedBlobs(commit, None, None)]).get(commit, "")
        by_person = bool(_trailer(message, _BY) or _trailer(message, _SKIPPED)) or not event_in(message)
        return AskedBy(cluster_in(message), by_person, _trailer(message, _BY), tuple(_trailers(message, _SKIPPED)))

    def _messages(self, offers: Iterable[OfferedBlobs]) -> dict[str, str]:
        """Return the messages of the commits of branches, by commit."""
        commits = [offer.commit for offer in offers]
        found = {commit: one.message for commit, one in self._mirror.commits(commits).items()}
        wanted = "".join(f"{commit}\n" for commit in commits if commit not in found)
        if not wanted:
            return found
        told = map(text, self._mirror.stream(*_MESSAGES, stdin=wanted.encode(), longest=_LONGEST))
        return found | {commit: message for commit, message, _ in zip(told, told, told, strict=True)}

    def _offered_blobs(self, heads: Mapping[AppKey, str], main: str) -> dict[AppKey, OfferedBlobs]:
        if not heads:
            return {}
        lines = self._branch_points.of(heads.values(), main)
        bases = {head: line[-1] for head, line in lines.items()}
        roots = self._trees.roots(filter(None, (*heads.values(), *bases.values())))
        folder_of = self._index.places.own_folder
        names = [f"{roots[one]}:{folder_of(app)}" for app, head in heads.items() for one in (head, bases[head]) if one]
        trees = self._blobs.trees(names)
        id_bytes = len(main or next(iter(heads.values()))) // 2

        def primary(app: AppKey, commit: str) -> str | None:
            return blobs_in_tree(trees.get(f"{roots.get(commit)}:{folder_of(app)}", b""), id_bytes).get(PRIMARY_FILE)

        return {
            app: OfferedBlobs(head, primary(app, head), primary(app, bases[head]), len(lines[head]) - 1)
            for app, head in heads.items()
        }


def _file(files: Mapping[str, File], path: str, blob: str | None) -> File | None:
    if blob is None:
        return None
    file = files[f"{path}@{blob}"]
    if isinstance(file.content, Problem):
        problem = file.content
        return File(blob, Problem(path, problem.message, remedy=problem.remedy))
    return file


def event_in(message: str) -> str:
    """Return the trailer ``Bg-Event`` of a commit message (`repo.write.commits`); empty for a message without one.

    >>> event_in("web: promote v2\\n\\nBg-App: shop/web\\nBg-Event: promoted\\n"), event_in("web 2")
    ('promoted', '')
    """
    return _trailer(message, _EVENT)


def _trailer(message: str, name: str) -> str:
    return next(_trailers(message, name), "")


def _trailers(message: str, name: str) -> Iterator[str]:
    """Yield what the lines of a trailer say, the last one first."""
    return (line.removeprefix(name) for line in reversed(lines_of(message)) if line.startswith(name))


def cluster_in(message: str) -> str:
    """Return the cluster that the subject of a commit of `repo.write.commits` ends with; empty for any other message.

    >>> cluster_in("web: promote v2 [prod]\\n\\nBg-App: shop/web\\nBg-Event: promoted\\n"), cluster_in("web 2 [prod]")
    ('prod', '')
    """
    subject = next(iter(lines_of(message)), "")
    if not event_in(message) or not subject.endswith("]"):
        return ""
    return subject.rpartition(" [")[2].removesuffix("]")

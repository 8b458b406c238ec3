"""The version that ``spec.revision`` names in place of the target: from the record, or from main's past.

What is found takes the target's place before anything is decided, so that it passes every gate as any other change of
the target does. What nobody knows is a mistake of ``app.yaml``: there is no target then, and nothing is scaled.
"""

from dataclasses import replace
from threading import Lock

from cachetools import LRUCache

from gitops_bg.agent.runtime.cpu_limit import cpu_limited
from gitops_bg.core.model.desired import Primary, Target
from gitops_bg.core.model.record import Record
from gitops_bg.core.model.spec import Revision
from gitops_bg.core.model.version import AppKey, Snapshot, Source
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.layout import PRIMARY_FILE
from gitops_bg.spec.app.load import AppConfig, load_app
from gitops_bg.spec.app.primary import read_primary
from gitops_bg.spec.manifests.configuration import Configuration
from gitops_bg.spec.manifests.configuration_changes import configuration_in
from gitops_bg.spec.yaml.reader import read_one

_REMEMBERED = 1000

Found = tuple[Snapshot, tuple[Configuration, ...]]
"""A version, and the content of its ConfigMaps and Secrets as far as Git has it."""


class Revisions:
    """Looks revisions up in one repository. Thread-safe."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lock = Lock()
        self._known: LRUCache[tuple[AppKey, Revision, str], Found | str] = LRUCache(_REMEMBERED)

    def pinned(self, app: AppKey, config: AppConfig, record: Record, commit: str) -> AppConfig:
        """Return the description at ``commit`` of main with the version that it pins as its target, or with a problem.

        Raises the errors of a repository that cannot be read at present.
        """
        revision = config.spec.revision if config.spec else None
        if revision is None or config.target is None or config.pin is None:
            return config
        found = self._found(app, revision, record, config.primary, commit)
        if isinstance(found, str):
            unknown = replace(config.pin.unknown, message=f"{found}, so the target is left as it is")
            return replace(config, target=None, problems=(*config.problems, unknown))
        snapshot, contents = found
        target = Target(snapshot, config.target.replicas, config.pin.by, pinned=True)
        waiting = config.target if config.target.snapshot.digest != snapshot.digest else None
        contents = (*config.configuration, *contents)
        return replace(config, target=target, held_back=waiting, configuration=contents)

    def _found(
        self, app: AppKey, revision: Revision, record: Record, primary: Primary | None, head: str
    ) -> Found | str:
        """The version, or why there is none."""
        named = (each for each in reversed(record.versions) if _is_named(revision, each.number, each.digest))
        here = next((each.snapshot for each in named if each.snapshot.text), None)
        if here is None:
            return self._past(app, revision, primary, head)
        past = self._past(app, Revision(digest=here.digest), primary, head) if here.configuration else ""
        return here, () if isinstance(past, str) else past[1]

    def _past(self, app: AppKey, revision: Revision, primary: Primary | None, head: str) -> Found | str:
        """What main's history has, or why it has it not: of a commit asked once for each head of main, of a version
        once for each ``primary.yaml``, so that other apps' commits cost nothing.
        """
        key = (app, revision, head if revision.commit else primary.snapshot.digest if primary else "")
        with self._lock:
            if key in self._known:
                return self._known[key]
        by_commit = revision.commit
        found = self._of_commit(app, by_commit, head) if by_commit else self._promoted(app, revision, head)
        with self._lock:
            self._known[key] = found
        return found

    def _promoted(self, app: AppKey, revision: Revision, head: str) -> Found | str:
        """A version that ``primary.yaml`` ever named, the newest first."""
        for content in self._repository.primaries(app, head):
            document, _ = read_one(PRIMARY_FILE, content)
            primary = read_primary(document, app)[0] if document else None
            if primary and _is_named(revision, primary.version, primary.snapshot.digest):
                return primary.snapshot, tuple(configuration_in(content, app))
        return f"there is no version {revision} of this app"

    def _of_commit(self, app: AppKey, commit: str, head: str) -> Found | str:
        """The target that the folder had at a commit of main."""
        if not self._repository.mirror.is_ancestor(commit, head):
            return f"main has no commit {commit[:10]}"
        folder = self._repository.places.folder(app)
        files = {name: file.content for name, file in self._repository.files_of([app], commit)[app].items()}
        config = cpu_limited(f"reading {folder} at {commit[:10]}", lambda: load_app(app, files, _nobody, folder=folder))
        if config.target is None:
            return f"at commit {commit[:10]}: {next(map(str, config.problems), f'there is no {folder}')}"
        return config.target.snapshot, tuple(config.configuration)


def _nobody(*_names: str) -> Source:
    return Source("")


def _is_named(revision: Revision, number: int, digest: str) -> bool:
    if revision.digest:
        return digest.startswith(revision.digest)
    return bool(revision.number) and number == revision.number

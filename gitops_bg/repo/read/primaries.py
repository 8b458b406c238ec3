"""Every content that ``primary.yaml`` of an app ever had. Reads page by page."""

import re
from collections.abc import Iterator

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.blobs import Blobs
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.read.index.app_index import AppIndex
from gitops_bg.repo.read.index.walked_main import WalkedMain
from gitops_bg.repo.read.mainline import Mainline
from gitops_bg.repo.read.near_changes import NearChanges
from gitops_bg.repo.read.provenance import revisions_of
from gitops_bg.repo.read.trees import Node, Trees
from gitops_bg.spec.app.layout import PRIMARY_FILE

_PAGE = 100
_VERSION = re.compile(rb"^version:[ \t]*(\d+)[ \t]*\r?$", re.MULTILINE)
_DIGEST = re.compile(rb"^digest:[ \t]*[\"']?([\w:]+)", re.MULTILINE)


class Primaries:
    """Walks the history of one file at a time."""

    def __init__(
        self,
        mirror: Mirror,
        trees: Trees,
        near: NearChanges,
        blobs: Blobs,
        index: AppIndex,
        walked: WalkedMain,
        mainline: Mainline,
    ) -> None:
        self._mirror = mirror
        self._trees = trees
        self._near = near
        self._blobs = blobs
        self._index = index
        self._walked = walked
        self._mainline = mainline

    def primaries(self, app: AppKey, commit: str) -> Iterator[bytes]:
        """Every content that ``primary.yaml`` had up to a commit of main, newest first."""
        revisions = revisions_of(self._mirror, self._index.places.file(app, PRIMARY_FILE), commit)
        for start in range(0, len(revisions), _PAGE):
            page = list(dict.fromkeys(blob for _, blob in revisions[start : start + _PAGE]))
            contents = self._blobs.read(page)
            yield from (content for blob in page if (content := contents[blob]) is not None)

    def find_primary(self, app: AppKey, commit: str, *, digest: str = "", version: int | None = None) -> bytes | None:
        """The newest ``primary.yaml`` of this digest, or of this version number, up to a commit; None without one."""
        for content in self.primaries(app, commit):
            found = _DIGEST.search(content) if digest else _VERSION.search(content)
            if found and text(found[1]) == (digest or str(version)):
                return content
        return None

    def primaries_since(self, app: AppKey, since: str, commit: str) -> list[bytes]:
        """Every content that ``primary.yaml`` had between two commits of main, including merged branches; newest first.

        A content that came back is listed again: the order shows what was reverted. Nothing where the later commit does
        not contain the earlier: main has another history then.
        """
        path = self._index.places.file(app, PRIMARY_FILE)
        near = self._walked_changes(app, path, since, commit)
        if near is None and not self._mirror.is_ancestor(since, commit):
            return []
        near = self._near.between(path, since, commit) if near is None else near
        if near is None:
            blobs = [blob for _, blob in revisions_of(self._mirror, path, "--full-history", f"^{since}", commit)]
        else:
            blobs = [node.id for _, node in near if node is not None and node.is_file]
        blobs = blobs[:_PAGE]
        contents = self._blobs.read(list(dict.fromkeys(blobs)))
        return [content for content in map(contents.__getitem__, blobs) if content is not None]

    def _walked_changes(self, app: AppKey, path: str, since: str, commit: str) -> list[tuple[str, Node | None]] | None:
        """The changes of ``primary.yaml`` that this process saw at its looks; None where git must be asked."""
        commits = self._walked.changes(app, since, commit, self._mainline.follows)
        if commits is None:
            return None
        nodes = [self._trees.at_hand(each, (path,)) for each in commits]
        if any(found is None for found in nodes):
            return None
        return [(each, (found or {}).get(path)) for each, found in zip(commits, nodes, strict=True)]

"""Every content that ``primary.yaml`` of an app ever had. Reads page by page."""

import re
from collections.abc import Iterator

from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.git.blobs import Blobs
from gitops_bg.repo.git.mirror import Mirror
from gitops_bg.repo.git.output import text
from gitops_bg.repo.read.index.app_index import AppIndex
from gitops_bg.repo.read.provenance import revisions_of
from gitops_bg.spec.app.layout import PRIMARY_FILE

_PAGE = 100
_VERSION = re.compile(rb"^version:[ \t]*(\d+)[ \t]*\r?$", re.MULTILINE)
_DIGEST = re.compile(rb"^digest:[ \t]*[\"']?([\w:]+)", re.MULTILINE)


class Primaries:
    """Walks the history of one file at a time."""

    def __init__(self, mirror: Mirror, blobs: Blobs, index: AppIndex) -> None:
        self._mirror = mirror
        self._blobs = blobs
        self._index = index

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

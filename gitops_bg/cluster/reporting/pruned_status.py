"""What the API server keeps of a status: an older CustomResourceDefinition drops fields that it does not know.

Without this, every look would write the dropped fields again, for ever.
"""

import logging
from collections.abc import Iterator

from gitops_bg.cluster.api.kinds import Object
from gitops_bg.core.model.version import AppKey

_LOG = logging.getLogger(__name__)


class PrunedStatus:
    """Remembers, for each app, the last status that came back changed. Each app has one thread at a time."""

    def __init__(self) -> None:
        self._cut: dict[AppKey, tuple[Object, Object]] = {}
        self._told: set[str] = set()

    def says(self, app: AppKey, live: Object, status: Object) -> bool:
        """Whether ``live`` is everything that the API server keeps of ``status``."""
        return live == status or self._cut.get(app) == (status, live)

    def came_back(self, app: AppKey, status: Object, answer: Object) -> None:
        """Note how a status came back; log dropped fields once."""
        if status == answer:
            self._cut.pop(app, None)
            return
        self._cut[app] = (status, answer)
        dropped = set(_lost("status", status, answer)) - self._told
        if dropped:
            self._told |= dropped
            _LOG.warning(
                "%s: the API server does not keep %s: the CustomResourceDefinition is not that of this agent; "
                "kubectl apply -f deploy/crd.yaml",
                app,
                ", ".join(sorted(dropped)),
            )


def _lost(path: str, sent: object, kept: object) -> Iterator[str]:
    """The fields in ``sent`` that ``kept`` lacks or changed; of a dropped subtree, its root."""
    if isinstance(sent, dict) and isinstance(kept, dict):
        for name, value in sent.items():
            yield from _lost(f"{path}.{name}", value, kept[name]) if name in kept else (f"{path}.{name}",)
    elif isinstance(sent, list) and isinstance(kept, list) and len(sent) == len(kept):
        for one, other in zip(sent, kept, strict=True):
            yield from _lost(f"{path}[]", one, other)
    elif sent != kept:
        yield path

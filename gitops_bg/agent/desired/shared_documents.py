"""What apps share in main (AnalysisTemplates, AlertProviders, default alerts), and which app uses which of it."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import thread_time
from typing import TypeVar

from gitops_bg.agent.desired.reading import struck
from gitops_bg.agent.runtime.boundaries import log_bug
from gitops_bg.agent.runtime.cpu_limit import LONGEST, cpu_limited
from gitops_bg.core.errors import TookTooLong
from gitops_bg.core.model.desired import Problem
from gitops_bg.core.model.version import AppKey
from gitops_bg.spec.analysis.templates import Library, load_templates
from gitops_bg.spec.app.layout import ALERTS_FOLDER, ANALYSIS_FOLDER
from gitops_bg.spec.app.load import AppConfig
from gitops_bg.spec.app.settings import alerting_of
from gitops_bg.spec.notifications.alert_providers import Alerting, load_providers

Files = Mapping[str, bytes | Problem]

Loaded = TypeVar("Loaded")
_FOR_A_FILE = 2.0
"""Seconds of CPU for one of several files that take too long together."""

Use = tuple[str, str]
"""A folder, and a name in it."""


class SharedDocumentUsers:
    """Which app uses which document.

    Values are replaced, never changed, so that readers need no lock; ``enter`` and ``take_…`` are for one thread.
    """

    def __init__(self) -> None:
        self.library = Library()
        self.alerting = Alerting()
        self._users: dict[Use, set[AppKey]] = {}
        self._apps: set[AppKey] = set()

    def update_templates(self, files: Files) -> set[AppKey]:
        """Read the files of ``analysis/``; return the apps that use a changed template."""
        before, self.library = self.library, _affordable(ANALYSIS_FOLDER, load_templates, files)
        return self._users_of(ANALYSIS_FOLDER, before.changed(self.library))

    def update_alerts(self, files: Files, settings: bytes | None) -> set[AppKey]:
        """Read the files of ``alerts/`` and gitops-bg.yaml; return the apps whose alerts changed."""
        providers = _affordable(ALERTS_FOLDER, load_providers, files)
        before, self.alerting = self.alerting, alerting_of(settings, providers)
        if before.defaults != self.alerting.defaults:
            return set(self._apps)
        return self._users_of(ALERTS_FOLDER, before.providers.changed(self.alerting.providers))

    def enter(self, app: AppKey, before: AppConfig | None, after: AppConfig | None) -> None:
        """Note what an app uses now; None where main does not have it."""
        for use in _uses(before):
            self._users[use].discard(app)
        for use in _uses(after):
            self._users.setdefault(use, set()).add(app)
        if after is None:
            self._apps.discard(app)
        else:
            self._apps.add(app)

    def _users_of(self, folder: str, names: frozenset[str]) -> set[AppKey]:
        return {app for name in names for app in self._users.get((folder, name), ())}


def _affordable(folder: str, load: Callable[[Files], Loaded], files: Files) -> Loaded:
    """Load all files; where that takes too long, without those that cost the most."""
    try:
        return cpu_limited(f"reading {folder}", lambda: load(files))
    except TookTooLong as error:
        log_bug(error)
        return load(dict(_cheap_ones(load, files)))


def _cheap_ones(load: Callable[[Files], object], files: Files) -> Iterator[tuple[str, bytes | Problem]]:
    """Yield the files with their contents, or what is wrong with those that cost too much, by themselves or after
    others.
    """
    left = LONGEST
    for path, content in files.items():
        began = thread_time()
        yield path, _if_cheap(path, content, load, min(_FOR_A_FILE, left))
        left -= thread_time() - began


def _if_cheap(path: str, content: bytes | Problem, load: Callable[[Files], object], seconds: float) -> bytes | Problem:
    if seconds <= 0:
        others = TookTooLong(f"the files before {path} take all the time that there is for reading them")
        return struck(path, others)
    try:
        cpu_limited(f"reading {path}", partial(load, {path: content}), seconds)
    except TookTooLong as error:
        return struck(path, error)
    return content


def _uses(config: AppConfig | None) -> Iterator[Use]:
    if config is not None:
        yield from ((ANALYSIS_FOLDER, name) for name in config.templates)
        yield from ((ALERTS_FOLDER, name) for name in config.providers)

"""What `.gitops-bg.yaml` says, in the clone here and in the user's configuration folder, by kube context.

The user's file goes before the repository's, and an option or its variable before both.
"""

import os
from dataclasses import fields, replace
from pathlib import Path

from gitops_bg.cli.clone.user_git import asked
from gitops_bg.cli.options.options import ClusterOptions, GitOptions
from gitops_bg.cluster.api.access import Access
from gitops_bg.core.errors import InvalidInput
from gitops_bg.spec.client_settings import CLIENT_SETTINGS_FILE, read_client_settings


def user_file() -> Path:
    """Return where the file of a person is."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "gitops-bg" / CLIENT_SETTINGS_FILE


def with_said_once(git: GitOptions, kube: ClusterOptions | None) -> GitOptions:
    """Return the options, with what files say where no option does. Raises `InvalidInput` for a broken file."""
    top = asked("rev-parse", "--show-toplevel")
    files = [(user_file(), False), *([(Path(top) / CLIENT_SETTINGS_FILE, True)] if top else [])]
    present = [(file, of_repository) for file, of_repository in files if file.is_file()]
    if not present:
        return git
    context, said = _context(kube), dict[str, str]()
    for file, of_repository in present:
        settings, problems = read_client_settings(file.read_bytes(), str(file), of_repository=of_repository)
        if settings is None:
            raise InvalidInput(*problems)
        said = settings.said_in(context) | said
    return _filled(git, said)


def _context(kube: ClusterOptions | None) -> str:
    from gitops_bg.cluster.api.contexts import context_name  # only where there is a file

    options = kube or ClusterOptions()
    return context_name(Access(kubeconfig=options.kubeconfig, context=options.context))


def _filled(git: GitOptions, said: dict[str, str]) -> GitOptions:
    default, filled = GitOptions(), dict[str, str | Path]()
    for field in fields(GitOptions):
        text = said.get(field.name)
        if text and getattr(git, field.name) == getattr(default, field.name):
            filled[field.name] = text if isinstance(getattr(default, field.name), str) else Path(text).expanduser()
    return replace(git, **filled)  # type: ignore[arg-type]

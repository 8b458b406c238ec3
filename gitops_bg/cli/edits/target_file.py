"""Which file of an app's folder is its target: the one that app.yaml names. Reads only."""

from gitops_bg.core.model.version import AppKey, Source
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.load import load_app


def target_file(repository: Repository, app: AppKey) -> str:
    """Return the name of the target's file in the folder."""
    folder = repository.places.folder(app)
    return load_app(app, repository.files(app), lambda *_names: Source(""), folder=folder).target_file

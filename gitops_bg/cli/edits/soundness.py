"""What `check` would report on an app after a commit, asked before it is pushed. Reads main; changes nothing."""

from collections.abc import Mapping

from gitops_bg.cluster.lint import lint
from gitops_bg.core.errors import InvalidInput
from gitops_bg.core.model.version import AppKey
from gitops_bg.repo.repository import Repository
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.layout import ALERTS_FOLDER, ANALYSIS_FOLDER, SETTINGS_FILE


def demand_sound(repository: Repository, app: AppKey, changed: Mapping[str, bytes]) -> None:
    """Check that an app's folder has no error once some of its files, by name, have this content.

    Raises `InvalidInput`.
    """
    files = {SETTINGS_FILE: repository.settings_file() or b""}
    for shared in (ANALYSIS_FOLDER, ALERTS_FOLDER):
        files |= {path: file.content for path, file in repository.files_below(shared).items()}
    folder = {**repository.files(app), **changed}
    path = repository.places.folder(app)
    files |= {f"{path}/{name}": content for name, content in folder.items()}
    problems = check_repository(files.items(), lint).problems
    ours = [problem for problem in problems if problem.file.startswith(f"{path}/")]
    if ours:
        raise InvalidInput(*ours)

"""Finds the folders that come with the program: in the source checkout, or in the installed package. Copies nothing."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]


def policy_library() -> Path | None:
    """Return the folder of ready policies; None where neither the package nor a checkout has it."""
    return _found("policies", "people.yaml")


def template_folder() -> Path:
    """Return the folder `repo-template`. Raises ``FileNotFoundError`` where neither the package nor a
    checkout has it.
    """
    return _demanded("repo-template", "gitops-bg.yaml")


def deploy_folder() -> Path:
    """Return the folder `deploy`, with the agent's own manifests. Raises as `template_folder`."""
    return _demanded("deploy", "kustomization.yaml")


def _places(name: str) -> tuple[Path, ...]:
    return _PACKAGE / "_data" / name, _PACKAGE.parent / name


def _found(name: str, file: str) -> Path | None:
    return next((place for place in _places(name) if (place / file).is_file()), None)


def _demanded(name: str, file: str) -> Path:
    found = _found(name, file)
    if found is None:
        raise FileNotFoundError(f"{name} is neither in {' nor '.join(map(str, _places(name)))}; reinstall gitops-bg")
    return found

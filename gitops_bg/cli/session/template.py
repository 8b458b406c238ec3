"""Finds the configuration repository to copy: in the source checkout, or in the installed package. Copies nothing."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[2]
_PLACES = (_PACKAGE / "_data" / "repo-template", _PACKAGE.parent / "repo-template")


_LIBRARY = (_PACKAGE / "_data" / "policies", _PACKAGE.parent / "policies")


def policy_library() -> Path | None:
    """Return the folder of ready policies; None where neither the package nor a checkout has it."""
    return next((place for place in _LIBRARY if (place / "people.yaml").is_file()), None)


def template_folder() -> Path:
    """Return the folder `repo-template`. Raises ``FileNotFoundError`` where neither the package nor a
    checkout has it.
    """
    for place in _PLACES:
        if (place / "gitops-bg.yaml").is_file():
            return place
    places = " nor ".join(str(place) for place in _PLACES)
    raise FileNotFoundError(f"repo-template is neither in {places}; reinstall gitops-bg")

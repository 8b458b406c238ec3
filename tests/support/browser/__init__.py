"""A real browser, where the machine has one, and how pages are looked at in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HOW_TO_GET_IT = (
    "GITOPS_BG_BROWSER is not set; with Debian's packages, "
    "GITOPS_BG_BROWSER=$(tests/support/browser/fetch.sh) fetches the browser and what drives it"
)


def browser_at_hand() -> Path | None:
    """The folder of the browser (``bin/chromium``) and of what drives it; None where none is given.

    Makes Playwright importable.
    """
    folder = os.environ.get("GITOPS_BG_BROWSER")
    if not folder:
        return None
    if (path := str(Path(folder) / "python")) not in sys.path:
        sys.path.append(path)
    return Path(folder)

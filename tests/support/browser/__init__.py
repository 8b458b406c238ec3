"""A real browser, where the machine has one, and how pages are looked at in it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

CHROMIUM = Path(os.environ.get("GITOPS_BG_CHROMIUM", "/usr/bin/chromium"))
HOW_TO_GET_IT = (
    "GITOPS_BG_BROWSER is not set, or there is no chromium; with Debian's, "
    "GITOPS_BG_BROWSER=$(tests/support/browser/fetch.sh) fetches what drives it"
)


def browser_at_hand() -> Path | None:
    """The folder of what drives the browser; None where there is none. Makes Playwright importable."""
    folder = os.environ.get("GITOPS_BG_BROWSER")
    if not folder or not CHROMIUM.exists() or not (Path(folder) / "axe.min.js").exists():
        return None
    if (path := str(Path(folder) / "python")) not in sys.path:
        sys.path.append(path)
    return Path(folder)

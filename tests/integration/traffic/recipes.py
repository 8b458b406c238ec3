"""The recipes of docs/how-to/argo-cd-and-flux.md, read off the page: what is written there is what tests run."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import yaml

from tests.support.cluster.argo_cd import Sync

_PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "argo-cd-and-flux.md"


def argo_cd(service: str = "web") -> Sync:
    """What an Application says about a Service that stays in it."""
    return Sync.of(_application()["spec"], web=service)


def _application() -> dict[str, Any]:
    blocks = re.findall(r"^ *```yaml\n(.*?)^ *```$", _PAGE.read_text(), re.DOTALL | re.MULTILINE)
    (found,) = (yaml.safe_load(textwrap.dedent(each)) for each in blocks if "ignoreDifferences" in each)
    return dict(found)

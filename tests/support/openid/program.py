"""A running oidc-provider, and a person who logs in there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import httpx
import pytest

from tests.support.cluster.control_plane import free_ports

HOW_TO_GET_IT = (
    "GITOPS_BG_OPENID is not set or lacks provider.mjs, or there is no node; "
    "GITOPS_BG_OPENID=$(tests/support/openid/fetch.sh) fetches it"
)


@contextmanager
def certified_provider(redirect_uri: str) -> Iterator[str]:
    """Its address; skips the test where the machine lacks it."""
    script = Path(os.environ.get("GITOPS_BG_OPENID", "")) / "provider.mjs"
    node = shutil.which("node")
    if node is None or not script.is_absolute() or not script.is_file():
        pytest.skip(HOW_TO_GET_IT)
    (port,) = free_ports(1)
    command = [node, str(script), str(port), redirect_uri]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == "listening\n"
            yield f"http://127.0.0.1:{port}"
        finally:
            running.terminate()


def log_in(browser: httpx.Client, page: httpx.Response, account: str) -> httpx.Response:
    """Fill in the provider's pages, of logging in and of consent, and follow them until they lead elsewhere."""
    provider = page.url.host, page.url.port
    while (page.url.host, page.url.port) == provider and "<form" in page.text:
        action = re.search(r'<form[^>]*action="([^"]*)"', page.text)
        assert action, page.text
        fields = dict(re.findall(r'<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"', page.text))
        if 'name="login"' in page.text:
            fields |= {"login": account, "password": "anything"}
        page = browser.post(unescape(action[1]), data=fields)
    return page

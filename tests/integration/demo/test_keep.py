"""`--keep`, as a process of its own: what it prints can be used, and a signal ends it with nothing left."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from gitops_bg.cluster.api.access import Access
from gitops_bg.cluster.api.client import Client
from gitops_bg.cluster.api.kinds import APPS
from tests.integration.demo.conftest import asked, is_open
from tests.support.git.remote import locked_down_env
from tests.support.waiting import HANGS, stretched

_COMMAND = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # a runner in the background ignores it
import pathlib, sys
from gitops_bg.cli.demo.demo import run_demo
sys.exit(run_demo(pathlib.Path.home() / "report.json", keep=True))
"""
_DEADLINE = 90.0


@contextmanager
def kept(folder: Path, word: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A demo with `--keep`, and all it printed up to the line with a word."""
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(folder), "HOME": str(folder)}
    command = [sys.executable, "-W", "error", "-c", _COMMAND]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        try:
            yield process, _printed_until(process, word)
        finally:
            if process.poll() is None:
                process.kill()


def _printed_until(process: subprocess.Popen[str], word: str) -> str:
    """Read what a process prints, up to the line with a word; one that takes too long is killed."""
    assert process.stdout
    assert process.stderr
    too_long = threading.Timer(_DEADLINE, process.kill)
    too_long.start()
    try:
        lines = [""]
        while word not in lines[-1]:
            lines.append(process.stdout.readline())
            assert lines[-1], "".join(lines) + process.stderr.read()
        return "".join(lines)
    finally:
        too_long.cancel()
        too_long.join()


@pytest.mark.slow
def test_keep_prints_what_works_and_stops_on_ctrl_c(tmp_path: Path) -> None:
    with kept(tmp_path, "agent.log") as (process, printed):
        assert json.loads((tmp_path / "report.json").read_text())["ok"] is True
        live, preview = re.findall(r"curl (http://\S+)", printed)
        for url in (live, preview):
            with urlopen(url, timeout=10) as answer:
                assert json.load(answer)["image"].endswith("web:1.1.1")

        kubeconfig = re.search(r"KUBECONFIG=(\S+)", printed)
        assert kubeconfig
        client = Client(Access(kubeconfig=Path(kubeconfig[1])))
        app = client.get(APPS, "shop", "web")
        client.close()
        assert app
        assert app["status"]["phase"] == "Healthy"

        remote = re.search(r"git clone (\S+)", printed)
        assert remote
        clone = ["git", "clone", "--quiet", remote[1], str(tmp_path / "mine")]
        subprocess.run(clone, check=True, timeout=HANGS, env=locked_down_env(tmp_path))
        assert (tmp_path / "mine/apps/shop/web/primary.yaml").is_file()
        assert "promoted" in asked(tmp_path / "mine", kubeconfig[1], "history", "shop/web")
        assert "nothing to do" in asked(tmp_path / "mine", kubeconfig[1], "plan", "shop/web")
        assert "Healthy" in asked(tmp_path / "mine", kubeconfig[1], "explain", "shop/web", "--exit-code")

        dashboard = re.search(r"In a browser: (\S+)\. ", printed)
        assert dashboard
        page = asked(tmp_path / "mine", kubeconfig[1], "open", "shop/web", "--dashboard", "--print").strip()
        assert page == f"{dashboard[1]}/apps/shop/web"
        with urlopen(page, timeout=10) as answer:
            assert b"shop/web" in answer.read()

        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=stretched(15)) == 0
        assert process.stderr
        assert process.stderr.read() == ""
        assert not is_open(live)
    assert {each.name for each in tmp_path.iterdir()} == {"mine", "report.json"}


def test_sigterm_in_the_middle_cleans_up(tmp_path: Path) -> None:
    with kept(tmp_path, "live traffic reaches 1.0.0") as (process, _):
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=stretched(15)) == 130
    assert [each.name for each in tmp_path.iterdir()] == ["report.json"]

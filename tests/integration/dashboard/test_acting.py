"""A button is a commit by the person, as the command line makes it, and is asked for once; nothing is done by a page
that is older than the app.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import httpx
import pytest

from gitops_bg.agent.runtime.leadership import LeaseSettings
from gitops_bg.web.dashboard.action_table import ACTIONS
from gitops_bg.web.dashboard.app import dashboard_server
from tests.support.agent.agent_processes import AgentProcess
from tests.support.cluster.control_plane import free_ports
from tests.support.command_line import Cli
from tests.support.scenario import App, Scenario
from tests.support.waiting import eventually

PERSON = "somebody on this machine|dashboard@localhost|gitops-bg|gitops-bg@localhost"
SAME = {"Sec-Fetch-Site": "same-origin"}
JSON = {"Accept": "application/json"}
PAGE = {"Accept": "text/html"}


@pytest.fixture
def http(acting: httpx.Client) -> httpx.Client:
    """The dashboard of the agent, on loopback."""
    return acting


class Buttons:
    """The page of an app, and its buttons."""

    def __init__(self, http: httpx.Client, app: App) -> None:
        self._http = http
        self.app = app
        self.path = f"/apps/{app.key}"

    def form(self, action: str, page: str = "") -> dict[str, str]:
        """The hidden fields of a button on the page of the app, which is a second old at most, or on another page."""

        def button() -> re.Match[str] | None:
            text = page or self._http.get(self.path, headers=PAGE).text
            return re.search(rf'<form method="post" action="{self.path}/{action}">(.*?)</form>', text, re.DOTALL)

        found = eventually(button, what=f"a button for {action}")
        assert found is not None
        fields = dict(re.findall(r'<input[^>]*name="([^"]*)"[^>]*value="([^"]*)"', found[1]))
        return {name: unescape(value) for name, value in fields.items()}

    def press(self, action: str, headers: dict[str, str] = PAGE, **fields: str) -> httpx.Response:
        """The button on the page, and then the one that says what would happen."""
        asked = self.post(action, self.form(action))
        assert asked.status_code == 200, asked.text
        return self.post(action, self.form(action, asked.text) | fields, headers)

    def post(self, action: str, form: dict[str, str], headers: dict[str, str] = PAGE) -> httpx.Response:
        return self._http.post(f"{self.path}/{action}", data=form, headers=headers)

    def refused(self, action: str, form: dict[str, str], status: int) -> str:
        answer = self.post(action, form, JSON)
        assert answer.status_code == status, answer.text
        return str(answer.json()["message"])


@pytest.fixture
def web(world: Scenario, http: httpx.Client, request: pytest.FixtureRequest) -> Buttons:
    """An app of the test's own, its version v1 live."""
    name = "a" + str(abs(hash(request.node.name)))[:8]
    return Buttons(http, world.app(name).deploy("v1"))


@pytest.fixture(scope="module")
def still(world: Scenario, acting: httpx.Client) -> Buttons:
    """An app, its version v1 live, of all tests in which nothing is done to it."""
    return Buttons(acting, world.app("still").deploy("v1"))


def previewed(web: Buttons, tag: str = "v2") -> None:
    web.app.push_image(tag)
    web.app.wait_offered(tag)
    web.app.scenario.wait_idle()


def people(world: Scenario, ref: str = "main") -> str:
    return world.remote.run("log", "-1", "--format=%an|%ae|%cn|%ce", ref, cwd=world.remote.bare)


def trailers(world: Scenario, ref: str = "main") -> dict[str, str]:
    text = world.remote.run("log", "-1", "--format=%(trailers:only,unfold)", ref, cwd=world.remote.bare)
    return dict(line.split(": ", 1) for line in text.splitlines() if line)


def test_a_promotion_is_a_commit_by_the_person_and_traffic_follows(web: Buttons, world: Scenario) -> None:
    previewed(web)
    before = world.remote.head()
    asked = web.post("promote", web.form("promote"))
    assert asked.status_code == 200
    assert f"{web.app.key}: main would name v2 (v2)" in unescape(asked.text)
    assert world.remote.head() == before, "it asks once"
    done = web.press("promote", reason="checked on the preview")
    assert done.status_code == 200, done.text
    assert people(world) == PERSON
    said = trailers(world)
    assert said["Bg-By"] == "somebody on this machine <dashboard@localhost>"
    assert (said["Bg-Via"], said["Bg-Subject"]) == ("dashboard", "loopback")
    assert (said["Bg-Event"], said["Bg-Reason"]) == ("promoted", "checked on the preview")
    web.app.wait_live("v2")
    web.app.wait_told("promoted")
    assert web.app.ledger()[-1]["By"].startswith("somebody on this machine"), "the ledger says who"


def test_it_is_the_commit_that_the_command_line_makes(
    web: Buttons, http: httpx.Client, world: Scenario, tmp_path: Path
) -> None:
    other = Buttons(http, world.app(f"{web.app.name[:-1]}x").deploy("v1"))
    previewed(web)
    previewed(other)
    cli = Cli(world.remote, world.cluster.kubeconfig, tmp_path)
    cli("promote", str(web.app.key), "-m", "looks good", "--author", "Ada <ada@example.com>")
    made = made_of(world, web.app)
    other.press("promote", reason="looks good")
    by_button = made_of(world, other.app)
    assert by_button[0].replace("somebody on this machine <dashboard@localhost>", "Ada <ada@example.com>") == made[0]
    assert by_button[1] == made[1]


def made_of(world: Scenario, app: App) -> tuple[str, str]:
    """The message and the files of main's last commit, with the app's name left out, and who asked by what."""
    message = re.sub("Bg-(Subject|Via): .*\n", "", world.remote.message()).replace(app.name, "APP")
    digests = {each: f"DIGEST-{tag}" for tag in ("v1", "v2") for each in (app.digest(tag), app.digest(tag)[3:13])}
    for digest, named in digests.items():
        message = message.replace(digest, named)
    message = re.sub("Bg-Source-Commit: .*", "Bg-Source-Commit: COMMIT", message)
    changed = world.remote.run("diff", "--name-only", "main^", "main", cwd=world.remote.bare)
    return message, changed.replace(app.name, "APP")


def test_a_candidate_that_changed_meanwhile_is_not_promoted_and_the_newer_one_is_shown(
    web: Buttons, world: Scenario
) -> None:
    previewed(web)
    old = web.form("promote", web.post("promote", web.form("promote")).text)
    previewed(web, "v3")
    before = world.remote.head()
    answer = web.post("promote", old)
    assert answer.status_code == 409
    assert "somebody changed it in main meanwhile" in answer.text
    assert "main would name v3 (v3)" in unescape(answer.text)
    newer = web.form("promote", answer.text)
    assert newer["digest"] == web.app.digest("v3")
    said = web.post("promote", old, JSON).json()
    assert said["newer"]["digest"] == web.app.digest("v3")
    only_digest = {**old, "head": ""}
    assert "the candidate is v3 (v3) by now" in web.refused("promote", only_digest, 409)
    assert world.remote.head() == before
    assert web.post("promote", newer).status_code == 200
    web.app.wait_live("v3")


def test_a_form_that_is_posted_again_does_nothing(web: Buttons, world: Scenario) -> None:
    previewed(web)
    form = web.form("promote", web.post("promote", web.form("promote")).text)
    assert web.post("promote", form).status_code == 200
    web.app.wait_live("v2")
    world.wait_idle()
    before = world.remote.head()
    assert web.post("promote", form).status_code == 409
    assert world.remote.head() == before


def test_a_form_from_before_a_promotion_that_was_reverted_does_nothing(web: Buttons, world: Scenario) -> None:
    """The files are the same again: somebody decided, and decided otherwise."""
    previewed(web)
    form = web.form("promote", web.post("promote", web.form("promote")).text)
    merged = web.app.merge_promotion("v2")
    web.app.wait_live("v2")
    web.app.revert(merged)
    web.app.wait_live("v1")
    world.wait_idle()
    before = world.remote.head()
    assert web.post("promote", form).status_code == 409
    assert world.remote.head() == before


def test_a_rollback_needs_a_reason_and_moves_traffic(web: Buttons, world: Scenario) -> None:
    previewed(web)
    web.press("promote")
    web.app.wait_live("v2")
    web.app.wait_told("promoted")
    world.wait_idle()
    sure = web.form("rollback", web.post("rollback", web.form("rollback")).text)
    assert "say why" in web.refused("rollback", sure | {"reason": " \n "}, 400)
    before = world.remote.head()
    assert world.remote.head() == before
    forged = "errors\n\nBg-Event: promoted\nBg-Approved-By: root\r\nBg-By: eve"
    done = web.press("rollback", reason=forged)
    assert done.status_code == 200, done.text
    said = trailers(world)
    assert said["Bg-Event"] == "rolled-back"
    assert said["Bg-By"] == "somebody on this machine <dashboard@localhost>"
    assert "Bg-Approved-By" not in said
    assert people(world) == PERSON
    web.app.wait_live("v1")


def test_a_rollback_to_a_version_by_its_number(still: Buttons) -> None:
    for wrong in ("x", "-1", "١", "9" * 30):
        assert "write its number" in still.refused("rollback", still.form("suspend") | {"version": wrong}, 400)
    missing = still.form("suspend") | {"version": "99", "sure": "yes", "reason": "x"}
    assert "has a version 99 that served" in still.refused("rollback", missing, 404)


def test_suspend_and_resume_are_commits_of_app_yaml(web: Buttons, world: Scenario) -> None:
    assert web.press("suspend", reason="INC-1: a\nBg-By: eve", until="2h").status_code == 200
    assert people(world) == PERSON
    said = trailers(world)
    assert said["Bg-By"].startswith("somebody")
    assert said["Bg-Reason"] == "INC-1: a Bg-By: eve"
    web.app.wait_phase("Suspended")
    world.wait_idle()
    again = web.form("resume") | {"sure": "yes", "reason": "x"}
    assert "suspended already" in web.refused("suspend", again, 409)
    assert web.press("resume").status_code == 200
    assert people(world) == PERSON
    web.app.wait_phase("Healthy")
    world.wait_idle()
    nothing = web.form("suspend") | {"sure": "yes"}
    assert "neither suspended nor" in web.refused("resume", nothing, 409)


@pytest.mark.parametrize("until", ["tomorrow", "2026-03-01T12:00:00", "9" * 400, "0001-01-01T00:00:00+23:00"])
def test_an_end_that_is_no_time_is_refused(still: Buttons, until: str) -> None:
    form = still.form("suspend") | {"sure": "yes", "reason": "x", "until": until}
    assert "until" in still.refused("suspend", form, 400)


def test_an_abort_is_asked_of_the_agent_and_a_retry_lifts_its_hold(web: Buttons, world: Scenario) -> None:
    previewed(web)
    assert web.press("abort", reason="errors on the preview").status_code == 200
    web.app.wait_phase("Held")
    web.app.wait_told("aborted")
    assert web.app.ledger()[-1]["By"] == "somebody on this machine <dashboard@localhost>"
    world.wait_idle()
    nothing = web.form("retry") | {"sure": "yes", "reason": "again"}
    assert "nothing to abort" in web.refused("abort", nothing, 409)
    assert web.press("retry", reason="the database is back").status_code == 200
    assert people(world) == PERSON
    web.app.wait(lambda: web.app.phase() != "Held", "the hold is lifted")


def test_gates_are_opened_and_closed_by_name(web: Buttons, world: Scenario) -> None:
    web.app.spec["analysis"] = {"webhooks": [{"name": "release", "type": "confirm-promotion"}]}
    web.app.configure()
    world.wait_idle()
    form = web.form("suspend") | {"sure": "yes", "gate": "release", "reason": "tested", "digest": ""}
    assert "has no gate other; it has: release" in web.refused("open-gate", form | {"gate": "other"}, 404)
    assert web.form("open-gate")["gate"] == "release"
    assert web.press("open-gate", reason="tested").status_code == 200
    eventually(lambda: web.app.record.hook_state.gate("release"), what="the gate is open")
    opened = web.app.record.hook_state.gate("release")
    assert opened is not None
    assert (opened.by, opened.reason) == ("somebody on this machine <dashboard@localhost>", "tested")
    assert "is open already" in web.refused("open-gate", form, 409)
    assert web.press("close-gate").status_code == 200
    eventually(lambda: web.app.record.hook_state.gate("release") is None, what="the gate is closed")


def test_where_main_refuses_it_is_on_the_promotion_branch_for_people_to_merge(web: Buttons, world: Scenario) -> None:
    previewed(web)
    world.remote.protect()
    try:
        before = world.remote.head()
        answer = web.press("promote", JSON)
        assert answer.status_code == 202, answer.text
        said = answer.json()
        assert (said["branch"], world.remote.head()) == (web.app.promotion_branch, before)
        assert said["commit"] == world.remote.head(web.app.promotion_branch)
        suspended = web.form("suspend") | {"sure": "yes", "reason": "x"}
        assert "main takes no commit from the agent" in web.refused("suspend", suspended, 403)
    finally:
        world.remote.unprotect()


@pytest.mark.parametrize("head", ["--output=x", "main", "0" * 40, "HEAD~1", "x" * 10_000, "\x00"])
def test_a_commit_that_nobody_saw_is_no_page_of_ours(still: Buttons, head: str) -> None:
    form = still.form("suspend") | {"sure": "yes", "reason": "x", "head": head}
    assert "meanwhile" in still.refused("suspend", form, 409)


@pytest.mark.parametrize("path", ["/apps/nowhere/web", "/apps/%2e%2e/web", "/apps/shop/Web%0a", "/apps/a/" + "x" * 300])
def test_what_is_no_app_is_told_so(http: httpx.Client, path: str) -> None:
    for action in ACTIONS:
        assert http.get(f"{path}/{action}", headers=JSON).status_code == 404


def test_an_agent_that_stands_by_takes_actions_too(
    web: Buttons, world: Scenario, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """What it writes is a commit, or a request to the agent that works: the lease is for other work."""
    previewed(web)
    lease = LeaseSettings(namespace=world.namespace, name="held-by-another")
    other = Scenario(world.cluster, world.namespace, world.remote, tmp_path_factory.mktemp("by"), lease=lease)
    world.cluster.create(
        f"/apis/coordination.k8s.io/v1/namespaces/{world.namespace}/leases",
        {
            "metadata": {"name": lease.name},
            "spec": {
                "holderIdentity": "another",
                "leaseDurationSeconds": 3600,
                "acquireTime": "2100-01-01T00:00:00.000000Z",
                "renewTime": "2100-01-01T00:00:00.000000Z",
                "leaseTransitions": 0,
            },
        },
    )
    follower = other.start()
    try:
        eventually(lambda: follower.catalog.seen and follower.cluster.caches.synced, what="it has read main")
        assert not follower.leadership.holds
        with (
            dashboard_server(follower, "127.0.0.1", 0) as server,
            httpx.Client(base_url=server.url, trust_env=False, timeout=60, headers=SAME) as client,
        ):
            there = Buttons(client, web.app)
            assert there.press("promote").status_code == 200
            assert people(world) == PERSON
            web.app.wait_live("v2")
            web.app.wait_told("promoted")
            previewed(web, "v3")
            eventually(lambda: there.press("abort", reason="no").status_code == 200, what="it has seen v3")
            web.app.wait_phase("Held")
    finally:
        other.stop()


def test_in_a_pod_an_agent_without_a_login_lets_nobody_act_on_loopback_either(still: Buttons, tmp_path: Path) -> None:
    """Whoever may forward a port to the pod reaches it, and would act as everybody."""
    world = still.app.scenario
    (port,) = free_ports(1)
    lease = ("--lease-name", "of-the-pod")
    inside = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    agent = AgentProcess(world, tmp_path, "--dashboard", f"127.0.0.1:{port}", *lease, environment=inside)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60, headers=SAME) as client:
            there = Buttons(client, still.app)
            shown = eventually(lambda: _shown(client, there.path), what="its pages are there")
            why = "whoever may forward a port to its pod reaches it, so it is for reading only"
            assert why in shown, "the page says so"
            assert 'class="actions"' not in shown
            for action in ACTIONS:
                assert why in there.refused(action, {"sure": "yes", "reason": "x"}, 403)
        assert f"{why}; a file of --dashboard-login-file lets people log in" in agent.log, "so does the log"
    finally:
        agent.close()


def _shown(client: httpx.Client, path: str) -> str:
    try:
        answer = client.get(path, headers=PAGE)
    except httpx.TransportError:
        return ""
    return answer.text if answer.status_code == 200 else ""

"""Promotion policies, by a user's verbs: what a shut one delays, what it never delays, and what overrides one."""

from tests.fixtures.repos.texts import policy
from tests.support.scenario import App

CLOSED = '- windows: {deny: [{start: "2020-01-01", reason: INC-4711}]}'
FILE = "policies/freeze.yaml"


def publish(web: App, message: str, **files: str | None) -> str:
    return web.scenario.publish(message, {name.replace("__", "/") + ".yaml": text for name, text in files.items()})


def policy_gates(web: App) -> list[str]:
    return [gate["reason"] for gate in web.status.get("gates", []) if gate["kind"] == "policy" and not gate["open"]]


def wait_shut(web: App, said: str) -> None:
    web.wait(lambda: any(said in reason for reason in policy_gates(web)), f"a policy says {said}")


def test_a_promotion_branch_that_carries_other_files_waits_until_it_comes_alone(web: App) -> None:
    """Also where the squash keeps nothing of what the branch said, because the agent had seen it."""
    publish(web, "Calm", policies__calm=policy("calm", "- soak: {for: 1s}"))
    web.push_image("v2")
    web.wait_offered("v2")
    remote = web.scenario.remote
    web.scenario.pull()
    remote.run("fetch", "origin")
    remote.checkout(web.promotion_branch)
    remote.write("README.md", "and this")
    remote.commit("And this")
    remote.push(web.promotion_branch)
    web.scenario.wake()
    wait_shut(web, "its promotion branch carries other files: README.md")

    remote.checkout("main")
    remote.run("merge", "--squash", web.promotion_branch)
    remote.commit("Promote web (#3)")
    merged = web.scenario.push()
    wait_shut(web, f"its promotion branch held other files when {merged[:10]} promoted it")
    web.scenario.wait_idle()
    assert web.live_tag() == "v1"

    web.revert(merged)
    web.push_image("v3")
    web.merge_promotion("v3")
    web.wait_live("v3")


def test_only_leads_promote_where_who_merges_approves(web: App) -> None:
    people = "apiVersion: gitops-bg.dev/v1alpha1\nkind: People\npeople:\n"
    bob = "- {name: bob, emails: [bob@example.com], groups: [leads]}\n"
    rule = policy("leads", "- approvals: {by: [group:leads], proof: merge}")
    publish(web, "Leads promote", policies__leads=rule, policies__people=people + bob)
    web.push_image("v2")
    merged = web.merge_promotion("v2")
    wait_shut(web, "leads: 0 of 1 approvals of group:leads; Ada Pusher <ada@example.com> is an author")
    assert web.live_tag() == "v1"

    web.revert(merged)
    web.push_image("v3")
    web.wait_offered("v3")
    web.scenario.pull()
    remote, bobs = web.scenario.remote, {"GIT_COMMITTER_NAME": "Bob", "GIT_COMMITTER_EMAIL": "bob@example.com"}
    remote.run("fetch", "origin")
    remote.run("merge", "--no-ff", "-m", "Promote web", f"origin/{web.promotion_branch}", env=bobs)
    web.scenario.push()
    web.wait_live("v3")


def test_an_app_waits_for_another_and_goes_on_by_itself_when_that_is_healthy(web: App) -> None:
    publish(web, "api first", policies__order=policy("order", "- after: {app: api}", more="  match: {apps: [web]}\n"))
    web.push_image("v2")
    web.merge_promotion("v2")
    wait_shut(web, "order: nobody has looked at")
    api = web.scenario.app("api").deploy("v1")
    web.wait_live("v2")

    web.wait_told("promoted")
    publish(web, "Not all at once", policies__order=None, policies__turns=policy("turns", "- concurrency: {max: 1}"))
    web.promote("v3")
    api.promote("v2")
    assert (web.live_tag(), api.live_tag()) == ("v3", "v2"), "whoever took the place gave it back"


def test_a_required_policy_that_is_broken_shuts_and_a_broken_one_keeps_what_it_said(web: App) -> None:
    head = "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n"
    publish(web, "Calm", policies__calm=policy("calm", "- soak: {for: 1s}"))
    publish(web, "Break it", policies__calm=policy("calm", "- soak: {for: soon}"))
    assert "policies/calm.yaml:6" in web.wait_condition("InvalidPolicy")["message"]
    web.promote("v2")

    web.scenario.publish("Require it", {"gitops-bg.yaml": head + "require: [calm]\n"})
    web.push_image("v3")
    web.merge_promotion("v3")
    wait_shut(web, "calm: policies/calm.yaml cannot be read")
    assert web.live_tag() == "v2"

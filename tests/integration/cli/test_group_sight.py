"""`group explain|plan|diff|tree`: why a group is as it is, and what main would make of it; they write nothing."""

from __future__ import annotations

from typing import Any

import pytest

from gitops_bg.forge.wanted import code
from tests.fixtures.repos.texts import policy
from tests.integration.cli.conftest import AUTHOR, Cli
from tests.support.groups import Store
from tests.support.scenario import Scenario
from tests.support.waiting import eventually

COMING = "serve nobody yet: a service does once its pods are ready and its own gates are open"


@pytest.fixture
def store(world: Scenario) -> Store:
    return Store(world)


def name(store: Store) -> str:
    return f"{store.world.namespace}/store"


def plan(cli: Cli, store: Store, *words: str) -> dict[str, Any]:
    """The plan of the group, as JSON: what `plan` prints of it where it is named, and of everything."""
    found = cli.json("group", "plan", name(store), *words)
    assert (found["commit"], found["apps"]) == (store.world.remote.head(*words[1:]), [])
    (of_group,) = found["groups"]
    return dict(of_group)


def test_a_group_is_told_of_at_rest_and_before_a_promotion(cli: Cli, store: Store) -> None:
    """With an agent and without; and where somebody damaged the record, that and its remedy."""
    store.begin()
    _explain_says_what_serves_and_what_may_be_done(cli, store)
    cli.env["COLUMNS"] = "240"
    _a_group_that_main_does_not_have_is_named_with_those_that_it_has(cli, store)
    store.world.wait_idle()
    _plan_of_a_branch_says_what_its_merge_would_do(cli, store)
    assert "no difference" in cli("group", "diff", name(store))
    store.world.wait_idle()
    store.world.stop()
    _plan_of_a_version_says_what_its_promotion_would_do(cli, store)
    _all_of_them_tell_of_a_promotion_and_write_nothing(cli, store)
    store.damage_record()
    for verb in ("explain", "plan", "diff", "tree"):
        assert "ReleaseGroup store: has no record" in cli("group", verb, name(store), code=1)


def _explain_says_what_serves_and_what_may_be_done(cli: Cli, store: Store) -> None:
    cli.env["COLUMNS"] = "80"
    text = cli("group", "explain", name(store), "--exit-code")
    assert text.startswith(f"{name(store)}: Healthy\n  v1 serves\n")
    assert "nothing: v1 serves until group.yaml names another version" in text
    assert f"gitops-bg promote {name(store)} --to v2" in text
    assert max(map(len, text.splitlines())) <= 80
    found = cli.json("group", "explain", "store")
    assert (found["active"], found["wanted"], found["gates"], found["actions"]) == ("v1", "v1", [], [])
    assert [(each["name"], each["stage"]) for each in found["versions"]] == [("v1", "Active"), ("v2", "Candidate")]
    assert found["versions"][0]["services"][0] == {
        "service": "auth",
        "app": "auth-v1",
        "healthy": True,
        "available": True,
        "reason": "",
    }


def _a_group_that_main_does_not_have_is_named_with_those_that_it_has(cli: Cli, store: Store) -> None:
    assert f"main has no group other; it has {name(store)}" in cli("group", "explain", "other", code=5)
    assert "names no app" in cli("group", "explain", "a/b/c", code=2)


def _plan_of_a_branch_says_what_its_merge_would_do(cli: Cli, store: Store) -> None:
    remote = store.world.remote
    remote.pull()
    remote.checkout("release", new=True)
    store.spec["active"] = "v2"
    for path, content in store.group().items():
        remote.write(path, content or "")
    remote.commit("Release v2")
    remote.push("release")
    _plan_of_everything_has_the_group_as_it_has_apps(cli, store)
    remote.checkout("main")
    assert plan(cli, store)["move"] is None
    assert plan(cli, store, "--branch", "release")["move"]["target"] == "v2"
    store.spec["active"] = "v1"


def _plan_of_everything_has_the_group_as_it_has_apps(cli: Cli, store: Store) -> None:
    """As it is, and as the work tree, where the release is checked out, would make it."""
    here = ("plan", "-n", store.world.namespace)
    assert f"{name(store)}: Healthy, nothing to do" in cli(*here)
    [as_it_is] = cli.json(*here)["groups"]
    assert (as_it_is["group"], as_it_is["move"], as_it_is["refused"]) == (name(store), None, None)
    pushed = (*here, "--worktree", str(store.world.remote.clone))
    [changed] = cli.json(*pushed)["groups"]
    assert (changed["move"]["source"], changed["move"]["target"]) == ("v1", "v2")
    text = cli(*pushed)
    assert "Promotion from v1 to v2" in text
    assert "1 group would change" in text
    assert f"| {code(name(store))} |" in cli(*pushed, "-o", "markdown")


def _plan_of_a_version_says_what_its_promotion_would_do(cli: Cli, store: Store) -> None:
    head, writes = store.world.remote.head(), store.world.writes()
    assert plan(cli, store)["move"] is None
    found = plan(cli, store, "v2")
    assert found["move"] == {"kind": "Promotion", "source": "v1", "target": "v2"}
    assert found["services"] == [{"name": "cart", "before": "cart-v1", "after": "cart-v2"}]
    assert plan(cli, store, "v1")["move"] is None
    asked = cli.json("diff", name(store), "--to", "2", code=1)
    assert (asked["group"], asked["live"], asked["to"], asked["commit"]) == (name(store), "v1", "v2", head)
    assert asked["differences"][1] == {
        "path": "cart: spec.containers[web].image",
        "before": "registry.example/cart-v1:v1",
        "after": "registry.example/cart-v2:v2",
    }
    assert "main has no version v9" in cli("group", "diff", name(store), "--to", "v9", code=5)
    assert f"main has no version v9 of {name(store)}; it has v1, v2" in cli("group", "plan", name(store), "v9", code=5)
    assert "'two' is no version; write v1, v2" in cli("group", "plan", name(store), "two", code=2)
    assert (store.world.remote.head(), store.world.writes()) == (head, writes)


def _all_of_them_tell_of_a_promotion_and_write_nothing(cli: Cli, store: Store) -> None:
    store.activate("v2")
    heads, writes = store.world.remote.branches(), store.world.writes()
    text = cli("group", "plan", name(store))
    assert "Promotion from v1 to v2, at the step Prepare" in text
    assert "2. write HTTPRoute store" in text
    found = plan(cli, store)
    assert found["move"] == {"kind": "Promotion", "source": "v1", "target": "v2"}
    answers = {(each["path"], each.get("version", "")): (each["before"], each["after"]) for each in found["requests"]}
    assert answers["/cart", ""] == ("cart-v1", "cart-v2")
    assert answers["/old", "v2"] == ("denied", "404")
    assert found["services"] == [{"name": "cart", "before": "cart-v1", "after": "cart-v2"}]
    text = cli("group", "diff", name(store), code=1)
    assert f"{name(store)}: live is v1, compared with v2 of commit {store.world.remote.head()[:10]}" in text
    assert "cart: spec.containers[web].image: registry.example/cart-v1:v1 → registry.example/cart-v2:v2" in text
    assert "auth: " not in text, "v2 has none of its own: that of v1 serves on"
    assert "HTTPRoute store: /cart: cart-v1:80 → cart-v2:80" in text
    assert "Service cart: follows cart-v1 → follows cart-v2" in text
    assert "is at the step Prepare" in cli("group", "explain", name(store))
    cli("group", "tree", name(store))
    assert (store.world.remote.branches(), store.world.writes()) == (heads, writes)


def test_what_somebody_changed_or_deleted_by_hand_is_shown(cli: Cli, store: Store) -> None:
    """And what policies ask about other apps is known meanwhile."""
    store.begin()
    after = policy("after", f"- after: {{app: {store.world.namespace}/auth-v1}}")
    store.world.publish("After auth", {"policies/after.yaml": after})
    store.world.wait_idle()
    store.world.stop()
    namespace = store.world.namespace
    path = f"/apis/gateway.networking.k8s.io/v1/namespaces/{namespace}/httproutes/store"
    body = store.world.cluster.find(path)
    assert body is not None
    rules = [rule for rule in body["spec"]["rules"] if rule["backendRefs"][0]["name"] != "auth-v1"]
    store.world.cluster.ask("PATCH", path, {"spec": {"rules": rules}}, content_type="application/merge-patch+json")
    found = cli.json("group", "diff", name(store), code=1)
    assert found["differences"] == [{"path": "HTTPRoute store: /auth", "before": None, "after": "auth-v1:80"}]

    store.activate("v2")
    gates = cli.json("group", "explain", name(store))["gates"]
    (of_policy,) = [gate for gate in gates if gate["kind"] == "policy"]
    assert of_policy["open"] is True, of_policy
    assert "auth-v1" in of_policy["reason"]

    store.world.cluster.ask(
        "DELETE", f"/apis/gitops-bg.dev/v1alpha1/namespaces/{namespace}/bluegreendeployments/auth-v1"
    )
    (line,) = (line for line in cli("group", "tree", name(store)).splitlines() if "auth-v1" in line and "App" in line)
    assert "Missing" in line
    assert "the cluster has no group other" in cli("group", "tree", "other", code=5)


def test_explain_says_which_gate_is_shut_for_how_long_and_what_to_do(cli: Cli, store: Store) -> None:
    """`tree` shows it with all else; in files with a mistake `plan` and `diff` name the line."""
    store.begin()
    store.spec["suspend"] = {"reason": "a holiday", "by": "ada", "until": "2099-01-01T00:00:00Z"}
    store.activate("v2")
    store.wait("v1A v2C", "Suspended")
    cli.env["COLUMNS"] = "80"
    text = cli("group", "explain", name(store), "--exit-code", code=1)
    assert "v1 serves; main asks for v2" in text
    assert "shut  suspension" in text
    assert "Suspended=True: ada: a holiday" in text
    assert "gitops-bg resume" in text
    assert max(map(len, text.splitlines())) <= 80
    found = cli.json("group", "explain", name(store))
    (shut,) = [gate for gate in found["gates"] if not gate["open"]]
    assert (shut["kind"], shut["until"]) == ("suspension", "2099-01-01T00:00:00Z")
    assert store.status()["phase"] == "Suspended"
    cli.env["COLUMNS"] = "240"
    _tree_shows_versions_their_services_pods_services_routes_and_gates(cli, store)
    store.spec["archiveSize"] = -1
    store.activate("v1")
    assert "group.yaml:" in cli("group", "plan", name(store))
    assert "-1 is too small" in cli("group", "diff", name(store), code=1)


def _tree_shows_versions_their_services_pods_services_routes_and_gates(cli: Cli, store: Store) -> None:
    text = cli("group", "tree", name(store))
    lines = [line.strip(" │├└─") for line in text.splitlines()]
    starts = [
        "⟳ store",
        "⊞ suspension",
        "# v2",
        "⟳ cart-v2",
        "# v1",
        "⟳ auth-v1",
        "⟳ cart-v1",
        "⇄ auth ",
        "⇄ cart ",
        "⇉ store",
    ]
    found = [next(place for place, line in enumerate(lines) if line.startswith(start)) for start in starts]
    assert found == sorted(found)
    assert sum(line.startswith("□ cart-v2") for line in lines) >= 1
    assert "→ cart-v1" in lines[found[8]]
    (data,) = cli.json("group", "tree", name(store))["items"]
    assert [each["name"] for each in data["versions"]] == ["v1", "v2"]
    assert data["versions"][0]["services"][0]["tree"]["phase"] == "Healthy"
    assert {"name": "cart", "follows": "cart-v1"} in data["services"]


def test_diff_of_a_group_goes_on_where_a_service_serves_on_without_its_folder(cli: Cli, store: Store) -> None:
    """Found so: the whole diff failed, as the service has no target."""
    store.begin()
    store.activate("v2")
    store.wait("v1L v2A")
    store.world.stop()
    left = store.version("v1", cart="/cart /old", auth="/auth")
    store.world.publish("v1 goes", dict.fromkeys(left))
    text = cli("group", "diff", name(store), code=1)
    assert "HTTPRoute store: /old, X-Version: v1: - cart-v1:80" in text
    assert "auth: " not in text, "it serves on as it is"


def test_plan_of_a_group_that_no_agent_has_seen_says_what_is_made(cli: Cli, store: Store) -> None:
    files = store.version("v1", cart="/cart")
    store.world.publish("The store", {**store.group(), **files})
    found = plan(cli, store)
    assert found["actions"][0]["sentence"] == "apply the ReleaseGroup as Git describes it"
    assert {"path": "/cart", "before": "404", "after": "cart-v1"} in found["requests"]
    assert store.world.writes() == []


def test_a_first_version_in_a_freeze_says_what_waits_and_comes_up_by_an_override_for_each_service(
    cli: Cli, store: Store
) -> None:
    """Found so: `v1 serves`, its services recover by themselves, and who runs the cluster is to mend the Gateway."""
    stop = policy("stop", '- windows: {deny: [{start: "2020-01-01", reason: INC-4711}]}')
    people = "apiVersion: gitops-bg.dev/v1alpha1\nkind: People\npeople: [{name: grace, emails: [grace@example.com]}]\n"
    freeze = {"policies/stop.yaml": f"{stop}  override: {{by: [grace]}}\n", "policies/people.yaml": people}
    store.world.publish("Freeze", freeze)
    store.world.start()
    store.world.publish("The store", {**store.group(), **store.version("v1", cart="/cart", auth="/auth")})
    eventually(lambda: "auth: is Deploying: stop: INC-4711" in store.status().get("message", ""), what="it is said")
    eventually(lambda: store.condition("RoutesAccepted")["reason"] == "NoPods", what="the Gateway finds no Service")
    cli.env["COLUMNS"] = "120"
    text = cli("group", "explain", name(store))
    assert "nothing serves yet\n" in text
    assert "v1 serves" not in text
    assert "see why the service that the message names has no pods" in text
    assert "who runs the cluster" not in text
    assert f"auth-v1, cart-v1 {COMING}" in " ".join(text.split())
    for service in ("cart", "auth"):
        app = f"{store.world.namespace}/{service}-v1"
        assert "shut  policy        stop: INC-4711" in cli("explain", app)
        cli("promote", app, "--override", "stop", "--reason", "INC-4712 needs it")
    store.wait("v1A")
    assert (store.ask("/cart"), store.ask("/auth")) == ("cart-v1", "auth-v1")
    _an_override_of_the_group_is_listed_as_that_of_an_app(cli, store)


def _an_override_of_the_group_is_listed_as_that_of_an_app(cli: Cli, store: Store) -> None:
    store.world.publish("v2", store.version("v2", cart="/cart"))
    store.wait("v1A v2C")
    assert "--override needs a --reason" in cli("promote", name(store), "--override", "stop", code=2)
    unknown = cli("promote", name(store), "--override", "halt", "-m", "INC-4713", code=2)
    assert f"no policy halt is for v2 of {name(store)}; known: stop" in " ".join(unknown.split())
    cli("promote", name(store))
    too_late = cli("promote", name(store), "--to", "v2", "--override", "stop", "-m", "INC-4713", code=1)
    assert "group.yaml names v2 already, and only the commit that names it can override" in " ".join(too_late.split())
    cli("rollback", name(store))
    cli("promote", name(store), "--override", "stop", "--reason", "INC-4713")
    assert store.world.remote.log()[0].subject == "store: promote v2"
    store.world.wake()
    store.wait("v1L v2A")
    store.wait_for_ledger("overridden")
    (entry,) = cli.json("history", "--overrides")["entries"]
    said = "cart-v2: stop (windows): INC-4713"
    assert (entry["group"], entry["reason"], entry["by"]) == (name(store), said, AUTHOR)
    for words in (("history", name(store), "--overrides"), ("group", "history", "--overrides")):
        assert cli.json(*words)["entries"] == [entry]
        assert said in " ".join(cli(*words).split())


def test_who_has_the_turn_is_named_to_apps_and_groups_alike(cli: Cli, store: Store) -> None:
    store.begin()
    web = store.world.app().deploy("v1")
    web.push_image("v2")
    web.wait_offered("v2")
    store.world.stop()
    store.world.publish("Not all at once", {"policies/turns.yaml": policy("turns", "- concurrency: {max: 1}")})
    web.merge_promotion("v2")
    store.activate("v2")

    def shut(*verb: str) -> list[str]:
        return [each["reason"] for each in cli.json(*verb)["gates"] if not each["open"]]

    said = "turns: 1 of 1 are on the move"
    assert shut("group", "explain", name(store)) == [f"cart-v2: {said}: {web.key}; place 1 in the queue"]
    assert shut("explain", str(web.key)) == [f"{said}: group {name(store)}; place 1 in the queue"]


def test_a_group_that_nobody_can_look_at_keeps_nobody_from_the_sight_of_others(cli: Cli, store: Store) -> None:
    """Whose policy asks about all of them."""
    store.world.remote.write("policies/turns.yaml", policy("turns", "- concurrency: {max: 1}"))
    store.begin()
    web = store.world.app().deploy("v1")
    store.world.stop()
    store.damage_record()
    for verb in ("explain", "plan"):
        assert "has no record" not in cli(verb, str(web.key))

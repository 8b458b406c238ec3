"""Commands that write to the folder of an app find that of a release group's member, which needs no app.yaml."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.integration.cli.conftest import Cli
from tests.support.scenario import App, Scenario


@pytest.fixture
def cart(world: Scenario) -> App:
    """The service cart in v1 of a release group: its first version live, and no app.yaml in its folder."""
    world.start()
    cart = world.app("cart-v1")
    cart.folder = f"groups/{world.namespace}/store/v1/cart"
    metadata = {"name": "store", "namespace": world.namespace}
    group = {"apiVersion": "gitops-bg.dev/v1alpha1", "kind": "ReleaseGroup", "metadata": metadata}
    world.publish(
        "The store",
        {
            "gitops-bg.yaml": "apiVersion: gitops-bg.dev/v1alpha1\nkind: Settings\n",
            f"groups/{world.namespace}/store/group.yaml": yaml.safe_dump({**group, "spec": {"active": "v1"}}),
            f"{cart.folder}/target.yaml": cart.target_yaml("v1"),
        },
    )
    cart.wait_live("v1")
    cart.wait_primary("v1")
    cart.wait_told()
    return cart


def file(app: App, name: str) -> str | None:
    return app.scenario.remote.show("main", f"{app.folder}/{name}")


def test_set_image_and_undo_change_the_target_of_the_member_and_promote_its_primary(cli: Cli, cart: App) -> None:
    before = file(cart, "target.yaml")
    cli("set-image", str(cart.key), f"web=registry.example/{cart.name}:v2")
    assert f"{cart.name}:v2" in (file(cart, "target.yaml") or "")
    cart.scenario.wake()
    cart.wait_offered("v2")
    cli("undo", str(cart.key), "-m", "not yet")
    assert file(cart, "target.yaml") == before
    cart.wait_told("cancelled")
    cli("set-image", str(cart.key), f"web=registry.example/{cart.name}:v2")
    cart.scenario.wake()
    cart.wait_offered("v2")
    cli("promote", str(cart.key))
    cart.wait_live("v2")
    assert cart.primary_digest() == cart.digest("v2")
    cart.wait_told()
    cli("rollback", str(cart.key), "-r", "it is slow")
    cart.wait_live("v1")
    assert cart.primary_digest() == cart.digest("v1")


def test_the_app_file_that_counted_without_being_there_is_written_once_it_is_needed(cli: Cli, cart: App) -> None:
    assert cli.json("resume", str(cart.key))["apps"][0]["changed"] is False
    assert file(cart, "app.yaml") is None
    cli("suspend", str(cart.key), "-r", "incident 4711")
    cart.scenario.wake()
    written = yaml.safe_load(file(cart, "app.yaml") or "")
    assert written["metadata"] == {"name": "cart-v1", "namespace": cart.key.namespace}
    assert written["spec"]["strategy"] == {"blueGreen": {"activeService": "cart-v1"}}
    assert written["spec"]["suspend"]["reason"] == "incident 4711"
    cart.wait_condition("Suspended")
    cli("resume", str(cart.key))
    cart.wait_condition("Suspended", "Absent")
    assert "suspend" not in yaml.safe_load(file(cart, "app.yaml") or "")["spec"]
    cli("restart", str(cart.key))
    assert yaml.safe_load(file(cart, "app.yaml") or "")["spec"]["restartAt"]


def test_retry_tries_the_held_version_again(cli: Cli, cart: App) -> None:
    path = f"{cart.folder}/target.yaml"
    cart.scenario.publish("v2", {path: cart.target_yaml("v2")})
    cart.wait_offered("v2")
    cli("abort", str(cart.key), "-r", "errors")
    cart.wait_phase("Held")
    cart.wait_told("aborted")
    cli("retry", str(cart.key))
    cart.wait_offered("v2")
    assert yaml.safe_load(file(cart, "app.yaml") or "")["spec"]["retry"]["digest"] == cart.digest("v2")


def test_check_reads_members_from_the_remote_and_names_their_mistakes(cli: Cli, cart: App) -> None:
    answer = json.loads(cli.run("check", "-o", "json").stdout)
    assert answer["problems"] == []
    bad = {f"groups/{cart.key.namespace}/store/v01/cart/target.yaml": "a: 1", f"{cart.folder}/app.yaml": "a: 1"}
    cart.scenario.publish("Mistakes", bad)
    answer = json.loads(cli.run("check", "-o", "json", code=1).stdout)
    found = {problem["file"]: problem for problem in answer["problems"]}
    assert f"groups/{cart.key.namespace}/store/v01" in found
    assert found[f"{cart.folder}/app.yaml"]["line"] == 1

"""A verb that writes one value leaves every other letter as people wrote it."""

from __future__ import annotations

from tests.integration.cli.conftest import Cli
from tests.support.scenario import App


def test_set_image_leaves_every_other_letter_of_the_file_and_of_the_reason_as_it_is(cli: Cli, web: App) -> None:
    said, file = "🚀 grün 青 \U0001fae0", f"{web.folder}/target.yaml"
    odd = "🚀 grün 青 👩\u200d👩\u200d👧 \U0010fffd"
    env = f'# {odd}\n        env: [{{name: BANNER, value: "{odd} \\U0001F680"}}] # {odd}\n        image:'
    before = (web.scenario.remote.show("main", file) or "").replace("image:", env)
    assert odd in before
    web.scenario.publish(f"{odd}: a banner", {file: before})
    cli("set-image", str(web.key), "web=registry.example/web:v2", "-m", said)
    after = web.scenario.remote.show("main", file)
    assert after == before.replace("registry.example/web:v1", "registry.example/web:v2")
    assert f"Reason: {said}" in web.scenario.remote.message()
    web.scenario.wake()
    web.wait(lambda: "v2" in web.versions(), "v2 is there")
    template = web.scenario.live("replicasets", web.versions()["v2"].name)["spec"]["template"]
    assert template["spec"]["containers"][0]["env"] == [{"name": "BANNER", "value": f"{odd} 🚀"}]

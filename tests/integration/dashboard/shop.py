"""A shop in which every page has something to show: apps that are well, wait for people, fail and went back."""

from __future__ import annotations

import json

import yaml

from tests.fixtures.repos.texts import policy
from tests.support.scenario import App, Scenario
from tests.support.servers.backend import Backend

NAMESPACE = "shop"
_LATE_SECONDS = 16
"""After these an agent asks why pods do not come up."""


class Shop:
    """The apps of it, by what is the matter with them."""

    def __init__(self, world: Scenario, backend: Backend) -> None:
        self.world = world
        self.well = world.app("catalog")
        """Nothing is the matter: its second version serves."""
        self.waits = world.app("web")
        """Its candidate waits for a policy, and for somebody who merges it."""
        self.fails = world.app("cart")
        """The image of its candidate does not exist; it comes up as long as anybody looks."""
        self.fails.spec["progressDeadlineSeconds"] = 86_400
        self.went_back = world.app("search")
        """Somebody reverted its promotion."""
        self.measured = world.app("payments")
        """An analysis measures its candidate."""
        self._backend = backend

    @property
    def apps(self) -> list[App]:
        """All of them."""
        return [self.well, self.waits, self.fails, self.went_back, self.measured]

    def open(self) -> None:
        """Bring all of them to what they are there for; the agent runs."""
        self._publish_analysis()
        self.waits.container = {"env": [{"name": "CURRENCY", "value": "EUR"}]}
        self.world.publish(
            "Open the shop", {path: text for app in self.apps for path, text in app.files("1.4.0").items()}
        )
        for app in self.apps:
            app.wait_live("1.4.0")
            app.wait_primary("1.4.0")
        self._move_and_go_back()
        soak = policy("night-rest", "- soak: {for: 48h}")
        self.world.publish("Let candidates rest", {"policies/night-rest.yaml": soak})
        self.waits.container = {"env": [{"name": "CURRENCY", "value": "USD"}, {"name": "BANNER", "value": "on"}]}
        self.waits.push_image("1.5.0", "Show prices in dollars")
        self.fails.push_image("2.0.0-bad", "Rewrite the cart")
        self.measured.push_image("1.5.0", "Ask the new bank")
        self.waits.wait_offered("1.5.0")
        self.world.wait_idle()
        self.world.advance(_LATE_SECONDS)
        self.fails.wait(lambda: "ImagePullBackOff" in json.dumps(self.fails.status), "its pods cannot start")
        self.measured.wait(lambda: bool(self.measured.status.get("analysisRuns")), "an analysis runs")

    def _move_and_go_back(self) -> None:
        """Two promotions at a time; somebody reverts one of them."""
        moves = [self.well, self.went_back]
        for app in moves:
            app.push_image("1.5.0")
        merged = {app.name: app.merge_promotion("1.5.0") for app in moves}
        for app in moves:
            app.wait_live("1.5.0")
            app.wait_told("promoted")
        self.went_back.revert(merged[self.went_back.name])
        self.went_back.wait_live("1.4.0")
        self.went_back.wait_phase("Held")

    def _publish_analysis(self) -> None:
        self._backend.says({"errors": 0.002})
        asked = {"url": self._backend.url, "jsonPath": "{$.errors}"}
        one = {
            "name": "error-rate",
            "interval": "1s",
            "count": 60,
            "provider": {"web": asked},
            "successCondition": "result < 0.01",
        }
        head = {"apiVersion": "gitops-bg.dev/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "errors"}}
        template = yaml.safe_dump({**head, "spec": {"metrics": [one]}})
        self.world.publish("Say what healthy is", {"analysis/errors.yaml": template})
        self.measured.strategy |= {"prePromotionAnalysis": {"templates": [{"templateName": "errors"}]}}

"""Each invariant is broken on purpose once: a check that cannot fail proves nothing."""

from dataclasses import replace
from datetime import datetime

import pytest

from gitops_bg.core.invariants import InvariantBroken, check, violations
from gitops_bg.core.model import actions as act
from gitops_bg.core.model.auxiliary import Autoscaler
from gitops_bg.core.model.observed import PodView
from gitops_bg.core.model.record import SwitchKind
from gitops_bg.core.model.spec import Adoption, ScaleDown
from gitops_bg.core.model.version import short
from gitops_bg.core.world import World
from tests.core.simulation import COPY, Simulation, deployed, manual, template
from tests.core.worlds import EARLIER, NOW, SECOND, active, digest, service, world


def _world(sim: Simulation) -> World:
    return World(sim.spec, sim.desired(), sim.observed(), sim.record, sim.now)


def _switch(world: World, digest: str, switch_kind: SwitchKind = SwitchKind.PROMOTION) -> act.SwitchTraffic:
    return act.SwitchTraffic("web", (), 1, world.record.routing.traffic, 2, digest, switch_kind, 0)


class TestTheCheckItself:
    """Each invariant is broken on purpose once: a check that cannot fail proves nothing."""

    def candidate(self) -> Simulation:
        sim = deployed(manual())
        sim.push("2")
        sim.settle()
        return sim

    def test_i1_switch_to_fewer_pods(self):
        sim = self.candidate()
        sim.pods_fail("2", available=1)
        with pytest.raises(InvariantBroken, match="I1"):
            check(_world(sim), (_switch(_world(sim), template("2").digest),))

    def test_i2_scaling_down_what_is_live(self):
        sim = self.candidate()
        digest = template("1").digest
        with pytest.raises(InvariantBroken, match="I2"):
            check(_world(sim), (act.ScaleReplicaSet(digest, 1, 3, 0, "bug"),))
        with pytest.raises(InvariantBroken, match="I2"):
            check(_world(sim), (act.DeleteReplicaSet("web", digest, "bug"),))

    def test_i2_scaling_down_what_traffic_is_about_to_move_to(self):
        sim = self.candidate()
        sim.set_primary("2")
        decision, digest = sim.step(writes=None), template("2").digest
        assert any(isinstance(action, act.SwitchTraffic) for action in decision.actions)
        with pytest.raises(InvariantBroken, match="I2"):
            check(_world(sim), (*decision.actions, act.ScaleReplicaSet(digest, 2, 3, 1, "bug")))

    def test_i2_the_old_pods_of_an_adopted_app_go_only_while_every_service_selects_ours(self):
        gone = (act.ScaleDeployment("web-old", 3, 0, ""),)
        spec = replace(manual(), adopt=Adoption("web-old", scale_down=ScaleDown.ON_SUCCESS))
        led_back = {"active_service": service("web", 0, before=(("app", "web"),))}
        with pytest.raises(InvariantBroken, match="I2: scale Deployment web-old from 3 to 0"):
            check(world(active(1), spec=spec, observed=led_back), gone)
        check(world(active(1), spec=spec), gone)

    def test_i2_deleting_a_copy_that_is_used(self):
        sim = deployed(manual(), "1+a")
        with pytest.raises(InvariantBroken, match=r"I2: delete ConfigMap settings-\w+: .*, which a ReplicaSet uses"):
            check(_world(sim), (act.DeleteConfiguration("ConfigMap", *sim.copies),))

    def test_i3_switch_nobody_asked_for(self):
        sim = self.candidate()
        with pytest.raises(InvariantBroken, match="I3"):
            check(_world(sim), (_switch(_world(sim), template("2").digest),))

    def test_i4_two_switches_in_one_decision(self):
        sim = self.candidate()
        switch = _switch(_world(sim), template("2").digest)
        with pytest.raises(InvariantBroken, match="I4"):
            check(_world(sim), (switch, switch))
        with pytest.raises(InvariantBroken, match="I4"):
            check(_world(sim), (switch, replace(switch, name="web-grpc", digest=template("1").digest)))

    def test_i7_switch_the_record_has_not_decided(self):
        sim = self.candidate()
        sim.set_primary("2")
        with pytest.raises(InvariantBroken, match="I7"):
            check(_world(sim), (_switch(_world(sim), template("2").digest),))
        with pytest.raises(InvariantBroken, match=r"I7.*first deployment"):
            check(_world(sim), (_switch(_world(sim), template("2").digest, SwitchKind.FIRST),))

    @pytest.mark.parametrize(
        "ready_since", [EARLIER, NOW - SECOND, NOW + 60 * SECOND], ids=["up", "just ready", "a clock behind"]
    )
    def test_i2_evicting_more_pods_that_serve_than_may_be_missing(self, ready_since: datetime):
        seen = tuple(PodView(name, f"uid-{name}", short(digest(1)), EARLIER, ready_since=ready_since) for name in "abc")
        state = world(active(1), spec=replace(manual(), min_ready_seconds=5), observed={"pods": seen})
        gone = tuple(act.EvictPod(each.name, each.uid, digest(1), 1) for each in seen)
        check(state, gone[:1])
        with pytest.raises(InvariantBroken, match="I2: 2 of the 3 ready pods of 1 \\(v1\\) are evicted at once"):
            check(state, gone[:2])

    @pytest.mark.parametrize(
        ("current", "replicas", "broken"), [(0, 2, False), (0, 3, True), (2, 3, True), (2, 1, True), (6, 2, True)]
    )
    def test_i7_scaling_what_serves_but_from_below_the_autoscalers_minimum_up_to_it(
        self, current: int, replicas: int, broken: bool
    ):
        state = world(active(1), record={"autoscaler": Autoscaler(COPY, 2, 8)})
        scaling = act.ScaleReplicaSet(digest(1), 1, current, replicas, "bug")
        assert any(said.startswith("I7") for said in violations(state, (scaling,))) is broken

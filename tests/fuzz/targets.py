"""Every parser of bytes that others wrote, each with the error that it may raise; `corpus/` has what it usually reads.

Nothing but that error, within two seconds and a gigabyte, whatever the bytes: that is what is fuzzed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gitops_bg.cluster.lint import lint
from gitops_bg.cluster.observation.project import app_state, replica_set_state, service_state, slice_state
from gitops_bg.core.errors import GitopsBgError, InvalidInput
from gitops_bg.core.foreign_json import NotJson, parts_of, read_json, read_objects
from gitops_bg.core.foreign_text import printable, seconds_of
from gitops_bg.forge.known import marker_in
from gitops_bg.outbound.addresses import ORDINARY
from gitops_bg.repo.git import output
from gitops_bg.repo.ledger import ledger_file, policy_log
from gitops_bg.repo.read.reverts import markers_in
from gitops_bg.spec.analysis.providers import seconds_ago
from gitops_bg.spec.app.check import check_repository
from gitops_bg.spec.app.models import Render
from gitops_bg.spec.expressions import BadExpression, check, compile_pattern, json_path
from gitops_bg.spec.importing.convert import convert
from gitops_bg.spec.lint.containers import amount
from gitops_bg.spec.policies.expressions import read_cron
from gitops_bg.spec.rendered import rendered
from gitops_bg.spec.yaml.reader import read
from tests.fuzz.servers import answered_by_a_backend, answered_by_a_forge, listed, refused, watched
from tests.fuzz.web import answered

CORPUS = Path(__file__).with_name("corpus")
RENDER = Render.model_validate({"kustomize": "web"})
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Target:
    """One parser, and the error that its callers expect of it."""

    parse: Callable[[bytes], object]
    error: type[Exception] | None = None

    def __call__(self, data: bytes) -> None:
        """Parse; an error that nobody expects is a finding."""
        with suppress(*([self.error] if self.error else [])):
            self.parse(data)


def seeds(name: str) -> list[bytes]:
    """What a target usually reads, and what once was a finding."""
    return [file.read_bytes() for file in sorted((CORPUS / name).iterdir())]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _file(path: str) -> Callable[[bytes], object]:
    """Reads one file of a repository as `check` and the agent do."""
    return lambda data: [str(each.problem) for each in check_repository([(path, data)], lint, NOW).findings]


def _object(project: Callable[[dict[str, object]], object]) -> Callable[[bytes], object]:
    """What a watch hands over: an object with a name, and whatever others wrote into it."""

    def parse(data: bytes) -> object:
        body = read_objects(data)
        if not isinstance(body, dict):
            return None
        metadata = {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "1"}
        given = body.get("metadata")
        annotations = given.get("annotations") if isinstance(given, dict) else None
        texts = {k: v for k, v in annotations.items() if isinstance(v, str)} if isinstance(annotations, dict) else {}
        return project({"metadata": metadata | {"annotations": texts}, "spec": {}, "status": {}})

    return parse


def _tree(data: bytes) -> object:
    return list(output.entries_of(data, 20))


TARGETS: dict[str, Target] = {
    "yaml": Target(lambda data: read("a.yaml", data)),
    "import": Target(lambda data: convert([("a.yaml", data)], {}, "shop")),
    "rendered": Target(lambda data: rendered("apps/shop/web", RENDER, "target.yaml", data, ""), InvalidInput),
    "app": Target(_file("apps/shop/web/app.yaml")),
    "target": Target(_file("apps/shop/web/target.yaml")),
    "primary": Target(_file("apps/shop/web/primary.yaml")),
    "group": Target(_file("groups/shop/store/group.yaml")),
    "routes": Target(_file("groups/shop/store/v1/cart/routes.yaml")),
    "template": Target(_file("analysis/a.yaml")),
    "policy": Target(_file("policies/calm.yaml")),
    "people": Target(_file("policies/people.yaml")),
    "signers": Target(_file("policies/allowed_signers")),
    "settings": Target(_file("gitops-bg.yaml")),
    "json": Target(read_json, NotJson),
    "objects": Target(lambda data: json.dumps(read_objects(data)), NotJson),
    "replica-set": Target(_object(replica_set_state), NotJson),
    "service": Target(_object(service_state), NotJson),
    "endpoint-slice": Target(_object(slice_state), NotJson),
    "live-app": Target(_object(app_state), NotJson),
    "ledger": Target(ledger_file.parse, ValueError),
    "policy-log": Target(policy_log.parse, ValueError),
    "commit": Target(output.commit_in),
    "message": Target(lambda data: markers_in(_text(data))),
    "tree": Target(_tree, ValueError),
    "marker": Target(lambda data: marker_in(_text(data))),
    "expression": Target(lambda data: check(_text(data), ["result"]), BadExpression),
    "pattern": Target(lambda data: compile_pattern(_text(data)), BadExpression),
    "jsonpath": Target(lambda data: json_path(_text(data)), ValueError),
    "moment": Target(lambda data: seconds_ago(_text(data)), ValueError),
    "duration": Target(lambda data: seconds_of(_text(data)), ValueError),
    "cron": Target(lambda data: read_cron(_text(data)), ValueError),
    "quantity": Target(lambda data: amount(_text(data))),
    "image": Target(lambda data: parts_of(_text(data))),
    "address": Target(lambda data: ORDINARY.refusal_of_literal(_text(data))),
    "web-request": Target(answered),
    "forge-answer": Target(answered_by_a_forge),
    "metric-answer": Target(answered_by_a_backend),
    "api-watch": Target(watched, GitopsBgError),
    "api-list": Target(listed, GitopsBgError),
    "api-refusal": Target(refused),
    "printable": Target(lambda data: printable(_text(data)).encode()),
}

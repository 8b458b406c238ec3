"""AnalysisTemplates whose only metric is a Job, as in the e2e tests of Argo Rollouts, and what they came to."""

from __future__ import annotations

from typing import Any

import yaml

from gitops_bg.core import names
from tests.support.cluster.paths import jobs
from tests.support.scenario import App, Scenario

STAGES = {"prePromotionAnalysis": "pre", "postPromotionAnalysis": "post"}


def template(stage: str) -> str:
    """`sleep-job` of Argo's e2e tests: its args say how long the Job takes and how it ends."""
    command = ["sh", "-c", "sleep {{args.duration}} && exit {{args.exit-code}}"]
    container = {"name": "sleep-job", "image": "registry.example/sleep:v1", "command": command}
    pod = {"restartPolicy": "Never", "containers": [container]}
    job = {"spec": {"backoffLimit": 0, "template": {"spec": pod}}}
    args = [{"name": "duration", "value": "0"}, {"name": "exit-code", "value": "0"}]
    document = {
        "apiVersion": names.API_VERSION,
        "kind": "AnalysisTemplate",
        "metadata": {"name": f"sleep-{stage}"},
        "spec": {"args": args, "metrics": [{"name": "sleep-job", "provider": {"job": job}}]},
    }
    return yaml.safe_dump(document, sort_keys=False)


def publish_templates(world: Scenario) -> None:
    """Push the templates of both stages."""
    files: dict[str, str | None] = {f"analysis/sleep-{stage}.yaml": template(stage) for stage in STAGES.values()}
    world.publish("Add the templates", files)


def analysed(app: App, field: str, duration: str = "0", exit_code: int = 0) -> None:
    """Have a stage of an app analysed by a Job that takes so long (`infinity`: for ever) and ends so; not pushed."""
    args = [{"name": "duration", "value": duration}, {"name": "exit-code", "value": str(exit_code)}]
    app.strategy[field] = {"templates": [{"templateName": f"sleep-{STAGES[field]}"}], "args": args}


def runs(app: App) -> list[str]:
    """The analysis runs that ever measured, as `rollout.stage.attempt`, oldest first: each has left its Jobs."""
    return list(dict.fromkeys(each.rpartition(".sleep-job.")[0] for each in measured(app)))


def measured(app: App) -> list[str]:
    """The measurements that Jobs were made for, oldest first."""
    found: list[dict[str, Any]] = app.scenario.cluster.list(jobs(app.key.namespace))
    marks = [each["metadata"]["annotations"][names.MEASUREMENT] for each in found]
    return sorted(marks, key=lambda mark: (int(mark.partition(".")[0]), "post" in mark, mark))


def made(app: App) -> int:
    """How many Jobs the API server ever made in the app's namespace, also those that are gone."""
    asked = ("POST", jobs(app.key.namespace), 201)
    return sum((each.method, each.path, each.status) == asked for each in app.scenario.writes())

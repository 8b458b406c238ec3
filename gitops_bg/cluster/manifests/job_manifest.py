"""The Job of a measurement: the metric's ``job`` block, with our labels and annotations. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from gitops_bg.cluster.api.kinds import JOBS, Object
from gitops_bg.cluster.manifests.render import owner_reference, subject_label
from gitops_bg.core import names
from gitops_bg.core.errors import Refused
from gitops_bg.core.foreign_json import read_json
from gitops_bg.core.model.analysis import MeasurementRequest
from gitops_bg.core.model.version import Subject

LONGEST = 3600
"""The longest run of a Job without ``activeDeadlineSeconds``, in seconds."""

_SECRET = re.compile(r"\{\{secret:(?P<name>[^/}]+)/(?P<key>[^}]+)\}\}")


def job_manifest(subject: Subject, uid: str, measure: MeasurementRequest) -> Object:
    """The Job to create. Raises ``Refused`` where it would contain a readable secret."""
    block = read_json(measure.metric.query)
    spec = _with_references(block.get("spec") or {})
    spec.pop("ttlSecondsAfterFinished", None)  # the Job must stay until it is counted; the agent cleans up itself
    deadline = {} if spec.get("activeDeadlineSeconds") else {names.DEADLINE: str(LONGEST)}
    template = {**(spec.get("template") or {})}
    template["metadata"] = _ours(subject, template.get("metadata") or {}, {})
    marks = {names.MEASUREMENT: str(measure.id), names.METRIC: measure.metric.name, **deadline}
    metadata = _ours(subject, block.get("metadata") or {}, marks)
    metadata |= {"name": names.job_name(subject, measure.id), "namespace": subject.namespace}
    metadata["ownerReferences"] = [owner_reference(subject, uid)]
    spec = {**({"activeDeadlineSeconds": LONGEST} if deadline else {}), **spec, "template": template}
    return {"apiVersion": JOBS.api_version, "kind": JOBS.name, "metadata": metadata, "spec": spec}


def _ours(subject: Subject, theirs: Mapping[str, Any], marks: Mapping[str, str]) -> Object:
    """The metadata of the block, overridden by ours; keys in our name are dropped, because Services select by those."""
    labels, annotations = (_foreign(theirs.get(each) or {}) for each in ("labels", "annotations"))
    labels |= {names.MANAGED_BY: names.MANAGER, **subject_label(subject)}
    return {"labels": labels, "annotations": annotations | dict(marks)}


def _foreign(words: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in words.items() if not key.startswith(f"{names.GROUP}/")}


def _with_references(value: Any) -> Any:
    """The spec with secret args as references: an ``env`` variable that is only such an arg refers to the Secret."""
    if isinstance(value, list):
        return [_with_references(item) for item in value]
    if isinstance(value, dict):
        found = _SECRET.fullmatch(value["value"]) if isinstance(value.get("value"), str) and "name" in value else None
        if found:
            return {"name": value["name"], "valueFrom": {"secretKeyRef": {"name": found["name"], "key": found["key"]}}}
        return {key: _with_references(item) for key, item in value.items()}
    if isinstance(value, str) and _SECRET.search(value):
        raise Refused(
            "a secret arg would stand in the Job for all to read; "
            "let the whole value of an env variable be the arg, and use that variable"
        )
    return value

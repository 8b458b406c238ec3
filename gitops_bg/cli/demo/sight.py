"""What a user sees of an app in the cluster: its status, its pods, the answers of its Services. Changes nothing."""

from collections.abc import Mapping
from typing import Any

from gitops_bg.cli.demo.traffic import answer_of
from gitops_bg.core.model.version import AppKey
from gitops_bg.core.names import APP as APP_LABEL
from gitops_bg.sandbox import Sandbox

Object = Mapping[str, Any]


class Sight:
    """One app as `kubectl get` and `curl` show it."""

    def __init__(self, sandbox: Sandbox, app: AppKey, preview: str) -> None:
        """``preview`` is the name of the preview Service; the active one has the name of the app."""
        self._sandbox = sandbox
        self.key = app
        self.active_url = sandbox.service_url(app.namespace, app.name)
        self.preview_url = sandbox.service_url(app.namespace, preview)

    @property
    def url(self) -> str:
        """The address that the clients use."""
        return self.active_url

    @property
    def status(self) -> Object:
        """The status of the BlueGreenDeployment; empty where there is none yet."""
        found = self._objects("gitops-bg.dev/v1alpha1", "BlueGreenDeployment")
        return next((each.get("status", {}) for each in found if each["metadata"]["name"] == self.key.name), {})

    @property
    def phase(self) -> str:
        """The phase of the app; empty where it is not known yet."""
        return str(self.status.get("phase", ""))

    @property
    def active(self) -> str:
        """The tag that live traffic goes to, by the status."""
        return self._tag("active")

    @property
    def candidate(self) -> str:
        """The tag of the candidate, by the status; empty without one."""
        return self._tag("candidate")

    def condition(self, kind: str) -> Object:
        """Return one condition of the status; empty where it is unknown."""
        return next((each for each in self.status.get("conditions", ()) if each["type"] == kind), {})

    def holds(self, kind: str) -> bool:
        """Return whether a condition is true."""
        return bool(self.condition(kind).get("status") == "True")

    def live(self) -> str:
        """Return the tag that answers a new connection to the active Service; empty where none does."""
        return answer_of(self.active_url).version

    def preview(self) -> str:
        """Return the tag that answers a new connection to the preview Service; empty where none does."""
        return answer_of(self.preview_url).version

    def ready(self, tag: str) -> int:
        """Return how many pods of a tag are ready."""
        sets = [each for each in self._objects("apps/v1", "ReplicaSet") if self._is_ours(each)]
        return sum(each.get("status", {}).get("readyReplicas", 0) for each in sets if _tag_of(each) == tag)

    def waiting(self, tag: str) -> str:
        """Return why the pods of a tag do not start, in the words of the kubelet; empty where they do."""
        pods = [pod for pod in self._objects("v1", "Pod") if self._is_ours(pod) and _tag_in(pod["spec"]) == tag]
        states = [each["state"] for pod in pods for each in pod.get("status", {}).get("containerStatuses", ())]
        return next((state["waiting"]["reason"] for state in states if "waiting" in state), "")

    def commands(self) -> list[tuple[str, str]]:
        """Return what to try where the demo is kept, and why."""
        inside = f"kubectl -n {self.key.namespace}"
        return [
            ("watch the app", f"{inside} get bgd -w"),
            ("the objects behind it", f"{inside} get bgd,replicasets,pods,services --show-labels"),
            ("live traffic, and the preview", f"curl {self.active_url}"),
            ("", f"curl {self.preview_url}"),
            ("its page of the dashboard", f"gitops-bg open {self.key} --dashboard"),
        ]

    def _objects(self, api_version: str, kind: str) -> list[Any]:
        return list(self._sandbox.objects(api_version, kind, self.key.namespace))

    def _is_ours(self, obj: Object) -> bool:
        return bool(obj["metadata"].get("labels", {}).get(APP_LABEL) == self.key.name)

    def _tag(self, which: str) -> str:
        return str(self.status.get(which, {}).get("image", "")).rpartition(":")[2]


def _tag_of(replica_set: Object) -> str:
    return _tag_in(replica_set["spec"]["template"]["spec"])


def _tag_in(pod: Object) -> str:
    return str(pod["containers"][0]["image"]).rpartition(":")[2]

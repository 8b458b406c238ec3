"""What users see of a release group: its status, and who answers requests through its Gateway. Changes nothing."""

from typing import Any

from gitops_bg.cli.demo.subject import Object, Subject
from gitops_bg.cli.demo.traffic import Answer, answer_of
from gitops_bg.cluster.api.kinds import DEFINITIONS, Kind
from gitops_bg.core.model.version import GroupKey
from gitops_bg.sandbox import Sandbox

GROUP = GroupKey("shop", "store")
GATEWAY = "public"
VERSION_HEADER = "X-Version"

_API = "gateway.networking.k8s.io"
_GATEWAYS = Kind(f"{_API}/v1", "Gateway", "gateways")


class GroupSight:
    """One group as `kubectl get` and `curl` show it."""

    key = GROUP

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._gateway = sandbox.gateway_url(GROUP.namespace, GATEWAY)
        self.url = f"{self._gateway}/cart"

    @property
    def status(self) -> Object:
        """The status of the ReleaseGroup; empty where there is none yet."""
        found = self._sandbox.objects("gitops-bg.dev/v1alpha1", "ReleaseGroup", GROUP.namespace)
        return next((each.get("status", {}) for each in found if each["metadata"]["name"] == GROUP.name), {})

    @property
    def phase(self) -> str:
        """The phase of the group; empty where it is not known yet."""
        return str(self.status.get("phase", ""))

    @property
    def stages(self) -> str:
        """Return every version with its stage, such as ``v1 Legacy, v2 Active``."""
        return ", ".join(f"{each['name']} {each['stage']}" for each in self.status.get("versions", ()))

    @property
    def gates(self) -> list[str]:
        """Return why the version that group.yaml names is not active."""
        return [str(each.get("reason", "")) for each in self.status.get("gates", ()) if not each.get("open")]

    def live(self) -> str:
        """Return the tag of the cart that answers without the header; empty where none does."""
        return self.ask("/cart").version

    def ask(self, path: str, version: str = "") -> Answer:
        """Send one request, with the header that names a version, if any."""
        return answer_of(f"{self._gateway}{path}", {VERSION_HEADER: version} if version else {})

    def commands(self) -> list[tuple[str, str]]:
        """Return what to try where the demo is kept, and why."""
        inside = f"kubectl -n {GROUP.namespace}"
        return [
            ("watch the group, and its services", f"{inside} get releasegroups,bgd"),
            ("the objects behind it", f"{inside} get httproutes,services -o yaml"),
            ("live traffic, and a version by its name", f"curl {self.url}"),
            ("", f"curl -H '{VERSION_HEADER}: v1' {self.url}"),
        ]


def _definition(kind: str, plural: str) -> dict[str, Any]:
    """Return the definition of a kind of the Gateway API, as far as the sandbox needs it."""
    schema: dict[str, Any] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    }
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.name,
        "metadata": {
            "name": f"{plural}.{_API}",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api"},
        },
        "spec": {
            "group": _API,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


_GATEWAY: dict[str, Any] = {
    "apiVersion": _GATEWAYS.api_version,
    "kind": _GATEWAYS.name,
    "metadata": {"name": GATEWAY, "namespace": GROUP.namespace},
    "spec": {"gatewayClassName": "sandbox", "listeners": [{"name": "http", "port": 80, "protocol": "HTTP"}]},
}

STORE = Subject(
    GroupSight,
    (
        (DEFINITIONS, _definition("Gateway", "gateways")),
        (DEFINITIONS, _definition("HTTPRoute", "httproutes")),
        (_GATEWAYS, _GATEWAY),
    ),
)
"""The release group of the template's example, behind a Gateway."""

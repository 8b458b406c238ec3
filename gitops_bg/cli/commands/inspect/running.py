"""`version`, `logs` and `open`: which releases run, here and in the cluster, what the pods of a version print, and
where people see an app. They only read.
"""

import signal
import subprocess
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import Annotated

import typer

from gitops_bg import __version__
from gitops_bg.cli.errors import CommandFailed, UsageError
from gitops_bg.cli.options import completion
from gitops_bg.cli.options.options import App, ClusterOptions, LiveOptions
from gitops_bg.cli.options.values import a_version_name
from gitops_bg.cli.output import Output
from gitops_bg.cli.session.live_session import LiveSession
from gitops_bg.cluster.api.errors import Forbidden
from gitops_bg.cluster.api.kinds import APPS, CONFIG_MAPS, DEPLOYMENTS, HTTP_ROUTES, INGRESSES, SERVICES, Object
from gitops_bg.cluster.observation.ownership import Ownership
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import GitopsBgError, Refused
from gitops_bg.core.foreign_json import images_in
from gitops_bg.core.model.version import AppKey, Version, short

_AGENTS = "app.kubernetes.io/name=gitops-bg"


def version(at: LiveOptions) -> None:
    """Show the release of this command, and the images of the agents that the cluster has.

    Example: gitops-bg version
    """
    output, agents, refused = Output(at.out), [], ""
    try:
        with LiveSession(kube=at.kube, place=at.place) as session:
            agents = list(_agents(session, at.place.namespace))
    except GitopsBgError as error:
        refused = str(error)
    output.both(
        {"client": __version__, "agents": [{"name": name, "image": image} for name, image in agents]},
        f"client: {__version__}",
    )
    for name, image in agents:
        output.line(f"agent:  {name}, {image}")
    if refused:
        output.notice(f"which agents run is not known: {refused}")


def _agents(session: LiveSession, namespace: str) -> Iterator[tuple[str, str]]:
    """Yield each agent's Deployment with its image."""
    for each in session.client.list(DEPLOYMENTS, namespace, _AGENTS):
        [container, *_] = each["spec"]["template"]["spec"]["containers"]
        yield f"{each['metadata']['namespace']}/{each['metadata']['name']}", str(container.get("image", ""))


def logs(
    app: App,
    at: LiveOptions,
    named: Annotated[
        str,
        typer.Option(
            "--version",
            parser=a_version_name,
            metavar="VERSION",
            autocompletion=completion.versions,
            help="Whose pods: a number (v4 or 4), a tag (1.2.0) or a digest. Default: the candidate, else what serves.",
        ),
    ] = "",
    tail: Annotated[int, typer.Option(min=1, help="How many lines of each pod.")] = 20,
    container: Annotated[str, typer.Option("--container", "-c", help="Of which container. Default: the first.")] = "",
    previous: Annotated[bool, typer.Option("--previous", "-p", help="Before the last restart.")] = False,
) -> None:
    """Print the last lines of the pods of a version: of the candidate, or of what serves where there is none.

    Example: gitops-bg logs shop/web --version 2.5.0
    """
    output = Output(at.out)
    with LiveSession(kube=at.kube, place=at.place) as session:
        key = session.app(app)
        chosen, pods = _pods(session, key, named)
        names = [name for name, _ in images_in(chosen.snapshot.text)]
        of = container or next(iter(names), "")
        log = partial(session.client.log, key.namespace, lines=tail, previous=previous, container=of)
        found = [(pod, log(pod)) for pod in pods]
    if not found:
        raise CommandFailed(f"{key}: {chosen.name} has no pods")
    output.both(
        {"app": str(key), "version": chosen.number, "pods": [{"pod": pod, "log": text} for pod, text in found]},
        f"{key}: {chosen.name}",
    )
    for pod, text in found:
        for line in text.splitlines():
            output.line(f"{pod}  {line}")


def _pods(session: LiveSession, app: AppKey, named: str) -> tuple[Version, list[str]]:
    """Return the version that is meant, and its pods. Raises `CommandFailed` where the app has no version."""
    from gitops_bg.cli.options.values import the_one
    from gitops_bg.cli.repository.proposals import known_as

    view = session.app_view(app)
    chosen = view.newest
    if named:
        meant = the_one(named, [known_as(each.number, each.snapshot) for each in view.versions], app)
        chosen = view.record.version(meant.digest)
    if chosen is None:
        raise CommandFailed(f"{app} has no version yet")
    return chosen, [pod.name for pod in view.pods if pod.digest == short(chosen.digest)]


# --- open ---

_IS_CANARY = "nginx.ingress.kubernetes.io/canary"
_PREVIEW, _DASHBOARD, _PULL_REQUEST = "preview", "dashboard", "pull request"


def open_app(
    app: App,
    at: LiveOptions,
    preview: Annotated[bool, typer.Option("--preview", help="The preview of the app; the default.")] = False,
    dashboard: Annotated[bool, typer.Option("--dashboard", help="Its page of the dashboard.")] = False,
    pull_request: Annotated[bool, typer.Option("--pull-request", help="The pull request of its promotion.")] = False,
    only_print: Annotated[bool, typer.Option("--print", help="Print the address, and open no browser.")] = False,
) -> None:
    """Open the preview of an app in a browser, its page of the dashboard, or its pull request; print the address where
    there is no browser.

    The preview is at the host of the Ingress or HTTPRoute that leads to the preview Service. Without one, kubectl
    forwards a port to the Service, until Ctrl-C.

    Example: gitops-bg open shop/web --pull-request
    """
    flags = {_PREVIEW: preview, _DASHBOARD: dashboard, _PULL_REQUEST: pull_request}
    asked = [each for each, is_asked in flags.items() if is_asked]
    if len(asked) > 1:
        raise UsageError("give one of --preview, --dashboard and --pull-request")
    what, output, service, port = (asked or [_PREVIEW])[0], Output(at.out), "", 0
    with LiveSession(kube=at.kube, place=at.place) as session:
        key = session.app(app)
        address = _ADDRESSES[what](session, key)
        if not address:
            service = _preview_service(session, key)
            port = _port_of(session, key, service)
    if address:
        _show_address(output, key, what, address, only_print=only_print)
        return
    _forward(at.kube, key, service, port, lambda here: _show_address(output, key, what, here, only_print=only_print))


def _show_address(output: Output, app: AppKey, what: str, address: str, *, only_print: bool) -> None:
    import webbrowser

    if not address.startswith(("http://", "https://")):  # Others wrote it, and a browser takes options and files too.
        raise CommandFailed(f"{app}: {address!r}, where its {what} is to be, does not begin with http:// or https://")
    output.both({"app": str(app), "what": what, "address": address}, address, "")
    if not (only_print or output.json):
        webbrowser.open(address)


def _pull_request(session: LiveSession, app: AppKey) -> str:
    status = (session.client.get(APPS, app.namespace, app.name) or {}).get("status") or {}
    found = (status.get("pullRequest") or {}).get("url")
    if not found:
        raise CommandFailed(f"{app} has no pull request; see `gitops-bg explain {app}`")
    return str(found)


def _dashboard(session: LiveSession, app: AppKey) -> str:
    """Return the page of the app where an agent of the cluster says that its dashboard is: where several say one, the
    agent that follows the app's repository and cluster. Raises `CommandFailed`.
    """
    agents, unseen = _dashboards(session, app.namespace)
    found = {each.url.rstrip("/"): each for each in agents}
    if len(found) > 1:
        body = session.client.get(APPS, app.namespace, app.name) or {}
        owner = Ownership.of((body.get("metadata") or {}).get("annotations") or {})
        found = {url: each for url, each in found.items() if each.follows(owner)} or found
    if len(found) > 1:
        several = ", ".join(f"{each.agent} ({url})" for url, each in found.items())
        raise CommandFailed(f"several agents say where their dashboard is, and none that {app} is theirs: {several}")
    for url in found:
        return f"{url}/apps/{app}"
    remedy = f"only namespace {app.namespace} was searched: {unseen}" if unseen else "start it with --public-url"
    raise CommandFailed(f"no agent of this cluster says where its dashboard is; {remedy}")


@dataclass(frozen=True, slots=True)
class _Dashboard:
    """Where an agent says that its dashboard is, and what it follows, as far as that is known."""

    agent: str
    url: str
    repository: str
    cluster: str

    def follows(self, owner: Ownership) -> bool:
        """Return whether an app of this owner may be its."""
        from gitops_bg.repo.git.transport import repository_name

        is_followed = repository_name(self.repository) in ("", repository_name(owner.repository))
        return is_followed and self.cluster in ("", owner.cluster)


def _dashboards(session: LiveSession, namespace: str) -> tuple[list[_Dashboard], str]:
    """Return what the agents say, and why only those of the namespace were asked; empty where all were."""
    unseen = ""
    try:
        agents = session.client.list(DEPLOYMENTS, "", _AGENTS)
    except Forbidden as error:
        agents, unseen = session.client.list(DEPLOYMENTS, namespace, _AGENTS), str(error)
    found = []
    for each in agents:
        there, name = each["metadata"]["namespace"], each["metadata"]["name"]
        for container in each["spec"]["template"]["spec"]["containers"]:
            settings = _settings(session, there, container)
            if url := settings.get("GITOPS_BG_PUBLIC_URL"):
                follows = settings.get("GITOPS_BG_REPO", ""), settings.get("GITOPS_BG_CLUSTER", "")
                found.append(_Dashboard(f"{there}/{name}", url, *follows))
    return found, unseen


def _settings(session: LiveSession, namespace: str, container: Object) -> dict[str, str]:
    """Return the settings of an agent: of its ConfigMaps (those that one may read), of its environment, and of its
    options, each before the ones that it counts more than.
    """
    found: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        name = (source.get("configMapRef") or {}).get("name")
        with suppress(Refused):
            settings = session.client.get(CONFIG_MAPS, namespace, name) if name else None
            found |= (settings or {}).get("data") or {}
    found |= {each["name"]: str(each.get("value") or "") for each in container.get("env") or ()}
    words = [str(each) for each in (*(container.get("command") or ()), *(container.get("args") or ()))]
    for word, following in pairwise([*words, ""]):
        option, equals, value = word.partition("=")
        if option.startswith("--"):
            found["GITOPS_BG_" + option[2:].upper().replace("-", "_")] = value if equals else following
    return found


def _preview_service(session: LiveSession, app: AppKey) -> str:
    spec = (session.client.get(APPS, app.namespace, app.name) or {}).get("spec") or {}
    found = ((spec.get("strategy") or {}).get("blueGreen") or {}).get("previewService")
    if not found:
        raise CommandFailed(f"{app} has no previewService in app.yaml, so nothing shows its preview")
    return str(found)


def _preview(session: LiveSession, app: AppKey) -> str:
    """Return the address of the Ingress or HTTPRoute that leads to the preview Service; empty where none is known."""
    service, found = _preview_service(session, app), list[str]()
    for kind, addresses in ((INGRESSES, _of_ingress), (HTTP_ROUTES, _of_route)):
        try:
            found += (each for body in session.client.list(kind, app.namespace) for each in addresses(body, service))
        except GitopsBgError:  # the cluster has no such kind, or does not show it to this user
            continue
    return next(iter(found), "")


def _of_ingress(body: Object, service: str) -> Iterator[str]:
    if (body["metadata"].get("annotations") or {}).get(_IS_CANARY) == "true":
        return  # Its host is that of the Ingress beside it, which leads most requests to what is live.
    secure = {host for each in body["spec"].get("tls") or () for host in each.get("hosts") or ()}
    for rule in body["spec"].get("rules") or ():
        host = rule.get("host") or "*"
        for path in (rule.get("http") or {}).get("paths") or ():
            if "*" not in host and ((path.get("backend") or {}).get("service") or {}).get("name") == service:
                yield f"{'https' if host in secure else 'http'}://{host}{path.get('path') or '/'}"


def _of_route(body: Object, service: str) -> Iterator[str]:
    hosts = [host for host in body["spec"].get("hostnames") or () if "*" not in host]
    for rule in body["spec"].get("rules") or ():
        backends = [each.get("name") for each in rule.get("backendRefs") or () if each.get("weight", 1)]
        if backends == [service]:  # With another one it would be now the preview, now what is live.
            yield from (f"http://{host}{path}" for path in _plain_paths(rule)[:1] for host in hosts)


def _plain_paths(rule: Object) -> list[str]:
    """Return the paths at which a rule of an HTTPRoute matches what a browser asks for."""
    matches: list[Object] = rule.get("matches") or [{}]
    plain = [each.get("path") or {} for each in matches if not (each.get("headers") or each.get("queryParams"))]
    return [str(each.get("value", "/")) for each in plain if each.get("type") != "RegularExpression"]


_ADDRESSES = {_PREVIEW: _preview, _DASHBOARD: _dashboard, _PULL_REQUEST: _pull_request}


def _port_of(session: LiveSession, app: AppKey, service: str) -> int:
    body = session.client.get(SERVICES, app.namespace, service)
    if body is None:
        raise CommandFailed(f"{app}: its preview Service {service} is not there yet")
    return int(body["spec"]["ports"][0]["port"])


def _forward(kube: ClusterOptions, app: AppKey, service: str, port: int, show: Callable[[str], None]) -> None:
    """Forward a port of this machine to a Service until Ctrl-C, and show its address. Raises `CommandFailed` where
    kubectl is not there, cannot, or ends by itself.
    """
    from gitops_bg.agent.runtime.signals import ended_by

    options = [f"--kubeconfig={kube.kubeconfig}"] if kube.kubeconfig else []
    options += [f"--context={kube.context}"] if kube.context else []
    command = ["kubectl", *options, "-n", app.namespace, "port-forward", f"service/{service}", f":{port}"]
    with ended_by(signal.SIGTERM, signal.SIGHUP):
        try:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        except FileNotFoundError as error:
            raise CommandFailed(
                f"{app}: only inside the cluster is {service} reachable, and kubectl is not here"
            ) from error
        with process:
            try:
                _follow_kubectl(process, service, show)
            finally:
                process.terminate()


def _follow_kubectl(process: "subprocess.Popen[str]", service: str, show: Callable[[str], None]) -> None:
    """Read all that kubectl prints, as it waits where nobody does, until it ends or somebody presses Ctrl-C."""
    complaints, is_shown = deque[str](maxlen=5), False
    assert process.stdout is not None
    try:
        for line in process.stdout:
            _, is_address, place = line.partition("Forwarding from ")
            if is_address and not is_shown:
                show(f"http://{place.split()[0]}")
                is_shown = True
            elif not (is_address or line.startswith("Handling connection")):
                complaints.append(" ".join(line.split()))
        code = process.wait()
    except KeyboardInterrupt:
        if is_shown:
            return
        raise
    if code or not is_shown:
        does_not = "no longer forwards a port" if is_shown else "forwards no port"
        raise CommandFailed(f"kubectl {does_not} to {service}: {' '.join(complaints) or f'exit code {code}'}")

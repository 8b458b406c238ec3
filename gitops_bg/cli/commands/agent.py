"""`agent`: runs the agent until it is stopped, or once. Turns options into settings; no rule is here."""

import hashlib
import sys
from contextlib import ExitStack
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from gitops_bg.agent import logs
from gitops_bg.agent.agent import Agent
from gitops_bg.agent.runtime.cpu import collect_garbage_as_usual
from gitops_bg.agent.runtime.leadership import LeaseSettings
from gitops_bg.agent.runtime.schedule import utc_now
from gitops_bg.agent.runtime.signals import Stopped, Stopping, stopping_on_signals
from gitops_bg.agent.settings import AgentSettings, ForgeAccess
from gitops_bg.cli.errors import NOT_SO, OK, CommandFailed, UsageError
from gitops_bg.cli.options.options import ClusterOptions, GitOptions, VerifyOptions
from gitops_bg.cli.options.values import positive_seconds, public_address, service_account_name
from gitops_bg.cli.repository.user_git import repository_url
from gitops_bg.cli.session.connect import credential_file, mirror_directory, repository_settings, verification_settings
from gitops_bg.cluster.api.access import Access, is_in_pod
from gitops_bg.cluster.api.connection import own_namespace
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.errors import Transient
from gitops_bg.outbound.addresses import AddressRules, Network, networks
from gitops_bg.repo.git.transport import repository_name
from gitops_bg.repo.settings import MAIN
from gitops_bg.web.app import application, application_of_probes
from gitops_bg.web.server import WebServer, parse_address

HTTP_OFF = "off"


class LogFormat(StrEnum):
    """The format of log lines."""

    JSON = "json"
    TEXT = "text"


class LogLevel(StrEnum):
    """The least severity that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """How the agent runs."""

    namespace: Annotated[
        list[str] | None,
        typer.Option(envvar="GITOPS_BG_NAMESPACE", metavar="NS", help="Manage only this namespace; may be repeated."),
    ] = None
    impersonate_service_account: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_IMPERSONATE_SERVICE_ACCOUNT",
            parser=service_account_name,
            metavar="NAME",
            help="In each namespace act as its ServiceAccount of this name: what that may not, no app there gets. "
            "Default: act as the agent.",
        ),
    ] = ""
    poll: Annotated[
        float,
        typer.Option(
            envvar="GITOPS_BG_POLL",
            parser=positive_seconds,
            metavar="DURATION",
            show_default="30s",
            help="How often to look at the repository (±20 %).",
        ),
    ] = 30.0
    resync: Annotated[
        float,
        typer.Option(
            envvar="GITOPS_BG_RESYNC",
            parser=positive_seconds,
            metavar="DURATION",
            show_default="10m",
            help="How often to reconcile every app, besides what the watches report.",
        ),
    ] = 600.0
    workers: Annotated[
        int, typer.Option(envvar="GITOPS_BG_WORKERS", min=1, max=64, help="How many apps to work on at a time.")
    ] = 4
    measuring_threads: Annotated[
        int,
        typer.Option(
            envvar="GITOPS_BG_MEASURING_THREADS",
            min=1,
            max=256,
            help="How many measurements of analyses to take at a time; at most half of them for one app.",
        ),
    ] = 8
    lease_name: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_LEASE_NAME",
            metavar="NAME",
            help="The Lease that one agent at a time holds. Default: made from what it follows and where it works.",
        ),
    ] = ""
    lease_namespace: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_LEASE_NAMESPACE",
            metavar="NS",
            help="The namespace of the Lease. Default: the agent's own, else the first --namespace, else default.",
        ),
    ] = ""
    lease_duration: Annotated[
        float,
        typer.Option(
            envvar="GITOPS_BG_LEASE_DURATION",
            parser=positive_seconds,
            metavar="DURATION",
            show_default="15s",
            help="After so long without a renewal another agent takes over.",
        ),
    ] = 15.0
    lease_renew_deadline: Annotated[
        float,
        typer.Option(
            envvar="GITOPS_BG_LEASE_RENEW_DEADLINE",
            parser=positive_seconds,
            metavar="DURATION",
            show_default="10s",
            help="After so long without a renewal this agent stops working.",
        ),
    ] = 10.0
    lease_retry: Annotated[
        float,
        typer.Option(
            envvar="GITOPS_BG_LEASE_RETRY",
            parser=positive_seconds,
            metavar="DURATION",
            show_default="2s",
            help="How often to renew the Lease, or to try to take it.",
        ),
    ] = 2.0
    http: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_HTTP",
            metavar="HOST:PORT",
            help="Where /healthz, /readyz, /metrics and /webhook listen; 'off' for nowhere.",
        ),
    ] = "127.0.0.1:8080"
    probes: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_PROBES",
            metavar="HOST:PORT",
            help="Where /healthz and /readyz listen besides, by themselves, so that no other client delays them.",
        ),
    ] = HTTP_OFF
    dashboard: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_DASHBOARD",
            metavar="HOST:PORT",
            help="Where the dashboard listens, on a port of its own. Without a login it is for reading only, unless "
            "nobody but this machine reaches it; to a pod people forward ports.",
        ),
    ] = HTTP_OFF
    dashboard_login_file: Annotated[
        Path | None,
        typer.Option(
            envvar="GITOPS_BG_DASHBOARD_LOGIN_FILE",
            help="Where people log in to the dashboard, and the tokens of scripts. Without it nobody logs in.",
        ),
    ] = None
    public_url: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_PUBLIC_URL",
            metavar="URL",
            parser=public_address,
            help="The dashboard's address in browsers, such as https://bg.example.com. Statuses and alerts lead there.",
        ),
    ] = ""
    forge_token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="GITOPS_BG_FORGE_TOKEN_FILE",
            help="A file with the token for pull requests. Default: that for Git, if the repository is https.",
        ),
    ] = None
    forge_host: Annotated[
        str,
        typer.Option(
            envvar="GITOPS_BG_FORGE_HOST",
            metavar="HOST[:PORT]",
            help="The forge's server, where it is not the repository's: only these get the token.",
        ),
    ] = ""
    github_app_id: Annotated[
        str, typer.Option(envvar="GITOPS_BG_GITHUB_APP_ID", metavar="ID", help="Authenticate at GitHub as this App.")
    ] = ""
    github_app_key_file: Annotated[
        Path | None,
        typer.Option(envvar="GITOPS_BG_GITHUB_APP_KEY_FILE", help="The private key of that App, in PEM."),
    ] = None
    webhook_secret_file: Annotated[
        Path | None,
        typer.Option(
            envvar="GITOPS_BG_WEBHOOK_SECRET_FILE",
            help="The secret that signs webhooks. Default: no webhooks.",
        ),
    ] = None
    api_token_file: Annotated[
        Path | None,
        typer.Option(
            envvar="GITOPS_BG_API_TOKEN_FILE",
            help="The token of /api/v1/groups, by which groups are promoted over HTTP. Default: off.",
        ),
    ] = None
    allow_address: Annotated[
        list[str] | None,
        typer.Option(
            envvar="GITOPS_BG_ALLOW_ADDRESS",
            metavar="NETWORK",
            help="Metrics, hooks and alerts may go there, though it is this machine, link-local or a cloud's metadata; "
            "may be repeated.",
        ),
    ] = None
    deny_address: Annotated[
        list[str] | None,
        typer.Option(
            envvar="GITOPS_BG_DENY_ADDRESS",
            metavar="NETWORK",
            help="Metrics, hooks and alerts may not go there, such as 10.0.0.0/8; may be repeated.",
        ),
    ] = None
    log_format: Annotated[
        LogFormat | None,
        typer.Option(envvar="GITOPS_BG_LOG_FORMAT", help="Default: text on a terminal, else json."),
    ] = None
    log_level: Annotated[LogLevel, typer.Option(envvar="GITOPS_BG_LOG_LEVEL", help="What to log.")] = LogLevel.INFO
    once: Annotated[
        bool, typer.Option("--once", envvar="GITOPS_BG_ONCE", help="Do what can be done at once, then exit.")
    ] = False
    once_timeout: Annotated[
        float,
        typer.Option(
            envvar="GITOPS_BG_ONCE_TIMEOUT",
            parser=positive_seconds,
            metavar="DURATION",
            show_default="5m",
            help="How long --once may take.",
        ),
    ] = 300.0


def agent(git: GitOptions, verify: VerifyOptions, kube: ClusterOptions, options: AgentOptions) -> int:
    """Run the agent: follow the repository, bring the cluster to it, until SIGTERM or SIGINT.

    Every option can be an environment variable: --repo is GITOPS_BG_REPO. With --once it brings every app as near
    to Git as can be done at once, and exits with 1 if an app failed.

    Example: gitops-bg agent --repo https://git.example.com/shop/config.git --cluster prod --git-token-file token
    """
    logs.configure(_log_format(options.log_format), options.log_level)
    logs.log_uncaught()
    collect_garbage_as_usual()
    with stopping_on_signals() as stopping:
        try:
            return _run(Agent(_settings(git, verify, kube, options)), options, stopping)
        except Stopped:
            return OK


def _run(running: Agent, options: AgentOptions, stopping: Stopping) -> int:
    with ExitStack() as stack:
        stack.callback(running.stop)
        _start(running, options, stack)
        stopping.now_call(running.finish)
        if options.once:
            return _once(running, options.once_timeout)
        running.wait()
    return OK


def _start(running: Agent, options: AgentOptions, stack: ExitStack) -> None:
    """Start HTTP first: while the caches fill, /readyz says what is missing."""
    servers = (("--probes", options.probes, application_of_probes), ("--http", options.http, application))
    for option, address, made_for in servers if not options.once else ():
        if address != HTTP_OFF:
            stack.enter_context(WebServer(made_for(running), *parse_address(address, option), option=option))
    if options.dashboard != HTTP_OFF and not options.once:
        from gitops_bg.web.access.guard import login_from
        from gitops_bg.web.dashboard.app import dashboard_server

        host, port = parse_address(options.dashboard, "--dashboard")
        file, address = options.dashboard_login_file, options.public_url
        login = login_from(file, address, utc_now, in_pod=is_in_pod())
        stack.enter_context(dashboard_server(running, host, port, login))
    running.start()


def _once(running: Agent, seconds: float) -> int:
    failed = running.run_once(seconds)
    if running.catalog.unreachable:
        raise Transient(f"the repository cannot be read: {running.catalog.unreachable}")
    if running.catalog.held:
        raise CommandFailed(f"not brought to main's head: {running.catalog.held}")
    if failed:
        raise CommandFailed(f"not brought to Git: {', '.join(sorted(map(str, failed)))}; the log says why")
    return OK if running.catalog.seen else NOT_SO


def _settings(git: GitOptions, verify: VerifyOptions, kube: ClusterOptions, options: AgentOptions) -> AgentSettings:
    cluster = git.cluster
    if not cluster:
        raise UsageError(
            "--cluster: say what this cluster is called, such as --cluster prod (or GITOPS_BG_CLUSTER=prod): its "
            "ledger is the branch gitops-bg/state/prod, and no two clusters may share one. An agent that ran without "
            "it wrote to gitops-bg/state/default: --cluster default goes on there"
        )
    files = {"--webhook-secret-file": options.webhook_secret_file, "--api-token-file": options.api_token_file}
    for option, file in files.items():
        if file and not file.is_file():
            raise UsageError(f"{option}: {file} is no file")
    # One mirror per ledger: two agents of one repository may share a machine.
    directory = mirror_directory(git, f"agent-{hashlib.sha256(cluster.encode()).hexdigest()[:8]}")
    return AgentSettings(
        repository=replace(
            repository_settings(git, directory, cluster), verification=verification_settings(git, verify)
        ),
        access=Access(
            kubeconfig=kube.kubeconfig, context=kube.context, impersonate=options.impersonate_service_account
        ),
        namespaces=tuple(dict.fromkeys(options.namespace or ())),
        poll_seconds=options.poll,
        resync_seconds=options.resync,
        workers=options.workers,
        measuring_threads=options.measuring_threads,
        forge=_forge(git, options),
        webhook_secret_file=options.webhook_secret_file,
        api_token_file=options.api_token_file,
        public_url=options.public_url,
        addresses=AddressRules(
            _networks("--allow-address", options.allow_address), _networks("--deny-address", options.deny_address)
        ),
        lease=None if options.once else _lease(git, options),
    )


def _networks(option: str, texts: list[str] | None) -> tuple[Network, ...]:
    try:
        return networks(texts or ())
    except ValueError as error:
        raise UsageError(f"{option}: {error}; write an address or a network, such as 10.0.0.0/8") from error


def _forge(git: GitOptions, options: AgentOptions) -> ForgeAccess:
    """Return the access to the forge that gitops-bg.yaml names, if any."""
    if bool(options.github_app_id) is not bool(options.github_app_key_file):
        raise UsageError("--github-app-id and --github-app-key-file: give both, or neither")
    if options.github_app_id and options.forge_token_file:
        raise UsageError("--forge-token-file and --github-app-id: give one of the two")
    by_https = repository_url(git.repo).startswith(("https://", "http://"))
    token = options.forge_token_file or (git.git_token_file if by_https else None)
    key = options.github_app_key_file
    return ForgeAccess(
        token_file=credential_file("--forge-token-file", token),
        host=options.forge_host,
        app_id=options.github_app_id,
        app_key_file=credential_file("--github-app-key-file", key),
        ca_file=git.git_ca_file.expanduser().absolute() if git.git_ca_file else None,
    )


def _lease(git: GitOptions, options: AgentOptions) -> LeaseSettings:
    """Return one Lease for all agents with the same work: agents of other namespaces do not exclude each other."""
    if not options.lease_retry < options.lease_renew_deadline < options.lease_duration:
        raise UsageError("--lease-retry must be shorter than --lease-renew-deadline, and that than --lease-duration")
    namespaces = sorted(set(options.namespace or ()))
    work = "\n".join([repository_name(repository_url(git.repo)), git.branch or MAIN, git.cluster, *namespaces])
    return LeaseSettings(
        namespace=options.lease_namespace or own_namespace() or next(iter(namespaces), "default"),
        name=options.lease_name or f"gitops-bg-{hashlib.sha256(work.encode()).hexdigest()[:10]}",
        duration=options.lease_duration,
        renew_deadline=options.lease_renew_deadline,
        retry=options.lease_retry,
    )


def _log_format(asked: LogFormat | None) -> Literal["json", "text"]:
    if asked is None:
        return "text" if sys.stderr.isatty() else "json"
    return asked.value

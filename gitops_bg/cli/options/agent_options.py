"""The options of `agent` that no other verb has. Declarations only."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gitops_bg.cli.options.durations import positive_seconds
from gitops_bg.cli.options.names import service_account_name

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
            metavar="HOST",
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

"""The agent's own AWS credentials, from the places that AWS' own libraries use: keys, a pod's role on EKS, EKS Pod
Identity.

The variables are those of the AWS SDKs reference guide (shared settings: environment, web identity, container).
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

from gitops_bg.analysis.provider import Context
from gitops_bg.analysis.providers.aws_signing import Credentials
from gitops_bg.analysis.providers.blocks import at
from gitops_bg.outbound.errors import MeasuringFailed
from gitops_bg.outbound.http import Answer, Request, ask

_TIMEOUT = 5.0
_SESSION = "gitops-bg"


def region(asked: str | None) -> str:
    """The requested region, or else the agent's own."""
    found = asked or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not found:
        raise MeasuringFailed("no AWS region: write region into the template, or set AWS_REGION for the agent")
    return found


def from_secret(name: str, context: Context) -> Credentials:
    """The credentials in a Secret with the names of the environment variables as keys."""
    value, token = context.secrets.value, context.secrets.setting(name, "AWS_SESSION_TOKEN")
    if token:
        context.secrets.hide(token)
    return Credentials(value(name, "AWS_ACCESS_KEY_ID"), value(name, "AWS_SECRET_ACCESS_KEY"), token or "")


def of_the_agent(region_name: str, context: Context) -> Credentials:
    """The credentials of the agent's process, hidden from the measurement's texts."""
    found = _found(os.environ, region_name)
    for secret in filter(None, (found.secret_access_key, found.token)):
        context.secrets.hide(secret)
    return found


def _found(environment: Mapping[str, str], region_name: str) -> Credentials:
    if key := environment.get("AWS_ACCESS_KEY_ID"):
        secret = environment.get("AWS_SECRET_ACCESS_KEY", "")
        return Credentials(key, secret, environment.get("AWS_SESSION_TOKEN", ""))
    if file := environment.get("AWS_WEB_IDENTITY_TOKEN_FILE"):
        return _from_web_identity(environment, _token(file), region_name)
    if address := environment.get("AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        return _from_container(address, _token(environment.get("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "")))
    raise MeasuringFailed(
        "the agent has no AWS credentials: give its ServiceAccount a role, set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or name a Secret of the app in secretRef"
    )


def _token(file: str) -> str:
    try:
        return Path(file).read_text().strip() if file else ""
    except OSError as error:
        raise MeasuringFailed(f"the agent's AWS token cannot be read: {error.strerror}") from error


def _from_web_identity(environment: Mapping[str, str], token: str, region_name: str) -> Credentials:
    """AssumeRoleWithWebIdentity of STS, whose documented response is XML."""
    address = environment.get("AWS_ENDPOINT_URL_STS", f"https://sts.{region_name}.amazonaws.com")
    form = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": environment.get("AWS_ROLE_ARN", ""),
        "RoleSessionName": environment.get("AWS_ROLE_SESSION_NAME", _SESSION),
        "WebIdentityToken": token,
    }
    content = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = ask(Request(address, "POST", content, urlencode(form).encode(), _TIMEOUT))
    text = answer.body.decode("utf-8", "replace")
    _require_success(answer, text)
    names = ("AccessKeyId", "SecretAccessKey", "SessionToken")
    values = [found[1].strip() for name in names if (found := re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL))]
    if len(values) != len(names):
        raise MeasuringFailed(f"{answer.place} gave no credentials")
    return Credentials(*values)


def _require_success(answer: Answer, text: str) -> None:
    """As the answer's own, with the words of XML: the operator names the address, and nobody else."""
    try:
        answer.require_success()
    except MeasuringFailed as error:
        told = re.search("<Message>(.*?)</Message>", text, re.DOTALL)
        raise MeasuringFailed(error.args[0], error.words or (told[1] if told else "")) from None


def _from_container(address: str, token: str) -> Credentials:
    """EKS Pod Identity, or ECS."""
    data = ask(Request(address, headers={"Authorization": token} if token else {}, timeout=_TIMEOUT)).json()
    return Credentials(*(str(at(data, name)) for name in ("AccessKeyId", "SecretAccessKey", "Token")))

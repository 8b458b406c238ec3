"""Amazon CloudWatch as a provider: its queries, and what every request to AWS needs, credentials and a signature.

A result without values is no data; a failed result is an error.
"""

import hashlib
import hmac
import json
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from gitops_bg.analysis.provider import Context, NoData, Reading, Value
from gitops_bg.analysis.providers.blocks import at, present, read, rows, trust
from gitops_bg.core.dataclass import dataclass
from gitops_bg.core.foreign_text import seconds_of
from gitops_bg.outbound.http import HttpAnswer, HttpRequest, MeasuringFailed, ask
from gitops_bg.outbound.secrets import is_json
from gitops_bg.spec.analysis import providers

# --- Signature Version 4, by its specification ---
# botocore would do it, but requires an older python-dateutil than the Kubernetes client.

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """The identity of the caller. ``token`` is empty for a permanent key."""

    access_key_id: str
    secret_access_key: str
    token: str = ""


@dataclass(frozen=True, slots=True)
class SigningScope:
    """The region, service and time of a signature."""

    region: str
    service: str
    now: datetime

    @property
    def moment(self) -> str:
        """The time in the form of ``X-Amz-Date``."""
        return self.now.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")

    def __str__(self) -> str:
        return f"{self.moment[:8]}/{self.region}/{self.service}/aws4_request"


def signed(
    method: str, url: str, headers: Mapping[str, str], body: bytes, scope: SigningScope, credentials: AwsCredentials
) -> dict[str, str]:
    """Return the headers of a request, including the signature."""
    all_headers = {"Host": urlsplit(url).netloc, **headers, "X-Amz-Date": scope.moment}
    if credentials.token:
        all_headers["X-Amz-Security-Token"] = credentials.token
    names, canonical = _canonical(method, url, all_headers, body)
    to_sign = "\n".join((_ALGORITHM, scope.moment, str(scope), _sha256(canonical.encode())))
    signature = hmac.digest(_key(credentials.secret_access_key, scope), to_sign.encode(), "sha256").hex()
    authorization = (
        f"{_ALGORITHM} Credential={credentials.access_key_id}/{scope}, SignedHeaders={names}, Signature={signature}"
    )
    return {**all_headers, "Authorization": authorization}


def _canonical(method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[str, str]:
    parts = urlsplit(url)
    query = sorted((_quoted(key), _quoted(value)) for key, value in parse_qsl(parts.query, keep_blank_values=True))
    lines = sorted((name.lower(), " ".join(value.split())) for name, value in headers.items())
    names = ";".join(name for name, _ in lines)
    request = (
        method,
        quote(parts.path or "/", safe="/-_.~"),
        "&".join(f"{key}={value}" for key, value in query),
        "".join(f"{name}:{value}\n" for name, value in lines),
        names,
        _sha256(body),
    )
    return names, "\n".join(request)


def _key(secret: str, scope: SigningScope) -> bytes:
    key = f"AWS4{secret}".encode()
    for part in str(scope).split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key


def _quoted(text: str) -> str:
    return quote(text, safe="-_.~")


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


# --- the agent's own credentials, from the places of AWS' own libraries ---
# Keys, a pod's role on EKS, EKS Pod Identity. The variables are those of the AWS SDKs reference guide (shared settings:
# environment, web identity, container).

_TIMEOUT = 5.0
_SESSION = "gitops-bg"


def region(asked: str | None) -> str:
    """Return the requested region, or else the agent's own."""
    found = asked or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not found:
        raise MeasuringFailed("no AWS region: write region into the template, or set AWS_REGION for the agent")
    return found


def from_secret(name: str, context: Context) -> AwsCredentials:
    """Return the credentials in a Secret with the names of the environment variables as keys."""
    value, token = context.secrets.value, context.secrets.setting(name, "AWS_SESSION_TOKEN")
    if token:
        context.secrets.hide(token)
    return AwsCredentials(value(name, "AWS_ACCESS_KEY_ID"), value(name, "AWS_SECRET_ACCESS_KEY"), token or "")


def of_the_agent(region_name: str, context: Context) -> AwsCredentials:
    """Return the credentials of the agent's process, hidden from the measurement's texts."""
    found = _found(os.environ, region_name)
    for secret in filter(None, (found.secret_access_key, found.token)):
        context.secrets.hide(secret)
    return found


def _found(environment: Mapping[str, str], region_name: str) -> AwsCredentials:
    if key := environment.get("AWS_ACCESS_KEY_ID"):
        secret = environment.get("AWS_SECRET_ACCESS_KEY", "")
        return AwsCredentials(key, secret, environment.get("AWS_SESSION_TOKEN", ""))
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


def _from_web_identity(environment: Mapping[str, str], token: str, region_name: str) -> AwsCredentials:
    """Return those of AssumeRoleWithWebIdentity of STS, whose documented response is XML."""
    address = environment.get("AWS_ENDPOINT_URL_STS", f"https://sts.{region_name}.amazonaws.com")
    form = {
        "Action": "AssumeRoleWithWebIdentity",
        "Version": "2011-06-15",
        "RoleArn": environment.get("AWS_ROLE_ARN", ""),
        "RoleSessionName": environment.get("AWS_ROLE_SESSION_NAME", _SESSION),
        "WebIdentityToken": token,
    }
    content = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = ask(HttpRequest(address, "POST", content, urlencode(form).encode(), _TIMEOUT))
    text = answer.body.decode("utf-8", "replace")
    _require_success(answer, text)
    names = ("AccessKeyId", "SecretAccessKey", "SessionToken")
    values = [found[1].strip() for name in names if (found := re.search(f"<{name}>(.*?)</{name}>", text, re.DOTALL))]
    if len(values) != len(names):
        raise MeasuringFailed(f"{answer.place} gave no credentials")
    return AwsCredentials(*values)


def _require_success(answer: HttpAnswer, text: str) -> None:
    """Require a success as the answer's own check does, with the words of XML: the operator names the address, and
    nobody else.
    """
    try:
        answer.require_success()
    except MeasuringFailed as error:
        told = re.search("<Message>(.*?)</Message>", text, re.DOTALL)
        raise MeasuringFailed(error.args[0], error.words or (told[1] if told else "")) from None


def _from_container(address: str, token: str) -> AwsCredentials:
    """Return those of EKS Pod Identity, or of ECS."""
    data = ask(HttpRequest(address, headers={"Authorization": token} if token else {}, timeout=_TIMEOUT)).json()
    return AwsCredentials(*(str(at(data, name)) for name in ("AccessKeyId", "SecretAccessKey", "Token")))


# --- GetMetricData, in the JSON protocol of the AWS SDKs (service model of CloudWatch, awsJson1_0) ---

_SERVICE = "monitoring"
_HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    "X-Amz-Target": "GraniteServiceVersion20100801.GetMetricData",
}
_BROKEN = ("InternalError", "Forbidden")


class CloudWatchProvider:
    """Sends all queries of the block at once."""

    def measure(self, block: Mapping[str, Any], context: Context) -> Reading:
        """Return the MetricDataResults from CloudWatch, newest value first."""
        asked = read(providers.CloudWatch, block)
        where = region(asked.region)
        url = asked.address or f"https://{_SERVICE}.{where}.amazonaws.com"
        url = url if url.count("/") > 2 else f"{url}/"
        body = json.dumps(_question(asked, context)).encode()
        secret = asked.secret_ref
        credentials = from_secret(secret.name, context) if secret else of_the_agent(where, context)
        sent = signed("POST", url, _HEADERS, body, SigningScope(where, _SERVICE, context.now), credentials)
        return _reading(context.ask(HttpRequest(url, "POST", sent, body, asked.timeout_seconds, trust(asked))))


def _question(asked: providers.CloudWatch, context: Context) -> dict[str, Any]:
    until = int(context.now.timestamp())
    queries = [query.model_dump(by_alias=True, exclude_none=True) for query in asked.metric_data_queries]
    return {
        "StartTime": until - int(seconds_of(asked.interval)),
        "EndTime": until,
        "MetricDataQueries": [_capitalized(query) for query in queries],
    }


def _capitalized(value: Any) -> Any:
    """Return the value with AWS's names of its fields; a period may be a text."""
    if isinstance(value, dict):
        return {
            key[0].upper() + key[1:]: int(item) if key == "period" else _capitalized(item)
            for key, item in value.items()
        }
    return [_capitalized(item) for item in value] if isinstance(value, list) else value


def _reading(answer: HttpAnswer) -> Reading:
    data = answer.json()
    results = rows(data, "MetricDataResults")
    for result in results:
        status = at(result, "StatusCode")
        if status in _BROKEN:
            messages = rows(result, "Messages") if result.get("Messages") else []
            said = "; ".join(str(at(message, "Value")) for message in messages)
            words = f"{result.get('Id')}: {said}" if is_json(answer.kind) else ""
            raise MeasuringFailed(f"CloudWatch answered {status}", words)
    if data.get("NextToken"):
        raise MeasuringFailed("CloudWatch has more values than one answer holds: ask for less, or for longer periods")
    empty = next((result for result in results if not present(rows(result, "Values"))), None)
    if not results or empty:
        return NoData(f"{at(empty, 'Id')} has no values" if empty else "there are no results")
    return Value(results)

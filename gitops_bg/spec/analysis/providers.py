"""The provider blocks of an AnalysisTemplate, with the field names of Argo Rollouts.

Only their schemas: `gitops_bg.analysis` measures. A text with ``{{…}}`` is not validated before it is filled in. The
Secrets that blocks name are those of the app's namespace, never the agent's.
"""

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    PlainSerializer,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from gitops_bg.core.foreign_text import seconds_of
from gitops_bg.core.written import Conflict, DnsLabel, Positive, Text
from gitops_bg.spec.app.fields import Model
from gitops_bg.spec.expressions import json_path

PLACEHOLDER = "{{"
LONGEST_TIMEOUT = 300
"""Seconds; a slower backend counts as down."""


def _web_address(text: str) -> str:
    parts = urlsplit(text)
    if PLACEHOLDER not in text and (parts.scheme not in ("http", "https") or not parts.hostname):
        raise PydanticCustomError("address", "must be an address such as https://service.example.com")
    if "@" in parts.netloc and PLACEHOLDER not in parts.netloc:
        raise PydanticCustomError("address", "must not hold a user or password: take them from a Secret, by an arg")
    return text


def _duration(text: str) -> str:
    if PLACEHOLDER not in text:
        try:
            seconds_of(text)
        except ValueError as error:
            raise PydanticCustomError("duration", "must be a duration such as 30s, 5m or 1h30m") from error
    return text


def _path(text: str) -> str:
    if PLACEHOLDER not in text:
        try:
            json_path(text)
        except ValueError as error:
            message = "is no JSONPath such as {$.data.ok}: {complaint}"
            raise PydanticCustomError("json_path", message, {"complaint": str(error)}) from error
    return text


_MOMENT = re.compile(r"""now(?:\(\))?(?:\s*-\s*(?:duration\((["'])(?P<quoted>[^"']+)\1\)|(?P<bare>\S+)))?""", re.ASCII)


def seconds_ago(text: str) -> float:
    """Return how long before now ``now``, ``now - 5m`` or ``now() - duration("5m")`` is, in seconds. Raises
    ``ValueError``.

    >>> seconds_ago("now"), seconds_ago('now() - duration("5m")'), seconds_ago("now - 1h")
    (0.0, 300.0, 3600.0)
    """
    found = _MOMENT.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text!r} is not a moment; write it as now or now - 5m")
    past = found["quoted"] or found["bare"]
    return seconds_of(past) if past else 0.0


def _moment(text: str) -> str:
    if PLACEHOLDER not in text:
        try:
            seconds_ago(text)
        except ValueError as error:
            raise PydanticCustomError("moment", "must be a moment such as now or now - 5m") from error
    return text


def _query_id(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-zA-Z0-9_]*", text):
        raise PydanticCustomError("query_id", "must be letters, digits and _, and begin with a small letter")
    return text


def _plugin_name(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]*", text):
        raise PydanticCustomError("plugin_name", "must be letters, digits and . _ / -")
    return text


def _number(value: Any) -> Any:
    """Convert the text of a filled-in arg to a number."""
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def _truth(value: Any) -> Any:
    return value == "true" if value in ("true", "false") else value


def _unless_open(value: Any, judge: ValidatorFunctionWrapHandler) -> Any:
    return value if isinstance(value, str) and PLACEHOLDER in value else judge(value)


class _OpenSchema:
    """In a JSON Schema: what the type says, or a text with a placeholder."""

    def __get_pydantic_json_schema__(self, core: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [handler(core), {"type": "string", "pattern": re.escape(PLACEHOLDER)}]}


OPEN = (WrapValidator(_unless_open), PlainSerializer(lambda value: value), _OpenSchema())
"""For fields with a restricted type: they may contain ``{{…}}`` until it is filled in, which always happens before a
measurement (`gitops_bg.analysis.providers.blocks` validates every block again).
"""

WebAddress = Annotated[Text, AfterValidator(_web_address)]
Duration = Annotated[Text, AfterValidator(_duration)]
JsonPath = Annotated[Text, AfterValidator(_path)]
Ago = Annotated[Text, AfterValidator(_moment)]
QueryId = Annotated[str, AfterValidator(_query_id)]
PluginName = Annotated[str, AfterValidator(_plugin_name)]
Timeout = Annotated[int, Field(ge=1, le=LONGEST_TIMEOUT), BeforeValidator(_number), *OPEN]
Truth = Annotated[bool, BeforeValidator(_truth), *OPEN]
SecretName = Annotated[DnsLabel, *OPEN]


class Header(Model):
    """One HTTP header; Argo writes ``key`` for web and ``name`` for some others: both are read."""

    key: Text | None = Field(None, description="Its name, such as Authorization.")
    name: Text | None = Field(None, description="The same: Argo writes key for web, and name elsewhere.")
    value: str = Field(description="Its value.")

    @model_validator(mode="after")
    def _one_name(self) -> Self:
        if (self.key is None) == (self.name is None):
            raise Conflict("", "must have exactly one of key and name", "write key: Authorization")
        return self

    @property
    def title(self) -> str:
        """The name of the header."""
        return self.key or self.name or ""


class Http(Model):
    """The common fields of blocks that query over HTTP."""

    insecure: Truth = Field(False, description="Do not verify the server's certificate. For tests.")
    ca_cert: Text | None = Field(
        None, description="The PEM certificates of the authorities that the server's certificate may be signed by."
    )


class Basic(Model):
    """HTTP basic authentication."""

    username: Text = Field(description="Who asks.")
    password: str = Field(description="The password: an arg from a Secret.")


class Bearer(Model):
    """A bearer token."""

    token: Text = Field(description="The token: an arg from a Secret.")


class OAuth2(Model):
    """A token fetched with the client's credentials (RFC 6749 §4.4)."""

    token_url: WebAddress = Field(description="Where the token is fetched.")
    client_id: Text = Field(description="Who asks.")
    client_secret: Text = Field(description="The client's secret: an arg from a Secret.")
    scopes: list[Text] = Field(default_factory=list, description="The scopes that are asked for.")


class Sigv4(Model):
    """Requests signed for AWS, with the agent's own AWS credentials."""

    region: Text = Field(description="The AWS region that is signed for.")

    @model_validator(mode="before")
    @classmethod
    def _has_credentials_of_its_own(cls, value: Any) -> Any:
        for field in ("profile", "roleArn") if isinstance(value, dict) else ():
            if field in value:
                remedy = "give the agent a role that may query (an IAM role of its ServiceAccount), and remove it"
                raise Conflict(field, "is not read: requests are signed with the agent's own AWS credentials", remedy)
        return value


class Authentication(Model):
    """At most one way to authenticate."""

    basic: Basic | None = None
    basic_auth: Basic | None = Field(None, description="The same as basic, as Argo Rollouts calls it.")
    bearer: Bearer | None = None
    oauth2: OAuth2 | None = None
    sigv4: Sigv4 | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set) > 1:
            raise Conflict("", "must have one of basic, bearer, oauth2 and sigv4", "remove the others")
        return self

    @property
    def by_password(self) -> Basic | None:
        """The user and the password, whichever of the two fields names them."""
        return self.basic or self.basic_auth


class RangeQuery(Model):
    """The range of a range query."""

    start: Ago = Field(description="The beginning, as now - 5m.")
    end: Ago = Field("now", description="The end, as now or now - 1m.")
    step: Duration = Field(description="The time between points, as 30s.")


class Prometheus(Http):
    """A PromQL query. ``result``: a vector as a list of numbers, a scalar as a number, a range as lists of numbers."""

    address: WebAddress = Field(description="Where Prometheus answers, such as http://prometheus.monitoring:9090.")
    query: Text = Field(description="PromQL.")
    timeout: Timeout = Field(30, description="Seconds.")
    headers: list[Header] = Field(default_factory=list, description="More HTTP headers, such as X-Scope-OrgID.")
    authentication: Authentication | None = Field(None, description="How the agent says who asks.")
    range_query: RangeQuery | None = Field(None, description="A range instead of a moment.")


class Web(Http):
    """A request whose answer is JSON. ``result``: what ``jsonPath`` finds, or the whole body."""

    url: WebAddress = Field(description="What is asked.")
    method: Annotated[Literal["GET", "POST", "PUT"], *OPEN] = Field("GET", description="GET, POST or PUT.")
    headers: list[Header] = Field(default_factory=list, description="More HTTP headers.")
    body: Text | None = Field(None, description="What is sent, as text.")
    json_body: dict[str, Any] | None = Field(None, description="What is sent, as JSON.")
    timeout_seconds: Timeout = Field(10, description="Seconds.")
    json_path: JsonPath | None = Field(
        None, description="What of the answer is the result, such as {$.data.ok}; the whole answer where absent."
    )
    authentication: Authentication | None = Field(None, description="How the agent says who asks.")

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        if self.body is not None and self.json_body is not None:
            raise Conflict("jsonBody", "cannot go together with body", "keep one of them")
        if self.method == "GET" and (self.body is not None or self.json_body is not None):
            raise Conflict("method", "GET has no body", "write method: POST, or PUT")
        return self


class JobMetadata(Model):
    """Labels and annotations of the Job; its name comes from the measurement."""

    labels: dict[str, str] = Field(default_factory=dict, description="Labels of the Job.")
    annotations: dict[str, str] = Field(default_factory=dict, description="Annotations of the Job.")


class Job(Model):
    """A Job to run: complete is good, failed is bad. The API server validates its spec."""

    metadata: JobMetadata | None = Field(None, description="Labels and annotations of the Job.")
    spec: dict[str, Any] = Field(description="A JobSpec of batch/v1.")

    @model_validator(mode="after")
    def _has_pods(self) -> Self:
        template = self.spec.get("template")
        if not isinstance(template, dict) or not isinstance(template.get("spec"), dict):
            raise Conflict(
                "spec", "has no template.spec, so there is nothing to run", "add the pod template of the Job"
            )
        return self


class SecretRef(Model):
    """A Secret in the app's namespace."""

    name: SecretName = Field(description="The Secret.")
    namespaced: Literal[True] = Field(True, description="Secrets are always those of the app's namespace.")


def _datadog() -> SecretRef:
    return SecretRef.model_validate({"name": "datadog"})


Aggregator = Annotated[Literal["avg", "min", "max", "sum", "last", "percentile", "mean", "l2norm", "area"], *OPEN]


class Datadog(Http):
    """A Datadog query. ``result``: a number. The Secret has ``api-key``, ``app-key`` and, if need be, ``address``."""

    api_version: Annotated[Literal["v1", "v2"], *OPEN] = Field(
        "v1", description="The version of Datadog's API, v1 or v2."
    )
    interval: Duration = Field("5m", description="How far back to look.")
    query: Text | None = Field(None, description="One query, such as avg:requests{service:web}.")
    queries: dict[Text, Text] | None = Field(None, description="Several queries by name, for a formula; v2 only.")
    formula: Text | None = Field(None, description="What is made of the queries, such as a / b; v2 only.")
    aggregator: Aggregator | None = Field(None, description="How v2 makes one value of a series; last where absent.")
    secret_ref: SecretRef = Field(
        default_factory=_datadog, description="The Secret with the keys api-key and app-key; datadog where absent."
    )
    address: WebAddress | None = Field(None, description="Where Datadog answers; the Secret's address where absent.")
    request_timeout: Duration = Field("10s", description="How long one request may take.")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.query is None) == (self.queries is None):
            raise Conflict("", "must have exactly one of query and queries", "write query: avg:requests{service:web}")
        second = [name for name in ("queries", "formula", "aggregator") if getattr(self, name) is not None]
        if self.api_version == "v1" and second:
            raise Conflict(second[0], "is not known to v1 of Datadog's API", "write apiVersion: v2")
        if self.formula is None and len(self.queries or {}) > 1:
            raise Conflict("queries", "are several, and nothing says what to make of them", "add a formula")
        return self


class Dimension(Model):
    """One dimension of a CloudWatch metric."""

    name: Text = Field(description="What it is called, such as LoadBalancer.")
    value: Text = Field(description="Its value.")


class CloudWatchMetric(Model):
    """A CloudWatch metric."""

    namespace: Text | None = Field(None, description="Such as AWS/ApplicationELB.")
    metric_name: Text = Field(description="Such as HTTPCode_Target_5XX_Count.")
    dimensions: list[Dimension] = Field(default_factory=list, description="What tells its time series from others.")


class MetricStat(Model):
    """A CloudWatch metric, and how its samples are combined."""

    metric: CloudWatchMetric = Field(description="Which metric.")
    period: Positive | Text = Field(description="The seconds that one value stands for, or a duration such as 5m.")
    stat: Text = Field(description="What is made of the samples of a period, such as Sum, Average, p99.")
    unit: Text | None = Field(None, description="Only samples of this unit, such as Count.")


class MetricDataQuery(Model):
    """One query of GetMetricData: exactly one of an expression and a metric."""

    id: QueryId = Field(description="Its name in expressions and in the answer.")
    expression: Text | None = Field(None, description="Metric math over other queries, such as errors / requests.")
    label: Text | None = Field(None, description="What its values are called.")
    metric_stat: MetricStat | None = Field(None, description="A metric.")
    period: Positive | Text | None = Field(None, description="The seconds that one value of the expression stands for.")
    return_data: Truth | None = Field(None, description="Whether its values are part of the answer; true where absent.")

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.expression is None) == (self.metric_stat is None):
            raise Conflict("", "must have exactly one of expression and metricStat", "remove one of them")
        return self


class CloudWatch(Http):
    """GetMetricData of Amazon CloudWatch. ``result``: its MetricDataResults, as in ``result[0].Values[0] < 0.01``.

    With the agent's own AWS credentials, unless ``secretRef`` names a Secret that has ``AWS_ACCESS_KEY_ID``,
    ``AWS_SECRET_ACCESS_KEY`` and, if need be, ``AWS_SESSION_TOKEN``.
    """

    interval: Duration = Field("5m", description="How far back to look.")
    metric_data_queries: Annotated[list[MetricDataQuery], Field(min_length=1, max_length=500)] = Field(
        description="The queries of one GetMetricData."
    )
    region: Text | None = Field(None, description="The AWS region; the agent's own where absent.")
    address: WebAddress | None = Field(None, description="Where CloudWatch answers; that of the region where absent.")
    secret_ref: SecretRef | None = Field(
        None, description="The Secret with AWS credentials; the agent's own where absent."
    )
    timeout_seconds: Timeout = Field(10, description="Seconds.")


class NewRelic(Http):
    """An NRQL query. ``result``: one row as a map, several as a list of maps.

    The Secret ``profile`` has ``personal-api-key``, ``account-id`` and, if need be, ``region`` and
    ``base-url-nerdgraph``.
    """

    query: Text = Field(description="NRQL.")
    profile: SecretName = Field("newrelic", description="The Secret with personal-api-key and account-id.")
    region: Annotated[Literal["us", "eu"], *OPEN] | None = Field(
        None, description="The Secret's region where absent, else us."
    )
    address: WebAddress | None = Field(None, description="Where NerdGraph answers; that of the region where absent.")
    timeout: Timeout = Field(10, description="Seconds.")


class Graphite(Http):
    """A target of Graphite's render API. ``result``: the values of its points, oldest first, without gaps."""

    address: WebAddress = Field(description="Where Graphite answers.")
    query: Text = Field(description="The target.")
    headers: list[Header] = Field(default_factory=list, description="More HTTP headers.")
    authentication: Authentication | None = Field(None, description="How the agent says who asks.")
    timeout: Timeout = Field(10, description="Seconds.")


class Influxdb(Http):
    """A Flux query. ``result``: the values of its records.

    The Secret ``profile`` has ``authToken``, ``address`` and ``org``; the latter two may stand here instead.
    """

    query: Text = Field(description="Flux.")
    profile: SecretName = Field("influxdb", description="The Secret with authToken, address and org.")
    address: WebAddress | None = Field(None, description="Where InfluxDB answers; the Secret's address where absent.")
    org: Text | None = Field(None, description="The organization; the Secret's org where absent.")
    timeout: Timeout = Field(30, description="Seconds.")


ONLY_OF_ARGO = ("kayenta", "wavefront", "skywalking")


class ProviderFields(Model):
    """The provider of a metric: exactly one of these."""

    prometheus: Prometheus | None = None
    web: Web | None = None
    job: Job | None = None
    datadog: Datadog | None = None
    cloud_watch: CloudWatch | None = None
    new_relic: NewRelic | None = None
    graphite: Graphite | None = None
    influxdb: Influxdb | None = None
    plugin: dict[PluginName, dict[str, Any]] | None = Field(
        None,
        description="Somebody else's: the name of an entry point of the group gitops_bg.metric_providers, and what "
        "it is told.",
    )

    @model_validator(mode="before")
    @classmethod
    def _is_not_only_of_argo(cls, value: Any) -> Any:
        for field in ONLY_OF_ARGO if isinstance(value, dict) else ():
            if field in value:
                remedy = "ask the backend with provider.web, run a job, or write a plugin"
                raise Conflict(field, "is a provider that only Argo Rollouts has", remedy)
        return value

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        named = self._named()
        if len(named) != 1:
            known = ", ".join(field.alias or name for name, field in type(self).model_fields.items())
            raise Conflict("", f"must name exactly one provider, not {len(named)}", f"choose one of {known}")
        if self.plugin is not None and len(self.plugin) != 1:
            raise Conflict("plugin", f"must name exactly one plugin, not {len(self.plugin)}", "write one name below it")
        return self

    def _named(self) -> list[str]:
        return [name for name in type(self).model_fields if getattr(self, name) is not None]

    @property
    def name(self) -> str:
        """The name of the provider: that of its block, or of the plugin."""
        field = self._named()[0]
        return next(iter(self.plugin)) if self.plugin else str(type(self).model_fields[field].alias)

    @property
    def block(self) -> dict[str, Any]:
        """The block as written, as JSON."""
        if self.plugin:
            return next(iter(self.plugin.values()))
        settings: Model = getattr(self, self._named()[0])
        return settings.model_dump(mode="json", by_alias=True, exclude_none=True, exclude_unset=True)


BLOCKS: dict[str, type[Model]] = {
    "prometheus": Prometheus,
    "web": Web,
    "job": Job,
    "datadog": Datadog,
    "cloudWatch": CloudWatch,
    "newRelic": NewRelic,
    "graphite": Graphite,
    "influxdb": Influxdb,
}
"""The blocks with a schema, by the name of their provider."""

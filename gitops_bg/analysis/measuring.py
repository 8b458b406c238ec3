"""Takes one measurement from beginning to end: Secrets, provider, conditions; what comes out holds no secret."""

import json
import logging
import traceback
from collections.abc import Callable
from datetime import datetime
from typing import Any

from gitops_bg.analysis.judge import judge
from gitops_bg.analysis.provider import Context, MeasuringFailed, Reading, Value
from gitops_bg.analysis.registry import Registry
from gitops_bg.analysis.secrets import NoSuchKey, ReadSecret, Secrets
from gitops_bg.core.analysis.metrics import Finding
from gitops_bg.core.analysis.runs import Measure, Measured, shortened
from gitops_bg.core.errors import GitopsBgError
from gitops_bg.core.foreign_json import reread_json
from gitops_bg.core.model import AppKey

LOGGER = logging.getLogger(__name__)


class Measuring:
    """Takes measurements, one a call; safe for many threads. ``clock`` gives UTC."""

    def __init__(self, registry: Registry, read_secret: ReadSecret, clock: Callable[[], datetime]) -> None:
        self._registry = registry
        self._read_secret = read_secret
        self._clock = clock

    def measure(self, app: AppKey, measure: Measure) -> Measured:
        """Whatever goes wrong is an error of the measurement, never of the agent: providers are others' code too."""
        secrets = Secrets(app.namespace, self._read_secret)
        value = ""
        try:
            reading = self._reading(app, measure, secrets)
            value = _text(reading)
            finding, message = judge(measure.metric, reading)
        except (MeasuringFailed, NoSuchKey, GitopsBgError) as error:
            finding, message = Finding.ERROR, str(error)
        except Exception as error:
            LOGGER.exception("%s", secrets.clean(traceback.format_exc()), exc_info=False)
            finding, message = Finding.ERROR, f"the provider broke: {type(error).__name__}: {error}"
        return Measured(
            measure.id, finding, self._clock(), shortened(secrets.clean(value)), shortened(secrets.clean(message))
        )

    def _reading(self, app: AppKey, measure: Measure, secrets: Secrets) -> Reading:
        provider = self._registry.provider(measure.metric.provider)
        block = secrets.fill(reread_json(measure.metric.query))
        return provider.measure(block, Context(app, self._clock(), secrets))


def _text(reading: Reading) -> str:
    return json.dumps(reading.result, ensure_ascii=False, default=_odd) if isinstance(reading, Value) else ""


def _odd(value: Any) -> str:
    raise MeasuringFailed(f"the provider gave a {type(value).__name__}, which is no JSON")

"""Multi round-trip requests: a call is retried with the input that its result requested.

The stateless era has no server requests. A result of type `input_required` contains them instead; the
client replies to all and retries the original request under a new ID, with the replies and the server's
opaque `requestState`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from inspector.base.errors import LocalProtocolError
from inspector.base.json.values import JSON, JSONObject, excerpt
from inspector.base.plain_text import one_line
from inspector.protocol.tasks import ExtensionTasks, Task
from inspector.protocol.types import InputRequest, read_input_requests

MAX_ROUNDS = 10
# "Servers MUST NOT send InputRequiredResult responses on any other client requests."
INPUT_REQUIRED_METHODS = ("tools/call", "prompts/get", "resources/read")

_ROUND_MEMBERS = ("inputResponses", "requestState")


@dataclass(frozen=True, slots=True)
class Complete:
    """The final result.

    One that took several rounds depends on the replies and must not be cached.
    """

    result: JSONObject
    is_cacheable: bool


@dataclass(frozen=True, slots=True)
class InputRequired:
    """The server needs input. If `requests` is empty, the server only asks for a retry."""

    requests: dict[str, InputRequest]
    round: int


@dataclass(frozen=True, slots=True)
class TaskCreated:
    """The call continues as a task."""

    task: Task


@dataclass(frozen=True, slots=True)
class Invalid:
    """The result violates the protocol and must not be used."""

    reason: str


RoundOutcome: TypeAlias = Complete | InputRequired | TaskCreated | Invalid


class RoundTrips:
    """One request through all its rounds. `capabilities` are those it declares.

    A roots request cannot be declined; refuse it by not sending the next round.
    """

    def __init__(
        self,
        method: str,
        params: JSONObject | None = None,
        capabilities: JSONObject | None = None,
        *,
        max_rounds: int = MAX_ROUNDS,
    ) -> None:
        self._method = method
        self._params = {key: value for key, value in (params or {}).items() if key not in _ROUND_MEMBERS}
        self._capabilities = capabilities or {}
        self._max_rounds = max_rounds
        self._round = 0
        self._requested: InputRequired | None = None
        self._state: str | None = None

    def receive(self, result: JSONObject) -> RoundOutcome:
        """Classify a result. Its input requests replace those of the previous round."""
        self._requested, self._state = None, None
        # "The client MUST treat the absent field as "complete"." Some servers write it as null.
        kind = result.get("resultType")
        if kind is None or kind == "complete":
            return Complete(result, is_cacheable=self._round == 0)
        if kind == "input_required":
            return self._on_input_required(result)
        if kind == "task":
            return self._on_task(result)
        return Invalid(f"its resultType {_shown(kind)} is not allowed for this request")

    def retry(self, responses: Mapping[str, JSONObject]) -> JSONObject:
        """Return the params of the next round. `responses` has one for each request, by key."""
        if self._requested is None:
            raise LocalProtocolError("the server has not requested any input")
        if responses.keys() != self._requested.requests.keys():
            requested = ", ".join(sorted(self._requested.requests)) or "nothing"
            raise LocalProtocolError(f"expected responses for exactly: {requested}")
        params = dict(self._params)
        if responses:
            params["inputResponses"] = dict(responses)
        if self._state is not None:  # an empty string is a valid state
            params["requestState"] = self._state
        self._requested = None
        return params

    def _on_input_required(self, result: JSONObject) -> InputRequired | Invalid:
        if self._method not in INPUT_REQUIRED_METHODS:
            return Invalid(f"a result of {self._method} must not request input")
        if self._round == self._max_rounds:
            return Invalid(f"the server requested input more than {self._max_rounds} times in a row")
        try:
            requests, state = _requests(result), _state(result)
        except ValueError as exc:
            return Invalid(str(exc))
        if not requests and state is None:
            return Invalid("it requests input with neither inputRequests nor requestState")
        violations = (violation_of(request, self._capabilities) for request in requests.values())
        if violation := next(filter(None, violations), ""):
            return Invalid(violation)
        self._round += 1
        self._state = state
        self._requested = InputRequired(requests, self._round)
        return self._requested

    def _on_task(self, result: JSONObject) -> TaskCreated | Invalid:
        tasks = ExtensionTasks()
        if self._method != "tools/call":
            return Invalid(f"a result of {self._method} must not be a task")
        if not tasks.is_supported(self._capabilities):
            return Invalid("it is a task, but the request did not declare the tasks extension")
        try:
            task = tasks.created(result)
        except ValueError as exc:
            return Invalid(f"it is an invalid task: {exc}")
        assert task is not None
        return TaskCreated(task)


def _requests(result: JSONObject) -> dict[str, InputRequest]:
    value = result.get("inputRequests")
    return {} if value is None else read_input_requests(value)


def _state(result: JSONObject) -> str | None:
    """Return the opaque request state.

    "Clients MUST NOT inspect, parse, modify, or make any assumptions about its contents".
    """
    state = result.get("requestState")
    if state is not None and not isinstance(state, str):
        raise ValueError("its requestState is not a string")
    return state


def violation_of(request: InputRequest, capabilities: JSONObject) -> str:
    """Return why the server must not request this with these capabilities; "" if it may."""
    if request.method not in _CHECKS:
        return f"it requests {_shown(request.method)}, which is not allowed inside a result"
    missing = missing_capability_for(request.method, request.params, capabilities)
    return f"it requests {request.method}, but the request did not declare {missing}" if missing else ""


def missing_capability_for(method: str, params: JSONObject, capabilities: JSONObject) -> str:
    """Return the undeclared capability that this request needs; "" if none.

    For a method that cannot be requested at all, return its name.
    """
    check = _CHECKS.get(method)
    return method if check is None else check(params, capabilities)


def _missing_for_elicitation(params: JSONObject, capabilities: JSONObject) -> str:
    elicitation = capabilities.get("elicitation")
    if not isinstance(elicitation, dict):
        return "elicitation"
    mode = params.get("mode", "form")
    # `{}` declared forms before other modes existed.
    declared = elicitation or {"form": {}}
    return "" if isinstance(mode, str) and mode in declared else f"elicitation.{one_line(excerpt(mode, 60))}"


def _missing_for_sampling(params: JSONObject, capabilities: JSONObject) -> str:
    sampling = capabilities.get("sampling")
    if not isinstance(sampling, dict):
        return "sampling"
    wants_tools = "tools" in params or "toolChoice" in params
    return "sampling.tools" if wants_tools and "tools" not in sampling else ""


def _missing_for_roots(params: JSONObject, capabilities: JSONObject) -> str:
    return "" if isinstance(capabilities.get("roots"), dict) else "roots"


_CHECKS: dict[str, Callable[[JSONObject, JSONObject], str]] = {
    "elicitation/create": _missing_for_elicitation,
    "sampling/createMessage": _missing_for_sampling,
    "roots/list": _missing_for_roots,
}


def _shown(value: JSON) -> str:
    return f"“{one_line(excerpt(value, 60))}”"

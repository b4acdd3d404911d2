"""An examination as text, for a bug report or a colleague. What it is made from has no secrets in it."""

from __future__ import annotations

from collections.abc import Iterator

from inspector.base.plaintext import visible
from inspector.base.units import duration
from inspector.engine.doctor.checks import CheckResult, CheckState, Diagnosis, Examination

_MARKS = {
    CheckState.OK: "ok",
    CheckState.WARN: "!!",
    CheckState.FAILED: "XX",
    CheckState.SKIPPED: "--",
    CheckState.RUNNING: "..",
}


def as_text(examination: Examination, *, with_details: bool = True) -> str:
    """Return the examination as text, most important first: not everyone reads to the end."""
    lines = [f"{examination.server}: {examination.address}", verdict_of(examination)]
    for diagnosis in examination.diagnoses:
        lines += ["", *diagnosis_lines(diagnosis)]
    lines.append("")
    for result in examination.results:
        lines += result_lines(result, with_details=with_details)
    return "\n".join(visible(line) for line in lines) + "\n"


def result_lines(result: CheckResult, *, with_details: bool = True) -> Iterator[str]:
    elapsed = f" ({duration(result.elapsed_ns)})" if result.elapsed_ns else ""
    found = f": {result.found}" if result.found else ""
    yield f"[{_MARKS[result.state]}] {result.title}{found}{elapsed}"
    if with_details:
        yield from (f"       {line}" for line in result.details)


def diagnosis_lines(diagnosis: Diagnosis) -> Iterator[str]:
    kind = "Remark" if diagnosis.is_warning else "Cause"
    yield f"{kind}: {diagnosis.cause}"
    yield f"What to do: {diagnosis.fix}"
    yield from (f"  > {line}" for line in diagnosis.evidence)


def verdict_of(examination: Examination) -> str:
    """Return a one-sentence summary."""
    if examination.is_running:
        return "The examination is under way."
    if examination.is_stopped:
        return "The examination was stopped."
    failure = examination.failure
    if failure is not None:
        title = next((each.title for each in examination.results if each.id == failure.step), failure.step)
        return f"It fails at “{title}”."
    if any(result.id == "list" and result.state is CheckState.SKIPPED for result in examination.results):
        is_agreed = any(each.id == "version" and each.state is CheckState.OK for each in examination.results)
        return "It can be connected." if is_agreed else "It was not tried to the end."
    return "Everything works, with remarks." if examination.diagnoses else "Everything works."

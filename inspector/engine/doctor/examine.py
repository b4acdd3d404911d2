"""Walks the way to a server, step by step: results as they come, then what follows from them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace

from inspector.base.redact import MASK
from inspector.config.entries import Entry, StdioEntry
from inspector.engine.doctor.checks import CheckResult, CheckState, Diagnosis
from inspector.engine.doctor.exam import Exam, Tools
from inspector.engine.doctor.processexam import ProcessExam
from inspector.engine.doctor.urlexam import UrlExam
from inspector.traffic.credentials import Credentials
from inspector.traffic.export.masking import masked_alone

_NOT_TRUSTED = Diagnosis(
    "not-trusted",
    "started",
    "This server was found in a file, and you have not trusted it: it is neither started nor contacted.",
    "Look at what it would do, and trust it; then examine again.",
    is_warning=True,
)


async def examine(entry: Entry, tools: Tools) -> AsyncGenerator[CheckResult | Diagnosis, None]:
    """Yield each step (first as running, then its result), skipped steps, then diagnoses.

    The first diagnosis is the one to act on. All secrets are masked.
    """
    exam: Exam = ProcessExam(entry, tools) if isinstance(entry, StdioEntry) else UrlExam(entry, tools)
    mask = masker(tools.log.credentials)
    seen: set[str] = set()
    async with aclosing(exam.walk()) as results:
        async for result in results:
            if result.state is not CheckState.RUNNING:
                seen.add(result.id)
            yield _masked_result(result, mask)
    why = _why_left_out(exam)
    for id in exam.steps:
        if id not in seen:
            yield CheckResult(id, CheckState.SKIPPED, why)
    if not tools.may_contact and exam.failure is None:
        first = next(id for id in exam.steps if id not in seen)
        exam.warnings.insert(0, replace(_NOT_TRUSTED, step=first))
    for diagnosis in (*((exam.failure,) if exam.failure is not None else ()), *exam.warnings):
        yield _masked_diagnosis(diagnosis, mask)


def _why_left_out(exam: Exam) -> str:
    if exam.failure is not None:
        return ""
    return "" if exam.tools.may_contact else "Not before you trust it."


# ------------------------------------------------------------------ masking


def masker(credentials: Credentials) -> Callable[[str], str]:
    """Return a function that masks known credentials and anything that looks like one."""

    def mask(text: str) -> str:
        for value in credentials.names():
            known = value.decode("utf-8", "surrogatepass")
            if len(known) >= 4:
                text = text.replace(known, MASK)
        return masked_alone(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    return mask


def _masked_result(result: CheckResult, mask: Callable[[str], str]) -> CheckResult:
    return replace(result, found=mask(result.found), details=tuple(mask(line) for line in result.details))


def _masked_diagnosis(diagnosis: Diagnosis, mask: Callable[[str], str]) -> Diagnosis:
    evidence = tuple(mask(line) for line in diagnosis.evidence)
    return replace(diagnosis, cause=mask(diagnosis.cause), fix=mask(diagnosis.fix), evidence=evidence)

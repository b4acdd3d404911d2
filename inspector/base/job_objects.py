"""Windows job objects: child processes and their descendants, ended together. Windows only.

A job ends all its processes when its last handle is closed, and Windows closes our handles when MCP Lens
exits or is killed. Descendants of a process in a job are in the job too, unless the process was able to
start one before it was assigned: so a server is started suspended and resumed in its job.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
from ctypes import wintypes
from typing import Any, cast

EXIT_CODE = 1  # of the processes that `Job.terminate` ends, as with `Popen.kill`

_KILL_ON_JOB_CLOSE = 0x2000
_BASIC_ACCOUNTING, _EXTENDED_LIMIT = 1, 9  # JOBOBJECTINFOCLASS
_TERMINATE, _SET_QUOTA, _SUSPEND_RESUME = 0x1, 0x100, 0x800  # access rights of a process handle


class Job:
    """A job object whose processes end with it. Methods raise OSError, except `close`."""

    def __init__(self) -> None:
        self._handle: int | None = _check(_kernel32().CreateJobObjectW(None, None))
        limits = _ExtendedLimits()
        limits.basic.flags = _KILL_ON_JOB_CLOSE
        try:
            _check(
                _kernel32().SetInformationJobObject(
                    self._handle, _EXTENDED_LIMIT, ctypes.byref(limits), ctypes.sizeof(limits)
                )
            )
        except OSError:
            self.close()
            raise

    def add(self, pid: int) -> None:
        """Add a process; those that it starts from now on are in the job too."""
        process = _check(_kernel32().OpenProcess(_TERMINATE | _SET_QUOTA, False, pid))
        try:
            _check(_kernel32().AssignProcessToJobObject(self._handle, process))
        finally:
            _kernel32().CloseHandle(process)

    def terminate(self) -> None:
        """End all processes of the job at once; Windows has no SIGTERM."""
        if self._handle is not None:
            _check(_kernel32().TerminateJobObject(self._handle, EXIT_CODE))

    def active_processes(self) -> int:
        """Return the number of processes that have not ended."""
        if self._handle is None:  # Windows would count those of the job that MCP Lens is in
            return 0
        accounting = _Accounting()
        _check(
            _kernel32().QueryInformationJobObject(
                self._handle,
                _BASIC_ACCOUNTING,
                ctypes.byref(accounting),
                ctypes.sizeof(accounting),
                None,
            )
        )
        return int(accounting.active_processes)

    def close(self) -> None:
        """End all processes of the job, and release it."""
        handle, self._handle = self._handle, None
        if handle is not None:
            _kernel32().CloseHandle(handle)


def contain(pid: int) -> Job | None:
    """Put a suspended process into a new job and resume it.

    Returns None if there is no job, which happens only if Windows refuses it: the process runs anyway.
    """
    job: Job | None = None
    try:
        job = Job()
        job.add(pid)
    except OSError:
        if job is not None:
            job.close()
        job = None
    finally:
        _resume(pid)
    return job


def _resume(pid: int) -> None:
    process = _check(_kernel32().OpenProcess(_SUSPEND_RESUME, False, pid))
    try:
        # Undocumented, but what debuggers and psutil use: Popen closes the handle that ResumeThread needs.
        _library("ntdll").NtResumeProcess(wintypes.HANDLE(process))
    finally:
        _kernel32().CloseHandle(process)


def end_with_us(pid: int) -> None:
    """End a process when MCP Lens ends."""
    with contextlib.suppress(OSError):
        _own_job().add(pid)


@functools.cache
def _own_job() -> Job:
    """Return the job of our helper processes, which is closed when MCP Lens ends."""
    return Job()


class _BasicLimits(ctypes.Structure):
    """JOBOBJECT_BASIC_LIMIT_INFORMATION."""

    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", wintypes.DWORD),
        ("min_working_set", ctypes.c_size_t),
        ("max_working_set", ctypes.c_size_t),
        ("max_processes", wintypes.DWORD),
        ("affinity", ctypes.c_size_t),
        ("priority_class", wintypes.DWORD),
        ("scheduling_class", wintypes.DWORD),
    )


class _ExtendedLimits(ctypes.Structure):
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION."""

    _fields_ = (
        ("basic", _BasicLimits),
        ("io_counters", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("peak_process_memory", ctypes.c_size_t),
        ("peak_job_memory", ctypes.c_size_t),
    )


class _Accounting(ctypes.Structure):
    """JOBOBJECT_BASIC_ACCOUNTING_INFORMATION."""

    _fields_ = (
        ("times", ctypes.c_int64 * 4),
        ("page_faults", wintypes.DWORD),
        ("total_processes", wintypes.DWORD),
        ("active_processes", wintypes.DWORD),
        ("terminated_processes", wintypes.DWORD),
    )


_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "CreateJobObjectW": (wintypes.HANDLE, (ctypes.c_void_p, wintypes.LPCWSTR)),
    "SetInformationJobObject": (
        wintypes.BOOL,
        (wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD),
    ),
    "QueryInformationJobObject": (
        wintypes.BOOL,
        (wintypes.HANDLE, ctypes.c_int, ctypes.c_void_p, wintypes.DWORD, ctypes.c_void_p),
    ),
    "AssignProcessToJobObject": (wintypes.BOOL, (wintypes.HANDLE, wintypes.HANDLE)),
    "TerminateJobObject": (wintypes.BOOL, (wintypes.HANDLE, wintypes.UINT)),
    "OpenProcess": (wintypes.HANDLE, (wintypes.DWORD, wintypes.BOOL, wintypes.DWORD)),
    "CloseHandle": (wintypes.BOOL, (wintypes.HANDLE,)),
}


@functools.cache
def _kernel32() -> Any:
    library = _library("kernel32")
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _library(name: str) -> Any:
    return cast(Any, ctypes).WinDLL(name, use_last_error=True)


def _check(result: Any) -> Any:
    """Return the result of a Windows function. Raises OSError if it is null or false."""
    if not result:
        raise cast(Any, ctypes).WinError(cast(Any, ctypes).get_last_error())
    return result

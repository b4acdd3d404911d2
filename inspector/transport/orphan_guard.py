"""Guard that ends all servers when MCP Lens dies, even if it is killed.

On Windows each server is in a job that ends with us (`job_objects`). On POSIX, a small `sh` in its own
session reads the process groups to watch from a pipe that only we hold. When the pipe ends, it ends every
group still watched and the descendants that left it: TERM, then KILL a second later. A parent-death signal
would reach only the direct child; servers started by `npx` or `uv` are grandchildren.

A server that has exited leaves descendants without a parent. Those that left its group, with `setsid`, are
found by a variable in their environment. A process that left the group, lost its parent and cleared or
hides its environment (as a program of another user does) is not found.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # Windows only
    from inspector.base.job_objects import Job

MARK_VARIABLE = "MCP_LENS_GUARD"

# `kill -s`, because dash takes the `--` of `kill -TERM --` for a number and then kills nothing. Processes
# that left the group are found through their parents, or the mark in their environment if those have exited;
# in /proc, or with ps where there is none (-E: macOS).
_SCRIPT = """
mark=$1
groups=
while read -r verb group; do
  rest=
  for known in $groups; do [ "$known" = "$group" ] || rest="$rest $known"; done
  groups=$rest
  [ "$verb" = watch ] && groups="$groups $group"
done
[ -z "$groups" ] && exit 0

processes() {
  [ -e /proc/self/stat ] || { ps -A -o pid= -o ppid=; return; }
  for file in /proc/[0-9]*/stat; do
    read -r line <"$file" || continue
    set -- ${line##*) }
    echo "${line%% *} $2"
  done
}
marked() {
  if [ -e /proc/self/environ ]; then
    for file in $(grep -lsF "$mark" /proc/[0-9]*/environ); do
      file=${file#/proc/}
      echo "${file%/environ}"
    done
  else
    ps -A -E -ww -o pid= -o command= | while read -r process rest; do
      case $rest in *"$mark"*) [ "$process" = "$$" ] || echo "$process" ;; esac
    done
  fi
}
table=$(processes)
family=" $groups $(echo $(marked)) "
while
  before=$family
  while read -r process parent; do
    case $family in *" $process "*) ;; *" $parent "*) family="$family$process " ;; esac
  done <<END
$table
END
  [ "$family" != "$before" ]
do :; done

end() {
  for group in $groups; do kill -s "$1" -- "-$group"; done
  for process in $family; do kill -s "$1" "$process"; done
}
end TERM
sleep 1
family="$family $(marked)"
end KILL
"""


class OrphanGuard:
    """Ends orphaned process groups (POSIX) or jobs (Windows); one per engine.

    On POSIX the watching process starts with the first group to watch.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._jobs: dict[int, Job] = {}
        self._prefix = uuid.uuid4().hex
        self._numbers = itertools.count(1)

    def new_mark(self) -> str:
        """Return the value of `MARK_VARIABLE` for the next process; its descendants inherit it."""
        return f"{self._prefix}-{next(self._numbers)}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def watch(self, group: int) -> Job | None:
        """Watch a process that leads its group. On Windows it was started suspended: resume it in a job."""
        if os.name == "posix":
            self._report(f"watch {group}\n")
            return None
        from inspector.base.job_objects import contain

        job = contain(group)
        if job is not None:
            self._jobs[group] = job
        return job

    def forget(self, group: int) -> None:
        if (job := self._jobs.pop(group, None)) is not None:
            job.close()
        if self._process is not None:
            self._report(f"forget {group}\n")

    def close(self) -> None:
        """End the watching process and, with it, the groups still watched."""
        while self._jobs:
            self._jobs.popitem()[1].close()
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        self._process = None

    def _report(self, line: str) -> None:
        if self._process is None:
            self._process = _start(f"{MARK_VARIABLE}={self._prefix}")
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the guard was killed: servers still end with us
            self._process.stdin.write(line.encode())


def watch_helper(pid: int) -> None:
    """Windows: end a helper process of MCP Lens with it. On POSIX it ends when its stdin is closed."""
    if os.name != "posix":
        from inspector.base.job_objects import end_with_us

        end_with_us(pid)


def _start(mark: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT, "sh", mark],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

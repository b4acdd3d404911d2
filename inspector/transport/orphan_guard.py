"""Guard process that ends all servers when MCP Lens dies, even by SIGKILL. POSIX only.

A small `sh` in its own session reads the process groups to watch from a pipe that only we hold. When the
pipe ends, it ends every group still watched and the descendants that left it: TERM, then KILL a second
later. A parent-death signal would reach only the direct child; servers started by `npx` or `uv` are
grandchildren.
"""

from __future__ import annotations

import contextlib
import os
import subprocess

# `kill -s`, because dash takes the `--` of `kill -TERM --` for a number and then kills nothing. Processes
# that left the group are found through their parents, in /proc, or with ps where there is none.
_SCRIPT = """
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
table=$(processes)
family=" $groups "
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
end KILL
"""


class OrphanGuard:
    """Ends orphaned process groups; one per engine.

    The watching process starts with the first group to watch.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def watch(self, group: int) -> None:
        self._report(f"watch {group}\n")

    def forget(self, group: int) -> None:
        if self._process is not None:
            self._report(f"forget {group}\n")

    def close(self) -> None:
        """End the watching process and, with it, the groups still watched."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        self._process.wait()
        self._process = None

    def _report(self, line: str) -> None:
        if os.name != "posix":
            return
        if self._process is None:
            self._process = _start()
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the guard was killed: servers still end with us
            self._process.stdin.write(line.encode())


def _start() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        ["/bin/sh", "-c", _SCRIPT],
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

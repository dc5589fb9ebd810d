"""Who holds a stack: Pulumi's own locks in a file or object store.

A killed Pulumi leaves its lock. One whose process is gone is only in the way; one whose process lives, or that another
machine holds, is a reason to leave the stack alone.
"""

from __future__ import annotations

import json
import re
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil

from stacks.problems import Problem

__all__ = ["Lock", "held", "locks_in_files", "locks_in_message", "read_lock"]

_SAID = re.compile(r"^\s*(?P<place>\S+): created by (?P<user>.+)@(?P<host>\S+) \(pid (?P<pid>\d+)\) at (?P<when>\S+)")


@dataclass(frozen=True)
class Lock:
    """One lock, as the Pulumi that took it describes itself."""

    place: str
    user: str
    host: str
    pid: int
    when: str
    is_readable: bool = True
    """False where the file does not say whose lock it is: then nothing of the above is known."""

    @property
    def is_here(self) -> bool:
        """Taken on this machine."""
        return self.host == socket.gethostname()

    @property
    def is_running(self) -> bool:
        """A Pulumi with that process number runs on this machine."""
        return _is_pulumi(self.pid)

    @property
    def is_stale(self) -> bool:
        """Its process ran here and is gone. Of a lock that cannot be read that is never known."""
        return self.is_readable and self.is_here and not self.is_running

    def __str__(self) -> str:
        if not self.is_readable:
            return "held by somebody unknown"
        return f"{self.user}@{self.host}, process {self.pid}, since {self.when}"


def locks_in_files(backend: str, project: str, stack: str) -> list[Lock]:
    """Return the locks on a stack in a backend on a file system; none for any other backend, which tells by refusing.

    The path ends with the project, which backends made before Pulumi 3.61 do not have, and the stack.
    """
    parts = urlsplit(backend)
    if parts.scheme != "file":
        return []
    root = Path(unquote(parts.netloc + parts.path)).expanduser()
    files = sorted((root / ".pulumi" / "locks").rglob("*.json"))
    places = ([project, stack], ["locks", stack], ["organization", stack])
    found = [read_lock(path) for path in files if [path.parent.parent.name, path.parent.name] in places]
    return [lock for lock in found if lock is not None]


def locks_in_message(text: str) -> list[Lock]:
    """Return the locks that Pulumi's refusal names."""
    found = (_SAID.match(line) for line in text.splitlines())
    return [Lock(each["place"], each["user"], each["host"], int(each["pid"]), each["when"]) for each in found if each]


def held(lock: Lock, stack: str) -> Problem:
    """Return the problem of a stack that may be worked on right now."""
    if not lock.is_readable:
        why = "the lock cannot be read: it is being written, was half written, or is not for your eyes"
        sure = f"repeat in a moment; if it stays so, make sure that no Pulumi works on {stack} anywhere, then"
    elif lock.is_here:
        why, sure = "a Pulumi command is working on it", ""
    else:
        why = "the lock is another machine's: whether its command still runs cannot be seen from here"
        sure = f"make sure that nothing runs on {lock.host}, then"
    cancel = f"{sure} `pulumi cancel --yes --stack {stack}` and repeat; nothing was changed"
    return Problem(
        rule="stack-locked",
        path=f"lock of {stack}",
        value=str(lock),
        why=why,
        remedy=cancel if sure else "wait until it ends, or interrupt it",
        where=lock.place,
        source="Pulumi's lock",
    )


def read_lock(path: Path) -> Lock | None:
    """Return the lock in a file of the backend; None where it was given back in the meantime."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return Lock(str(path), data["username"], data["hostname"], int(data["pid"]), data["timestamp"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # Most often of a Pulumi that was killed while it wrote it; but one that writes it right now looks the same.
        return Lock(str(path), "unknown", "unknown", 0, "unknown", is_readable=False)


def _is_pulumi(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        return "pulumi" in process.name() and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, ValueError):
        return False

"""Run ``likewise`` as a person does: in a terminal, with keys to press."""

import os
import re
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

import pytest

pty = pytest.importorskip("pty", reason="needs the terminals and signals of Unix")

_PATIENCE = 120


@dataclass(frozen=True)
class Ended:
    """How a command ended: its code, what the terminal got, and the same without drawing."""

    code: int
    raw: str

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.raw).replace("\r\n", "\n")


def likewise(*arguments, folder, interrupt_at=None, typed=""):
    """Run a command in a terminal of its own; type a text, press Ctrl-C when another has shown."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "likewise", *map(str, arguments)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "160", "LINES": "50"},
        start_new_session=True,
        # A shell lets jobs in the background ignore it, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown, until = b"", time.monotonic() + _PATIENCE
    while time.monotonic() < until and select.select([ours], [], [], _PATIENCE)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # how Linux says that nobody writes any more
            break
        if not piece:
            break
        shown += piece
        if interrupt_at is not None and re.search(interrupt_at, shown.decode(errors="replace")):
            os.kill(process.pid, signal.SIGINT)
            interrupt_at = None
    os.close(ours)
    return Ended(process.wait(timeout=30), shown.decode(errors="replace"))

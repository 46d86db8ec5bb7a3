"""Commands in processes of their own, and signals to them in the middle of their work."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence


def started(command: Sequence[object]) -> subprocess.Popen[str]:
    """The process, which hears SIGINT: a test run in the background may ignore it, and a child would inherit that."""
    return subprocess.Popen(
        [str(word) for word in command],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def send_at(process: subprocess.Popen[str], text: str, sent: signal.Signals) -> None:
    """Sends the signal when a line of stderr with this text has come."""
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            process.send_signal(sent)
            return
    raise AssertionError(f"the command ended without a line with {text!r}")

"""A page in headless Chromium, driven over its debugging pipe: nothing but the browser itself is needed."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Page:
    """One tab; messages are JSON that ends in a 0 byte."""

    def __init__(self, send: int, answers: BinaryIO, folder: Path) -> None:
        self._send, self._receive, self.folder = send, answers, folder
        self._count, self._session = 0, None
        self.requests: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                assert "error" not in answer, answer
                return dict(answer["result"])

    def wait(self, event: str) -> None:
        while self._next().get("method") != event:
            pass

    def _next(self) -> dict[str, Any]:
        parts = bytearray()
        while (byte := self._receive.read(1)) != b"\0":
            assert byte, "the browser has closed"
            parts += byte
        message = json.loads(bytes(parts))
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return dict(message)

    def open(self, file: Path, width: int = 1100, height: int = 900, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.requests.clear()
        self.call("Page.navigate", url=file.as_uri())
        self.wait("Page.loadEventFired")

    def run(self, script: str) -> Any:
        """The value of an expression."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self, file: Path, whole: bool = True) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        file.write_bytes(base64.b64decode(data))


@contextlib.contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A fresh Chromium with its profile in `folder`, ended afterwards."""
    assert CHROMIUM is not None
    their_input, send = os.pipe()
    receive, their_output = os.pipe()
    command = f'exec "$0" "$@" 3<&{their_input} 4>&{their_output}'
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe"]
    process = subprocess.Popen(
        ["bash", "-c", command, CHROMIUM, *options, f"--user-data-dir={folder / 'profile'}"],
        pass_fds=(their_input, their_output),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(their_input)
    os.close(their_output)
    try:
        with os.fdopen(receive, "rb") as answers:
            yield Page(send, answers, folder)
    finally:
        os.close(send)
        process.terminate()
        process.wait(30)

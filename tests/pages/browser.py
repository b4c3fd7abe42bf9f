"""A headless Chromium, driven over its debugging pipe: no port, no network, nothing but the standard library."""

import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 120


def program():
    """The browser's path; None where there is none."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """with Browser() as browser: page = browser.open(path)"""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="understudy-chromium-")
        command_read, self.commands = os.pipe()
        self.answers, answer_write = os.pipe()
        # Chromium reads commands from descriptor 3 and writes answers to 4.
        flags = ["--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run",
                 "--disable-dev-shm-usage", "--hide-scrollbars", "--disable-extensions", "--disable-background-networking",
                 "--force-device-scale-factor=1", "--font-render-hinting=none", f"--user-data-dir={self.profile}"]  # fmt: skip
        arguments = ["sh", "-c", 'exec "$@" 3<&%d 4>&%d' % (command_read, answer_write), "sh", program(), *flags]
        self.process = subprocess.Popen(
            arguments,
            pass_fds=(command_read, answer_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command_read)
        os.close(answer_write)
        self.buffer = b""
        self.number = 0
        self.events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self.process.wait(PATIENCE_S)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _message(self):
        end = time.monotonic() + PATIENCE_S
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, end - time.monotonic()))
            piece = os.read(self.answers, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser is gone" if ready else f"the browser says nothing for {PATIENCE_S} s")
            self.buffer += piece
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width=1000, height=900, scheme="light"):
        return Page(self, path, width, height, scheme)


class Page:
    """One open page. `problems` are what its console and its network have to complain of."""

    def __init__(self, browser, path, width, height, scheme):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait("document.documentElement?.dataset.ready !== undefined")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def value(self, expression):
        """What a JavaScript expression is."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description", "an exception"))
        return answer["result"].get("value")

    def wait(self, expression):
        end = time.monotonic() + PATIENCE_S
        while not self.value(expression):
            if time.monotonic() > end:
                raise RuntimeError(f"not true within {PATIENCE_S} s: {expression}; {self.problems()}")
            time.sleep(0.02)

    def key(self, key, **more):
        codes = {"Tab": 9, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}
        parameters = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0])), **more}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else None)
        if text:
            parameters["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", **parameters)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=parameters["windowsVirtualKeyCode"])

    def problems(self):
        found = []
        for event in self.browser.events:
            if event.get("sessionId") != self.session:
                continue
            method, about = event["method"], event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append("exception: " + json.dumps(about["exceptionDetails"])[:400])
            elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
                found.append("console: " + json.dumps(about["args"])[:400])
            elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
                found.append("log: " + about["entry"]["text"])
            elif method == "Network.requestWillBeSent" and not about["request"]["url"].startswith(("file:", "data:", "blob:")):
                found.append("request: " + about["request"]["url"])
        return found

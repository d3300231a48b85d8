"""A real Chromium without a window, driven over its debugging pipe.

    with Browser() as b:
        page = b.page(width=1400, height=900)
        page.go(url)
        page.eval("document.title")        # a promise is waited for
        page.until("document.querySelector('#x').textContent")

Its profile is a folder of its own; no port is opened, nothing but `url` is asked
for.  A page notes what it loaded, what its console said and what its policy
refused.
"""
import base64
import json
import os
import shutil
import subprocess
import tempfile
import threading

from lib import PATIENCE, until

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--hide-scrollbars",
         "--force-color-profile=srgb", "--disable-dev-shm-usage", "--remote-debugging-pipe"]


class Browser:
    def __init__(self, flags=()):
        self.dir = tempfile.mkdtemp(prefix="chromium")
        to_it, from_us = os.pipe()
        from_it, to_us = os.pipe()

        def fds():  # it reads 3 and writes 4
            a, b = os.dup(to_it), os.dup(to_us)
            os.dup2(a, 3)
            os.dup2(b, 4)
            os.set_inheritable(3, True)
            os.set_inheritable(4, True)

        self.p = subprocess.Popen([shutil.which("chromium") or "chromium", *FLAGS, f"--user-data-dir={self.dir}", *flags, "about:blank"],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                  preexec_fn=fds, close_fds=False, start_new_session=True,
                                  # what its libraries write of their own accord goes there, too
                                  env={**os.environ, **{f"XDG_{k}": self.dir for k in ("RUNTIME_DIR", "CONFIG_HOME", "CACHE_HOME", "DATA_HOME")}})
        os.close(to_it)
        os.close(to_us)
        self.out, self.inp = os.fdopen(from_us, "wb", buffering=0), os.fdopen(from_it, "rb")
        self.next, self.answers, self.pages = 0, {}, {}
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, AssertionError):
            pass
        try:
            self.p.wait(10)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
        self.out.close()
        self.reader.join(10)
        shutil.rmtree(self.dir, ignore_errors=True)

    def read(self):
        rest = b""
        while True:
            try:
                piece = os.read(self.inp.fileno(), 1 << 16)
            except OSError:
                piece = b""
            with self.changed:
                if not piece:
                    self.answers = None
                    self.changed.notify_all()
                    return
                *whole, rest = (rest + piece).split(b"\0")
                for text in whole:
                    m = json.loads(text)
                    if "id" in m:
                        self.answers[m["id"]] = m
                    elif m.get("sessionId") in self.pages:
                        self.pages[m["sessionId"]].heard(m["method"], m["params"])
                self.changed.notify_all()

    def call(self, method, session=None, **params):
        with self.changed:
            self.next += 1
            mine = self.next
            self.out.write(json.dumps({"id": mine, "method": method, "params": params, **({"sessionId": session} if session else {})}).encode() + b"\0")
            good = self.changed.wait_for(lambda: self.answers is None or mine in self.answers, PATIENCE)
            assert good and self.answers is not None, f"{method}: chromium does not answer"
            m = self.answers.pop(mine)
        assert "error" not in m, f"{method}: {m.get('error')}"
        return m["result"]

    def page(self, width=1400, height=900, dark=False, mobile=False):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, target, session)
        for domain in ("Page", "Runtime", "Network", "Log", "Performance"):
            page.call(domain + ".enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        return page


class Page:
    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session
        self.sizes = {}     # bytes over the wire, headers included, by request
        self.asked, self.console = [], []
        self.replies = []   # (address, status)

    def heard(self, method, p):
        if method == "Network.loadingFinished":
            self.size(p["requestId"], p["encodedDataLength"])
        elif method == "Network.requestWillBeSent":
            self.asked.append(p["request"]["url"])
        elif method == "Network.responseReceived":
            self.replies.append((p["response"]["url"], p["response"]["status"]))
            self.size(p["requestId"], p["response"]["encodedDataLength"])
        elif method == "Runtime.exceptionThrown":
            self.console.append(p["exceptionDetails"].get("exception", {}).get("description") or p["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.console.append(p["entry"]["text"] + " " + p["entry"].get("url", ""))

    def size(self, request, n):
        self.sizes[request] = max(n, self.sizes.get(request, 0))

    @property
    def bytes(self):
        return sum(self.sizes.values())

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def go(self, url):
        self.call("Page.navigate", url=url)
        self.until("document.readyState !== 'loading' && document.body && location.href !== 'about:blank'", why=url)

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def eval(self, js):
        r = self.call("Runtime.evaluate", expression=js, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in r, r["exceptionDetails"].get("exception", {}).get("description", r)
        return r["result"].get("value")

    def until(self, js, seconds=PATIENCE, why=""):
        js = f"(x => x instanceof Node ? true : x)({js})"
        return until(lambda: self.eval(js), seconds, lambda: f"{why or js}: {self.console}\n{self.text()[:3000]}", 0.05)

    def text(self, selector="body"):
        return self.eval(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def click(self, selector):
        """With the mouse, in the middle of it: what lies above it gets the click."""
        x, y = self.eval(f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: "center", behavior: "instant"}});
            const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()""")
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left" if kind != "mouseMoved" else "none", clickCount=1)

    def hover(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def type(self, selector, text):
        self.eval(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.select?.(); }})()")
        self.call("Input.insertText", text=text)

    def key(self, key, code=0, text=None):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **({"text": text} if text and kind == "keyDown" else {}))

    def choose(self, selector, value):
        self.eval(f"""(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};
            e.dispatchEvent(new Event("input", {{bubbles: true}})); e.dispatchEvent(new Event("change", {{bubbles: true}})); }})()""")

    def picture(self, path, whole=False):
        r = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **(
            {"clip": {**self.call("Page.getLayoutMetrics")["cssContentSize"], "scale": 1}} if whole else {}))
        with open(path, "wb") as f:
            f.write(base64.b64decode(r["data"]))

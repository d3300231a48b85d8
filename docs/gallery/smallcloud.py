"""What the programs for small clouds share: the protocol of docs/exec.md, HTTP with a secret, launches that are made once.

None of these clouds takes a request id.  So each machine has a name of its own, REQUEST-NUMBER, that is on disk before it is asked
for.  A repetition looks for these names in the cloud's list; a name whose fate is not known (no answer, a 5xx) may still turn up
there, and until `unsure` seconds have gone by nothing else is bought for that request.
"""
import contextlib, fcntl, http.client, json, os, sys, time, urllib.error, urllib.parse, urllib.request

REPLY_MOST, KEPT_S, SPARE_S = 64 << 20, 7 * 86400, 0.5

class Failed(Exception):
    """Ends an operation with a status of docs/provider.md.  sure: the cloud did nothing."""
    def __init__(self, status, text, code="", after_s=0, sure=True, http=0):
        self.line = {"status": status, "code": str(code)[:60], "text": str(text)[:200], "retry_after_ms": int(1000 * after_s)}
        self.sure, self.http = sure, http

class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args):
        return None  # a secret goes to the host that it is for

class Cloud:
    """A program makes a subclass with URL, TOKEN (a variable), instances(), create(), remove(), look(), offers() and refusal()."""
    URL = TOKEN = ""
    HEADERS = {}
    GAP_S = 0  # between two requests

    def __init__(self):
        self.setup, self.until, self.last = {"options": {}}, 0, 0
        self.opener = urllib.request.build_opener(NoRedirects)

    # ---- settings

    def option(self, name, default=None):
        value = self.setup["options"].get(name, default)
        if value is None:
            raise Failed("INVALID", f"options.{name} is needed")
        return value

    def number(self, name, default):
        text = self.option(name, str(default))
        try:
            if 0 <= float(text) <= 3600:
                return float(text)
        except ValueError:
            pass
        raise Failed("INVALID", f"options.{name} must be seconds from 0 to 3600, got {text}")

    def hello(self):
        url = urllib.parse.urlsplit(self.option("url", self.URL))
        if url.scheme != "https" and not (url.scheme == "http" and url.hostname in ("127.0.0.1", "::1", "localhost")):
            raise Failed("INVALID", "options.url must begin with https://: a token goes there")
        self.number("unsure", 60)
        self.number("gap", self.GAP_S)
        self.option("state")

    def type_of(self, name):
        for t in self.setup["types"]:
            if t["name"] == name:
                return t
        raise Failed("INVALID", f"there is no node type {name}")

    def zone_of(self, kind, zone):
        """What the configuration has of it."""
        return zone if any(t["name"] == kind and zone in t["zones"] for t in self.setup["types"]) else ""

    def token(self):
        """Read anew each time: it may be renewed."""
        path = self.setup["options"].get("token_file")
        try:
            text = open(path).read().strip() if path else os.environ.get(self.TOKEN, "")
        except OSError as e:
            raise Failed("AUTH", f"options.token_file: {e.strerror}") from None
        if len(text) < 8 or not text.isascii() or not text.isprintable():
            raise Failed("AUTH", "options.token_file holds no token" if path else f"give a token by options.token_file, or {self.TOKEN} by env")
        return text

    # ---- HTTP

    def ask(self, method, path, body=None, **query):
        """The JSON of a good answer, None without one.  Everything else is Failed."""
        if self.GAP_S:
            time.sleep(max(0, self.last + self.number("gap", self.GAP_S) - time.monotonic()))
        left = self.until - time.monotonic()
        if left < SPARE_S:
            raise Failed("RETRY", f"no time is left for {method} {path}")
        url = self.option("url", self.URL) + path + ("?" + urllib.parse.urlencode(query) if query else "")
        headers = {"Authorization": "Bearer " + self.token(), "User-Agent": "davit-exec/1", "Accept": "application/json", **self.HEADERS}
        if body is not None:
            headers["Content-Type"] = "application/json"
        request = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers, method=method)
        self.last = time.monotonic()
        try:
            with self.opener.open(request, timeout=min(30, left)) as reply:
                text = reply.read(REPLY_MOST + 1)
            return json.loads(text) if text else None
        except urllib.error.HTTPError as e:
            raise self.refused(e, method, path) from None
        except (OSError, ValueError, http.client.HTTPException) as e:
            raise Failed("RETRY", f"{method} {path}: {type(e).__name__}: {e}", sure=False) from None

    def refused(self, e, method, path):
        try:
            error = json.loads(e.read(1 << 20))
        except (OSError, ValueError, http.client.HTTPException):
            error = None
        own = error if isinstance(error, dict) else {}
        code, text, status = self.refusal(e.code, own)
        after = e.headers.get("Retry-After") or ""
        after = float(after) if after.isdigit() else self.again_after(e.headers)
        text = f"{method} {path}: {e.code} {text or e.reason}"
        if e.code == 429:
            return Failed("THROTTLED", text, code, after, http=429)
        return Failed(status or {401: "AUTH", 403: "AUTH"}.get(e.code, "RETRY"), text, code, after, sure=e.code < 500,
                      http=e.code if own else 0)

    def again_after(self, headers):
        return 0

    # ---- what was asked for, on disk

    @contextlib.contextmanager
    def book(self, request):
        """What this request has: names that were sent, and when; names that became machines, by the cloud's id."""
        path = self.option("state")
        with open(path + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            book = json.load(open(path)) if os.path.exists(path) else {}
            entry = book.setdefault(request, {"number": 0, "sent": {}, "made": {}})
            yield entry
            entry["at"] = time.time()
            book = {k: v for k, v in book.items() if time.time() - v.get("at", 0) < KEPT_S and (v["number"] or k == request)}
            with open(os.open(path + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as new:
                json.dump(book, new)
                new.flush()
                os.fsync(new.fileno())
            os.replace(path + ".new", path)

    def natives(self):
        """The cloud's own id of each machine that it made for us, as far as the book goes back."""
        path = self.option("state")
        book = json.load(open(path)) if os.path.exists(path) else {}
        return {self.id_of(name, native): native for entry in book.values() for name, native in entry["made"].items()}

    def id_of(self, name, native):
        return native  # what the machine itself can find out

    # ---- operations

    def show(self, r, m):
        if m["phase"] != "ended":
            say(self, r, machine={k: v for k, v in m.items() if k not in ("name", "native")})

    def launch(self, r):
        kind, request = self.type_of(r["type"]), r["request_id"]
        mine = {m["name"]: m for m in self.instances() if m["request_id"] == request}
        try:
            with self.book(request) as entry:
                entry["made"].update({name: m["native"] for name, m in mine.items()})
                for name in mine:
                    entry["sent"].pop(name, None)
                now, unsure = time.time(), self.number("unsure", 60)
                entry["sent"] = {name: at for name, at in entry["sent"].items() if 0 <= now - at < unsure}
                sent, made = entry["sent"], len(entry["made"])
            if sent:
                raise Failed("RETRY", f"{len(sent)} of {r['count']} may have been made; the list shows none yet", "UNSURE",
                             min(sent.values()) + unsure - now, sure=False)
            while made < r["count"]:
                m = self.buy(r, kind)
                made, mine[m["name"]] = made + 1, m
        finally:
            for m in sorted(mine.values(), key=lambda m: (m["phase"] == "ended", m["name"]))[:r["count"]]:
                self.show(r, m)

    def buy(self, r, kind):
        with self.book(r["request_id"]) as entry:  # before it is sent
            entry["number"] += 1
            name = f"{r['request_id']}-{entry['number']}"
            entry["sent"][name] = time.time()
        try:
            native = self.create(r, kind, name)
        except Failed as e:
            if e.sure:
                with self.book(r["request_id"]) as entry:
                    entry["sent"].pop(name, None)
            raise
        with self.book(r["request_id"]) as entry:
            entry["sent"].pop(name, None)
            entry["made"][name] = native
        return {"id": self.id_of(name, native), "name": name, "native": native, "request_id": r["request_id"], "type": r["type"],
                "zone": r["zone"], "address": "", "phase": "starting"}

    def terminate(self, r):
        known = {m["id"]: m for m in self.instances()}
        booked = self.natives()
        for i in r["ids"]:
            native = known[i]["native"] if i in known else booked.get(i)
            status = "NOT_FOUND"
            if native and not (i in known and known[i]["phase"] == "ended"):
                try:  # one that the list lacks may be there all the same: the cloud knows it by its id
                    self.remove(native)
                    status = "OK"
                except Failed as e:
                    if not self.is_gone(e):
                        raise
            say(self, r, ended={"id": i, "status": status})

    def find(self, r):
        booked = self.natives()
        for i in r["ids"]:
            native = booked.get(i) or (i if self.id_of("", i) == i else None)
            if native:
                try:
                    there = self.look(native)
                except Failed as e:
                    if not self.is_gone(e):
                        raise
                    there = False
                say(self, r, found={"id": i, "status": "OK" if there else "NOT_FOUND"})

    def is_gone(self, e):
        """A 404 in the cloud's own words: a proxy's says nothing of a machine."""
        return e.http == 404 and e.line["status"] == "NOT_FOUND"

    def serve(self, r):
        self.until = time.monotonic() + r.get("deadline_ms", 30000) / 1000
        if r["op"] == "hello":
            self.setup = r
            self.hello()
            return {"find": True}
        if r["op"] == "list":
            for m in list(self.instances()):  # whole, or not at all
                self.show(r, m)
        elif r["op"] == "offers":
            self.offers(r)
        else:
            {"launch": self.launch, "terminate": self.terminate, "find": self.find}[r["op"]](r)
        return {}

def say(cloud, r, **line):
    text = json.dumps({"id": r["id"], **line})
    with contextlib.suppress(Failed):
        text = text.replace(json.dumps(cloud.token())[1:-1], "***")  # if a cloud repeats it to us
    print(text, flush=True)

def run(cloud):
    for line in sys.stdin:
        r = json.loads(line)
        try:
            more = cloud.serve(r)
            say(cloud, r, status="OK", **more)
        except Failed as e:
            say(cloud, r, **e.line)
        except (KeyError, TypeError, IndexError, AttributeError) as e:
            say(cloud, r, status="RETRY", text=f"{r['op']}: an answer of the cloud's has another shape: {type(e).__name__}: {e}")
        except OSError as e:
            say(cloud, r, status="RETRY", text=f"options.state: {e.strerror}")

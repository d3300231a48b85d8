#!/usr/bin/env python3
"""A provider for a GPU cloud's REST API, as small clouds have one: no request ids, no tags, but a name.  See README.md here.

The name of an instance says whose it is and which request it is for.  The API has no idempotency, so a launch looks before it
buys; the cloud lists ended instances for a while, and those count as bought.
"""
import json, os, sys, urllib.error, urllib.parse, urllib.request

setup = {"options": {}}
PHASES = {"booting": "starting", "active": "running", "terminating": "stopping", "unhealthy": "running"}
CODES = {"insufficient-capacity": "STOCKOUT", "quota-exceeded": "QUOTA", "invalid-parameters": "INVALID"}

class Failed(Exception):
    def __init__(self, status, text, code="", after=0):
        self.line = {"status": status, "code": code, "text": text[:200], "retry_after_ms": after}

def say(request, **line):
    print(json.dumps({"id": request["id"], **line}), flush=True)

def token():
    """Read anew each time: it may be renewed.  It is in no message."""
    with open(setup["options"]["token_file"]) as f:
        return f.read().strip()

def classify(e):
    """The cloud's answer becomes the reaction it needs: docs/provider.md, which error."""
    try:
        error = json.load(e).get("error", {})
    except (ValueError, AttributeError):
        error = {}
    code, text = str(error.get("code", "")), str(error.get("message", e.reason))
    if e.code in (401, 403):
        return Failed("AUTH", text, code)
    if e.code == 429:
        return Failed("THROTTLED", text, code, int(1000 * float(e.headers.get("Retry-After") or 0)))
    return Failed(CODES.get(code, "RETRY"), text, code)

def ask(request, method, path, body=None):
    url = setup["options"]["url"] + path
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": "Bearer " + token(), "Content-Type": "application/json"}
    seconds = max(1, min(30, request["deadline_ms"] / 1000 - 1))
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers, method=method), timeout=seconds) as reply:
            return json.load(reply)["data"]
    except urllib.error.HTTPError as e:
        raise classify(e) from None
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise Failed("RETRY", f"{method} {path}: {type(e).__name__}: {e}") from None

def name_of(r):
    return f"davit/{setup['cluster']}/{r['type']}/{r['request_id']}"

def instances(r, prefix):
    """All of that name, ended ones too; page by page, and one page that fails fails the list."""
    page, found = "", []
    while page is not None:
        data = ask(r, "GET", "/instances?page=" + urllib.parse.quote(page))
        found += [i for i in data["instances"] if i["name"].startswith(prefix)]
        page = data.get("next_page")
    return found

def show(r, instance):
    _, _, kind, request_id = instance["name"].split("/")
    if instance["status"] == "terminated":
        return
    say(r, machine={"id": instance["id"], "request_id": request_id, "type": kind, "zone": instance["region"],
                    "address": instance.get("ip") or "", "phase": PHASES.get(instance["status"], "starting")})

def type_of(name):
    for t in setup["types"]:
        if t["name"] == name:
            return t
    raise Failed("INVALID", f"there is no node type {name}")

def launch(r):
    machine = type_of(r["type"])["machine"]
    mine = instances(r, name_of(r))
    try:
        while len(mine) < r["count"]:  # one at a time: what was bought before an error is known
            body = {"region": r["zone"], "instance_type": machine, "name": name_of(r), "user_data": user_data(r)}
            mine.append(ask(r, "POST", "/instances", body))
    finally:
        for i in mine:
            show(r, i)

def user_data(r):
    """Each instance asks its metadata service for its id, which list() reports too."""
    return (f"#!/bin/sh\nexport RAY_CLOUD_INSTANCE_ID=$(curl -s http://169.254.169.254/id) RAY_NODE_TYPE_NAME={r['type']} "
            f"RAY_HEAD={setup.get('head', '')}\n" + setup["options"].get("join", "true") + "\n")

def terminate(r):
    known = {i["id"]: i["status"] for i in instances(r, f"davit/{setup['cluster']}/")}
    for i in r["ids"]:
        if known.get(i, "terminated") == "terminated":
            say(r, ended={"id": i, "status": "NOT_FOUND"})
        else:
            ask(r, "DELETE", "/instances/" + urllib.parse.quote(i))
            say(r, ended={"id": i, "status": "OK"})

def offers(r):
    sold = ask(r, "GET", "/instance-types")
    for t in setup["types"]:
        kind = sold.get(t["machine"], {"price_cents_per_hour": None, "regions": []})
        price = None if kind["price_cents_per_hour"] is None else kind["price_cents_per_hour"] / 100
        for zone in t["zones"]:
            there = zone in kind["regions"]
            say(r, offer={"type": t["name"], "zone": zone, "price": price, "available": there, "note": "" if there else "none left there"})

def serve(r):
    if r["op"] == "hello":
        setup.update(r)
        for key in ("url", "token_file"):
            if not setup["options"].get(key):
                raise Failed("INVALID", f"options.{key} is needed")
    elif r["op"] == "list":
        for i in instances(r, f"davit/{setup['cluster']}/"):
            show(r, i)
    else:
        {"launch": launch, "terminate": terminate, "offers": offers}[r["op"]](r)

for line in sys.stdin:
    request = json.loads(line)
    try:
        serve(request)
        say(request, status="OK")
    except Failed as e:
        say(request, **e.line)
    except OSError as e:  # the token's file
        say(request, status="AUTH", text=f"{e.strerror}: {os.path.basename(e.filename or '')}")

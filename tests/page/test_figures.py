"""What the page shows is what the API says."""
import datetime
import json
import re


def money(v):
    digits = 4 if v and abs(v) < 0.1 else 2 if abs(v) < 10000 else 0
    return f"{'−' if v < 0 else ''}${abs(v):,.{digits}f}"


def rows(page, selector):
    """The cells' texts, row by row."""
    return page.eval(f"[...document.querySelectorAll('{selector} tbody tr')].map(r => [...r.cells].map(c => c.innerText.trim()))")


def test_money_and_nodes(settled, look):
    page = look(settled).current()
    s, o = settled.status(), settled.get("/v1/overview")[1]
    tiles = page.eval("[...document.querySelectorAll('.tile')].map(t => t.innerText)")
    assert o["cost"]["now_per_hour"] == s["cost"]["now_per_hour"] == 1.4
    assert money(s["cost"]["now_per_hour"]) in tiles[0] and money(12) + "/h" in tiles[0]
    assert money(o["cost"]["month"]["forecast"])[:-3] in tiles[1]
    month = o["cost"]["month"]
    assert abs(month["limit"] - 12 * (days(month) * 24)) < 0.01 and month["forecast"] > month["spent"] > 0
    assert tiles[2].split("\n")[1].startswith(str(s["nodes"]["total"]) + " of at most 20")
    assert s["nodes"]["ready"] == 3 and "3 in use or asked for\n" in tiles[2] and "\n0 idle" in tiles[2]  # requests hold them
    d = s["demand"]
    assert f'{d["placed"]} of {d["bundles"]} bundles placed' in tiles[3].replace("\n", " ")
    assert f'{d["waiting"]} waiting' in tiles[3] and f'{d["infeasible"]} can never be placed' in tiles[3]
    assert page.eval("document.title").startswith("$1.40/h")


def days(month):
    return (datetime.date.fromisoformat(month["to"][:10]) - datetime.date.fromisoformat(month["from"][:10])).days


def test_what_waits_and_why(settled, look):
    page = look(settled).current()
    text = page.text("#waits")
    pending = {p["owner"]: p for p in settled.status()["pending"]}
    assert set(pending) == {"carol", "dave"}
    assert "3 × (1 GPU)" in text and "t4 is at its max of 2" in text and "never" in text and "16 needed" in text
    for p in pending.values():      # the same sentence as everywhere, without what is shown beside it
        assert re.sub(r"^\d+ x \(.*?\) (waits?: |can never be placed; )", "", p["text"]) in text.replace("\n", " ")
    assert "davit why carol" in text and page.text("#waits-count") == "4 bundles"


def test_types_and_owners(settled, look):
    page = look(settled).current()
    s, o = settled.status(), settled.get("/v1/overview")[1]
    types = {r[0]: r for r in rows(page, "#types")}
    for t in s["types"]:
        assert types[t["name"]][3] == str(t["nodes"]) and types[t["name"]][5].lstrip("~") == money(t["price_per_hour"])
    assert "the next try is at" in types["v100"][9]
    owners = {r[0]: r for r in rows(page, "#owners")}
    shares = {x["owner"]: x["cost_per_hour"] for x in o["owners"]}
    assert shares["alice"] == 1 and shares["carol"] == shares["dave"] == 0 and abs(shares["bob"] - 0.4 * 6 / 8) < 1e-5
    assert abs(o["cost"]["idle_per_hour"] - 0.4 * 2 / 8) < 1e-5     # of bob's node
    assert abs(sum(shares.values()) + o["cost"]["idle_per_hour"] + o["cost"]["unowned_per_hour"] - o["cost"]["now_per_hour"]) < 1e-4
    for name, cost in shares.items():
        assert owners[name][5] == money(cost) + "/h", owners[name]
        assert re.fullmatch(r"1 h 5\d min|119 min|\d+ min|2 h 0 min", owners[name][6]), owners[name]
    assert owners["carol"][4] == "3"


def test_nodes_of_the_list(settled, look):
    page = look(settled).current()
    page.eval("document.querySelector('#nodes-title').scrollIntoView()")
    page.until("document.querySelectorAll('#nodes tbody tr').length === 3")
    shown = {r[0]: r for r in rows(page, "#nodes")}
    for n in settled.nodes():
        assert shown[n["id"]][1:4] == [n["type"], n["state"], n["zone"]]
        assert shown[n["id"]][5] == money(n["price_per_hour"]) and n["why"]["text"] in shown[n["id"]][6]
        assert shown[n["id"]][7] == "davit why " + n["id"]
    some = settled.nodes()[0]["id"]
    assert settled.call("POST", f"/v1/nodes/{some}/protect")[0] == 200
    page.until("/protected/.test(document.querySelector('#nodes').innerText)")
    assert {r[0]: r[2].split() for r in rows(page, "#nodes")}[some] == ["ready", "protected"]


def test_next(daemon_of, look, config):
    """A node on its way, then one whose idle time runs out."""
    d = daemon_of(config=config.replace("boot: 1s, options: {boot: 300ms}}\n  t4", "boot: 12s, options: {boot: 12s}}\n  t4").replace("idle_timeout: 10m", "idle_timeout: 40s"))
    d.start(wait="/readyz")
    d.post({"owner": "bob", "bundles": [{"CPU": 6}]})
    v = look(d)
    page = v.shown()
    page.until("/1 node|cpu-/.test(document.querySelector('#next').innerText)")
    text = page.text("#next")
    assert "starts" in text and "davit why cpu-" in text and "$0.40/h" in text
    assert re.search(r"ready in \d+ s|any moment|later than usual by", text), text
    d.until(lambda: d.ready() == 1)
    d.post({"owner": "bob", "bundles": []})
    page.until("/ends/.test(document.querySelector('#next').innerText)")
    text = page.text("#next")
    assert "−$0.40/h" in text and re.search(r"in \d+ s", text), text
    assert d.get("/v1/overview")[1]["next"][0]["what"] == "end"


def spent(daemon, step_s):
    return sum(s["spent"] for s in daemon.get(f"/v1/history?step={step_s}")[1]["slots"])


def test_history_over_a_restart(settled, look):
    """Spent by the API: what the sum of cost over time is; and it is there after a restart."""
    o = settled.get("/v1/overview")[1]["cost"]["month"]
    before = spent(settled, 3600)
    slots = settled.get("/v1/history?step=60")[1]["slots"]
    assert before - 1e-5 < sum(s["spent"] for s in slots) < spent(settled, 3600) + 1e-5
    assert sum(s["launched"] for s in slots) >= 3 and max(s["waiting"] for s in slots) == 4
    assert 0 < o["spent"] <= 12 * o["seen_s"] / 3600 + 1e-6     # the limit: a v100 costs too, until its launch is refused
    settled.stop()
    settled.start(wait="/readyz")
    again = settled.get("/v1/overview")[1]["cost"]["month"]
    assert again["spent"] >= o["spent"] and again["seen_from"] == o["seen_from"]
    page = look(settled).current()
    assert page.eval("document.querySelector('#past path.cost').getAttribute('d').length") > 10
    assert "launched" in page.text("#past") and not page.text("#past").startswith("Nothing is known")
    for bad in ("step=61", "after=x"):
        assert settled.get("/v1/history?" + bad)[0] == 400


def test_conditional_and_compressed(settled):
    """A reply that is the same is not sent again; one that is sent is small."""
    for path in ("/v1/overview", "/v1/status", "/v1/nodes", "/v1/nodes?limit=2", "/page/main.js", "/"):
        plain = settled.exchange("GET", path)
        small = settled.exchange("GET", path, headers={"Accept-Encoding": "gzip"})
        assert plain.code == small.code == 200 and plain.headers["Content-Encoding"] is None
        assert plain.headers["Vary"] == "Accept-Encoding" and plain.headers["ETag"]
        if small.headers["Content-Encoding"] == "gzip":
            assert int(small.headers["Content-Length"]) < 0.6 * len(plain.text.encode())
            assert small.headers["ETag"] != plain.headers["ETag"]
        if path.startswith("/page") or path == "/":
            r = settled.exchange("GET", path, headers={"If-None-Match": plain.headers["ETag"]})
            assert r.code == 304 and r.text == ""
    settled.until(lambda: unchanged(settled, "/v1/overview") and unchanged(settled, "/v1/nodes?q=t4&limit=1"))
    assert settled.exchange("GET", "/v1/overview", headers={"If-None-Match": '"x"'}).code == 200
    for takes, how in (("gzip;q=0", None), ("gzip; q=0.0", None), ("br, gzip;q=0.5", "gzip"), ("GZIP", "gzip"), ("br", None), ("identity", None)):
        r = settled.exchange("GET", "/v1/overview", headers={"Accept-Encoding": takes})
        assert r.headers["Content-Encoding"] == how, takes


def unchanged(daemon, path):
    """True when no tick came in between."""
    etag = daemon.exchange("GET", path).headers["ETag"]
    r = daemon.exchange("GET", path, headers={"If-None-Match": etag})
    return r.code == 304 and r.text == ""


def test_list_of_nodes(settled):
    """Searched, sorted, cut, grouped: as a calculation over the whole list has it."""
    whole = settled.get("/v1/nodes")[1]
    nodes = whole["nodes"]
    assert whole["matched"] == whole["total"] == len(nodes)

    def ids(query):
        r = settled.get("/v1/nodes?" + query)[1]
        return [n["id"] for n in r["nodes"]], r["matched"]

    assert ids("limit=2") == ([n["id"] for n in nodes[:2]], 3)
    assert ids("offset=2&limit=2") == ([nodes[2]["id"]], 3) and ids("offset=9") == ([], 3) and ids("limit=0") == ([], 3)
    assert ids("sort=price")[0][0] in [n["id"] for n in nodes if n["price_per_hour"] == 0.5]
    assert ids("sort=id")[0] == sorted(n["id"] for n in nodes)
    assert set(ids("q=ALICE")[0]) == {n["id"] for n in nodes if any(f["owner"] == "alice" for f in n["for"])}
    assert ids("q=a-1")[1] == sum(n["zone"] == "a-1" for n in nodes)
    for key in ("type", "state", "zone"):
        groups = settled.get(f"/v1/nodes?group={key}")[1]["groups"]
        assert {g["name"]: g["nodes"] for g in groups} == {x: sum(n[key] == x for n in nodes) for x in {n[key] for n in nodes}}
        assert abs(sum(g["cost_per_hour"] for g in groups) - 1.4) < 1e-6
    for bad in ("group=colour", "sort=x", "limit=-1", "offset=x", "state=lost"):
        code, r = settled.get("/v1/nodes?" + bad)
        assert code == 400 and r["error"]["where"] == bad.split("=")[0], json.dumps(r)


def test_a_shadow_says_so(daemon_of, look, config):
    d = daemon_of(config=config)
    d.args = ["--shadow"]
    d.start(wait="/v1/status")
    page = look(d).shown()
    assert page.text("#state").startswith("SHADOW") and "Would be paid now" in page.text("#now") and "this is a shadow" in page.text("#problems")

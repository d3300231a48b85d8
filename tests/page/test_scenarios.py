"""Clicked through, as somebody at three in the morning would."""
import json
import shlex
import subprocess

import pytest

from lib import DAVIT, until
from test_figures import money, rows

TAB, ESCAPE, ENTER = 9, 27, 13


def test_a_request_appears_and_goes(daemon, look):
    page = look(daemon).shown()
    assert "Nothing is asked for yet" in page.text("#waits") and "Nothing is asked for" in page.text("#now")
    daemon.post({"owner": "zoe", "bundles": [{"GPU": 16}]})
    page.until("/zoe/.test(document.querySelector('#waits').innerText)")
    daemon.post({"owner": "zoe", "bundles": []})
    page.until("/Nothing is asked for yet/.test(document.querySelector('#waits').innerText)")


def test_why_is_answered(settled, look):
    """The link of a row is the command, and its answer is the command's."""
    page = look(settled).current()
    page.eval("[...document.querySelectorAll('#waits button')].find(b => b.innerText === 'davit why carol').focus()")
    page.key("Enter", ENTER, "\r")
    page.until("document.querySelector('#more').open && !/asking/.test(document.querySelector('#more-body').innerText)")
    text = page.text("#more-body")
    for sentence in settled.get("/v1/why/carol")[1]["text"]:
        assert sentence in text
    assert "t4 is at its max of 2" in text and "davit why carol" in text
    assert "t4 is at its max of 2" in settled.cli("why", "carol")
    page.key("Escape", ESCAPE)
    page.until("!document.querySelector('#more').open")
    assert page.eval("document.activeElement.innerText") == "davit why carol"


def test_a_decision_is_explained(settled, look):
    """The mark on the timeline: what for, what else, what it changed in the bill."""
    page = look(settled).current()
    d = next(d for d in settled.get("/v1/decisions")[1]["decisions"] if d["owner"] == "alice" and d["type"] == "t4")
    assert d["change_per_hour"] == 0.5 * d["count"] and d["reason"] == "request"
    others = {(o["type"], o["zone"]): o for o in d["others"]}
    assert others[("v100", "")]["more_per_hour"] == 2 * d["count"]
    assert any(t == "t4" and o["more_per_hour"] == 0 for (t, _), o in others.items())
    mark = page.until("[...document.querySelectorAll('.mark')].find(b => /^Launched/.test(b.ariaLabel))?.ariaLabel")
    assert "alice" in mark and "UTC" in mark
    page.eval("document.querySelector('#past').scrollIntoView({block: 'center', behavior: 'instant'})")
    box = page.eval("(() => { const r = document.querySelector('.mark').getBoundingClientRect(); return [r.x + 12, r.y + 12]; })()")
    page.hover(*box)
    page.until("document.querySelector('.tip')?.innerText.includes('alice')")
    page.click(".mark")
    page.until("document.querySelector('#more').open")
    text = page.text("#more-body")
    assert f"from {money(d['before_per_hour'])} to {money(d['before_per_hour'] + d['change_per_hour'])}" in text
    assert "alice (request)" in text and "would also fit on" in text and "v100" in text and "davit why alice" in text


def test_the_timeline_tells_under_the_mouse(settled, look):
    page = look(settled).current()
    page.until("document.querySelector('#past .chart')")
    x, y = page.eval("""(() => { const c = document.querySelector('.chart'); c.scrollIntoView({block: 'center', behavior: 'instant'});
        const r = c.getBoundingClientRect(); return [r.right - 3, r.y + 100]; })()""")
    seen = "/\\/h, \\d+ node/.test(document.querySelector('.tip')?.innerText || '')"

    def moved():  # to and fro: at the turn of a minute the newest figures are not there yet
        for k in (0, 1):
            page.hover(x - k, y)
        return page.eval(seen)
    until(moved)
    page.hover(x - 600, y)
    page.until("/not watched/.test(document.querySelector('.tip')?.innerText)")
    page.click("[data-step='3600']")
    page.until("/^Last month/.test(document.querySelector('#past').innerText.split('\\n').pop())")
    assert page.text("#past-title") == "Last month"


def test_what_if(settled, look):
    """The form's answer is the API's, and the printed command's."""
    page = look(settled).current()
    page.choose("#wi-type", "t4")
    page.type("#wi-max", "4")
    page.click("#whatif button")
    page.until("/bill becomes/.test(document.querySelector('#whatif-answer').innerText)")
    r = settled.call("POST", "/v1/whatif", {"node_types": {"t4": {"max": 4}}})[1]
    assert r["after"]["waiting"] == r["before"]["waiting"] - 2 and r["types"] == [
        {"type": "t4", "launched_before": 0, "launched_after": 2, "ended_before": 0, "ended_after": 0}]
    text = page.text("#whatif-answer")
    bill = [money(x) + "/h" for x in (r["before"]["cost_per_hour"], r["after"]["cost_per_hour"])] + ["+" + money(1) + "/h"]
    assert rows(page, "#whatif-answer")[0][1:] == bill and "2 nodes of t4 more would be launched" in text
    curl, plan = text.strip().split("\n")[-2:]
    assert curl.split()[2] == settled.url + "/v1/snapshot"
    (settled.dir / "snapshot.json").write_text(settled.exchange("GET", "/v1/snapshot").text)
    out = subprocess.run([DAVIT, *shlex.split(plan)[1:-1], "--json", "snapshot.json"], cwd=settled.dir, capture_output=True, text=True, check=True)
    assert json.loads(out.stdout)["difference"]["after"]["launched"] == 2
    # a request more; then a mistake, which is told
    page.choose("#wi-type", "")
    page.type("#wi-bundle", "CPU=4")
    page.click("#whatif button")
    page.until("/satisfied/.test(document.querySelector('#whatif-answer').innerText)")
    page.type("#wi-bundle", "CPU=-4")
    page.click("#whatif button")
    page.until("document.querySelector('#whatif-answer .bad')")
    assert settled.nodes() and settled.status()["nodes"]["total"] == 3      # nothing was done
    page.console.clear()    # Chromium notes the refusal


@pytest.mark.parametrize("body, where", [
    ({"node_types": {"t5": {"max": 1}}}, "did you mean t4"), ({"node_types": {"t4": {"maks": 1}}}, "did you mean max"),
    ({"node_types": {"t4": {"price": -1}}}, "from 0"), ({"max_nodes": "x"}, "max_nodes"), ({"bundle": []}, "no such key"),
    ({"request": {"bundles": [{"GPU": -1}]}}, "request"), ([], "object"), ({"node_types": []}, "node_types"),
    ({"node_types": {"t4": {"min": 9}}}, "above the max")])
def test_what_if_refuses(daemon, body, where):
    code, r = daemon.call("POST", "/v1/whatif", body)
    assert code == 400 and where in json.dumps(r), r


def many(daemon_of, config, n):
    d = daemon_of(config=config.replace("max_nodes: 20", f"max_nodes: {n}").replace("max_cost_per_hour: 12", f"max_cost_per_hour: {n}")
                  .replace("price: 0.4, max: 4", f"price: 0.4, min: {n}, max: {n}"))
    d.start(wait="/readyz")
    d.until(lambda: d.ready() == n)
    return d


def test_nodes_are_searched_and_paged(daemon_of, look, config):
    d = many(daemon_of, config, 130)
    page = look(d).shown()
    page.eval("document.querySelector('#nodes-title').scrollIntoView()")
    page.until("document.querySelectorAll('#nodes tbody tr').length === 50")
    assert page.text("#nodes-at") == "1–50 of 130" and page.eval("document.querySelector('#nodes-back').disabled")
    page.click("#nodes-on")
    page.until("document.querySelector('#nodes-at').innerText === '51–100 of 130'")
    page.click("#nodes-on")
    page.until("document.querySelectorAll('#nodes tbody tr').length === 30")
    assert page.eval("document.querySelector('#nodes-on').disabled")
    some = d.nodes()[77]["id"]
    page.type("#nodes-q", some)
    page.until(f"document.querySelector('#nodes tbody').innerText.startsWith({json.dumps(some)})")
    assert page.text("#nodes-count").endswith("of 130")
    page.type("#nodes-q", "no such node")
    page.until("/No node is like that/.test(document.querySelector('#nodes').innerText)")
    page.type("#nodes-q", " ")
    page.choose("#nodes-group", "state")
    page.until("/ready/.test(document.querySelector('#nodes tbody')?.innerText) && document.querySelectorAll('#nodes tbody tr').length === 1")
    assert rows(page, "#nodes")[0][1] == "130"
    assert page.eval("document.querySelector('#nodes-pages').getClientRects().length") == 0
    page.click("#nodes tbody button")
    page.until("document.querySelectorAll('#nodes tbody tr').length === 50 && /state: ready/.test(document.querySelector('#nodes-only').innerText)")
    page.click("#nodes-only button")
    page.until("document.querySelector('#nodes-only').hidden")
    # a focus in the list stays where it is while the list is renewed
    page.eval("document.querySelectorAll('#nodes tbody button')[3].focus()")
    name = page.eval("document.activeElement.innerText")
    d.post({"owner": "x", "bundles": [{"CPU": 1}]})
    page.until("/\\bx\\b/.test(document.querySelector('#owners').innerText)")
    assert page.eval("document.activeElement.innerText") == name


def test_token(daemon_of, look, config):
    """Asked for where it is needed, and only there."""
    d = daemon_of(config=config, api=", tokens: {dir}/tokens")
    out = subprocess.run([DAVIT, "token", "new", "eve", "read", "--file", d.dir / "tokens"], capture_output=True, text=True, check=True).stdout
    token = max(out.split(), key=len)
    d.headers = {"Authorization": f"Bearer {token}"}
    d.start(wait="/v1/status")
    v = look(d)
    page = v.page
    page.until("!document.querySelector('#login').hidden")
    assert page.eval("document.querySelector('#token').getClientRects().length > 0") and "needs a token" in page.text("#state")
    page.type("#token", "not the right one")
    page.click("#login button")
    page.until("/not known/.test(document.querySelector('#login-wrong').innerText)")
    page.type("#token", token)
    page.key("Enter", ENTER, "\r")
    v.shown()
    assert page.eval("document.querySelector('#login').hidden && document.querySelector('#token').getClientRects().length === 0")
    assert "ready" in page.text("#state") and token not in page.eval("document.documentElement.outerHTML + location.href")
    page.console.clear()    # Chromium notes each 401


def test_no_token_box_without_need(daemon, look):
    page = look(daemon).shown()
    assert page.eval("document.querySelector('#token').getClientRects().length") == 0


def test_the_daemon_goes_and_comes(daemon, look):
    """What is shown then is said to be old; a new daemon is followed."""
    page = look(daemon).shown()
    daemon.stop()
    page.until("/does not answer/.test(document.querySelector('#state').innerText) && /was known/.test(document.querySelector('#state').innerText)")
    daemon.start(wait="/readyz")
    page.until("/^ready/.test(document.querySelector('#state').innerText)")
    page.console.clear()    # and each refused connection


def test_strange_names_stay_text(daemon, look):
    """What others wrote becomes no element and turns no text, wherever it is put."""
    page = look(daemon).shown()
    made = page.eval("""import("/page/dom.js").then(({el, list, table, text}) => {
        const odd = "<img src=x onerror=alert(1)>\u202eb\u0007", a = el("div"), b = el("div"), c = el("p", {title: odd}, odd);
        list(a, [odd], x => x, x => el("p", null, x), odd);
        list(b, [], x => x, x => x, odd);
        const t = el("div");
        table(t, odd, [["x"]], [odd], x => x, x => [x], "");
        text(c, odd);
        document.body.append(a, b, c, t);
        const all = [a, b, c, t].map(e => e.textContent);
        const found = document.querySelectorAll("body > div img").length;
        [a, b, c, t].forEach(e => e.remove());
        return [found, all.join("")];
    })""")
    assert made[0] == 0 and made[1].count("<img src=x") == 5
    assert "\u202e" not in made[1] and "\u0007" not in made[1] and "\\u202e" in made[1]


def test_keyboard_reaches_everything(settled, look):
    """Tab goes through all that can be pressed, in the order of the page, and shows where it is."""
    page = look(settled).current()
    seen = []
    for _ in range(80):
        page.key("Tab", TAB)
        at = page.eval("(e => e === document.body ? '' : e.id || e.innerText || e.ariaLabel || e.tagName)(document.activeElement)")
        if at == "" and seen:
            break
        seen.append(at)
        assert page.eval("getComputedStyle(document.activeElement).outlineStyle") != "none", at
    for what in ("Skip to what waits", "davit why carol", "1 day", "t4", "nodes-q", "nodes-group", "wi-type", "wi-bundle", "Plan it"):
        assert what in seen, (what, seen)


def test_an_empty_cluster_says_what_to_do_first(daemon, look):
    page = look(daemon).shown()
    page.until("/davit request GPU=1/.test(document.querySelector('#waits').innerText)")


def test_nothing_is_shown_before_the_token(daemon_of, look, config):
    """No empty boxes beside the question."""
    d = daemon_of(config=config, api=", tokens: {dir}/tokens")
    out = subprocess.run([DAVIT, "token", "new", "eve", "read", "--file", d.dir / "tokens"], capture_output=True, text=True, check=True).stdout
    d.headers = {"Authorization": f"Bearer {max(out.split(), key=len)}"}
    d.start(wait="/v1/status")
    page = look(d).page
    page.until("!document.querySelector('#login').hidden")
    shown = page.eval("[...document.querySelectorAll('main > *')].filter(e => e.getClientRects().length).map(e => e.id)")
    assert shown == ["login"], shown
    page.console.clear()  # the 401


def test_a_budget_that_is_used_up_needs_attention(daemon_of, look, config):
    d = daemon_of(config=config.replace("max_cost_per_hour: 12", "max_cost_per_hour: 0.5")).start(wait="/readyz")
    d.post({"owner": "greedy", "bundles": [{"resources": {"CPU": 8}, "count": 3}]})
    d.until(lambda: d.ready("cpu") == 1)
    page = look(d).shown()
    page.until("/limits.max_cost_per_hour .*is used up: 2 bundles wait for it/.test(document.querySelector('#problems').innerText)")


def test_the_line_of_the_past_ends_at_now(settled, look):
    page = look(settled).shown()
    page.until("document.querySelector('#past rect.waits')")
    assert page.eval("[...document.querySelectorAll('#past rect.waits')].every(r => +r.getAttribute('x') + +r.getAttribute('width') <= 1000.05)")


def test_a_bundle_is_counted_once(settled, look):
    """What waits and what can never be placed are two numbers, and together all that has no place."""
    page = look(settled).current()
    d = settled.status()["demand"]
    assert (d["waiting"], d["infeasible"]) == (3, 1)
    tile = page.eval("[...document.querySelectorAll('.tile')].map(t => t.innerText)")[3]
    assert "3 waiting" in tile and "1 can never be placed" in tile and "without a place" not in page.text("body")
    assert page.text("#waits-count") == "4 bundles" and page.text("#waits").count("dave") == 2  # its line, and its command


def test_where_and_how_a_node_was_bought_have_their_names(daemon_of, look, config):
    text = config.replace("price: 0.4, max: 4", "zones: [a-1], price: 0.4, spot_price: 0.1, market: [spot], max: 4")
    d = daemon_of(config=text).start(wait="/readyz")
    d.post({"owner": "bob", "bundles": [{"CPU": 6}]})
    d.until(lambda: d.ready("cpu") == 1)
    page = look(d).current()
    page.eval("document.querySelector('#nodes-title').scrollIntoView()")
    page.until("document.querySelectorAll('#nodes tbody tr').length === 1")
    heads = page.eval("[...document.querySelectorAll('#nodes thead th')].map(e => e.innerText.toLowerCase())")
    assert rows(page, "#nodes")[0][heads.index("zone, market")] == "a-1, spot"


def test_a_machine_that_cannot_start_is_not_late(daemon_of, look, config):
    """It leaves; one that takes longer than usual is said to, and not when it will be ready."""
    d = daemon_of(config=config.replace("boot: 1s, options: {boot: 300ms}}\n  t4", "boot: 1s, options: {boot: 30m}}\n  t4"))
    d.start(wait="/readyz")
    d.post({"owner": "bob", "bundles": [{"CPU": 6}]})
    page = look(d).shown()
    page.until("/later than usual by/.test(document.querySelector('#next').innerText)")
    assert "ready in" not in page.text("#next")
    name = d.nodes()[0]["id"]
    d.until(lambda: d.events("node.failed") or d.clocks.ahead(60000))
    assert not any(x["node"] == name and x["what"] == "ready" for x in d.get("/v1/overview")[1]["next"])


def test_what_is_proved_leaves_idle_nodes_out_and_says_so(daemon_of, look, config):
    d = daemon_of(config=config).start(wait="/readyz")
    d.post({"owner": "bob", "bundles": [{"CPU": 8}]})
    d.post({"owner": "ann", "bundles": [{"resources": {"GPU": 1}, "count": 2}]})
    d.until(lambda: d.ready() == 3)
    d.post({"owner": "ann", "bundles": []})
    d.until(lambda: d.get("/v1/overview")[1]["unused_nodes"] == 2)
    tile = "document.querySelector('.tile').innerText"
    page = look(d).shown()
    page.until(f"/idle/.test({tile}) && /fleet could do it/.test({tile})")
    assert "Without the idle nodes no fleet could do it for less (proved)." in page.eval(tile) and "$1.00/h of it idle" in page.eval(tile)

"""For everybody: axe finds nothing, light and dark, wide and narrow."""
import json

import pytest


def violations(page, axe):
    page.eval(axe + "; 0")
    found = page.eval("axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.map(v => "
                      "({id: v.id, help: v.help, nodes: v.nodes.slice(0, 4).map(n => n.html.slice(0, 160) + ' ' + (n.any[0]?.message || ''))})))")
    assert found == [], json.dumps(found, indent=1)


def wide(page):
    """Nothing lies beyond the edge, and nothing is cut."""
    assert page.eval("document.documentElement.scrollWidth <= innerWidth"), page.eval("document.documentElement.scrollWidth")
    cut = page.eval("""[...document.querySelectorAll('main *')].filter(e => e.getClientRects().length && !e.closest('.skip, thead, caption, svg, .chart') &&
        getComputedStyle(e).position !== 'absolute' && (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)).map(e => e.outerHTML.slice(0, 120))""")
    assert cut == []


def whole(page):
    """A number and its unit stand on one line, and so does each count of nodes."""
    broken = page.eval("""[...document.querySelectorAll('.tile strong small, .tile:nth-child(3) p, td.n, .item .when')].filter(e => e.getClientRects().length && !e.closest('dialog')).filter(e => {
        const r = document.createRange(); r.selectNodeContents(e);
        return new Set([...r.getClientRects()].filter(x => x.width).map(x => Math.round(x.bottom / 6))).size > 1 }).map(e => e.outerHTML)""")
    assert broken == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [(1400, 900), (390, 844)], ids=["desktop", "phone"])
def test_axe(settled, look, axe, dark, size):
    page = look(settled, width=size[0], height=size[1], dark=dark, mobile=size[0] < 640).current()
    page.eval("document.querySelector('#nodes-title').scrollIntoView()")
    page.until("document.querySelectorAll('#nodes tbody tr').length === 3")
    whole(page)
    page.choose("#wi-type", "t4")
    page.type("#wi-max", "4")
    page.click("#whatif button")
    page.until("/bill becomes/.test(document.querySelector('#whatif-answer').innerText)")
    wide(page)
    violations(page, axe)
    page.eval("scrollTo(0, 0)")
    page.click(".mark")
    page.until("document.querySelector('#more').open")
    wide(page)
    violations(page, axe)
    page.click("#more-close")
    page.eval("document.querySelector('#login').hidden = false")
    violations(page, axe)


def test_first_answers_without_scrolling(settled, look):
    """At 1400 x 900: paid, month, what waits, what comes next, the last hour."""
    page = look(settled).current()
    page.until("document.querySelector('#past .chart')")
    assert page.eval("scrollY") == 0
    for part in ("#now", "#waits", "#next", "#past"):
        assert page.eval(f"document.querySelector('{part}').getBoundingClientRect().bottom") <= 900, part
    order = page.eval("['#now', '#waits', '#next', '#past', '#types', '#nodes', '#owners', '#whatif'].map(s => "
                      "[...document.querySelectorAll('main *')].indexOf(document.querySelector(s)))")
    assert order == sorted(order) and order[0] >= 0

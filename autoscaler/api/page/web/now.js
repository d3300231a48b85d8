// now.js - what is paid, this month, nodes, bundles: the first row.
import { $, el, seen } from "./dom.js";
import { count, many, moment, money, span } from "./show.js";

function bar(part, more) {
  const a = el("i"), b = el("i", { class: "more" });
  const over = part + more > 1;
  a.style.width = Math.min(100, part * 100) + "%";
  b.style.width = Math.min(100, (part + more) * 100) + "%";
  if (over) b.className = "over more";
  return el("div", { class: "meter", "aria-hidden": "true" }, b, a);
}

function tile(id, title, big, unit, ...rest) {
  return { id, e: el("div", { class: "tile" }, el("h2", null, title), el("strong", null, big, unit ? " " : "", unit ? el("small", null, unit) : ""), ...rest) };
}

function boundText(s) {
  const c = s.cost;
  if (c.bound_per_hour <= 0) return "";
  const gap = c.gap_percent, risk = c.surcharged ? " Spot that was taken back lately counts as dearer there." : "";
  if (gap !== null && gap < 0.05) return (s.unused_nodes || s.nodes.starting ? "Without the idle nodes no" : "No") + " fleet could do it for less (proved)." + risk;
  return "No fleet could do it under " + money(c.bound_per_hour) + "/h" + (gap === null || gap > 100 ? "." : " (gap\u00a0" + gap.toFixed(gap < 10 ? 1 : 0) + "\u00a0%).") + risk;
}

function paid(s) {
  const c = s.cost, parts = [];
  if (c.idle_per_hour > 0) parts.push(money(c.idle_per_hour) + "/h of it idle");
  if (c.max_per_hour !== null) parts.push("limit " + money(c.max_per_hour) + "/h");
  return tile("paid", s.shadow ? "Would be paid now" : "Paid now", money(c.now_per_hour), "per hour",
    c.max_per_hour > 0 ? bar(c.now_per_hour / c.max_per_hour, 0) : null,
    el("p", { class: c.max_per_hour !== null && c.now_per_hour > c.max_per_hour ? "bad" : null }, parts.join(" · ") || "no limit is set (limits.max_cost_per_hour)"),
    el("p", null, boundText(s)));
}

function month(s) {
  const m = s.cost.month, name = new Date(m.from).toLocaleString("en-US", { month: "long", timeZone: "UTC" });
  const whole = (Date.parse(s.at) - Date.parse(m.from)) / 1000 - m.seen_s < 7200;
  const over = m.limit !== null && m.forecast > m.limit;
  return tile("month", name + "'s bill if it stays so", money(m.forecast), m.limit === null ? "" : "of at most " + money(m.limit),
    m.limit > 0 ? bar(m.spent / m.limit, (m.forecast - m.spent) / m.limit) : null,
    el("p", null, money(m.spent) + " spent " + (whole ? "so far" : "in the " + span(m.seen_s) + " that were watched")),
    el("p", { class: over ? "bad" : null }, over ? "More than the limit allows for a month." : m.limit === null ? "" : "The limit of " + money(s.cost.max_per_hour) + "/h for the whole month."));
}

function nodes(s) {
  const n = s.nodes;
  return tile("nodes", "Nodes", count(n.total), s.max_nodes === null ? "" : "of at most " + count(s.max_nodes),
    el("p", null, count(n.ready - s.unused_nodes) + " in use or asked for"),
    el("p", null, count(s.unused_nodes) + " idle"),
    el("p", null, n.starting || n.leaving ? count(n.starting) + " starting, " + count(n.leaving) + " leaving" : "none starts or leaves"));
}

function bundles(s) {
  const d = s.demand, placed = d.placed + d.launched;
  return tile("bundles", "Asked for", count(placed), "of " + many(d.bundles, "bundle") + " placed",
    d.bundles ? bar(placed / d.bundles, 0) : null,
    el("p", { class: d.waiting ? "wait" : null }, d.waiting ? count(d.waiting) + " waiting" : d.infeasible ? "" : d.bundles ? "All has its place." : "Nothing is asked for."),
    d.infeasible ? el("p", { class: "bad" }, count(d.infeasible) + " can never be placed") : "");
}

// What a person may change comes first, also where nothing is broken.
function attention(s) {
  const over = s.waiting.filter(w => w.reason === "over_budget").reduce((a, w) => a + w.bundles, 0);
  return over ? [...s.problems, "limits.max_cost_per_hour (" + money(s.cost.max_per_hour) + "/h) is used up: " + many(over, "bundle") + (over === 1 ? " waits" : " wait") + " for it"] : s.problems;
}

let before = "";
export function show(s) {
  const problems = attention(s);
  const tiles = [paid(s), month(s), nodes(s), bundles(s)].map(t => t.e);
  const as = tiles.map(t => t.textContent).join("|");
  if (as !== before) $("now").replaceChildren(...tiles);
  before = as;
  $("cluster").textContent = seen(s.cluster);
  $("version").textContent = seen(s.version) + ", up since " + moment(s.started_at);
  document.title = money(s.cost.now_per_hour) + "/h · " + seen(s.cluster) + " · Davit";
  $("problems").hidden = !problems.length;
  const shown = problems.slice(0, 4).map(p => el("li", null, p));
  if (problems.length > 4) shown.push(el("li", null, "and " + (problems.length - 4) + " more: davit status"));
  $("problems").querySelector("ul").replaceChildren(...shown);
}

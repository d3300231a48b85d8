// nodes.js - nodes: searched, sorted, grouped, one page at a time.  Only what is
// shown is asked for, and only while it can be seen.
import { $, el, list, table, text } from "./dom.js";
import { ask } from "./net.js";
import { why } from "./more.js";
import { colours, count, money, now, span, states } from "./show.js";

const LIMIT = matchMedia("(max-width: 640px)").matches ? 15 : 50;
const STATES = ["intended", "requested", "starting", "ready", "draining", "stopping"];
const COLUMNS = [["node"], ["type"], ["state"], ["zone, market"], ["#age"], ["#$/h"], ["why", "why"], ["more", "full"]];
const GROUPS = [["group"], ["#nodes"], ["states"], ["#paid"]];
let offset = 0, visible = false, only = {}, asked = 0;

const chosen = () => ({
  q: $("nodes-q").value.trim(), state: $("nodes-state").value, sort: $("nodes-sort").value, group: $("nodes-group").value, ...only,
});

function path() {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(chosen())) if (v !== "" || k in only) q.set(k, v);
  q.set("limit", LIMIT);
  if (offset) q.set("offset", offset);
  return "v1/nodes?" + q;
}

// What a person said of it.
const marks = n => [["protected", n.protected], ["cordoned", n.cordoned], ["asked to end", n.asked_to_end]]
  .filter(m => m[1]).map(m => el("span", { class: "tag" }, m[0]));

function cells(n) {
  return [
    n.id, n.head ? "head" : n.type, el("span", { class: "stack" }, el("span", { class: "tag " + (colours[n.state] || "") }, n.state), ...marks(n)),
    [n.zone, n.spot ? (n.zone ? ", " : "") + "spot" : ""].join(""), n.created_at ? span((now() - Date.parse(n.created_at)) / 1000) : "?",
    n.price_per_hour === null ? "?" : money(n.price_per_hour), el("span", { class: "dim" }, (n.why.action === "end" ? "ends: " : "") + n.why.text),
    why(n.id)];
}
// What of a node is shown, so that what is not does not count as a change.
const part = n => ({
  id: n.id, type: n.type, state: n.state, zone: n.zone, spot: n.spot, head: n.head, created_at: n.created_at, price_per_hour: n.price_per_hour, why: n.why,
  protected: n.protected, cordoned: n.cordoned, asked_to_end: n.asked_to_end,
  minute: Math.floor((now() - Date.parse(n.created_at)) / 60000),
});

function groupCells(g, key) {
  return [el("button", { type: "button", class: "cli", onclick: () => {
    $("nodes-group").value = "";
    only = { ...only, [key]: g.name };
    again();
  } }, g.name || "(none)"), count(g.nodes), states(g.by_state), money(g.cost_per_hour) + "/h"];
}

function box(key, columns, items, id, make, empty) {
  let b = $("nodes").querySelector("[data-of=" + key + "]");
  if (!b) {
    b = el("div", { "data-of": key });
    $("nodes").replaceChildren(b);
  }
  table(b, "Nodes", columns, items, id, make, empty);
}

function filters() {
  list($("nodes-only"), Object.keys(only).map(k => [k, only[k]]), x => x[0], ([k, v]) =>
    el("button", { type: "button", onclick: () => { only = { ...only }; delete only[k]; again(); } }, k + ": " + (v || "(none)") + " ×"), "");
  $("nodes-only").hidden = !Object.keys(only).length;
}

function pages(r, group) {
  const from = r.matched ? offset + 1 : 0, to = Math.min(offset + LIMIT, r.matched);
  text($("nodes-count"), r.matched === r.total ? count(r.total) : count(r.matched) + " of " + count(r.total));
  $("nodes-pages").hidden = Boolean(group) || r.matched <= LIMIT;
  if (!$("nodes-pages").firstChild) {
    const turn = by => () => { offset = Math.max(0, offset + by); refresh(); };
    $("nodes-pages").append(el("button", { type: "button", id: "nodes-back", onclick: turn(-LIMIT) }, "Previous"),
      el("span", { id: "nodes-at", role: "status" }), el("button", { type: "button", id: "nodes-on", onclick: turn(LIMIT) }, "Next"));
  }
  text($("nodes-at"), count(from) + "–" + count(to) + " of " + count(r.matched));
  $("nodes-back").disabled = offset === 0;
  $("nodes-on").disabled = to >= r.matched;
}

export async function refresh() {
  if (!visible) return;
  const mine = ++asked, group = chosen().group;
  const { value } = await ask(path());
  if (mine !== asked) return;  // another search was begun meanwhile
  if (!group && offset && offset >= value.matched) { offset = Math.max(0, Math.floor((value.matched - 1) / LIMIT) * LIMIT); return refresh(); }
  filters();
  if (group) box("groups", GROUPS, value.groups, g => g.name, g => groupCells(g, group), "No nodes.");
  else box("nodes", COLUMNS, value.nodes.map(part), n => n.id, cells, chosen().q || Object.keys(only).length || chosen().state ? "No node is like that." : "There are no nodes.");
  pages(value, group);
}

const again = () => { offset = 0; return refresh().catch(() => {}); };

// From a node type's name to its nodes.
export function nodesOf(type) {
  only = { type };
  $("nodes-q").value = $("nodes-state").value = $("nodes-group").value = "";
  visible = true;
  again();
  $("nodes-title").scrollIntoView();
  $("nodes-title").focus({ preventScroll: true });
}

export function open(changed) {
  for (const s of STATES) $("nodes-state").append(el("option", { value: s }, s));
  let timer = 0;
  $("nodes-q").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(again, 200); });
  for (const id of ["nodes-state", "nodes-sort", "nodes-group"]) $(id).addEventListener("change", again);
  $("nodes-form").addEventListener("submit", e => { e.preventDefault(); again(); });
  new IntersectionObserver(seen => {
    visible = seen[seen.length - 1].isIntersecting;
    if (visible) changed();
  }, { rootMargin: "200px" }).observe($("nodes-title").closest("section"));
}

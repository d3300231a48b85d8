// whatif.js - another price, max, limit or request, and what that changes.
import { $, el } from "./dom.js";
import { send } from "./net.js";
import { shown } from "./more.js";
import { change, count, many, money, word } from "./show.js";

// "GPU=1, CPU=4" or JSON.
export function bundleRead(s) {
  if (s.startsWith("{")) return JSON.parse(s);
  const b = {};
  for (const part of s.split(/[,\s]+/).filter(Boolean)) {
    const at = part.indexOf("="), k = at < 0 ? part : part.slice(0, at), v = at < 0 ? "1" : part.slice(at + 1);
    b[k] = /^\d+(\.\d+)?$/.test(v) ? Number(v) : v;
  }
  return b;
}

const number = id => $(id).value === "" ? null : Number($(id).value);

function body() {
  const b = {}, type = $("wi-type").value, price = number("wi-price"), max = number("wi-max"), cost = number("wi-cost");
  const bundle = $("wi-bundle").value.trim();
  if (type && (price !== null || max !== null)) b.node_types = { [type]: { ...(price === null ? {} : { price }), ...(max === null ? {} : { max }) } };
  if (cost !== null) b.max_cost_per_hour = cost;
  if (bundle) {
    const { any_of, strategy, ...flat } = bundleRead(bundle);
    const one = any_of ? { any_of } : flat.resources ? flat : { resources: flat };
    if (one.resources?.accelerator_type) {
      const { accelerator_type, ...resources } = one.resources;
      Object.assign(one, { accelerator_type, resources });
    }
    b.request = { owner: "what-if", bundles: [{ ...one, count: number("wi-count") || 1 }], ...(strategy ? { strategy } : {}) };
  }
  return b;
}

function line(b) {
  const set = [];
  for (const [t, v] of Object.entries(b.node_types || {})) for (const k of Object.keys(v)) set.push("--set " + word("node_types." + t + "." + k + "=" + v[k]));
  if (b.max_cost_per_hour !== undefined) set.push("--set limits.max_cost_per_hour=" + b.max_cost_per_hour);
  if (b.request) set.push("--request " + word(JSON.stringify(b.request.bundles[0])));
  return ["curl -s " + location.origin + "/v1/snapshot > snapshot.json", "davit plan " + set.join(" ") + " snapshot.json"];
}

function difference(a, b) {
  const rows = [["bill of the whole fleet", money(a.cost_per_hour) + "/h", money(b.cost_per_hour) + "/h", change(b.cost_per_hour - a.cost_per_hour) + "/h"]];
  for (const [k, name] of [["machines_launched", "nodes to launch"], ["machines_ended", "nodes to end"], ["waiting", "bundles that wait"], ["infeasible", "bundles that can never be placed"]])
    if (a[k] !== b[k]) rows.push([name, count(a[k]), count(b[k]), (b[k] > a[k] ? "+" : "−") + count(Math.abs(b[k] - a[k]))]);
  return el("table", null, el("caption", { class: "skip" }, "The difference"), el("thead", null, el("tr", null, ...["", "as it is", "then", "difference"].map((t, i) => el(t ? "th" : "td", { scope: t ? "col" : null, class: i ? "n" : null }, t)))),
    el("tbody", null, ...rows.map(r => el("tr", null, ...r.map((c, i) => el("td", { class: i ? "n" : null, "data-label": i ? ["", "as it is", "then", "difference"][i] : null }, c))))));
}

function answer(b, r) {
  const same = JSON.stringify({ ...r.before, bound_per_hour: 0 }) === JSON.stringify({ ...r.after, bound_per_hour: 0 }) && !r.types.length;
  const all = [el("p", null, el("b", null, same ? "The plan is the same." : "The bill becomes " + money(r.after.cost_per_hour) + "/h (" + change(r.after.cost_per_hour - r.before.cost_per_hour) + ")."))];
  if (r.request) all.push(el("p", null, r.request.text));
  if (!same) all.push(difference(r.before, r.after));
  for (const t of r.types) {
    const up = t.launched_after - t.launched_before, down = t.ended_after - t.ended_before;
    all.push(el("p", null, [up ? many(Math.abs(up), "node") + " of " + t.type + (up > 0 ? " more would be launched" : " less would be launched") : "",
      down ? many(Math.abs(down), "node") + " of " + t.type + (down > 0 ? " more would be ended" : " would be kept") : ""].filter(Boolean).join("; ") + "."));
  }
  return [...all, shown(line(b))];
}

export function show(s) {
  const names = s.types.map(t => t.name), had = [...$("wi-type").options].slice(1).map(o => o.value);
  if (names.join("\n") === had.join("\n")) return;
  const was = $("wi-type").value;
  $("wi-type").replaceChildren(el("option", { value: "" }, "–"), ...names.map(n => el("option", { value: n }, n)));
  $("wi-type").value = names.includes(was) ? was : "";
}

$("whatif").addEventListener("submit", async e => {
  e.preventDefault();
  const out = $("whatif-answer");
  try {
    const b = body();
    if (!Object.keys(b).length) { out.replaceChildren(el("p", { class: "dim" }, "Change something first: a type's price or max, the limit, or a request.")); return; }
    out.replaceChildren(el("p", { class: "dim" }, "planning …"));
    out.replaceChildren(...answer(b, await send("v1/whatif", b)));
  } catch (x) {
    out.replaceChildren(el("p", { class: "bad" }, x instanceof SyntaxError ? "The bundle is no JSON: " + x.message : x.message));
  }
});

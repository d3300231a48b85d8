// types.js - node types in one line each.
import { $, el, table } from "./dom.js";
import { nodesOf } from "./nodes.js";
import { count, money, shape, span, states } from "./show.js";

const COLUMNS = [["type"], ["provider"], ["has"], ["#nodes"], ["#min–max"], ["#price"], ["#paid"], ["states"], ["usual start"], ["not bought now", "why"]];

function cells(t) {
  return [
    el("button", { type: "button", class: "cli", title: "its nodes", onclick: () => nodesOf(t.name) }, t.name),
    t.provider, shape(t.resources), count(t.nodes), t.min + "–" + (t.max === null ? "∞" : t.max),
    (t.price_estimated ? "~" : "") + money(t.price_per_hour), t.nodes ? money(t.cost_per_hour) + "/h" : "",
    [states(t.by_state), t.planned ? el("span", { class: "tag go" }, t.planned + " planned") : ""],
    t.boot_s === null ? "" : span(t.boot_s), t.held ? el("span", { class: "wait" }, t.held) : ""];
}

export function show(s) {
  table($("types"), "Node types", COLUMNS, s.types, t => t.name, cells, "No node types are configured.");
}

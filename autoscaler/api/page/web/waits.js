// waits.js - what has no place, since when, and the one reason.
import { $, el, list, text } from "./dom.js";
import { why } from "./more.js";
import { count, many, since } from "./show.js";

// "76 x (1 GPU) wait: t4 is at its max" begins with what is shown beside it.
const reason = w => w.text.replace(/^\d+ x \(.*?\) (waits?: |can never be placed; )/, "");

function item(w) {
  return el("div", { class: "item" },
    el("span", null, el("b", null, w.owner), w.source === "request" ? "" : " (" + w.source + (w.id ? " " + w.id : "") + ")", " · ",
      w.bundles === 1 ? w.need : count(w.bundles) + " × (" + w.need + ")"),
    el("span", { class: "when" }, w.since ? since(w.since) : ""),
    el("span", { class: "text" }, el("span", { class: "tag " + (w.infeasible ? "bad" : "wait") }, w.infeasible ? "never" : "waits"), " ", reason(w), " ", why(w.owner)));
}

export function show(s) {
  const n = s.demand.waiting + s.demand.infeasible;
  text($("waits-count"), n ? many(n, "bundle") : "");
  list($("waits"), s.waiting.concat(s.waiting_more ? [{ more: s.waiting_more }] : []),
    w => w.more ? "more" : [w.owner, w.source, w.id, w.need, w.reason].join("\n"),
    w => w.more ? el("p", { class: "none" }, "and " + many(w.more, "reason") + " more: davit status") : item(w),
    s.demand.bundles || s.nodes.total ? "Nothing waits: all that is asked for has its place."
      : "Nothing is asked for yet. Work on the head, a pending pod, or davit request GPU=1 asks for machines.");
}

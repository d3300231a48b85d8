// next.js - what happens by itself: nodes that come, with when; nodes that go.
import { $, el, list, text } from "./dom.js";
import { why } from "./more.js";
import { change, many, money, now, since, until } from "./show.js";

const words = {
  launch: ["launch", "go"], ready: ["starts", "go"], leaving: ["leaves", "wait"], end: ["ends", "wait"],
};

function when(x) {
  if (x.what === "launch") return x.at ? until(x.at, "within ") : "soon";
  if (x.what === "leaving") return "now";
  if (!x.at) return "time not known yet";
  if (x.late && Date.parse(x.at) < now()) return el("span", { class: "wait" }, since(x.at, "later than usual by "));
  return until(x.at, x.what === "ready" ? "ready in " : "in ");
}

function item(x) {
  const [word, cls] = words[x.what];
  const tag = el("span", { class: "tag " + cls }, word);
  const name = x.count === 1 && x.node ? x.node : x.node || x.owner;
  return el("div", { class: "item" },
    el("span", null, tag, " ", el("b", null, x.count === 1 && x.node ? x.node : many(x.count, "node") + " of " + (x.type || "an unknown type")),
      el("span", { class: "dim" }, x.cost_per_hour ? " " + (x.what === "ready" ? money(x.cost_per_hour) : change(x.cost_per_hour)) + "/h" : "")),
    el("span", { class: "when" }, when(x)),
    el("span", { class: "text" }, x.text + (x.owner && !x.text.includes(x.owner) ? " (" + x.owner + ")" : ""), " ", name ? why(name) : ""));
}

export function show(s) {
  text($("next-count"), s.next_more ? "the first of " + (s.next.length + s.next_more) : "");
  list($("next"), s.next, x => [x.what, x.type, x.reason].join("\n"), item,
    "Nothing: no node starts, leaves or is near its idle timeout.");
}

// more.js - the dialog that says more about one thing, and the buttons that open
// it: each is the command that says the same in a terminal.
import { $, el } from "./dom.js";
import { ask } from "./net.js";
import { change, many, moment, money, word } from "./show.js";

let opener = null;

export function open(title, ...children) {
  opener = document.activeElement;
  $("more-title").replaceChildren(title);
  $("more-body").replaceChildren(...children);
  if (!$("more").open) $("more").showModal();
  $("more-body").scrollTop = 0;
}
$("more-close").addEventListener("click", () => $("more").close());
$("more").addEventListener("close", () => { if (opener?.isConnected) opener.focus(); });
// a click beside it
$("more").addEventListener("click", e => { if (e.target === $("more")) $("more").close(); });

// Lines for a shell.
export const shown = lines => {
  const pre = el("pre");
  lines.forEach((l, i) => pre.append(el("code", null, l), i < lines.length - 1 ? document.createTextNode("\n") : ""));
  return pre;
};

// `davit why NAME`, and its answer when it is pressed.
export function why(name, label) {
  const line = "davit why " + word(name);
  return el("button", { type: "button", class: "cli", title: line, onclick: () => whyOpen(name) },
    label ? label : el("code", null, line));
}

async function whyOpen(name) {
  const line = "davit why " + word(name);
  open("Why " + name, el("p", { class: "dim" }, "asking …"));
  try {
    const { value } = await ask("v1/why/" + encodeURIComponent(name));
    $("more-body").replaceChildren(...answer(value), shown([line]));
  } catch (e) {
    $("more-body").replaceChildren(el("p", { class: "bad" }, e.message), shown([line]));
  }
}

function answer(w) {
  const all = w.text.slice(0, 40).map((s, i) => el("p", null, i ? s : el("b", null, s)));
  if (w.node) all.push(nodeFacts(w.node));
  const obstacles = (w.owner?.demands || []).flatMap(d => d.bundles).flatMap(b => b.obstacles || []).map(o => o.text);
  const each = [...new Set(obstacles)].slice(0, 20);
  if (each.length) all.push(el("p", null, el("b", null, "Each offer, and the first thing against it")), el("ul", null, ...each.map(o => el("li", null, o))));
  return all;
}

function nodeFacts(n) {
  const facts = [["type", n.type], ["state", n.state], ["zone", n.zone], ["market", n.spot ? "spot" : "on-demand"],
    ["price", n.price_per_hour === null ? "?" : money(n.price_per_hour) + "/h"], ["created", n.created_at ? moment(n.created_at) : "?"],
    ["address", n.address], ["cloud id", n.cloud_id], ["Ray id", n.ray_id], ["note", n.note],
    ["for", (n.for || []).map(f => f.owner + " (" + many(f.count, "bundle") + ")").join(", ")]];
  return el("dl", null, ...facts.filter(f => f[1]).flatMap(([k, v]) => [el("dt", null, k), el("dd", null, v)]));
}

// One decision: what for, what else, what it changes in the bill.
export function decision(d) {
  const launch = d.what === "launch";
  const facts = [
    ["when", moment(d.at)],
    ["what", (launch ? "launched " : "ended ") + d.count + " × " + d.type + (d.zone ? " in " + d.zone : "") + (d.spot ? ", spot" : "")],
    ["why", d.text],
    ["for", d.owner && d.owner + " (" + d.source + (d.demand ? ", " + d.demand : "") + ")"],
    ["bill", change(d.change_per_hour) + "/h: from " + money(d.before_per_hour) + " to " + money(d.before_per_hour + d.change_per_hour)],
  ];
  const all = [el("dl", null, ...facts.filter(f => f[1]).flatMap(([k, v]) => [el("dt", null, k), el("dd", null, v)]))];
  if (d.others.length) {
    all.push(el("p", null, el("b", null, "The same work would also fit on")), el("ul", null, ...d.others.map(o => el("li", null, otherText(d, o)))));
  } else if (launch && d.owner) {
    all.push(el("p", null, "No other offer holds what one of these holds."));
  }
  const lines = [launch && d.owner ? "davit why " + word(d.owner) : null, launch ? "davit why " + word(d.node) : null, launch ? null : "davit nodes"];
  all.push(shown(lines.filter(Boolean)));
  return all;
}

function otherText(d, o) {
  const what = o.type + (o.zone ? " in " + o.zone : "") + (o.spot ? ", spot" : "");
  const price = o.more_per_hour === 0 ? "the same price" : change(o.more_per_hour) + "/h";
  if (o.text) return what + ": " + price + "; " + o.text;
  return what + ": " + price + (o.more_per_hour < 0 ? "; the plan as a whole is cheaper this way" : "");
}

export function decisionsOpen(list) {
  const n = list.reduce((a, d) => a + d.count, 0), verb = list[0].what === "launch" ? "launched" : "ended";
  open(many(n, "node") + " " + verb, ...list.slice(0, 30).flatMap(decision), list.length > 30 ? el("p", null, "and " + (list.length - 30) + " decisions more") : "");
}

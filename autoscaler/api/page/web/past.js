// past.js - the last hour (or day, or month) as a timeline: cost as a line,
// waiting as bars below it, decisions as marks that open what was decided.
import { $, el, list, svg, text } from "./dom.js";
import { ask } from "./net.js";
import { decisionsOpen } from "./more.js";
import { change, count, many, money, now, utc } from "./show.js";

const LENGTH = { 60: 3600, 300: 86400, 3600: 30 * 86400 };  // seconds that are shown
const TITLE = { 60: "Last hour", 300: "Last day", 3600: "Last month" };
const W = 1000, H = 154, TOP = 30, LOW = H;
let step = 60, slots = [], decisions = [], limit = null, paid = 0, after = 0, drawn = "", started = "", shown = { from: 0, length: 1 };
const drawing = el("div"), marks = el("div"), said = el("p", { class: "dim" });
const chart = el("div", { class: "chart" }, drawing, marks);

const ms = s => Date.parse(s.at);
// The stretch that has not ended shows what is paid now.
const cost = s => ms(s) + step * 1000 > now() ? paid : s.cost_per_hour;

// Only what is not known yet is asked for; the newest slot still grows.
async function slotsRead() {
  const from = slots.length ? Math.floor(ms(slots[slots.length - 1]) / 1000) : Math.floor(now() / 1000) - LENGTH[step] - step;
  const { value } = await ask("v1/history?step=" + step + "&after=" + from);
  if (value.step_s !== step) return;
  slots = slots.filter(s => ms(s) / 1000 < from).concat(value.slots).filter(s => ms(s) > now() - (LENGTH[step] + step) * 1000);
}

async function decisionsRead(s) {
  if (s.started_at !== started) { started = s.started_at; after = 0; decisions = []; }
  const { value } = await ask("v1/decisions?after=" + after);
  after = value.next;
  decisions = decisions.concat(value.decisions).slice(-512);
}

// Decisions of one kind that would lie on one another are one mark.  Its place in
// time does not depend on what is shown, so a mark stays the same while it moves.
function marksOf(from, width) {
  const bins = new Map(), wide = Math.ceil(26 / Math.max(width, 300) * LENGTH[step]) * 1000;
  for (const d of decisions) {
    const t = Date.parse(d.at);
    if (t < from) continue;
    const bin = Math.floor(t / wide), key = d.what + bin + "/" + wide;
    if (!bins.has(key)) bins.set(key, { key, what: d.what, at: (bin + 0.5) * wide, all: [] });
    bins.get(key).all.push(d);
  }
  return [...bins.values()];
}

function markTitle(m) {
  const n = m.all.reduce((a, d) => a + d.count, 0), sum = m.all.reduce((a, d) => a + d.change_per_hour, 0);
  const types = [...new Set(m.all.map(d => d.type))].slice(0, 3).join(", ");
  const owners = [...new Set(m.all.map(d => d.owner).filter(Boolean))].slice(0, 3).join(", ");
  return (m.what === "launch" ? "Launched " : "Ended ") + many(n, "node") + " (" + types + ")" + (owners ? " for " + owners : "") +
    ", " + change(sum) + "/h, " + utc(m.all[0].at);
}

function tip(parent, x, y, lines) {
  const t = el("div", { class: "tip" }, ...lines.map(l => el("div", null, l)));
  parent.append(t);
  t.style.left = Math.max(0, Math.min(x - t.offsetWidth / 2, parent.clientWidth - t.offsetWidth)) + "px";
  t.style.top = Math.max(0, y - t.offsetHeight - 4) + "px";
  return t;
}

function mark(chart, m) {
  const title = markTitle(m);
  const b = el("button", { type: "button", class: "mark" + (m.what === "launch" ? "" : " down"), "aria-label": title });
  let t = null;
  const hide = () => { t?.remove(); t = null; };
  const show = () => { hide(); t = tip(chart, b.offsetLeft + 12, b.offsetTop + 74, [title]); };
  b.style.top = m.what === "launch" ? "0" : "18px";
  b.addEventListener("mouseenter", show);
  b.addEventListener("focus", show);
  b.addEventListener("mouseleave", hide);
  b.addEventListener("blur", hide);
  b.addEventListener("click", () => { hide(); decisionsOpen(m.all); });
  return b;
}

// A round number at or above v.
function round(v) {
  const p = 10 ** Math.floor(Math.log10(v || 1));
  return [1, 2, 2.5, 5, 10].map(k => k * p).find(x => x >= v * 0.999);
}

function lines(from, length, top, most) {
  const x = t => (t - from) / length * W, y = v => LOW - v / top * (LOW - TOP);
  const s = svg("svg", { viewBox: "0 0 " + W + " " + H, preserveAspectRatio: "none", "aria-hidden": "true" });
  for (const v of [0, top / 2, top]) s.append(svg("line", { class: "grid", x1: 0, x2: W, y1: y(v), y2: y(v) }));
  let line = "", area = "", last = null;
  for (const o of slots) {
    const a = Math.max(0, x(ms(o))), b = Math.min(W, x(ms(o) + step * 1000));
    if (b <= 0 || a >= W || o.cost_per_hour === null) { last = null; continue; }
    const v = y(Math.min(cost(o), top));
    line += (last !== null && Math.abs(last - a) < 0.5 ? "L" : "M") + a.toFixed(1) + " " + v.toFixed(1) + "L" + b.toFixed(1) + " " + v.toFixed(1);
    area += "M" + a.toFixed(1) + " " + LOW + "V" + v.toFixed(1) + "H" + b.toFixed(1) + "V" + LOW + "Z";
    last = b;
    if (o.waiting) s.append(svg("rect", { class: "waits", x: a.toFixed(1), width: Math.min(W - a, Math.max(1, b - a - 1)).toFixed(1), y: (LOW - 4 - o.waiting / most * 26).toFixed(1), height: (4 + o.waiting / most * 26).toFixed(1) }));
  }
  s.prepend(svg("path", { class: "area", d: area || "M0 0" }));
  s.append(svg("path", { class: "cost", d: line || "M0 0" }));
  if (limit !== null && limit <= top) s.append(svg("line", { class: "limit", x1: 0, x2: W, y1: y(limit), y2: y(limit) }));
  return s;
}

function label(chart, textOf, left, top, right) {
  const e = el("span", { class: "axis" }, textOf);
  if (right) e.style.right = "0"; else e.style.left = left;
  e.style.top = top;
  chart.append(e);
}

function axes(chart, from, length, top) {
  const y = v => (LOW - v / top * (LOW - TOP)) + "px";
  for (const v of [top / 2, top]) label(chart, money(v), "0", "calc(" + y(v) + " - 15px)");
  if (limit !== null && limit <= top) label(chart, "limit " + money(limit), "", "calc(" + y(limit) + " - 16px)", true);
  for (let k = 0; k <= 4; k++) {
    const at = new Date(from + length * k / 4).toISOString();
    const s = k === 4 ? "now" : step === 60 ? at.slice(11, 16) : step === 300 ? at.slice(11, 16) : at.slice(5, 10);
    label(chart, k === 0 ? s + " UTC" : s, k === 4 ? "" : "calc(" + k * 25 + "% - " + (k ? 16 : 0) + "px)", H + 4 + "px", k === 4);
  }
}

function hover(chart) {
  let cursor = null, t = null;
  const off = () => { cursor?.remove(); t?.remove(); cursor = t = null; };
  chart.addEventListener("mousemove", e => {
    off();
    if (e.target.closest(".mark")) return;
    const box = chart.getBoundingClientRect(), x = e.clientX - box.left, at = shown.from + x / box.width * shown.length;
    const o = slots.find(s => ms(s) <= at && at < ms(s) + step * 1000);
    cursor = el("div", { class: "cursor" });
    cursor.style.left = x + "px";
    chart.append(cursor);
    t = tip(chart, x, 96, o ? [(step > 300 ? o.at.slice(0, 16).replace("T", " ") : o.at.slice(11, 16)) + " UTC",
      o.cost_per_hour === null ? "not watched" : money(cost(o)) + "/h, " + many(o.nodes, "node"),
      o.waiting ? many(o.waiting, "bundle") + " waiting" : "nothing waits",
      o.launched || o.ended ? count(o.launched) + " launched, " + count(o.ended) + " ended" : ""].filter(Boolean) : ["not watched"]);
  });
  chart.addEventListener("mouseleave", off);
}

function summary(most) {
  const known = slots.filter(s => s.cost_per_hour !== null);
  if (!known.length) return "Nothing is known of this time yet.";
  const spent = known.reduce((a, s) => a + s.spent, 0), peak = Math.max(...known.map(cost));
  return TITLE[step] + ": " + money(spent) + " spent, at most " + money(peak) + "/h, " + count(known.reduce((a, s) => a + s.launched, 0)) + " launched, " +
    count(known.reduce((a, s) => a + s.ended, 0)) + " ended, at most " + many(Math.max(0, most), "bundle") + " waiting.";
}

function draw() {
  const length = LENGTH[step] * 1000, end = now(), from = end - length;
  const peak = Math.max(0, ...slots.map(s => cost(s) || 0)) || 1;
  const top = round(limit !== null && limit > 0 && limit < peak * 3 ? Math.max(peak, limit) : peak);
  const most = Math.max(0, ...slots.map(s => s.waiting));
  const as = JSON.stringify([step, slots, after, limit, paid, Math.floor(end / (step * 250)), $("past").clientWidth]);
  if (as === drawn) return;
  drawn = as;
  shown = { from, length };
  if (!chart.isConnected) $("past").replaceChildren(chart, said);
  drawing.replaceChildren(lines(from, length, top, most || 1));
  axes(drawing, from, length, top);
  const all = marksOf(from, chart.clientWidth), at = new Map(all.map(m => [m.key, m.at]));
  list(marks, all, m => m.key, m => mark(chart, m), "");
  for (const [key, { e }] of marks.items)
    if (at.has(key)) e.style.left = Math.min(1, (at.get(key) - from) / length) * 100 + "%";
  text(said, summary(most));
}

export async function show(s, same) {
  limit = s.cost.max_per_hour;
  paid = s.cost.now_per_hour;
  if (!same) await decisionsRead(s);
  const newest = slots.length ? ms(slots[slots.length - 1]) : 0;
  if (!same || now() > newest + (step + 5) * 1000) await slotsRead();
  draw();
}

for (const b of document.querySelectorAll("[data-step]"))
  b.addEventListener("click", async () => {
    step = Number(b.dataset.step);
    slots = [];
    for (const x of document.querySelectorAll("[data-step]")) x.setAttribute("aria-pressed", String(x === b));
    $("past-title").textContent = TITLE[step];
    await slotsRead();
    draw();
  });
hover(chart);

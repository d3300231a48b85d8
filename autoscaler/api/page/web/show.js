// show.js - how amounts and times are written.
import { el } from "./dom.js";

export function money(v) {
  if (v === null || v === undefined) return "?";
  const a = Math.abs(v), digits = a !== 0 && a < 0.1 ? 4 : a < 10000 ? 2 : 0;
  return (v < 0 ? "−$" : "$") + a.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
export const change = v => v > 0 ? "+" + money(v) : money(v);
export const count = n => n.toLocaleString("en-US");
export const many = (n, one, more) => count(n) + " " + (n === 1 ? one : more || one + "s");

export function span(s) {
  s = Math.max(0, Math.round(s));
  if (s < 120) return s + " s";
  if (s < 7200) return Math.floor(s / 60) + " min";
  if (s < 172800) return Math.floor(s / 3600) + " h " + Math.floor(s % 3600 / 60) + " min";
  return Math.floor(s / 86400) + " days";
}

// The daemon's clock: the browser's may be wrong.
let ahead = 0;
export function clockSet(at) { ahead = Date.parse(at) - Date.now(); }
export const now = () => Date.now() + ahead;

export const utc = at => at.slice(11, 19) + " UTC";
export function moment(at) {
  return at.slice(0, 10) === new Date(now()).toISOString().slice(0, 10) ? utc(at) : at.slice(0, 10) + " " + utc(at);
}

// A time that is told anew every second: "for 5 min", "in 40 s".
export function since(at, before = "for ") {
  return el("time", { datetime: at, "data-since": at, "data-before": before, title: at }, before + span((now() - Date.parse(at)) / 1000));
}
export function until(at, before = "in ", over = "any moment") {
  return el("time", { datetime: at, "data-until": at, "data-before": before, "data-over": over, title: at }, untilText(at, before, over));
}
function untilText(at, before, over) {
  const s = (Date.parse(at) - now()) / 1000;
  return s > 0 ? before + span(s) : over;
}
export function tickTimes() {
  for (const e of document.querySelectorAll("time[data-since], time[data-until]")) {
    const d = e.dataset, s = d.since ? d.before + span((now() - Date.parse(d.since)) / 1000) : untilText(d.until, d.before, d.over);
    if (e.textContent !== s) e.textContent = s;
  }
}

const bytes = new Set(["memory", "object_store_memory"]);
export function amount(name, v) {
  if (!bytes.has(name)) return count(v) + " " + name;
  return v >= 2 ** 30 ? count(Math.round(v / 2 ** 30)) + " GiB" : count(Math.round(v / 2 ** 20)) + " MiB";
}
export const shape = r => Object.entries(r).map(([k, v]) => amount(k, v)).join(", ");

export const colours = { ready: "good", intended: "go", requested: "go", starting: "go", draining: "wait", stopping: "wait", gone: "" };
export function states(by) {
  return el("span", { class: "stack" }, ...Object.entries(by).map(([k, v]) => el("span", { class: "tag " + (colours[k] || "") }, count(v) + " " + k)));
}
// A word that a shell takes as it is.
export const word = s => /^[\w.:@%+=/-]+$/.test(s) ? s : "'" + s.replace(/'/g, "'\\''") + "'";

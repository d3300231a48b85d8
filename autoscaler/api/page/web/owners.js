// owners.js - who asks for what, what that costs, and how long a request stays.
import { $, el, table } from "./dom.js";
import { open, shown, why } from "./more.js";
import { ask } from "./net.js";
import { change, count, many, money, now, until } from "./show.js";

const COLUMNS = [["owner"], ["asks by"], ["#bundles"], ["#placed"], ["#waiting"], ["#pays"], ["time left"], ["more", "full"]];

function cells(o) {
  const missing = o.waiting + o.infeasible;
  if (o.rest) return [el("span", { class: "dim" }, o.owner), "", "", "", "", money(o.cost_per_hour) + "/h", "", o.note ? el("span", { class: "dim" }, o.note) : ""];
  return [
    el("b", null, o.owner), o.sources.join(", "), count(o.bundles), count(o.placed + o.launched),
    missing ? el("span", { class: o.infeasible ? "bad" : "wait" }, count(missing)) : "0", money(o.cost_per_hour) + "/h",
    o.expires_at ? until(o.expires_at, "", "over") : o.sources.includes("request") ? "until cleared" : "", why(o.owner)];
}

const FIRST = 12;
let all = false, last = null;

export function show(s) {
  const rest = [], owners = all ? s.owners : s.owners.slice(0, FIRST);
  last = s;
  $("owners-all").hidden = all || s.owners.length <= FIRST;
  $("owners-all").textContent = "Show all " + count(s.owners.length);
  if (all && s.owners_more) rest.push({ rest: true, owner: many(s.owners_more, "owner") + " more", note: "davit status", cost_per_hour: null });
  if (s.cost.idle_per_hour > 0.005) rest.push({ rest: true, owner: "idle: room that nobody asked for", cost_per_hour: s.cost.idle_per_hour });
  if (s.cost.unowned_per_hour > 0.005) rest.push({ rest: true, owner: "running work that nobody asked for", cost_per_hour: s.cost.unowned_per_hour });
  table($("owners"), "Owners", COLUMNS, owners.concat(rest), o => (o.rest ? "rest\n" : "") + o.owner, cells, "Nobody asks for anything.");
}

$("owners-all").addEventListener("click", () => { all = true; show(last); });

// Yesterday and today side by side, in UTC.  What began later than asked for knows nothing of before.
const DAY = 86400;
const spent = (since, until) => ask("v1/spent?since=" + since + (until ? "&until=" + until : "")).then(r => r.value);
const sums = (s, from) => new Map(Date.parse(s.since) / 1000 >= from + DAY ? [] : s.owners.map(o => [o.owner, o.spent]).concat([["(idle)", s.idle]]));

function days(today, was, is) {
  const a = sums(was, today - DAY), b = sums(is, today), all = [...new Set([...a.keys(), ...b.keys()])];
  const more = o => (b.get(o) || 0) - (a.get(o) || 0), body = el("div");
  all.sort((x, y) => more(y) - more(x));
  table(body, "Yesterday and today", [["owner"], ["#yesterday"], ["#today so far"], ["#more"]], all, o => o,
    o => [o, a.size ? money(a.get(o) || 0) : "?", money(b.get(o) || 0), a.size ? change(more(o)) : "?"], "Nothing was spent.");
  open("Yesterday and today, by owner", body, shown(["davit cost --since yesterday --by owner", "davit cost --why --since yesterday"]));
}

$("owners-days").addEventListener("click", async () => {
  const today = Math.floor(now() / 1000 / DAY) * DAY;
  try {
    days(today, await spent(today - DAY, today), await spent(today));
  } catch (e) {
    open("Yesterday and today", el("p", { class: "bad" }, e.message));
  }
});

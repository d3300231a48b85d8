// main.js - asks every three seconds while somebody looks, and shows what is new.
import { $, text } from "./dom.js";
import { ask, hasToken, tokenSet } from "./net.js";
import * as next from "./next.js";
import * as nodes from "./nodes.js";
import * as nowRow from "./now.js";
import * as owners from "./owners.js";
import * as past from "./past.js";
import { clockSet, now, span, tickTimes, utc } from "./show.js";
import * as types from "./types.js";
import * as waits from "./waits.js";
import * as whatif from "./whatif.js";

const EVERY = 3000, SLOWEST = 30000;
let timer = 0, busy = false, again = false, failures = 0, shownAt = 0;

function state(line, cls) {
  text($("state"), line);
  $("state").className = cls;
}

const breath = () => new Promise(done => setTimeout(done));

// Each part in a task of its own: no frame waits for all of them.
async function show(s, same) {
  if (!same) {
    if (!shownAt || Math.abs(Date.parse(s.at) - now()) > 90000) clockSet(s.at);
    for (const part of [nowRow, waits, next, types, owners, whatif]) {
      part.show(s);
      await breath();
    }
  }
  await past.show(s, same);
  await nodes.refresh();
  shownAt = Date.now();
  document.documentElement.dataset.tick = s.tick;
  state((s.shadow ? "SHADOW · " : "") + (s.ready ? "ready" : "not ready") + " · as of " + utc(s.at), s.ready ? "good" : "bad");
}

function failed(e) {
  failures++;
  if (e.code === 401) {
    $("login-wrong").textContent = hasToken() ? "This token is not known." : "";
    $("login").hidden = false;
    document.documentElement.classList.toggle("locked", !shownAt);
    state("needs a token", "wait");
    return;
  }
  state((e.code ? e.message : "the daemon does not answer") + (shownAt ? " · shown is what was known " + span((Date.now() - shownAt) / 1000) + " ago" : ""), "bad");
}

async function refresh() {
  clearTimeout(timer);
  if (busy) { again = true; return; }
  busy = true;
  try {
    const { value, same } = await ask("v1/overview");
    $("login").hidden = true;
    document.documentElement.classList.remove("locked");
    await show(value, same && shownAt > 0 && !again);
    failures = 0;
  } catch (e) {
    failed(e);
  }
  busy = false;
  if (again) { again = false; refresh(); return; }
  if (!document.hidden && $("login").hidden) timer = setTimeout(refresh, Math.min(SLOWEST, EVERY * 2 ** Math.min(failures, 4)));
}

$("login-form").addEventListener("submit", e => {
  e.preventDefault();
  tokenSet($("token").value.trim());
  $("token").value = "";
  refresh();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
setInterval(() => { if (!document.hidden) tickTimes(); }, 1000);
nodes.open(() => nodes.refresh().catch(failed));
refresh();

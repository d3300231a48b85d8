// net.js - asking the daemon.  A reply that is the same as the one before is not
// sent again: the ETag says so.
let token = sessionStorage.getItem("davit-token") || "";
const kept = new Map();   // by path: {etag, value}
const KEPT = 40;

export class Refused extends Error {
  constructor(code, reply) {
    super(reply?.error ? [reply.error.where, reply.error.text].filter(Boolean).join(": ") : "the daemon answers " + code);
    this.code = code;
  }
}

export function tokenSet(t) {
  token = t;
  if (t) sessionStorage.setItem("davit-token", t);
  else sessionStorage.removeItem("davit-token");
  kept.clear();
}
export const hasToken = () => token !== "";

function headers(more) {
  return token ? { Authorization: "Bearer " + token, ...more } : more;
}

// {value, same}: the parsed reply, and whether it is the one before.
export async function ask(path) {
  const had = kept.get(path);
  const r = await fetch(path, { headers: headers(had ? { "If-None-Match": had.etag } : {}), cache: "no-store" });
  if (r.status === 304) return { value: had.value, same: true };
  const value = await r.json().catch(() => null);
  if (!r.ok) throw new Refused(r.status, value);
  const etag = r.headers.get("ETag");
  kept.delete(path);
  if (etag) kept.set(path, { etag, value });
  if (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return { value, same: false };
}

export async function send(path, body) {
  const r = await fetch(path, { method: "POST", headers: headers({ "Content-Type": "application/json" }), body: JSON.stringify(body), cache: "no-store" });
  const value = await r.json().catch(() => null);
  if (!r.ok) throw new Refused(r.status, value);
  return value;
}

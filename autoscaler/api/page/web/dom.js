// dom.js - elements from text.  What comes from outside goes into text nodes
// only, never into HTML, and what turns or hides the text beside it is shown as
// its number.
export const $ = id => document.getElementById(id);

export const seen = s => String(s).replace(/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
  c => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

// el("td", {class: "n"}, "text", another): null children are left out.
export function el(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (v === null || v === undefined || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.filter(c => c !== null && c !== undefined && c !== "")
    .map(c => c instanceof Node ? c : seen(c)));
  return e;
}

export function svg(tag, attributes) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  return e;
}

export function text(e, s) {
  if (e.textContent !== seen(s)) e.textContent = seen(s);
}

// Shows items in order, each in an element that make(item) gives; one whose item
// is as before stays as it is, with its focus.
export function list(parent, items, key, make, empty) {
  const old = parent.items || new Map(), now = new Map();
  let at = parent.firstChild;
  if (!items.length && empty) items = [null];
  for (const item of items) {
    const k = item === null ? "" : String(key(item)), as = JSON.stringify(item);
    const had = old.get(k);
    let e = had && had.as === as ? had.e : null;
    if (!e) {
      e = item === null ? el("p", { class: "none" }, empty) : make(item);
      if (had) keepFocus(had.e, e);
    }
    now.set(k, { as, e });
    if (had && had.e !== e && had.e.parentNode === parent) {
      if (at === had.e) at = had.e.nextSibling;
      had.e.remove();
    }
    if (e === at) at = at.nextSibling;
    else parent.insertBefore(e, at);
  }
  for (const [k, v] of old) if (!now.has(k) || now.get(k).e !== v.e) v.e.remove();
  parent.items = now;
}

function keepFocus(from, to) {
  const was = document.activeElement;
  if (!from.contains(was)) return;
  const n = [...from.querySelectorAll("a,button,input")].indexOf(was);
  queueMicrotask(() => to.querySelectorAll("a,button,input")[n]?.focus());
}

// A table whose rows are kept as list() keeps them.  columns: [title, class];
// "#" before a title: numbers.  cells(item): one for each column.
export function table(parent, name, columns, items, key, cells, empty) {
  if (!parent.body) {
    parent.body = el("tbody");
    parent.head = el("table", null, el("caption", { class: "skip" }, name), el("thead", null, el("tr", null,
      ...columns.map(([title]) => el("th", { scope: "col", class: title[0] === "#" ? "n" : null }, title.replace("#", ""))))), parent.body);
  }
  if (!items.length) {
    parent.replaceChildren(el("p", { class: "none" }, empty));
    parent.body.items = null;
    parent.body.replaceChildren();
    return;
  }
  if (parent.firstChild !== parent.head) parent.replaceChildren(parent.head);
  list(parent.body, items, key, item => {
    const made = cells(item);
    return el("tr", null, ...columns.map(([title, cls], i) => el("td", {
      class: [title[0] === "#" ? "n" : "", cls || ""].join(" ").trim() || null, "data-label": title.replace("#", "") || null },
    ...[].concat(made[i]))));
  }, "");
}

// Elements, numbers and bars. Data of answers become text, never HTML.

import { nameOf } from "./api.js";

const COLOURS = 8;
const LINES = 10; // of a table of reasons
const colours = new Map();

/** Make an element: `el("button.add", {title: "Add", onclick: add}, "text", child)`. */
export function el(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  made.className = classes.join(" ");
  for (const [attribute, value] of Object.entries(attributes)) {
    if (attribute.startsWith("on")) made.addEventListener(attribute.slice(2), value);
    else made.setAttribute(attribute, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export const number = (value) => Number(value).toLocaleString("en");
export const plural = (count, noun) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`;

/** Format a score or a part of one; null stands for infinity. */
export function score(value) {
  if (value === null) return "–";
  if (Number.isInteger(value)) return number(value);
  const size = Math.abs(value);
  const text = size >= 1e-4 && size < 1e6 ? value.toFixed(4) : value.toExponential(2);
  return text.replace(/^-/, "−");
}

/** Give colours to the items that add most to the list. An item keeps its colour. */
export function assignColours(entries, profile) {
  const weight = new Map(profile.map((id) => [id, 0]));
  for (const { item, adds, tags } of entries.flatMap((entry) => entry.reasons ?? []))
    if (!tags) weight.set(item, (weight.get(item) ?? 0) + Math.abs(adds));
  const first = [...weight.keys()].sort((a, b) => weight.get(b) - weight.get(a)).slice(0, COLOURS);
  for (const id of colours.keys()) if (!first.includes(id)) colours.delete(id);
  const used = new Set(colours.values());
  const free = [...Array(COLOURS).keys()].filter((colour) => !used.has(colour));
  const fresh = [...weight.keys()].filter((id) => first.includes(id) && !colours.has(id));
  for (const id of fresh) colours.set(id, free.shift());
}

export const hasColour = (id) => colours.has(id);
export const colourOf = (id) => (colours.has(id) ? `c${colours.get(id)}` : "other");

/** Dim the parts of bars that other items gave; null lights all. */
export function highlight(id) {
  for (const part of document.querySelectorAll("#rows .part"))
    part.classList.toggle("dim", id !== null && part.dataset.item !== id);
}

/** Return the parts of a score, the largest first, and those beyond `kept` as one. */
function partsOf(entry, kept) {
  if (!entry.reasons?.length) return [{ item: "", name: "score", adds: entry.score }];
  const reasons = entry.reasons.filter(({ adds }) => adds); // neither 0 nor null
  reasons.sort((a, b) => Math.abs(b.adds) - Math.abs(a.adds));
  const parts = reasons.filter(kept).map((each) => ({ ...each, name: nameOf(each.item) }));
  const others = reasons.filter((each, at) => !kept(each, at));
  const adds = others.reduce((sum, each) => sum + each.adds, entry.rest ?? 0);
  const name = entry.reasons.some(({ tags }) => tags) ? "other items and tags" : "other items";
  return adds ? [...parts, { item: "", name, adds }] : parts;
}

const barParts = (entry) => partsOf(entry, ({ item }) => colours.has(item));

const sumOf = (parts, sign) => parts.reduce((sum, { adds }) => sum + Math.max(0, sign * adds), 0);

/** Return the scale of all bars of a list: percent of a unit, and units left of zero. */
export function barScale(entries) {
  const all = entries.map(barParts);
  const right = Math.max(0, ...all.map((parts) => sumOf(parts, 1)));
  const left = Math.max(0, ...all.map((parts) => sumOf(parts, -1)));
  return { unit: 100 / (left + right || 1), left };
}

/** Draw a score: parts that add go right from zero, others left; a tick is at the sum. */
export function bar(entry, { unit, left }) {
  const parts = barParts(entry);
  const label = parts.map((part) => `${part.name} ${score(part.adds)}`).join(", ");
  const made = el("div.bar", { role: "img", "aria-label": label });
  let [low, high] = [left, left];
  for (const part of parts.sort((a, b) => colourOf(a.item).localeCompare(colourOf(b.item)))) {
    const size = Math.abs(part.adds);
    const title = `${part.name}: ${score(part.adds)}`;
    const attributes = { "data-item": part.item, "data-adds": part.adds, title };
    const drawn = el(`span.part.${colourOf(part.item)}`, attributes);
    drawn.style.left = `${(part.adds > 0 ? high : low - size) * unit}%`;
    drawn.style.width = `${size * unit}%`;
    if (part.adds > 0) high += size;
    else low -= size;
    made.append(drawn);
  }
  if (left > 0) made.append(mark("zero", left * unit), mark("tick", (left + entry.score) * unit));
  return made;
}

function mark(kind, percent) {
  const made = el(`span.${kind}`);
  made.style.left = `${percent}%`;
  return made;
}

/** List the parts of a score with their sum. */
export function reasonTable(entry) {
  const parts = partsOf(entry, (_, at) => at < LINES);
  const most = Math.max(...parts.map(({ adds }) => Math.abs(adds)));
  const line = ({ item, name, adds }) => {
    const meter = el(`i.meter.${colourOf(item)}${adds < 0 ? ".minus" : ""}`);
    meter.style.width = `${(100 * Math.abs(adds)) / most}%`;
    const cells = [el("td.meters", { "aria-hidden": "true" }, meter), el("td", {}, score(adds))];
    return el("tr", { "data-adds": adds }, el("th", { scope: "row" }, name), ...cells);
  };
  const sum = el("tr.sum", { "data-sum": entry.score });
  sum.append(el("th", { scope: "row" }, "score"), el("td"), el("td", {}, score(entry.score)));
  const caption = el("caption", {}, "Why: the parts add up to the score");
  return el("table", {}, caption, el("tbody", {}, ...parts.map(line), sum));
}

/** Redraw, then focus the same control, the one in its place, or `otherwise`. */
export function keepingFocus(redraw, otherwise) {
  const { key, at } = document.activeElement?.dataset ?? {};
  redraw();
  if (!key) return;
  const find = (name, value) => document.querySelector(`[data-${name}="${CSS.escape(value)}"]`);
  (find("key", key) ?? (at && find("at", at)) ?? otherwise).focus({ preventScroll: true });
}

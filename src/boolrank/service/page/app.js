// The page of a boolrank service.
//
// The page shows `view`, and the address has all of it after the #: a link shows the same view, and
// the back button undoes. `show` asks the service and draws.

import { call, get, learn, learnMissing, nameOf, useKey } from "./api.js";
import { combobox } from "./combobox.js";
import {
  assignColours, bar, barScale, colourOf, el, hasColour, highlight, keepingFocus, number,
  plural, reasonTable, score,
} from "./draw.js";
import { watch } from "./pulse.js";

const STARTERS = 10;
const MOST = 1000; // items of a user
const LENGTHS = [5, 10, 20, 50];

const $ = (id) => document.getElementById(id);
const view = {};
let model = null;
let asked = null;
let last = null;
let said = "";

// The view and the address.

function read(text) {
  const words = new URLSearchParams(text.replace(/^#/, ""));
  const all = (name) => [...new Set(words.getAll(name).filter(Boolean))];
  const n = Number(words.get("n"));
  Object.assign(view, {
    user: words.get("user") ?? "",
    items: all("item"),
    exclude: all("exclude"),
    where: words.get("where") ?? "",
    n: LENGTHS.includes(n) ? n : 10,
    open: words.get("open") ?? "",
  });
}

function address() {
  const words = new URLSearchParams();
  if (view.user) words.append("user", view.user);
  view.items.forEach((id) => words.append("item", id));
  view.exclude.forEach((id) => words.append("exclude", id));
  if (view.where) words.append("where", view.where);
  if (view.n !== 10) words.append("n", view.n);
  if (view.open) words.append("open", view.open);
  return `#${words.toString() || "item="}`; // without any: the example
}

/** Change the view: the address follows, then the page. */
function go(changes, news = "") {
  Object.assign(view, changes);
  said = news;
  if (address() === location.hash) show();
  else location.hash = address();
}

const without = (list, id) => list.filter((each) => each !== id);
const add = (id) => {
  const items = [...without(view.items, id), id];
  go({ items, exclude: without(view.exclude, id), open: "" }, `${nameOf(id)} added.`);
};
const drop = (id) => go({ items: without(view.items, id) }, `${nameOf(id)} removed.`);
const exclude = (id) =>
  go({ exclude: [...view.exclude, id], open: "" }, `${nameOf(id)} excluded.`);
const putBack = (id) => go({ exclude: without(view.exclude, id) }, `${nameOf(id)} put back.`);
const clear = () => go({ user: "", items: [], exclude: [], open: "" }, "Profile cleared.");

// Asking.

/** Ask and draw. What only unfolds or hides something is drawn from the last answer. */
async function show() {
  asked?.abort();
  $("where").value = view.where; // a link may have one that is wrong
  const wanted = JSON.stringify({ ...view, open: "" });
  if (last?.wanted === wanted) return draw(last);
  asked = new AbortController();
  const { signal } = asked;
  $("lists").setAttribute("aria-busy", "true");
  try {
    const person = view.user && (await get(`users/${path(view.user)}`, { n: MOST }, { signal }));
    const history = person ? learn(person.items).map((entry) => entry.item) : [];
    const body = request(history);
    const start = performance.now();
    const [[answer, took], popular] = await Promise.all([
      call("v1/recommendations", { body, signal }).then((a) => [a, performance.now() - start]),
      get("popular", { n: Math.max(view.n, STARTERS) }, { signal }),
      learnMissing([...view.items, ...view.exclude], signal),
    ]);
    learn([...answer.items, ...popular.items]);
    if (answer.model !== model.model) await loadModel(); // it was refreshed
    last = { wanted, answer, popular: popular.items, history, person, took };
    draw(last);
  } catch (problem) {
    if (problem.name === "AbortError") return;
    last = null;
    showProblem(problem);
  }
}

const path = encodeURIComponent;

/** Return the request: a user as stored, or a list of items that is stored nowhere. */
function request(history) {
  const reasons = able("reasons") ? model.limits.reasons : 0;
  const options = { n: view.n, exclude: view.exclude, reasons };
  if (view.where) options.where = view.where;
  if (view.user && !view.items.length) return { user: view.user, ...options };
  return { items: [...new Set([...history, ...view.items])], ...options };
}

// Drawing.

function draw({ answer, popular, history, person, took }) {
  const profile = [...new Set([...history, ...view.items])];
  $("lists").removeAttribute("aria-busy");
  document.body.classList.add("ready");
  assignColours(answer.items, profile);
  keepingFocus(() => {
    drawProfile(history, person ? person.total : 0);
    drawStarters(popular, profile);
    drawExcluded();
    drawNotices(answer, person);
    drawRows(answer.items, profile);
    drawPopular(popular.slice(0, view.n), answer.items, profile);
  }, $("item"));
  $("list-heading").textContent = heading(answer.popular, profile.length);
  $("timing").textContent = `${took < 10 ? took.toFixed(1) : Math.round(took)} ms`;
  $("n").value = view.n;
  $("lists").classList.toggle("alone", answer.popular); // the list is the popular one
  const first = answer.items.slice(0, 3).map((entry) => nameOf(entry.item));
  $("said").textContent = `${said} ${plural(answer.items.length, "item")}: ${first.join(", ")}…`;
  said = "";
}

function heading(popular, count) {
  if (popular) return "The most popular items";
  const more = view.items.length ? ` with ${plural(view.items.length, "item")} more` : "";
  if (view.user) return `For ${view.user}${more}`;
  return count === 1 ? "For this item" : `For these ${count} items`;
}

function chip(id, kind, label, title, press) {
  const attributes = {
    type: "button",
    title,
    "aria-label": `${title}: ${nameOf(id)}`,
    "data-key": `${kind}:${id}`,
    onclick: () => press(id),
    onmouseenter: () => highlight(hasColour(id) ? id : null),
    onfocus: () => highlight(hasColour(id) ? id : null),
    onmouseleave: () => highlight(null),
    onblur: () => highlight(null),
  };
  const dot = el(`i.dot.${colourOf(id)}`, { "aria-hidden": "true" });
  const sign = el("b", { "aria-hidden": "true" }, label);
  return el(`button.chip.${kind}`, attributes, dot, el("span", {}, nameOf(id)), sign);
}

function drawProfile(history, total) {
  const shown = history.filter(hasColour);
  const parts = [el("h2", {}, view.user ? `${view.user} has` : "Profile")];
  parts.push(...shown.map((id) => chip(id, "own", "", "Show its part", highlight)));
  const rest = total - shown.length;
  if (rest) parts.push(soft(shown.length ? `and ${number(rest)} more` : plural(rest, "item")));
  parts.push(...view.items.map((id) => chip(id, "added", "×", "Remove from the profile", drop)));
  if (!history.length && !view.items.length) parts.push(soft("nothing yet"));
  const link = { type: "button", "data-key": "clear", onclick: clear };
  if (view.user || view.items.length) parts.push(el("button.link", link, "start afresh"));
  $("profile").replaceChildren(...parts);
}

const soft = (text) => el("span.soft", {}, text);

function drawStarters(popular, profile) {
  const offered = popular.slice(0, STARTERS).map((entry) => entry.item);
  const rest = offered.filter((id) => !profile.includes(id));
  $("starters").hidden = profile.length > 4 || !rest.length;
  const chips = rest.map((id) => chip(id, "starter", "+", "Add to the profile", add));
  $("starters").replaceChildren(el("h2", {}, "Many like"), ...chips);
}

function drawExcluded() {
  $("excluded").hidden = !view.exclude.length;
  const chips = view.exclude.map((id) => chip(id, "gone", "undo", "Put back", putBack));
  $("excluded").replaceChildren(el("h2", {}, "Excluded"), ...chips);
}

function drawNotices(answer, person) {
  const notices = [];
  const note = (title, text) => notices.push(el("p.notice", {}, el("strong", {}, title), ` ${text}`));
  if (person && !person.known)
    note("Unknown user.", `The model has no user “${view.user}”. These are the most popular items.`);
  else if (person && answer.popular)
    note("No history.", `${view.user} has no known items. These are the most popular ones.`);
  if (person.total > MOST && view.items.length)
    note("Shortened.", `The first ${number(MOST)} of ${number(person.total)} items are used.`);
  const ignored = answer.unknown.map(String).filter((id) => id !== view.user);
  if (ignored.length) note("Ignored.", `Not in the model: ${ignored.join(", ")}`);
  $("notices").replaceChildren(...notices);
}

function drawRows(entries, profile) {
  const scale = barScale(entries);
  $("rows").replaceChildren(...entries.map((entry, at) => row(entry, at, scale, profile)));
  $("left").hidden = scale.left === 0;
  if (!entries.length) $("rows").append(el("li.soft", {}, "Nothing is left to recommend."));
}

function row(entry, at, scale, profile) {
  const id = entry.item;
  const open = view.open === id;
  const title = control("title", id, at, nameOf(id), () => go({ open: open ? "" : id }));
  title.title = "Why, and similar items";
  title.setAttribute("aria-expanded", String(open));
  const made = el("li.row", { "data-item": id });
  made.append(
    el("span.rank", { "aria-hidden": "true" }, String(at + 1)),
    what(id, title),
    el("span.score", { title: String(entry.score) }, score(entry.score)),
    bar(entry, scale),
    el("div.acts", {}, adder(id, at, profile), act("exclude", id, at, "−", "Exclude", exclude)),
  );
  if (open) made.append(detail(entry, profile));
  return made;
}

/** Make a button that is found again after drawing: by its item, or by its place. */
const control = (kind, id, at, label, press) => {
  const keys = { "data-key": `${kind}:${id}`, "data-at": `${kind}:${at}` };
  return el(`button.${kind}`, { type: "button", ...keys, onclick: () => press(id) }, label);
};

function act(kind, id, at, label, title, press) {
  const made = control(kind, id, at, label, press);
  made.title = title;
  made.setAttribute("aria-label", `${title}: ${nameOf(id)}`);
  return made;
}

const adder = (id, at, profile) =>
  profile.includes(id) ? null : act("add", id, at, "+", "Add to the profile", add);

const what = (id, title, note = nameOf(id) === id ? "" : id) =>
  el("div.what", {}, title, note ? el("small", {}, note) : null);

function detail(entry, profile) {
  const made = el("div.detail");
  if (entry.reasons?.length) made.append(reasonTable(entry));
  else if (!able("reasons")) made.append(el("p", {}, "This model cannot explain its scores."));
  if (able("similar")) {
    const label = `Similar to ${nameOf(entry.item)}`;
    const near = el("div.shelf", { role: "group", "aria-label": label }, el("h3", {}, "Similar"));
    drawSimilar(near, entry.item, profile);
    made.append(near);
  }
  return made;
}

const able = (what) => model.abilities.includes(what);

async function drawSimilar(shelf, id, profile) {
  try {
    const { items } = await get(`similar/${path(id)}`, { n: 6 });
    const offer = ({ item }) =>
      profile.includes(item)
        ? chip(item, "near", "", "In the profile", highlight)
        : chip(item, "near", "+", "Add to the profile", add);
    shelf.append(...learn(items).map(offer));
  } catch (problem) {
    shelf.append(soft(problem.message));
  }
}

function drawPopular(shown, entries, profile) {
  const listed = new Set(entries.map((entry) => entry.item));
  const most = Math.max(...shown.map((entry) => entry.score), 1);
  const noteOf = (id) => {
    if (profile.includes(id)) return "profile";
    if (view.exclude.includes(id)) return "excluded";
    return listed.has(id) ? "both lists" : "";
  };
  const rows = shown.map(({ item, score: users }, at) => {
    const line = el("span.part.other");
    line.style.width = `${(100 * users) / most}%`;
    return el(
      "li.row",
      { "data-item": item },
      el("span.rank", { "aria-hidden": "true" }, String(at + 1)),
      what(item, el("span.title", {}, nameOf(item)), noteOf(item)),
      el("span.score", {}, number(users)),
      el("div.bar", { "aria-hidden": "true" }, line),
      el("div.acts", {}, adder(item, `popular-${at}`, profile)),
    );
  });
  $("popular-rows").replaceChildren(...rows);
  const both = shown.filter((entry) => listed.has(entry.item)).length;
  $("overlap").textContent = `by users; ${both} of ${shown.length} on both lists`;
}

function showProblem({ status, message, hint }) {
  $("lists").removeAttribute("aria-busy");
  const notice = el("div.notice", { role: "alert" }, el("strong", {}, "Problem."), ` ${message}`);
  const again = { type: "button", "data-key": "again", onclick: () => (model ? show() : start()) };
  if (status === 401 || status === 403) notice.append(keyForm());
  else notice.append(el("span.hint", {}, hint), el("button.link", again, "try again"));
  $("notices").replaceChildren(notice);
}

function keyForm() {
  const field = el("input", { id: "key", type: "password", autocomplete: "off" });
  const onsubmit = (event) => {
    event.preventDefault();
    useKey(field.value.trim());
    start();
  };
  const label = el("label", { for: "key" }, "API key");
  return el("form.key", { onsubmit }, label, field, el("button", {}, "Use this key"));
}

async function loadModel() {
  model = await get("model");
  drawModel();
}

function drawModel() {
  const parameters = Object.entries(model.parameters).map(([name, value]) => `${name}=${value}`);
  const facts = {
    kind: model.name,
    users: number(model.users),
    items: number(model.items),
    interactions: number(model.interactions),
    created: new Date(model.created).toLocaleString([], { dateStyle: "medium", timeStyle: "short" }),
    parameters: parameters.join(", ") || "none",
  };
  const fact = ([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value));
  $("facts").replaceChildren(...Object.entries(facts).map(fact));
  $("hash").textContent = `hash ${model.model.slice(0, 12)}`;
  $("hash").title = model.model;
  drawFilter(Object.entries(model.columns));
  $("choice").hidden = !model.choice;
  if (model.choice) drawChoice(model.choice);
}

/** Offer a filter with an example if there are columns. */
function drawFilter(columns) {
  $("filter").hidden = !columns.length;
  if (!columns.length) return;
  const tests = { number: "< 20", set: "has '…'", date: ">= '2026-01-31'", bool: "= true", text: "= '…'" };
  const named = columns.map(([name, type]) => [/^[a-z_]\w*$/i.test(name) ? name : `"${name}"`, type]);
  const [name, type] = named.find((each) => each[1] !== "text") ?? named[0];
  $("where").placeholder = `${name} ${tests[type]}`;
  $("columns").textContent = named.map((each) => `${each[0]} (${each[1]})`).join(", ");
}

function drawChoice({ reason, metric, settings }) {
  $("reason").textContent = reason;
  $("metric").textContent = metric;
  const tried = settings.filter((each) => each.value !== null).sort((a, b) => b.value - a.value);
  const line = ({ model, value }) =>
    el("tr", {}, el("td", {}, el("code", {}, model)), el("td", {}, value.toFixed(4)));
  $("settings").replaceChildren(...tried.map(line));
}

// The start.

async function findItems(q) {
  if (!q) return [];
  const { items } = await get("items", { q, n: 8 });
  const option = (id) => ({ value: id, label: nameOf(id), note: nameOf(id) === id ? "" : id });
  return learn(items).map(({ item }) => option(item));
}

/** Suggest users, the text itself first: unknown users get a list too. */
async function findUsers(q) {
  const { users } = await get("users", { q, n: 8 });
  const found = users.map(({ user, items }) => {
    const id = String(user);
    return { value: id, label: id, note: plural(items, "item") };
  });
  if (!q || found.some(({ value }) => value === q))
    return found.sort((a, b) => (b.value === q) - (a.value === q));
  return [{ value: q, label: q, note: "unknown" }, ...found];
}

/** Show a problem of a search where problems are shown. */
const safely = (find) => (text) =>
  find(text).catch((problem) => {
    showProblem(problem);
    return [];
  });

/** Return two items that go together: the most popular one and the one most similar to it. */
async function example() {
  const [{ item }] = learn((await get("popular", { n: 1 })).items);
  if (!able("similar")) return [item];
  const near = await get(`similar/${path(item)}`, { n: 1 });
  return [item, ...learn(near.items).map((each) => each.item)];
}

async function start() {
  try {
    await loadModel();
    read(location.hash);
    if (!location.hash) {
      view.items = await example();
      history.replaceState(null, "", address());
    }
    await show();
  } catch (problem) {
    showProblem(problem);
  }
}

combobox($("item"), $("item-options"), safely(findItems), add);
combobox($("user"), $("user-options"), safely(findUsers), (user) =>
  go({ user, items: [], open: "" }),
);
$("n").append(...LENGTHS.map((n) => el("option", {}, String(n))));
$("n").addEventListener("change", (event) => go({ n: Number(event.target.value) }));
$("where").addEventListener("change", (event) => go({ where: event.target.value.trim(), open: "" }));
$("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address is the view
  $("list").focus();
});
addEventListener("hashchange", () => {
  read(location.hash);
  if (model) show();
});
watch(() => call("metrics"), $("pulse"));
start();

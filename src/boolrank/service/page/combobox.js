// A text field with suggestions, by the ARIA pattern: the focus stays in the field, arrows choose.

const PAUSE = 120;

/** Give a field suggestions. `load(text)` returns options {value, label, note}. */
export function combobox(input, list, load, choose) {
  let options = [];
  let active = -1;
  let timer = 0;
  let turn = 0;
  let shown = ""; // the text that the options are for

  Object.entries({
    role: "combobox",
    "aria-autocomplete": "list",
    "aria-controls": list.id,
    "aria-expanded": "false",
  }).forEach(([name, value]) => input.setAttribute(name, value));

  function open(found) {
    options = found;
    list.replaceChildren(...found.map(option));
    list.hidden = !found.length;
    input.setAttribute("aria-expanded", String(Boolean(found.length)));
    activate(found.length ? 0 : -1);
  }

  function option({ label, note }, at) {
    const made = document.createElement("li");
    made.id = `${list.id}-${at}`;
    made.setAttribute("role", "option");
    const text = Object.assign(document.createElement("span"), { textContent: label });
    const small = Object.assign(document.createElement("small"), { textContent: note });
    made.append(text, " ", small);
    made.addEventListener("mousedown", (event) => event.preventDefault()); // keep the focus
    made.addEventListener("click", () => take(at));
    return made;
  }

  function activate(at) {
    active = at;
    [...list.children].forEach((each, k) => each.setAttribute("aria-selected", String(k === at)));
    input.setAttribute("aria-activedescendant", at < 0 ? "" : `${list.id}-${at}`);
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }

  function take(at) {
    const chosen = options[at];
    close();
    input.value = "";
    if (chosen) choose(chosen.value);
  }

  function close() {
    turn += 1;
    clearTimeout(timer);
    open([]);
  }

  async function suggest() {
    const mine = ++turn;
    const text = input.value.trim();
    const found = await load(text);
    if (mine !== turn) return;
    shown = text;
    open(found);
  }

  const step = (by) => activate((active + by + options.length) % options.length);
  const keys = {
    ArrowDown: () => (options.length ? step(1) : suggest()),
    ArrowUp: () => options.length && step(-1),
    Enter: async () => {
      clearTimeout(timer);
      if (!options.length || shown !== input.value.trim()) await suggest();
      if (options.length) take(active);
    },
    Escape: () => (list.hidden ? (input.value = "") : close()),
  };

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(suggest, PAUSE);
  });
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  });
  input.addEventListener("click", () => list.hidden && suggest());
  input.addEventListener("blur", close);
}

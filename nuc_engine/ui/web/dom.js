// Elements, made of tags and texts alone: nothing that comes from elsewhere is ever read as markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/** @type {WeakMap<Element, string>} */
const HELP = new WeakMap();
/** What elements of keyed lists show. @type {WeakMap<Element, string>} */
const KEYS = new WeakMap();

/**
 * Make an element. `on` holds listeners, `help` is shown in the help line while the element is pointed at or focused;
 * `class` and everything else are attributes (true: empty, false, null and undefined: left out).
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, any>} [props]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") for (const [event, listen] of Object.entries(value)) element.addEventListener(event, listen);
    else if (name === "help") setHelp(element, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {(Child | Child[])[]} children
 */
function append(element, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Put these children in place of those that are there.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/**
 * Make an element of a picture.
 * @template {keyof SVGElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, string | number>} attributes
 * @param {...Node} children
 * @returns {SVGElementTagNameMap[T]}
 */
export function svg(tag, attributes, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/**
 * Set a text; an element that has it already is left alone.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  const only = element.firstChild;
  if (only instanceof Text && only === element.lastChild) {
    if (only.data !== text) only.data = text;
  } else element.textContent = text;
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {boolean} on
 */
export function setClass(element, name, on) {
  if (element.classList.contains(name) !== on) element.classList.toggle(name, on);
}

/**
 * @param {Element} element
 * @param {string} name
 * @param {string | null} value
 */
export function setAttribute(element, name, value) {
  if (element.getAttribute(name) === value) return;
  if (value === null) element.removeAttribute(name);
  else element.setAttribute(name, value);
}

/**
 * @param {Element} element
 * @param {string | null | undefined} text
 */
export function setHelp(element, text) {
  if (text) HELP.set(element, text);
  else HELP.delete(element);
}

/**
 * Return the help of an element or of the nearest one around it; "" where there is none.
 * @param {EventTarget | null} target
 */
export function helpOf(target) {
  for (let at = target instanceof Element ? target : null; at; at = at.parentElement) {
    const text = HELP.get(at);
    if (text) return text;
  }
  return "";
}

/**
 * A table from a head and rows of cells.
 * @param {string} caption read aloud, and shown as help
 * @param {Child[]} head
 * @param {Child[][]} rows
 * @param {string} [className]
 */
export function table(caption, head, rows, className = "") {
  return h(
    "table",
    { class: className, help: caption },
    h("caption", { class: "unseen" }, caption),
    h("thead", {}, h("tr", {}, head.map((cell) => h("th", { scope: "col" }, cell)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell))))),
  );
}

/**
 * A labelled field of a form.
 * @param {string} label
 * @param {HTMLElement} input
 * @param {string} [help]
 */
export function field(label, input, help = "") {
  return h("label", { class: "field", help }, h("span", {}, label), input);
}

/**
 * A button that acts when it has been held down for a second, by pointer or by Space or Enter.
 * @param {string} label
 * @param {() => void} act
 * @param {Record<string, any>} [props]
 */
export function holdButton(label, act, props = {}) {
  const HOLD_MS = 1000;
  const text = h("span", { class: "hold-label" }, label);
  const button = h("button", { type: "button", ...props, class: `hold ${props.class ?? ""}` }, text);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let waiting;
  const begin = () => {
    if (waiting !== undefined || button.disabled) return;
    button.classList.add("holding");
    waiting = setTimeout(() => {
      end();
      if (!button.disabled) act();
    }, HOLD_MS);
  };
  const end = () => {
    clearTimeout(waiting);
    waiting = undefined;
    button.classList.remove("holding");
  };
  button.addEventListener("pointerdown", (event) => {
    if (event.button === 0) begin();
  });
  for (const name of ["pointerup", "pointerleave", "pointercancel", "blur"]) button.addEventListener(name, end);
  button.addEventListener("keydown", (event) => {
    if (event.key !== " " && event.key !== "Enter") return;
    event.preventDefault();
    if (!event.repeat) begin();
  });
  button.addEventListener("keyup", end);
  button.addEventListener("contextmenu", (event) => event.preventDefault());
  return { button, label: (/** @type {string} */ words) => setText(text, words) };
}

/**
 * Act once for each press: not again while that is under way, nor for the second click of two, nor while a key is held.
 * @param {HTMLButtonElement} button
 * @param {() => Promise<unknown>} act
 */
export function pressOnce(button, act) {
  let busy = false;
  button.addEventListener("keydown", (event) => {
    if (event.repeat && (event.key === "Enter" || event.key === " ")) event.preventDefault();
  });
  button.addEventListener("click", async (event) => {
    if (busy || event.detail > 1) return;
    busy = true;
    setAttribute(button, "aria-busy", "true");
    try {
      await act();
    } finally {
      busy = false;
      setAttribute(button, "aria-busy", null);
    }
  });
}

/**
 * Let the arrow keys, Home and End move among the links and buttons of a group, of which the Tab key finds one: the one
 * that was focused last, else the first that can be. Those that are disabled or hidden are passed over.
 * @param {HTMLElement} group
 */
export function roving(group) {
  const all = () => /** @type {HTMLElement[]} */ ([...group.querySelectorAll("a, button")]);
  const can = (/** @type {HTMLElement} */ item) => !item.hidden && !(item instanceof HTMLButtonElement && item.disabled);
  const give = (/** @type {HTMLElement | undefined} */ to) => {
    for (const item of all()) setAttribute(item, "tabindex", item === to ? "0" : "-1");
  };
  const settle = () => {
    const items = all().filter(can);
    const now = items.filter((item) => item.getAttribute("tabindex") === "0");
    if (now.length !== 1) give(now[0] ?? items[0]);
  };
  group.addEventListener("focusin", (event) => {
    const item = all().find((each) => each === event.target);
    if (item) give(item);
  });
  group.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const items = all().filter((item) => can(item) || item === document.activeElement);
    const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (at < 0) return;
    let to = -1;
    if (step) to = (at + step + items.length) % items.length;
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = items.length - 1;
    if (to < 0) return;
    event.preventDefault();
    items[to].focus();
  });
  new MutationObserver(settle).observe(group, { subtree: true, childList: true, attributes: true, attributeFilter: ["disabled", "hidden", "tabindex"] });
  settle();
}

/**
 * Let a list show these items. Elements of keys that are there already stay, with their focus; where the one that is
 * focused goes, the next takes its place.
 * @template T
 * @param {Element} list that has no other children
 * @param {readonly T[]} items
 * @param {(item: T) => string} keyOf another for each
 * @param {(item: T) => Element} make
 */
export function keyed(list, items, keyOf, make) {
  const before = [...list.children];
  /** @type {Map<string, Element>} */
  const there = new Map(before.map((element) => [KEYS.get(element) ?? "", element]));
  const wanted = items.map((item) => {
    const key = keyOf(item);
    const element = there.get(key) ?? make(item);
    KEYS.set(element, key);
    return element;
  });
  const kept = new Set(wanted);
  const at = before.findIndex((element) => element.contains(document.activeElement));
  const lost = at >= 0 && !kept.has(before[at]);
  for (const element of before) if (!kept.has(element)) element.remove();
  wanted.forEach((element, k) => {
    if (list.children[k] !== element) list.insertBefore(element, list.children[k] ?? null);
  });
  if (!lost) return;
  const next = before.slice(at).find((element) => kept.has(element)) ?? wanted.at(-1);
  /** @type {HTMLElement | null | undefined} */ (next?.querySelector("a, button:not(:disabled)"))?.focus();
}

/**
 * A small button that copies a line for a shell.
 * @param {string} line
 * @param {(words: string) => void} [say]
 */
export function copyButton(line, say) {
  return h(
    "button",
    {
      type: "button",
      class: "copy",
      help: `copy the same for a shell: ${line}`,
      on: { click: () => navigator.clipboard.writeText(line).then(() => say?.(`copied: ${line}`), () => say?.(line)) },
    },
    h("code", {}, line),
    " ",
    h("span", { class: "copy-word" }, "copy"),
  );
}

/**
 * Draw before each picture of the screen. The next one is asked for first: whatever fails, it goes on.
 * @param {(now: number) => void} draw
 * @param {(error: unknown) => void} failed
 */
export function everyFrame(draw, failed) {
  const frame = (/** @type {number} */ now) => {
    requestAnimationFrame(frame);
    try {
      draw(now);
    } catch (error) {
      failed(error);
    }
  };
  requestAnimationFrame(frame);
}

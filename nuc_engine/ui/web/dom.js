// Elements, made of tags and texts alone: nothing that comes from elsewhere is ever read as markup.

/** @typedef {Node | string | number | null | undefined | false} Child */

/** @type {WeakMap<Element, string>} */
const HELP = new WeakMap();

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
 * @param {string} caption read aloud, not shown
 * @param {Child[]} head
 * @param {Child[][]} rows
 * @param {string} [className]
 */
export function table(caption, head, rows, className = "") {
  return h(
    "table",
    { class: className },
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
 * Let the arrow keys move among the buttons of a group, of which the Tab key finds one.
 * @param {HTMLElement} group
 */
export function roving(group) {
  const items = () => /** @type {HTMLElement[]} */ ([...group.querySelectorAll("a, button")]);
  group.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const all = items();
    const at = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    if (at < 0) return;
    let to = -1;
    if (step) to = (at + step + all.length) % all.length;
    else if (event.key === "Home") to = 0;
    else if (event.key === "End") to = all.length - 1;
    if (to < 0) return;
    event.preventDefault();
    all.forEach((item, k) => item.setAttribute("tabindex", k === to ? "0" : "-1"));
    all[to].focus();
  });
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

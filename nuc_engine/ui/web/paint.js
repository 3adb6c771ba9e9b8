// Colours of what is drawn, as the style sheet has them, and canvases as fine as the screen.

const NAMES = ["ink", "muted", "line", "panel", "ground", "trace", "other", "threshold", "accent", "sky"];

/** @type {Record<string, string>} */
let colors = {};

function read() {
  const style = getComputedStyle(document.documentElement);
  colors = Object.fromEntries(NAMES.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

let version = 0;
addEventListener("theme", () => {
  read();
  version += 1;
});

/** Colours by name; they change with the theme. */
export function palette() {
  if (!colors.ink) read();
  return colors;
}

/** A number that is another one when colours have changed. */
export const paletteVersion = () => version;

/** A canvas that fills its element, in device pixels. */
export class Paper {
  /** @param {string} label what it shows, for who can not see it */
  constructor(label) {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", label);
    this.pen = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
    this.width = 0;
    this.height = 0;
    this.scale = 1;
    /** A number that rises when everything has to be drawn anew. */
    this.version = 0;
    new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      this.scale = devicePixelRatio || 1;
      this.width = Math.round(width);
      this.height = Math.round(height);
      this.canvas.width = Math.round(this.width * this.scale);
      this.canvas.height = Math.round(this.height * this.scale);
      this.version += 1;
    }).observe(this.canvas);
  }

  /** Clear it; everything is in CSS pixels from now on. */
  begin() {
    this.pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    this.pen.clearRect(0, 0, this.width, this.height);
    return this.pen;
  }
}

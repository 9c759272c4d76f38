// The values of a column by cluster, with the threshold to drag and the rows right at every other one.
import { el, replace, svg } from "./dom.js";
import { number, plural } from "./format.js";
import { scaleLinear, scaleLog } from "./vendor.js";

const SIZE = { width: 348, curve: 38, bars: 96, axis: 22, pad: 14, top: 16 };
const HEIGHT = SIZE.top + SIZE.curve + 8 + SIZE.bars + SIZE.axis;

/** `about` is the answer about a column; `move(threshold, snap)` is called while people drag, press keys or click. */
export class Chart {
  constructor({ colors, move, apply, release }) {
    this.colors = colors;
    this.move = move;
    this.apply = apply;
    this.svg = svg("svg", { class: "chart", viewBox: `0 0 ${SIZE.width} ${HEIGHT}`, role: "group" });
    this.element = el("div", { class: "distribution" }, this.svg);
    this.svg.addEventListener("pointerdown", (event) => this.grab(event));
    this.svg.addEventListener("pointermove", (event) => this.drag(event));
    for (const end of ["pointerup", "pointercancel"]) {
      this.svg.addEventListener(end, () => {
        if (!this.held) return;
        this.held = false;
        release();
      });
    }
  }

  show(about, threshold, above = false) {
    this.about = about;
    this.above = above;
    const { low, high } = about;
    const wide = high > low ? [low, high] : [low - 0.5, high + 0.5];
    const edges = about.edges.length > 1 && high > low ? [Math.min(wide[0], about.edges[0]), Math.max(wide[1], about.edges.at(-1))] : wide;
    this.x = (about.log ? scaleLog() : scaleLinear()).domain(edges).range([SIZE.pad, SIZE.width - SIZE.pad]).clamp(true);
    // Where every whole number has its bar, a threshold stands behind the last bar that passes.
    const isWhole = ["whole", "word"].includes(about.kind);
    this.shift = isWhole && about.edges[1] - about.edges[0] === 1 ? 0.5 : 0;
    const base = SIZE.top + SIZE.curve + 8 + SIZE.bars;
    this.svg.setAttribute("aria-label", `Values of ${about.column} by cluster`);
    this.left = svg("rect", { class: "side", y: SIZE.top, height: base - SIZE.top });
    this.line = svg("line", { class: "cut", y1: SIZE.top - 2, y2: base });
    this.dot = svg("circle", { class: "dot", r: 3.5 });
    this.sides = [svg("text", { class: "turn", y: 11, "text-anchor": "end" }, "yes"), svg("text", { class: "turn", y: 11 }, "no")];
    this.handle = svg(
      "g",
      { class: "handle", role: "slider", tabindex: "0", "aria-label": `Threshold of ${about.column}`, "aria-orientation": "horizontal", "aria-valuemin": low, "aria-valuemax": high },
      svg("rect", { class: "reach", x: -14, y: SIZE.top - 8, width: 28, height: base - SIZE.top + 16 }),
      svg("rect", { class: "grip", x: -7, y: base - SIZE.bars / 2 - 14, width: 14, height: 28, rx: 5 }),
      svg("path", { class: "grooves", d: `M-2,${base - SIZE.bars / 2 - 5}v10M2,${base - SIZE.bars / 2 - 5}v10` }),
    );
    this.handle.addEventListener("keydown", (event) => this.onKey(event));
    replace(this.svg, this.left, this.bars(base), this.curve(), this.axis(base), this.line, this.sides, this.dot, this.handle);
    this.place(threshold);
  }

  bars(base) {
    const { edges, counts } = this.about;
    const n = counts[0]?.length ?? 0;
    const totals = Array.from({ length: n }, (_, bin) => counts.reduce((sum, each) => sum + each[bin], 0));
    const top = Math.max(1, ...totals);
    const group = svg("g", { class: "bars" });
    for (let bin = 0; bin < n; bin += 1) {
      const x0 = this.x(edges[bin]);
      const width = Math.max(1, this.x(edges[bin + 1]) - x0 - 0.6);
      let y = base;
      counts.forEach((each, code) => {
        if (!each[bin]) return;
        // The square root keeps rare clusters visible beside frequent values; shares within a bar stay true.
        const height = (SIZE.bars * Math.sqrt(totals[bin] / top) * each[bin]) / totals[bin];
        y -= height;
        group.append(svg("rect", { x: x0, y, width, height, fill: this.colors(code) }));
      });
    }
    return group;
  }

  curve() {
    const { sweep: curve } = this.about;
    if (!curve?.thresholds?.length) return svg("g");
    const low = Math.min(...curve.rows_right);
    const high = Math.max(...curve.rows_right);
    this.y = scaleLinear().domain(high > low ? [low, high] : [low - 1, high + 1]).range([SIZE.top + SIZE.curve, SIZE.top + 5]);
    const points = curve.thresholds.map((at, place) => `${this.x(at + this.shift).toFixed(1)},${this.y(curve.rows_right[place]).toFixed(1)}`);
    const best = curve.best;
    const group = svg("g", { class: "curve" }, svg("polyline", { points: points.join(" ") }));
    if (best) {
      group.append(svg("circle", { class: "best", cx: this.x(best.threshold + this.shift), cy: this.y(best.rows_right), r: 3.5 }, svg("title", {}, `Most rows right: ${number(best.rows_right)} at ${best.text}`)));
    }
    return group;
  }

  axis(base) {
    const group = svg("g", { class: "axis" }, svg("line", { x1: SIZE.pad, x2: SIZE.width - SIZE.pad, y1: base, y2: base }));
    let end = -Infinity;
    for (const tick of this.about.ticks ?? []) {
      if (["whole", "word"].includes(this.about.kind) && !Number.isInteger(tick.at)) continue;
      const x = this.x(tick.at);
      const half = 3.1 * String(tick.text).length;
      if (x - half < end + 6 || x < SIZE.pad - 1 || x > SIZE.width - SIZE.pad + 1) continue;
      end = x + half;
      const anchor = x - half < 0 ? "start" : x + half > SIZE.width ? "end" : "middle";
      group.append(svg("line", { x1: x, x2: x, y1: base, y2: base + 4 }), svg("text", { x, y: base + 16, "text-anchor": anchor }, tick.text));
    }
    return group;
  }

  place(threshold) {
    this.threshold = threshold;
    const missing = threshold === null || threshold === undefined || !Number.isFinite(threshold);
    for (const each of [this.line, this.handle, this.dot, ...this.sides]) each.toggleAttribute("hidden", missing);
    this.svg.classList.toggle("is-bare", missing);
    if (missing) return;
    const x = this.x(threshold + this.shift);
    this.line.setAttribute("x1", x);
    this.line.setAttribute("x2", x);
    this.handle.setAttribute("transform", `translate(${x},0)`);
    const [from, to] = this.above ? [x, SIZE.width - SIZE.pad] : [SIZE.pad, x];
    this.left.setAttribute("x", from);
    this.left.setAttribute("width", Math.max(0, to - from));
    const [yes, no] = this.above ? [...this.sides].reverse() : this.sides;
    yes.textContent = "yes";
    no.textContent = "no";
    this.sides[0].setAttribute("x", x - 6);
    this.sides[1].setAttribute("x", x + 6);
    this.sides[0].toggleAttribute("hidden", x < SIZE.pad + 22);
    this.sides[1].toggleAttribute("hidden", x > SIZE.width - SIZE.pad - 22);
    const at = this.nearest(threshold);
    const { sweep: curve } = this.about;
    if (at >= 0 && this.y) {
      this.dot.setAttribute("cx", x);
      this.dot.setAttribute("cy", this.y(curve.rows_right[at]));
    } else this.dot.setAttribute("hidden", "");
    this.handle.setAttribute("aria-valuenow", threshold);
  }

  /** What the slider says: the words of the test, and what it does. */
  describe(text, rowsRight) {
    this.handle?.setAttribute("aria-valuetext", rowsRight === undefined ? text : `${text}, ${plural(rowsRight, "row")} right`);
  }

  /** The last threshold of the curve that is not above a value: the same rows pass. */
  nearest(value) {
    const points = this.about.sweep?.thresholds ?? [];
    let [from, to] = [0, points.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (points[middle] <= value) from = middle + 1;
      else to = middle;
    }
    return from - 1;
  }

  at(event) {
    const box = this.svg.getBoundingClientRect();
    const pixel = ((event.clientX - box.left) * SIZE.width) / box.width;
    const [value, next] = [this.x.invert(pixel), this.x.invert(pixel + SIZE.width / box.width)];
    const { kind, low, high } = this.about;
    const inside = (x) => Math.min(high, Math.max(low, x));
    const snap = Math.abs(next - value);
    if (["whole", "word"].includes(kind) && snap < 1) return { threshold: inside(Math.round(value - this.shift)) };
    return { threshold: inside(value), snap };
  }

  grab(event) {
    if (event.button) return;
    event.preventDefault();
    this.held = true;
    this.svg.setPointerCapture(event.pointerId);
    if (!this.handle.hasAttribute("hidden")) this.handle.focus({ preventScroll: true });
    this.send(this.at(event));
  }

  drag(event) {
    if (this.held) this.send(this.at(event));
  }

  /** A place on the axis means the roundest threshold of a stretch around it, `snap` wide. */
  send({ threshold, snap }) {
    if (threshold === this.threshold) return;
    this.place(threshold);
    this.move(threshold, snap);
  }

  onKey(event) {
    const { high, sweep } = this.about;
    const points = sweep?.thresholds ?? [];
    if (event.key === "Enter") {
      event.preventDefault();
      event.stopPropagation();
      this.apply();
    }
    if (!points.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = points.length - 1;
    const at = Math.max(0, this.nearest(this.threshold));
    const leap = Math.max(1, Math.round(points.length / 10));
    const goals = { ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageDown: at - leap, PageUp: at + leap, Home: 0, End: last };
    if (!(event.key in goals)) return;
    event.preventDefault();
    event.stopPropagation();
    // Every number from one value to the next does the same.
    const to = Math.max(0, Math.min(last, goals[event.key]));
    const snap = (points[to + 1] ?? high) - points[to];
    this.send({ threshold: points[to] + snap / 2, snap });
  }
}

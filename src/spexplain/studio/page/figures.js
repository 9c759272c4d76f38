// The verdict and the goal values on top, with what the last edit, or the test that is tried out, changes.
import { el, name, replace } from "./dom.js";
import { change, known, number, percent, plural, points } from "./format.js";

const LEVELS = { good: "Good", usable: "Usable", weak: "Weak", none: "No use" };
const GOALS = { fidelity: "Rows right", balanced: "Balanced", agreement: "Agreement" };
const HINTS = {
  fidelity: "rows whose leaf stands for their own cluster",
  balanced: "mean recall of the clusters",
  agreement: "adjusted Rand index of leaves and clusters",
};

/** The figures that are shown: those of the state, or those of the test that is tried out. */
export function shown(store) {
  const now = store.state.figures;
  if (store.preview) return { figures: { ...now, ...store.preview.figures, rows_changed: store.preview.rows_changed }, before: now, tried: true };
  return { figures: now, before: store.state.before, tried: false };
}

export function delta(text, size) {
  const kind = !known(size) || Math.abs(size) < 1e-9 ? "same" : size > 0 ? "up" : "down";
  return el("span", { class: `delta is-${kind}` }, text);
}

export function sentence(store) {
  const { figures, before, tried } = shown(store);
  const by = before ? `, ${change(figures.rows_right - before.rows_right)} rows` : "";
  const moved = tried && known(figures.rows_changed) ? `, ${plural(figures.rows_changed, "row")} would change` : "";
  return `${tried ? "Tried out: " : ""}${number(figures.rows_right)} of ${number(figures.n_rows)} rows right, ${percent(figures.fidelity)}${by}${moved}.`;
}

export class Figures {
  constructor(store) {
    this.store = store;
    this.verdict = el("div", { class: "verdict" });
    this.tiles = el("dl", { class: "tiles" });
    this.element = el("section", { class: "headline", "aria-label": "Verdict and figures" }, this.verdict, this.tiles);
    store.on((changes) => {
      if (!store.isFitted) return;
      if (changes.has("state")) this.drawVerdict();
      if (changes.has("state") || changes.has("preview")) this.drawTiles();
    });
  }

  drawVerdict() {
    const { verdict, figures, goal } = this.store.state;
    const [first = "", ...others] = verdict?.sentences ?? [];
    const text = first.includes(": ") ? first.slice(first.indexOf(": ") + 2) : first;
    const more = others.length
      ? el("details", {}, el("summary", {}, "More about this"), el("ul", {}, others.map((each) => el("li", {}, name(each)))))
      : null;
    replace(
      this.verdict,
      el("p", {}, el("span", { class: `level is-${verdict?.level}` }, LEVELS[verdict?.level] ?? ""), " ", name(text ? text[0].toUpperCase() + text.slice(1) : "")),
      figures.lost?.length ? el("p", { class: "lost" }, `No leaf stands for ${figures.lost.join(", ")}.`) : null,
      more,
    );
    this.verdict.dataset.goal = goal ?? "";
  }

  drawTiles() {
    const { figures, before, tried } = shown(this.store);
    const { goal } = this.store.state;
    const tiles = ["fidelity", "balanced", "agreement"].map((key) => {
      const value = figures[key];
      const step = before && known(before[key]) && known(value) ? value - before[key] : undefined;
      const rows = key === "fidelity";
      const by = rows && before ? figures.rows_right - before.rows_right : step;
      const text = key === "agreement" ? (known(value) ? value.toFixed(3) : "–") : percent(value);
      const moved = rows ? change(by) : key === "agreement" ? change(by === undefined ? by : Math.abs(by) < 5e-4 ? 0 : by, (x) => x.toFixed(3)) : points(by ?? NaN);
      return el(
        "div",
        { class: `tile${goal === key ? " is-goal" : ""}`, "data-figure": key, title: HINTS[key] },
        el("dt", {}, GOALS[key], goal === key ? el("span", { class: "goal" }, "goal") : null),
        el("dd", {}, el("span", { class: "value" }, text), moved ? delta(moved, by) : null, rows ? el("span", { class: "hint" }, `${number(figures.rows_right)} of ${number(figures.n_rows)}`) : null),
      );
    });
    const leaves = figures.n_leaves ?? this.store.state.figures.n_leaves;
    const more = before && known(before.n_leaves) ? leaves - before.n_leaves : 0;
    const size = el(
      "div",
      { class: "tile", "data-figure": "leaves", title: "leaves of the tree; tests on the longest way" },
      el("dt", {}, "Leaves"),
      el("dd", {}, el("span", { class: "value" }, number(leaves)), more ? el("span", { class: "delta is-same" }, change(more)) : null, el("span", { class: "hint" }, `depth ${number(figures.depth)}`)),
    );
    replace(this.tiles, tiles, size);
    this.element.classList.toggle("is-tried", tried);
  }
}

// Segments as cards: what each is, how many rows, and how well its rule finds them.
import { el, name, replace } from "./dom.js";
import { change, known, number, percent, plural } from "./format.js";
import { delta } from "./figures.js";

export class Segments {
  constructor(store) {
    this.store = store;
    this.list = el("ul", { class: "cards" });
    this.element = el("section", { class: "segments", "aria-label": "Segments" }, el("h2", {}, "Segments"), this.list);
    store.on((changes) => {
      if (!store.isFitted) return;
      if (changes.has("state")) this.draw();
      if (changes.has("preview")) this.paint();
      if (changes.has("selection")) this.mark();
    });
  }

  draw() {
    this.parts = new Map();
    const cards = this.store.state.segments.map((segment) => {
      const rows = el("span", { class: "rows" });
      const share = (label, key) => {
        const fill = el("span", { class: "fill" });
        const text = el("span", { class: "share" });
        return { key, fill, text, element: el("span", { class: "measure" }, el("span", { class: "what" }, label), el("span", { class: "gauge", "aria-hidden": "true" }, fill), text) };
      };
      const shares = [share("Precision", "precision"), share("Recall", "recall")];
      this.parts.set(segment.code, { rows, shares });
      const press = () => {
        const { selection } = this.store;
        const again = selection?.kind === "segment" && selection.code === segment.code;
        this.store.select(again ? null : { kind: "segment", code: segment.code });
      };
      const card = el(
        "button",
        { type: "button", class: "segment", "aria-pressed": "false", "data-code": segment.code, title: segment.leaves?.length ? `${segment.name}: ${segment.rule}` : segment.name, style: { "--k": segment.color }, on: { click: press } },
        el("span", { class: "title" }, el("span", { class: "swatch", "aria-hidden": "true" }), name(segment.name, { class: "name" }), rows),
        el("span", { class: "rule" }, segment.leaves?.length ? name(segment.rule) : "No leaf stands for it."),
        el("span", { class: "measures" }, shares.map((each) => each.element)),
      );
      return el("li", {}, card);
    });
    replace(this.list, cards);
    this.paint();
    this.mark();
  }

  paint() {
    const tried = this.store.preview?.segments;
    for (const segment of this.store.state.segments) {
      const { rows, shares } = this.parts.get(segment.code) ?? {};
      if (!rows) continue;
      const now = tried?.find((each) => each.code === segment.code) ?? segment;
      const more = known(now.predicted) && known(segment.predicted) ? now.predicted - segment.predicted : 0;
      replace(rows, plural(now.predicted ?? now.rows, "row"), tried && more ? delta(` ${change(more)}`, 0) : null);
      rows.title = `${number(segment.rows)} rows belong to it; its rule finds ${number(now.predicted)}`;
      for (const { key, fill, text } of shares) {
        fill.style.width = `${100 * (now[key] ?? 0)}%`;
        replace(text, percent(now[key], 0));
      }
    }
  }

  mark() {
    const { selection } = this.store;
    for (const card of this.list.querySelectorAll(".segment")) {
      const chosen = selection?.kind === "segment" && selection.code === Number(card.dataset.code);
      card.setAttribute("aria-pressed", String(chosen));
    }
  }
}

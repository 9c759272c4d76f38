// Rows: those that a rule gets wrong, filtered, and the way of one row through the tree.
import { button, el, field, name, replace, select, toggle } from "./dom.js";
import { number, plural } from "./format.js";
import { latest } from "./store.js";

export class Rows {
  constructor(store) {
    this.store = store;
    this.filter = { wrong: true, cluster: "", leaf: "", text: "", page: 0 };
    this.form = el("form", { class: "filters", on: { submit: (event) => event.preventDefault() } });
    this.way = el("div", { class: "row-way" });
    this.count = el("p", { class: "count", role: "status" });
    this.table = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" });
    this.pages = el("div", { class: "pages" });
    this.title = el("h2", { tabindex: "-1" }, "Rows");
    const close = button("Close", { kind: "close", wide: false, class: "quiet square", press: () => this.close() });
    this.element = el("section", { class: "rows-panel", "aria-label": "Rows", hidden: true }, el("header", {}, this.title, this.form, close), this.way, this.table, el("footer", {}, this.count, this.pages));
    this.asked = latest((question) => store.transport.ask(question), (answer, question, error) => (error ? store.refused(error) : this.draw(answer)));
    store.on((changes) => {
      if (changes.has("state") && !this.element.hidden) this.open(this.filter, { keep: true });
    });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  open(filter = {}, { keep = false } = {}) {
    const { state } = this.store;
    if (!keep) this.filter = { wrong: false, cluster: "", leaf: "", text: "", page: 0, ...filter };
    const set = (change) => {
      this.filter = { ...this.filter, page: 0, ...change };
      this.ask();
    };
    const leaves = state.nodes.filter((each) => each.leaf !== null && each.leaf !== undefined).sort((a, b) => a.leaf - b.leaf);
    if (this.filter.leaf !== "" && this.filter.leaf >= leaves.length) this.filter.leaf = "";
    if (!state.segments.some((each) => each.name === this.filter.cluster)) this.filter.cluster = "";
    const id = el("input", { type: "search", size: "10", class: "row-id", placeholder: "number or id", autocomplete: "off" });
    id.addEventListener("keydown", (event) => event.key === "Enter" && this.find(id.value));
    const text = el("input", { type: "search", value: this.filter.text, class: "row-text", placeholder: "value", size: "12", autocomplete: "off", on: { input: () => set({ text: text.value }) } });
    if (!keep || !this.form.firstChild) {
      this.idField = id;
      replace(
        this.form,
        toggle("Wrong only", this.filter.wrong, (wrong) => set({ wrong })),
        field("Cluster", select([["", "all"], ...state.segments.map((each) => [each.name, each.name])], this.filter.cluster, (cluster) => set({ cluster }))),
        field("Leaf", select([["", "all"], ...leaves.map((each) => [each.leaf, `${each.leaf}`])], String(this.filter.leaf), (leaf) => set({ leaf: leaf === "" ? "" : Number(leaf) }))),
        field("Containing", text),
        field("Way of row", id),
      );
    }
    this.element.hidden = false;
    this.ask();
  }

  close() {
    this.element.hidden = true;
    replace(this.way);
    this.store.trace(null);
  }

  ask() {
    const { wrong, cluster, leaf, text, page } = this.filter;
    this.asked.ask({ ask: "rows", wrong, cluster: cluster || null, leaf: leaf === "" ? null : leaf, text: text || null, page });
  }

  draw(answer) {
    const { store } = this;
    const swatch = (code) => el("span", { class: "swatch", "aria-hidden": "true", style: { "--k": store.color(code) } });
    const head = ["Row", "Cluster", "Rule says", ...answer.columns];
    const body = answer.rows.map((row) => {
      const wrong = row.cluster_code >= 0 && row.cluster_code !== row.segment_code;
      return el(
        "tr",
        { class: wrong ? "is-wrong" : null },
        el("th", { scope: "row" }, el("button", { type: "button", class: "link", title: "Show its way through the tree", on: { click: () => this.find(row.id) } }, name(row.id))),
        el("td", {}, swatch(row.cluster_code), " ", name(row.cluster ?? "–")),
        el("td", {}, swatch(row.segment_code), " ", name(row.segment ?? "–")),
        row.cells.map((cell) => el("td", {}, name(cell))),
      );
    });
    replace(this.table, el("table", {}, el("thead", {}, el("tr", {}, head.map((each) => el("th", { scope: "col" }, name(each))))), el("tbody", {}, body)));
    this.count.textContent = answer.total ? `${plural(answer.total, "row")}${this.filter.wrong ? " wrong" : ""}` : this.filter.wrong ? "No row is wrong here." : "No row fits.";
    const last = Math.max(0, Math.ceil(answer.total / answer.per_page) - 1);
    const step = (by) => {
      this.filter.page = answer.page + by;
      this.ask();
    };
    replace(
      this.pages,
      last ? [
        button("Back", { class: "quiet", disabled: answer.page === 0, press: () => step(-1) }),
        el("span", { class: "muted" }, `page ${number(answer.page + 1)} of ${number(last + 1)}`),
        button("Next", { class: "quiet", disabled: answer.page >= last, press: () => step(1) }),
      ] : null,
    );
  }

  async find(id) {
    if (!String(id).trim()) return;
    const row = await this.store.ask({ ask: "row", id: String(id).trim() });
    if (!row) return;
    this.store.note(null);
    this.store.trace(row);
    const steps = row.path.map((step) => el("li", {}, name(step.test), " ", el("strong", {}, step.passed ? "yes" : "no"), el("span", { class: "muted" }, " ", name(step.value ?? ""))));
    const verdict = row.right === false ? ["wrong: it belongs to ", name(row.cluster)] : row.right ? ["right"] : [];
    const clear = button("Clear", { kind: "close", wide: false, class: "quiet square", press: () => (replace(this.way), this.store.trace(null)) });
    replace(this.way, el("div", {}, el("p", {}, "Row ", name(row.id, { class: "strong" }), " goes to ", name(row.segment, { class: "strong" }), verdict.length ? [" – ", verdict] : null, "."), el("ol", {}, steps)), clear);
  }
}

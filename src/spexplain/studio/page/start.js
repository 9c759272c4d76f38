// Before there is a tree: open a file, then choose its clusters or find some first.
import { button, el, field, icon, name, replace, select } from "./dom.js";
import { plural } from "./format.js";

const GOALS = [["fidelity", "Most rows right"], ["balanced", "Every cluster counts the same"], ["agreement", "Agreement of leaves and clusters"]];
const METHODS = [["best", "Best tree"], ["spex", "SpEx"], ["cart", "CART"]];
const CLUSTERINGS = [["kmeans", "k-means"], ["kmedians", "k-medians"], ["spectral", "Spectral clustering"]];
const ENOUGH = 40; // distinct labels are rarely more

export class Start {
  constructor(store) {
    this.store = store;
    this.element = el("section", { class: "start", "aria-label": "Start", hidden: true });
    store.on((changes) => changes.has("state") && this.draw());
  }

  draw() {
    const { state } = this.store;
    this.element.hidden = this.store.isFitted && !this.again;
    if (this.element.hidden) return replace(this.element);
    return replace(this.element, state.table ? this.clusters(state.table) : this.file());
  }

  /** Choose clusters again, for the table that is open. */
  open() {
    this.again = true;
    this.draw();
    this.element.querySelector("select, input")?.focus();
  }

  file() {
    const input = el("input", { type: "file", hidden: true, "aria-label": "Table", accept: ".csv,.tsv,.txt,.parquet,.feather,.arrow,.xlsx,.json,.jsonl,.ndjson", on: { change: () => input.files[0] && this.store.upload(input.files[0]) } });
    return el(
      "div",
      { class: "drop" },
      icon("file"),
      el("h1", {}, "Drop a table here"),
      el("p", { class: "muted" }, "A row for each thing that is clustered: CSV, Parquet or Excel. It stays on this computer."),
      input,
      button("Choose a file", { kind: "open", class: "primary", press: () => input.click() }),
    );
  }

  clusters(table) {
    const { store } = this;
    // Columns of few values are likely to hold clusters.
    const likely = (column) => (["category", "text", "boolean", "flag"].includes(column.kind) || (column.n_values ?? Infinity) <= ENOUGH ? 0 : 1);
    const columns = [...table.columns].sort((a, b) => likely(a) - likely(b));
    const guess = columns.find((each) => /^(cluster|segment|label|class|group|species|target)s?$/i.test(each.name)) ?? null;
    let way = guess ? "labels" : "cluster";
    const labels = select(columns.map((each) => [each.name, each.name]), guess?.name ?? columns[0]?.name, () => {}, { class: "labels" });
    const method = select(CLUSTERINGS, "kmeans", () => {});
    const k = el("input", { type: "number", min: "2", max: "50", value: "5", class: "k" });
    const goal = select(GOALS, "fidelity", () => {});
    const grow = select(METHODS, "best", () => {});
    const leaves = el("input", { type: "number", min: "2", max: "200", placeholder: "one per cluster", class: "leaves" });
    const choices = el("div", { class: "choice" });
    const radio = (key, title, text, ...fields) => {
      const input = el("input", { type: "radio", name: "spexplain-way", value: key, on: { change: () => mark(key) } });
      input.checked = key === way;
      return el("div", { class: "option", "data-way": key }, el("label", {}, input, el("span", {}, el("strong", {}, title), el("span", { class: "muted" }, text))), el("div", { class: "fields" }, fields));
    };
    const mark = (key) => {
      way = key;
      for (const each of choices.children) each.classList.toggle("is-chosen", each.dataset.way === key);
    };
    replace(
      choices,
      radio("labels", "A column holds the clusters", "Explain them as they are.", field("Column", labels)),
      radio("cluster", "Cluster first", "There are no clusters yet: find some, then explain them.", field("Method", method), field("Clusters", k)),
    );
    mark(way);
    for (const [control, key] of [[labels, "labels"], [method, "cluster"], [k, "cluster"]]) {
      control.addEventListener("input", () => {
        choices.querySelector(`[value="${key}"]`).checked = true;
        mark(key);
      });
    }
    const go = async () => {
      const clustered = way === "cluster";
      const question = { ask: "open", labels: clustered ? null : labels.value, cluster: clustered ? { method: method.value, k: Number(k.value) } : null, method: grow.value, goal: goal.value, n_leaves: leaves.value ? Number(leaves.value) : null };
      submit.disabled = true;
      this.again = false;
      const state = await store.ask(question);
      submit.disabled = false;
      if (state) {
        store.note(null);
        store.selection = null;
        store.take(state);
      }
    };
    const submit = button("Explain", { class: "primary explain", type: "submit" });
    return el(
      "form",
      { class: "choose", on: { submit: (event) => (event.preventDefault(), go()) } },
      el("h1", {}, name(table.name)),
      el("p", { class: "muted" }, `${plural(table.n_rows, "row")}, ${plural(table.columns.length, "column")}`),
      choices,
      el("details", {}, el("summary", {}, "How to explain"), el("div", { class: "fields" }, field("Method", grow), field("Goal", goal), field("Leaves", leaves))),
      el("div", { class: "line" }, submit, store.isFitted ? button("Cancel", { class: "quiet", press: () => ((this.again = false), this.draw(), store.tell("state")) }) : null),
    );
  }
}

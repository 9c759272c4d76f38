// The panel beside the tree: a node with its test, its alternatives and what can be done with it, or a segment.
import { Chart } from "./chart.js";
import { bar, has } from "./tree.js";
import { button, el, field, icon, name, replace, select, toggle, unique } from "./dom.js";
import { beforeDay, change, dayOf, known, number, percent, plural } from "./format.js";
import { delta } from "./figures.js";
import { latest } from "./store.js";

const METHODS = [["best", "Most rows right"], ["cart", "CART"], ["spex", "SpEx"]];

export class Inspector {
  constructor(store, actions) {
    this.store = store;
    this.actions = actions;
    this.body = el("div", { class: "body" });
    this.title = el("h2", { id: unique("inspector"), tabindex: "-1" });
    const close = button("Close", { kind: "close", wide: false, class: "quiet square", press: () => actions.deselect() });
    this.element = el("section", { class: "inspector", "aria-labelledby": this.title.id, hidden: true }, el("header", {}, this.title, close), this.body);
    this.previews = latest(
      ({ node, draft }) => store.transport.ask({ ask: "preview", node, ...draft }),
      (answer, question, error) => this.previewed(answer, question, error),
    );
    store.on((changes) => {
      if (changes.has("selection") || changes.has("state")) this.draw();
    });
  }

  get wanted() {
    const { selection, state } = this.store;
    return this.store.isFitted && selection ? `${state.version}/${selection.kind}/${selection.node ?? selection.code}` : null;
  }

  /** Show what is selected; the promise ends once all of it is drawn. */
  draw() {
    if (this.wanted !== this.drawn) {
      this.drawn = this.wanted;
      this.drawing = this.redraw(this.drawn);
    }
    return this.drawing;
  }

  async redraw(wanted) {
    const { store } = this;
    this.previews.stop();
    this.draft = null;
    if (!wanted) {
      this.node = this.shown = null;
      this.element.hidden = true;
      replace(this.body);
      return;
    }
    if (store.selection.kind === "segment") {
      this.drawSegment(store.segment(store.selection.code));
      return;
    }
    const node = store.node(store.selection.node);
    const columns = this.drawNode(node);
    // Ranking all columns of a large table takes a moment, which nobody has to wait for before dragging.
    if (!this.isLeaf) await this.showColumn(node.column, { own: true });
    if (this.wanted !== wanted) return;
    this.listed = this.list(node, wanted);
    if (!this.isLeaf) return;
    await this.listed;
    if (this.wanted === wanted) await this.showColumn(this.about?.alternatives?.[0]?.column ?? columns[0], { own: true });
  }

  async list(node, wanted) {
    const about = await this.store.ask({ ask: "node", node: node.node }, { quietly: true });
    if (!about || this.wanted !== wanted) return;
    this.about = about;
    this.way.textContent = about.path ?? "";
    replace(this.others, this.alternatives(about.alternatives ?? [], this.isLeaf));
  }

  // --- A node ---

  drawNode(node) {
    this.node = node;
    this.about = null;
    this.draft = null;
    const { store } = this;
    const isLeaf = !has(node.yes);
    const segment = store.segment(node.segment);
    replace(this.title, isLeaf ? `Leaf ${node.leaf}` : "Test", node.locked ? icon("lock") : null);
    this.way = name("");
    this.others = el("section", { class: "alternatives" }, el("h3", {}, isLeaf ? "Best splits" : "Best alternatives"), el("p", { class: "muted" }, "Comparing all columns …"));
    this.live = el("p", { class: "live" });
    this.problem = el("p", { class: "problem", role: "alert" });
    this.measure = el("div", { class: "measure-panel" });
    this.condition = el("input", { type: "text", autocomplete: "off", spellcheck: "false", class: "condition", id: unique("condition") });
    this.condition.addEventListener("input", () => this.try({ test: this.condition.value }));
    this.condition.addEventListener("keydown", (event) => event.key === "Enter" && this.apply());
    this.applyButton = button(isLeaf ? "Split here" : "Apply", { kind: "check", class: "primary apply", press: () => this.apply() });
    this.resetButton = button("Reset", { class: "quiet reset", press: () => this.reset() });
    const columns = [...new Set([...(isLeaf ? [] : [node.column]), ...store.state.table.columns.filter((each) => !each.forbidden).map((each) => each.name)])];
    this.columnList = select(columns, node.column ?? columns[0], (column) => this.showColumn(column), { class: "column" });
    const focused = this.body.contains(document.activeElement);
    replace(
      this.body,
      el("p", { class: "way" }, this.way),
      el("div", { class: "who" }, bar(node.counts, (code) => store.color(code)), el("p", {}, plural(node.rows, "row"), segment ? [" · ", percent(node.purity), " ", el("span", { class: "swatch", "aria-hidden": "true", style: { "--k": segment.color } }), " ", name(segment.name)] : null)),
      el(
        "form",
        { class: "test", on: { submit: (event) => event.preventDefault() } },
        field(isLeaf ? "Split by" : "Column", this.columnList),
        this.measure,
        field("Condition", this.condition),
        this.live,
        this.problem,
        el("div", { class: "confirm" }, this.applyButton, this.resetButton),
      ),
      this.others,
      this.doings(node, isLeaf),
    );
    this.element.hidden = false;
    if (focused) this.focus(); // what had it is gone
    if (this.shown !== node.node) this.body.scrollTop = 0;
    this.shown = node.node;
    this.condition.value = isLeaf ? "" : node.text;
    this.condition.placeholder = "such as age > 30";
    this.showing(false);
    return columns;
  }

  alternatives(list, isLeaf) {
    const title = el("h3", {}, isLeaf ? "Best splits" : "Best alternatives");
    if (!list.length) return [title, el("p", { class: "muted" }, "No other column tells these rows apart.")];
    const now = this.store.state.figures.rows_right;
    const items = list.map((each) => {
      const press = () => this.take(each);
      return el(
        "li",
        {},
        el(
          "button",
          { type: "button", class: "alternative", "data-column": each.column, on: { click: press } },
          name(each.text, { class: "text" }),
          el("span", { class: "effect" }, delta(`${change(each.rows_right - now)} right`, each.rows_right - now), isLeaf ? null : el("span", { class: "muted" }, `${plural(each.rows_changed, "row")} change`)),
        ),
      );
    });
    return [title, el("ol", {}, items)];
  }

  doings(node, isLeaf) {
    const { actions } = this;
    const inner = !isLeaf;
    const all = [
      inner && button("Prune", { kind: "prune", title: "Make this node a leaf", press: () => actions.prune(node.node), disabled: node.locked }),
      button(isLeaf ? "Grow" : "Regrow", { kind: "regrow", title: "Grow the tree below anew", press: () => this.askRegrow(node), disabled: node.locked }),
      node.locked
        ? button("Unlock", { kind: "unlock", title: "Later edits and fits may change it again", press: () => actions.unlock(node.node) })
        : button("Lock", { kind: "lock", title: "Later edits and fits keep this and the way to it", press: () => actions.lock(node.node) }),
      inner && button("Exchange yes and no", { kind: "flip", press: () => actions.flip(node.node), disabled: node.locked }),
      inner && button(`Never use ${node.column}`, { kind: "forbid", title: "No test at or below this node may use this column", press: () => actions.forbid(node.column, node.node), disabled: node.locked }),
      isLeaf && button("Rows", { kind: "rows", title: "List the rows of this leaf", press: () => actions.rows({ leaf: node.leaf }) }),
    ];
    this.regrow = el("div", { class: "regrow" });
    const barred = [...new Set(this.store.state.nodes.flatMap((each) => each.forbidden ?? []))];
    return el(
      "section",
      { class: "doings" },
      el("h3", {}, "This node"),
      el("div", { class: "buttons" }, all.filter(Boolean)),
      this.regrow,
      barred.length ? el("p", { class: "muted" }, "Forbidden: ", barred.map((each, at) => [at ? ", " : "", name(each)])) : null,
    );
  }

  askRegrow(node) {
    if (this.regrow.firstChild) return replace(this.regrow);
    const { store } = this;
    const count = (at) => (has(at.yes) ? count(store.node(at.yes)) + count(store.node(at.no)) : 1);
    const leaves = el("input", { type: "number", min: "1", max: "99", value: String(Math.max(2, count(node))) });
    const method = select(METHODS, "best", () => {});
    const go = () => this.actions.regrow(node.node, method.value, Number(leaves.value));
    leaves.addEventListener("keydown", (event) => event.key === "Enter" && go());
    replace(this.regrow, field("By", method), field("Leaves", leaves), button("Grow", { class: "primary", press: go }));
    method.focus();
    return undefined;
  }

  // --- The column of a test ---

  /** Draw a column; unless it is the node's own, begin with the best test of it. */
  async showColumn(column, { own = false, draft = null } = {}) {
    const { wanted } = this;
    this.columnList.value = column;
    const about = await this.store.ask({ ask: "column", node: this.node.node, column }, { quietly: true });
    if (!about || this.wanted !== wanted || this.columnList.value !== column) return;
    this.drawColumn(about, about.test);
    if (draft) this.try(draft);
    else if (about.test || own) this.forget();
    else {
      const best = this.about?.alternatives?.find((each) => each.column === column);
      if (best) {
        this.condition.value = best.text;
        this.try({ test: best.text });
      } else if (about.sweep?.best) this.try({ column, threshold: about.sweep.best.threshold });
    }
  }

  get isLeaf() {
    return !has(this.node.yes);
  }

  take(alternative) {
    this.condition.value = alternative.text;
    this.showColumn(alternative.column, { draft: { test: alternative.text } });
  }

  drawColumn(about, test) {
    this.column = about;
    this.test = { missing: false, ...(test ?? {}) };
    const { store } = this;
    const colors = (code) => store.state.segments[code]?.color ?? "var(--noise)";
    const nMissing = (about.missing ?? []).reduce((sum, each) => sum + each, 0);
    const parts = [];
    this.chart = this.chips = this.missing = this.typed = null;
    if (about.categories) {
      const total = Math.max(1, ...about.categories.map((each) => sum(each.counts)));
      this.chips = about.categories.map((each) => {
        const chip = el(
          "button",
          { type: "button", class: "chip", "data-code": each.code, on: { click: () => this.flipChip(each.code) } },
          el("span", { class: "mark", "aria-hidden": "true" }),
          name(each.text, { class: "text", title: each.text }),
          el("span", { class: "track", style: { "--share": `${(100 * sum(each.counts)) / total}%` } }, bar(each.counts, colors)),
          el("span", { class: "count" }, number(sum(each.counts))),
        );
        return chip;
      });
      parts.push(el("p", { class: "muted" }, "Chosen values go to yes."), el("div", { class: "chips", role: "group", "aria-label": `Values of ${about.column} that go to yes` }, this.chips));
      this.markChips();
    } else {
      this.chart = new Chart({ colors, move: (threshold, snap) => this.moved(threshold, { snap }), apply: () => this.apply(), release: () => this.answer && this.chart.place(this.cut) });
      this.chart.show(about, this.cut, this.isAbove);
      this.typed = this.numberField(about);
      const typed = field(this.typedWords, this.typed, { class: "field typed" });
      this.typedLabel = typed.querySelector("label");
      parts.push(this.chart.element, typed);
    }
    if (nMissing || about.has_missing) {
      const missing = toggle(`Missing values go to yes (${plural(nMissing, "row")})`, Boolean(this.test.missing), (checked) => {
        this.test.missing = checked;
        this.tryTest();
      });
      this.missing = missing.querySelector("input");
      parts.push(missing);
    }
    replace(this.measure, parts);
  }

  get typedWords() {
    if (this.column.kind === "date") return this.isAbove ? "From" : "Before";
    return this.isAbove ? "Greater than" : "At most";
  }

  get isAbove() {
    return known(this.test.lower) && !known(this.test.threshold);
  }

  get cut() {
    return this.isAbove ? this.test.lower : this.test.threshold;
  }

  numberField(about) {
    if (about.kind === "date") {
      const input = el("input", { type: "date", class: "number" });
      if (known(this.cut)) input.value = dayOf(this.cut);
      input.addEventListener("input", () => input.value && this.moved(beforeDay(input.value)));
      return input;
    }
    const input = el("input", { type: "text", inputmode: "decimal", class: "number", autocomplete: "off" });
    if (known(this.cut)) input.value = String(this.cut);
    input.addEventListener("input", () => {
      const value = Number(input.value.replace(",", "."));
      if (input.value.trim() && Number.isFinite(value)) this.moved(value);
    });
    input.addEventListener("keydown", (event) => event.key === "Enter" && this.apply());
    return input;
  }

  moved(threshold, { snap } = {}) {
    if (this.isAbove) this.test = { ...this.test, lower: threshold };
    else this.test = { ...this.test, threshold, lower: null };
    if (!snap) this.chart.place(threshold); // typed: it means itself
    this.tryTest(snap);
  }

  flipChip(code) {
    const chosen = new Set(this.chosen);
    if (chosen.has(code)) chosen.delete(code);
    else chosen.add(code);
    const codes = [...chosen].sort((a, b) => a - b);
    if (this.column.kind === "category") this.test = { ...this.test, values: codes };
    // A flag or a boolean has a threshold: yes for 0, for 1, for both or for none.
    else this.test = { ...this.test, ...(chosen.has(0) ? { threshold: chosen.has(1) ? 1 : 0, lower: null } : { threshold: null, lower: chosen.has(1) ? 0 : 1 }) };
    this.markChips();
    this.tryTest();
  }

  get chosen() {
    if (this.test.values) return this.test.values;
    const { lower, threshold } = this.test;
    if (!known(lower) && !known(threshold)) return [];
    return [0, 1].filter((each) => each > (lower ?? -Infinity) && each <= (threshold ?? Infinity));
  }

  markChips() {
    const chosen = new Set(this.chosen);
    for (const chip of this.chips) chip.setAttribute("aria-pressed", String(chosen.has(Number(chip.dataset.code))));
  }

  // --- Trying out ---

  tryTest(snap) {
    const { column } = this.column;
    const { lower, threshold, values, missing } = this.test;
    const numbers = values ? { values } : { ...(known(threshold) ? { threshold } : {}), ...(known(lower) ? { lower } : {}), ...(snap ? { snap } : {}) };
    this.try({ column, ...numbers, missing: Boolean(missing) });
  }

  try(draft) {
    this.draft = draft;
    this.answer = null;
    this.showing(true);
    this.previews.ask({ node: this.node.node, draft });
  }

  previewed(answer, question, error) {
    if (!this.draft) return;
    const problem = error?.message ?? answer?.problem ?? "";
    this.problem.textContent = problem;
    this.element.classList.toggle("is-refused", Boolean(problem));
    this.applyButton.disabled = Boolean(problem);
    if (!answer) {
      this.store.show(null);
      replace(this.live);
      return;
    }
    this.answer = { column: answer.column, ...answer.test };
    if (question.draft.test === undefined) this.condition.value = answer.text;
    if (answer.column === this.column?.column) this.follow(answer, question);
    else if (question.draft === this.draft && question.draft.test !== undefined) this.showColumn(answer.column, { draft: question.draft });
    const more = answer.figures.rows_right - this.store.state.figures.rows_right;
    replace(
      this.live,
      el("strong", {}, number(answer.figures.rows_right)),
      " rows right ",
      delta(change(more), more),
      el("span", { class: "muted" }, " · "),
      plural(answer.rows_changed, "row"),
      answer.rows_changed === 1 ? " changes" : " change",
    );
    this.store.show(answer);
    clearTimeout(this.saying);
    this.saying = setTimeout(() => this.actions.say(), 600);
  }

  /** Let chart, chips and fields show the test that was answered about, unless people are already further. */
  follow(answer, question) {
    this.chart?.describe(answer.text, answer.figures.rows_right);
    const { test } = answer;
    if (this.typed && this.typed !== document.activeElement) this.writeTyped(known(test.threshold) ? test.threshold : test.lower);
    if (question.draft !== this.draft) return undefined;
    this.test = { ...this.test, ...test, values: test.values ?? undefined };
    if (this.missing) this.missing.checked = Boolean(test.missing);
    if (this.chips) return this.markChips();
    this.chart.above = this.isAbove;
    if (!this.chart.held) this.chart.place(this.cut);
    this.typedLabel.textContent = this.typedWords;
    return undefined;
  }

  writeTyped(cut) {
    if (known(cut)) this.typed.value = this.column.kind === "date" ? dayOf(cut) : String(cut);
  }

  showing(tried) {
    this.element.classList.toggle("is-tried", tried);
    this.applyButton.disabled = !tried;
    this.resetButton.disabled = !tried;
    if (!tried) {
      replace(this.live);
      this.problem.textContent = "";
      this.element.classList.remove("is-refused");
    }
  }

  forget() {
    this.previews.stop();
    this.draft = null;
    this.showing(false);
    if (this.store.preview) this.store.show(null);
    this.condition.value = this.isLeaf ? "" : this.node.text;
  }

  reset() {
    this.forget();
    this.showColumn(this.node.column ?? this.columnList.value, { own: true });
  }

  apply() {
    if (!this.draft || this.applyButton.disabled) return undefined;
    // The numbers that were answered about, so that what is applied is what was shown.
    const { column, lower, threshold, values, missing } = this.answer ?? {};
    const shown = this.answer && this.draft.test === undefined;
    const said = shown ? { column, missing, ...(values ? { values } : { ...(known(threshold) ? { threshold } : {}), ...(known(lower) ? { lower } : {}) }) } : this.draft.test === undefined ? this.draft : { test: this.draft.test };
    if (this.isLeaf) return this.actions.split(this.node.leaf, said);
    return this.actions.withTest(this.node.node, said);
  }

  get isTrying() {
    return Boolean(this.draft);
  }

  // --- A segment ---

  drawSegment(segment) {
    const { store, actions } = this;
    this.node = null;
    replace(this.title, el("span", { class: "swatch", "aria-hidden": "true", style: { "--k": segment.color } }), name(segment.name));
    const others = store.state.segments.filter((each) => each.code !== segment.code);
    const named = el("input", { type: "text", value: String(segment.name), autocomplete: "off", class: "rename" });
    const rename = () => named.value.trim() && named.value !== String(segment.name) && actions.rename(segment, named.value.trim());
    named.addEventListener("keydown", (event) => event.key === "Enter" && rename());
    const with_ = select(others.map((each) => [each.code, each.name]), others[0]?.code, () => {}, { class: "merge" });
    const figures = [["Rows", number(segment.rows)], ["Found by the rule", number(segment.predicted)], ["Precision", percent(segment.precision)], ["Recall", percent(segment.recall)], ["F1", percent(segment.f1)], ["Leaves", number(segment.leaves?.length ?? 0)]];
    replace(
      this.body,
      el("p", { class: "rule" }, segment.leaves?.length ? name(segment.rule) : "No leaf stands for it."),
      el("dl", { class: "facts" }, figures.map(([label, text]) => el("div", {}, el("dt", {}, label), el("dd", {}, text)))),
      el("div", { class: "line" }, field("Name", named), button("Rename", { kind: "edit", press: rename })),
      others.length ? el("div", { class: "line" }, field("Merge with", with_), button("Merge", { kind: "merge", press: () => actions.merge(segment, store.segment(Number(with_.value))) })) : null,
      el("div", { class: "buttons" }, button("Rows that the rule gets wrong", { kind: "rows", press: () => actions.rows({ cluster: segment.name, wrong: true }) })),
    );
    this.element.hidden = false;
  }

  focus() {
    if (!this.element.hidden) this.title.focus({ preventScroll: true });
  }
}

const sum = (counts) => counts.reduce((total, each) => total + each, 0);

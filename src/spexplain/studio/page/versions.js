// All versions of the tree, and two of them side by side.
import { bar, has } from "./tree.js";
import { button, dialog, el, field, name, replace, select } from "./dom.js";
import { change, number, percent, plural, points } from "./format.js";
import { delta } from "./figures.js";

export async function openVersions(root, store) {
  const known = await store.ask({ ask: "versions" });
  if (!known) return;
  const { versions, now } = known;
  const list = el("ol", { class: "versions", reversed: true });
  const side = el("div", { class: "compared" });
  let one = Math.max(0, now - 1);
  let other = now;
  if (now === 0) other = Math.min(versions.length - 1, 1);
  const box = dialog(root, "Versions", { wide: true }, el("div", { class: "columns" }, el("div", { class: "journal" }, list), side));
  const words = versions.map((each) => [each.number, `${each.number}: ${each.text}`]);
  const go = async (number_) => {
    if (await store.change({ ask: "go", number: number_ })) box.close();
  };
  replace(
    list,
    [...versions].reverse().map((each) => {
      const before = versions[each.number - 1];
      const by = before ? each.figures.rows_right - before.figures.rows_right : undefined;
      const here = each.number === now;
      return el(
        "li",
        { class: here ? "is-now" : each.number > now ? "is-undone" : null },
        el("p", { class: "what" }, el("span", { class: "muted" }, `${each.number} `), name(each.text)),
        el("p", { class: "effect" }, percent(each.figures.fidelity), " right ", by === undefined ? null : delta(change(by), by), el("span", { class: "muted" }, ` · ${plural(each.figures.n_leaves, "leaf", "leaves")}`)),
        here ? el("span", { class: "badge" }, "now") : button("Go to this version", { class: "quiet", "aria-label": `Go to version ${each.number}`, press: () => go(each.number) }),
      );
    }),
  );
  async function compare() {
    const both = await store.ask({ ask: "compare", one, other });
    if (!both || !box.isConnected) return;
    const flows = both.flows.slice(0, 12).map((flow) => el("tr", {}, el("td", {}, name(flow.from)), el("td", {}, name(flow.to)), el("td", { class: "number" }, number(flow.rows))));
    const [a, b] = [both.one.figures, both.other.figures];
    const rows = [
      ["Rows right", number(a.rows_right), number(b.rows_right), change(b.rows_right - a.rows_right), b.rows_right - a.rows_right],
      ["Share", percent(a.fidelity), percent(b.fidelity), points(b.fidelity - a.fidelity), b.fidelity - a.fidelity],
      ["Balanced", percent(a.balanced), percent(b.balanced), points(b.balanced - a.balanced), b.balanced - a.balanced],
      ["Leaves", number(a.n_leaves), number(b.n_leaves), change(b.n_leaves - a.n_leaves), 0],
    ];
    replace(
      side,
      el("div", { class: "pick" },
            field("Left", select(words, one, (value) => ((one = Number(value)), compare()))),
            field("Right", select(words, other, (value) => ((other = Number(value)), compare())))),
      el("div", { class: "pair" }, [both.one, both.other].map((each) => sketch(each, `Version ${each.number}`))),
      el("div", { class: "tables" },
        el("table", {}, el("caption", {}, "Figures"), el("thead", {}, el("tr", {}, ["", "left", "right", "change"].map((each) => (each ? el("th", { scope: "col" }, each) : el("td"))))), el("tbody", {}, rows.map(([what, left, right, by, size]) => el("tr", {}, el("th", { scope: "row" }, what), el("td", { class: "number" }, left), el("td", { class: "number" }, right), el("td", { class: "number" }, delta(by, size)))))),
        flows.length
          ? el("table", {}, el("caption", {}, `${plural(both.rows_changed, "row")} in another segment`), el("thead", {}, el("tr", {}, ["from", "to", "rows"].map((each) => el("th", { scope: "col" }, each)))), el("tbody", {}, flows))
          : el("p", { class: "muted" }, "Every row is in the same segment.")),
    );
  }
  if (versions.length > 1) await compare();
  else replace(side, el("p", { class: "muted" }, "There is one version so far. Every edit makes another, and two can be seen side by side here."));
}

/** A tree as an indented list: small enough for two beside each other. */
function sketch(version, title) {
  const node = new Map(version.nodes.map((each) => [each.node, each]));
  const color = (code) => version.segments[code]?.color ?? "var(--noise)";
  const item = (at, turn) => {
    const segment = version.segments.find((each) => each.code === at.segment);
    const leaf = !has(at.yes);
    return el(
      "li",
      {},
      el("div", { class: leaf ? "is-leaf" : "is-test", style: { "--k": segment?.color ?? "var(--muted)" } },
        turn ? el("span", { class: `turn turn-${turn}` }, turn) : null,
        name(leaf ? (segment?.name ?? "no segment") : at.text, { class: "text" }),
        bar(at.counts, color),
        el("span", { class: "rows" }, number(at.rows))),
      leaf ? null : el("ul", {}, item(node.get(at.yes), "yes"), item(node.get(at.no), "no")),
    );
  };
  const root = version.nodes.find((each) => !has(each.parent));
  return el("section", { class: "sketch" }, el("h3", {}, title), el("p", { class: "muted" }, name(version.text)), el("ul", { class: "outline" }, item(root, "")));
}

// A leaf is shown in many places; each says which leaves it is about (data-first, data-last).
function spanOf(target) {
  const linked = target instanceof Element ? target.closest("[data-first]") : null;
  if (!linked) return null;
  return { first: Number(linked.dataset.first), last: Number(linked.dataset.last), linked };
}

function isEverything(span) {
  return span.first === 0 && span.last === allLeaves - 1 && allLeaves > 1;
}

function mark(className, span) {
  for (const each of every("[data-first]")) {
    const inside = span !== null
      && Number(each.dataset.first) >= span.first && Number(each.dataset.last) <= span.last;
    each.classList.toggle(className, inside);
  }
}

let hot = "";
function hover(target) {
  let span = spanOf(target);
  if (span && isEverything(span)) span = null;
  const key = span ? `${span.first}-${span.last}` : "";
  if (key === hot) return;
  hot = key;
  mark("is-hot", span);
  filterPoints();
}

function filterPoints() {
  const chart = byId("cuts-chart");
  if (chart) chart.classList.toggle("is-filtered", hot !== "" || state.selected !== null);
}

function select(node) {
  state.selected = node === state.selected ? null : node;
  const chosen = state.selected === null ? null : data.nodes[state.selected];
  mark("is-selected", chosen);
  for (const each of every(".leaf-link, #tree-list summary")) {
    const line = each.closest("[data-first]"); // links in the cards of segments have none
    if (line && line.classList.contains("is-selected")) each.setAttribute("aria-current", "true");
    else each.removeAttribute("aria-current");
  }
  filterPoints();
  showSelection();
}

function showSelection() {
  const strip = byId("selection");
  strip.replaceChildren();
  strip.hidden = state.selected === null;
  if (state.selected === null) return;
  const node = data.nodes[state.selected];
  const { label, color } = describe(state.selected);
  const number = leavesOf(state.leaves).indexOf(state.selected);
  const name = element("strong", "", `Leaf ${number} `, swatchOf(color, label));
  const card = byId(`leaf-${node.first}`);
  strip.append(name, element("span", "rule", ...ruleParts(node.rule), ` · ${rowsText(node.size)}`));
  for (const [target, text] of [["tree", "Tree"], [`leaf-${node.first}`, "Card"]]) {
    if (!byId(target) || (text === "Card" && node.first !== node.last)) continue;
    const link = element("a", "", text);
    link.href = `#${target}`;
    strip.append(link);
  }
  const clear = element("button", "", "Clear");
  clear.type = "button";
  clear.addEventListener("click", () => select(state.selected));
  strip.append(clear);
}

function onClick(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const span = spanOf(event.target);
  if (!span) return;
  const control = event.target.closest("a, button, summary");
  const item = span.linked.closest("#tree-list li");
  if (control && control.tagName === "SUMMARY" && !item.classList.contains("is-cut")) return;
  if (control && !control.matches(".leaf-link, summary")) return;
  if (!control && String(document.getSelection())) return;
  event.preventDefault();
  const nodes = leavesOf(state.leaves);
  // In a smaller tree, the leaf is the node that holds what was clicked.
  select(nodes.find((node) => data.nodes[node].first <= span.first && span.last <= data.nodes[node].last));
}

document.addEventListener("pointerover", (event) => hover(event.target));
document.addEventListener("focusin", (event) => hover(event.target));
document.addEventListener("focusout", () => hover(null));
document.documentElement.addEventListener("pointerleave", () => hover(null));
document.addEventListener("click", onClick);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.selected !== null) select(state.selected);
});

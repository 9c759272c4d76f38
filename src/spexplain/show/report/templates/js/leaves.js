// The slider: a smaller tree is the beginning of the list of nodes.
const slider = byId("leaves");

// Every inner node can end the tree; what it says then waits beside its test.
function prepareEnds() {
  for (const item of every("li[data-node]", treeList)) {
    const node = Number(item.dataset.node);
    const summary = item.querySelector(":scope > details > summary");
    if (!summary) continue;
    const { label, color, purity } = describe(node);
    const number = element("span", "leaf-number");
    const name = element("span", "leaf-name", "Leaf ", number);
    const text = element("span", "as-leaf", name, " ", swatchOf(color, label));
    if (data.hasReference) text.append(" ", element("span", "muted purity", `${purity} pure`));
    summary.querySelector(".text").append(text);
  }
}

function showTree(leaves) {
  if (state.selected !== null) select(state.selected);
  state.leaves = leaves;
  const nodes = leavesOf(leaves);
  for (const item of every("li[data-node]", treeList)) {
    const node = Number(item.dataset.node);
    item.classList.toggle("is-cut", data.nodes[node].left !== undefined && endsAt(node));
    const number = nodes.indexOf(node);
    const place = item.querySelector(":scope > a .leaf-number, :scope > details > summary .leaf-number");
    if (number >= 0 && place) place.textContent = String(number);
  }
  for (const line of every(".segments line")) {
    line.classList.toggle("is-cut", endsAt(Number(line.dataset.node)));
  }
  byId("cuts-regions")?.toggleAttribute("hidden", leaves < allLeaves);
  showRules(leaves, nodes);
  showFigures(data.trees[leaves - 1]);
  moveMarker(leaves);
  tryRow();
}

function showRules(leaves, nodes) {
  const smaller = byId("rules-smaller");
  const isWhole = leaves === allLeaves;
  byId("rules-all").hidden = !isWhole;
  smaller.hidden = isWhole;
  byId("smaller-note").hidden = isWhole;
  smaller.replaceChildren(...(isWhole ? [] : nodes.map(ruleRow)));
}

function ruleRow(node, number) {
  const own = data.nodes[node];
  const { label, color, purity } = describe(node);
  const link = element("a", "leaf-link", `Leaf ${number}`);
  link.href = "#tree";
  const head = element("th", "", link, " ", swatchOf(color, label));
  head.scope = "row";
  const share = element("span", "muted", own.share);
  const cells = [
    element("td", "rule", ...ruleParts(own.rule)),
    element("td", "number", `${own.size.toLocaleString("en")} `, share),
  ];
  if (data.hasReference) cells.push(element("td", "number", purity));
  const row = element("tr", "", head, ...cells);
  head.setAttribute("role", "rowheader");
  row.setAttribute("role", "row");
  for (const cell of cells) cell.setAttribute("role", "cell");
  row.dataset.first = own.first;
  row.dataset.last = own.last;
  return row;
}

function showFigures(tree) {
  const facts = [`${tree.leaves} ${tree.leaves === 1 ? "leaf" : "leaves"}`];
  byId("now-leaves").textContent = String(tree.leaves);
  byId("now-depth").textContent = String(tree.depth);
  if (byId("now-fidelity")) {
    byId("now-fidelity").textContent = tree.fidelity;
    byId("now-price").textContent = tree.price;
    facts.push(`fidelity ${tree.fidelity}`, `cost ratio ${tree.price}`);
  }
  slider.setAttribute("aria-valuetext", facts.join(", "));
}

function moveMarker(leaves) {
  for (const chart of every("svg.path")) {
    const x = Number(chart.dataset.xFirst) + Number(chart.dataset.xStep) * (leaves - 1);
    const marker = chart.querySelector(".now");
    marker.setAttribute("x1", x);
    marker.setAttribute("x2", x);
  }
}

if (slider) {
  prepareEnds();
  // Browsers keep a slider's place over a reload; the page starts with the whole tree.
  slider.value = String(allLeaves);
  slider.addEventListener("input", () => showTree(Number(slider.value)));
}

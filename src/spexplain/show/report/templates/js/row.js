// "Try a row": the tests of `predict`, lower < x <= threshold, in the same double precision.
const fields = every("#try-form [data-field]");
let isTried = false; // the tree is lit only once somebody has asked

function valueOf(field) {
  const text = field.value.trim();
  field.classList.toggle("is-wrong", field.validity.badInput);
  if (text === "") return null;
  const x = Number(text);
  return Number.isFinite(x) ? x : null;
}

function walk(values) {
  const steps = [];
  let node = 0;
  while (!endsAt(node)) {
    const { feature, lower, threshold, left, right } = data.nodes[node];
    const x = values[feature];
    if (x === null) return { node, steps, missing: feature };
    const passes = (lower === null || lower < x) && (threshold === null || x <= threshold);
    steps.push({ node, feature, x, lower, threshold, passes });
    node = passes ? left : right;
  }
  return { node, steps, missing: null };
}

// Six digits as elsewhere, but all of them where the value lies so close that they decide.
function boundText(bound, x) {
  const short = Number(bound.toPrecision(6));
  return String((x <= short) === (x <= bound) ? short : bound);
}

function testText({ feature, lower, threshold, x }) {
  const bounds = [element("bdi", "", data.features[feature].name)];
  if (lower !== null) bounds.unshift(`${boundText(lower, x)} < `);
  if (threshold !== null) bounds.push(` ≤ ${boundText(threshold, x)}`);
  return bounds;
}

function lightPath(result) {
  for (const each of every(".on-path")) each.classList.remove("on-path");
  if (!isTried) return;
  const nodes = [...result.steps.map((step) => step.node), result.node];
  for (const node of nodes) {
    const item = treeList.querySelector(`li[data-node="${node}"]`);
    item.querySelector(".line").classList.add("on-path");
    const details = item.querySelector(":scope > details");
    if (details && !endsAt(node)) details.open = true;
  }
  for (const step of result.steps) {
    for (const line of every(`.segments line[data-node="${step.node}"]`)) line.classList.add("on-path");
  }
}

function showResult(result) {
  const answer = byId("try-result");
  if (result.missing !== null) {
    answer.replaceChildren("Type a number for ", element("bdi", "", data.features[result.missing].name), " to go on.");
  } else {
    const number = leavesOf(state.leaves).indexOf(result.node);
    const { label, purity, color, exact } = describe(result.node);
    const parts = [`Leaf ${number}`];
    if (label) parts.push(exact ? ", stands for " : ", mostly ", swatchOf(color, label), ` (${purity} pure)`);
    if (state.leaves < allLeaves) parts.push(` in the tree of ${state.leaves}`);
    answer.replaceChildren(...parts);
  }
  answer.dataset.leaf = result.missing === null ? leavesOf(state.leaves).indexOf(result.node) : "";
  byId("try-steps").replaceChildren(...result.steps.map((step) => element(
    "li", "", ...testText(step), `? It is ${step.x}: `, element("strong", "", step.passes ? "yes" : "no"),
  )));
}

function tryRow() {
  if (!fields.length) return;
  const result = walk(fields.map(valueOf));
  lightPath(result);
  showResult(result);
}

function fill(values) {
  fields.forEach((field, at) => {
    const value = values ? values[at] : field.dataset.median;
    field.value = value === undefined ? "" : String(Number(value));
  });
}

function tryValues(values) {
  isTried = true;
  fill(values);
  tryRow();
}

if (fields.length) {
  fill(null);
  byId("try-form").addEventListener("input", (event) => {
    isTried = true;
    if (event.target.id === "try-typical") {
      const leaf = event.target.value;
      fill(leaf === "" ? null : data.leaves[Number(leaf)].typical);
    }
    tryRow();
  });
  byId("try-form").addEventListener("submit", (event) => event.preventDefault());
  // The number of a sampled row becomes a button that takes its values.
  for (const row of every("tr[data-sample]")) {
    const cell = row.querySelector("th");
    const button = element("button", "", cell.textContent);
    button.type = "button";
    button.title = "Try this row";
    button.setAttribute("aria-label", `Try row ${cell.textContent}`);
    button.addEventListener("click", () => {
      if (byId("try-typical")) byId("try-typical").value = "";
      tryValues(data.rows[Number(row.dataset.sample)]);
      byId("try").scrollIntoView();
      fields[0].focus({ preventScroll: true });
    });
    cell.replaceChildren(button);
  }
  tryRow();
}

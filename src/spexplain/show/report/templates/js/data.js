// What the page knows, and how elements are made: only ever from text, never from markup.
const data = JSON.parse(document.getElementById("report-data").textContent);
const allLeaves = data.leaves.length;
const state = { leaves: allLeaves, selected: null };

const byId = (id) => document.getElementById(id);
const every = (selector, within = document) => [...within.querySelectorAll(selector)];

function element(tag, className, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

function swatchOf(color, label) {
  const swatch = element("span", `swatch ${color}`);
  swatch.setAttribute("aria-hidden", "true");
  return element("span", "stands", swatch, ...(label ? [element("bdi", "", label)] : []));
}

// Whether a node is a leaf of the tree of so many leaves.
function endsAt(node, leaves = state.leaves) {
  const { splitsAt } = data.nodes[node];
  return splitsAt === undefined || splitsAt > leaves;
}

// Leaves from left to right, as `predict` of the smaller tree numbers them.
function leavesOf(leaves) {
  const found = [];
  const stack = [0];
  while (stack.length) {
    const node = stack.pop();
    if (endsAt(node, leaves)) found.push(node);
    else stack.push(data.nodes[node].right, data.nodes[node].left);
  }
  return found;
}

// A final leaf has the label that it stands for; a leaf of a smaller tree only its commonest one.
function describe(node) {
  const own = data.nodes[node];
  const leaf = own.left === undefined ? data.leaves[own.first] : own;
  return { label: leaf.label, purity: leaf.purity, color: leaf.color, exact: own.left === undefined };
}

function conditionParts(pieces) {
  return pieces.flatMap(([before, name, after], at) => [at ? " or " : "", before, element("bdi", "", name), after]);
}

function ruleParts(rule) {
  const parts = [];
  rule.forEach((pieces, place) => {
    if (place) parts.push(" ");
    const condition = element("span", "condition");
    if (place) condition.append(element("span", "and", "and"), " ");
    const text = pieces.map((piece) => piece.join("")).join(" or ");
    const bracket = rule.length > 1 && text.includes(" or "); // "or" binds less than "and"
    if (bracket) condition.append("(");
    condition.append(...conditionParts(pieces));
    if (bracket) condition.append(")");
    parts.push(condition);
  });
  return parts.length ? parts : ["all rows"];
}

function rowsText(count) {
  return `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`;
}

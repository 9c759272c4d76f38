// "Try a row": the tests of `predict` in the same double precision. A value is a number, as the tree has it:
// the code of a category, the microseconds of a date; null is a missing one, undefined what cannot be read.
const fields = every("#try-form [data-field]");
const featureOf = (field) => data.features[Number(field.dataset.field)];
let isTried = false; // the tree is lit only once somebody has asked

// How far the clocks of a zone are ahead at a moment, in milliseconds.
function clockShift(moment, zone) {
  if (!zone) return 0;
  const fixed = /^([+-])(\d\d):(\d\d)$/.exec(zone);
  if (fixed) return (fixed[1] === "-" ? -1 : 1) * (Number(fixed[2]) * 60 + Number(fixed[3])) * 60000;
  const options = { timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric" };
  const shown = {};
  for (const { type, value } of new Intl.DateTimeFormat("en-US", options).formatToParts(moment)) shown[type] = Number(value);
  const { year, month, day, hour, minute, second } = shown;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(moment / 1000) * 1000;
}

function readMoment(text, { kind, zone }) {
  const wall = Date.parse(kind === "date" ? `${text}T00:00:00Z` : `${text}Z`);
  if (Number.isNaN(wall)) return undefined;
  const near = wall - clockShift(wall, zone);
  return (wall - clockShift(near, zone)) * 1000;
}

function momentText(x, { kind, zone }) {
  const moment = Math.floor(x / 1000);
  const text = new Date(moment + clockShift(moment, zone)).toISOString();
  return kind === "date" ? text.slice(0, 10) : text.slice(0, 23).replace(/:00\.000$/, "");
}

function readDuration(text) {
  const found = /^(-?)(?:(\d+) days?)?\s*(?:(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?$/.exec(text);
  if (!found || text === "-") return undefined;
  const [days, hours, minutes, seconds] = found.slice(2, 6).map((part) => Number(part ?? 0));
  const clock = ((days * 24 + hours) * 60 + minutes) * 60 + seconds;
  const total = clock * 1e6 + Number((found[6] ?? "0").padEnd(6, "0"));
  return found[1] ? -total : total;
}

function durationText(x) {
  const total = Math.abs(x);
  const days = Math.floor(total / 864e8);
  const clock = Math.floor((total % 864e8) / 1e6);
  const two = (count) => String(Math.floor(count)).padStart(2, "0");
  const parts = days ? [`${days} ${days === 1 ? "day" : "days"}`] : [];
  if (total % 864e8 || !days) {
    const rest = total % 1e6 ? `.${String(total % 1e6).padStart(6, "0").replace(/0+$/, "")}` : "";
    parts.push(`${two(clock / 3600)}:${two((clock / 60) % 60)}:${two(clock % 60)}${rest}`);
  }
  return (x < 0 ? "-" : "") + parts.join(" ");
}

function readValue(field) {
  const text = field.value.trim();
  // What was filled in is exact, even where the field shows less of it.
  if (field.value === field.dataset.shown) return field.dataset.exact === "" ? null : Number(field.dataset.exact);
  if (field.validity.badInput) return undefined;
  if (text === "") return null;
  const feature = featureOf(field);
  if (feature.kind === "duration") return readDuration(text);
  if (feature.kind.startsWith("date")) return readMoment(text, feature);
  const x = Number(text);
  return Number.isFinite(x) ? x : undefined;
}

function valueOf(field) {
  const x = readValue(field);
  field.classList.toggle("is-wrong", x === undefined);
  return x;
}

function setValue(field, x) {
  const feature = featureOf(field);
  const isMissing = x === null || x === undefined;
  if (isMissing) field.value = "";
  else if (feature.kind === "duration") field.value = durationText(x);
  else if (feature.kind.startsWith("date")) field.value = momentText(x, feature);
  else field.value = String(x);
  field.dataset.shown = field.value;
  field.dataset.exact = isMissing ? "" : String(x);
}

function valueText(at, x) {
  const field = fields[at];
  if (x === null) return "missing";
  if (featureOf(field).kind === "menu") return field.selectedOptions[0].textContent;
  return featureOf(field).kind === "number" ? String(x) : field.value.replace("T", " ");
}

function passesTest(x, { lower, threshold, missing, values }) {
  if (x === null) return missing;
  if (values !== null) return values.includes(x);
  if (missing && lower === null && threshold === null) return false; // only missing values pass
  return (lower === null || lower < x) && (threshold === null || x <= threshold);
}

function walk(values) {
  const steps = [];
  let node = 0;
  while (!endsAt(node)) {
    const own = data.nodes[node];
    const x = values[own.feature];
    if (x === undefined) return { node, steps, unread: own.feature };
    const passes = passesTest(x, own);
    steps.push({ node, feature: own.feature, x, passes });
    node = passes ? own.left : own.right;
  }
  return { node, steps, unread: null };
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
  if (result.unread !== null) {
    const { name, kind } = data.features[result.unread];
    const wanted = { number: "a number", duration: "a duration such as 3 days 04:30:00" }[kind] ?? "a date";
    answer.replaceChildren(`Type ${wanted} for `, element("bdi", "", name), " to go on, or nothing if it is missing.");
  } else {
    const number = leavesOf(state.leaves).indexOf(result.node);
    const { label, purity, color, exact } = describe(result.node);
    const parts = [`Leaf ${number}`];
    if (label) parts.push(exact ? ", stands for " : ", mostly ", swatchOf(color, label), ` (${purity} pure)`);
    if (state.leaves < allLeaves) parts.push(` in the tree of ${state.leaves}`);
    answer.replaceChildren(...parts);
  }
  answer.dataset.leaf = result.unread === null ? leavesOf(state.leaves).indexOf(result.node) : "";
  byId("try-steps").replaceChildren(...result.steps.map((step) => element(
    "li", "", ...conditionParts(data.nodes[step.node].test), `? It is ${valueText(step.feature, step.x)}: `,
    element("strong", "", step.passes ? "yes" : "no"),
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
    const { start } = field.dataset;
    setValue(field, values ? values[at] : start === undefined ? null : Number(start));
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

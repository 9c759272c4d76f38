// Elements are made here, and texts only ever become text: names in tables may look like anything.
const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "style") for (const [property, text] of Object.entries(value)) node.style.setProperty(property, text);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

/** A name from the user's table, kept apart from the direction of the text around it. */
export const name = (text, attributes = {}) => el("bdi", attributes, String(text));

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return parent;
}

// Strokes of 24 by 24 points.
const ICONS = {
  undo: "M9 7 4 12l5 5M4 12h10a6 6 0 0 1 6 6v1",
  redo: "m15 7 5 5-5 5M20 12H10a6 6 0 0 0-6 6v1",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  close: "M6 6l12 12M18 6 6 18",
  lock: "M7 11V8a5 5 0 0 1 10 0v3M5.5 11h13v9h-13z",
  unlock: "M7 11V8a5 5 0 0 1 9.6-2M5.5 11h13v9h-13z",
  prune: "M5 6.5a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0M5 17.5a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0M9.6 8 20 17M9.6 16 20 7",
  regrow: "M12 20v-8M12 12c0-4 2.500-6.500 7-7 0 4.500-2.500 7-7 7zM12 14.500c0-3-2-5-6-5.500 0 3.500 2 5.500 6 5.500z",
  forbid: "M4 12a8 8 0 1 0 16 0a8 8 0 1 0-16 0M6.500 6.500l11 11",
  flip: "M4 8h14l-3-3M20 16H6l3 3",
  rows: "M4 5h16v14H4zM4 10h16M4 14.500h16M10 10v9",
  compare: "M4 5h6.500v14H4zM13.500 5H20v14h-6.500z",
  export: "M12 4v11M7.500 10.500 12 15l4.500-4.500M5 19.500h14",
  help: "M3.500 12a8.500 8.500 0 1 0 17 0a8.500 8.500 0 1 0-17 0M9.500 9.800a2.500 2.500 0 1 1 3.700 2.200c-.8.5-1.200 1-1.200 1.900M12 16.700v.1",
  theme: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  fit: "M9 4H4v5M15 4h5v5M9 20H4v-5M15 20h5v-5",
  layout: "M12 8.500v3.500M6 15.500v-3.500h12v3.500M9.500 3.500h5v5h-5zM3.500 15.500h5v5h-5zM15.500 15.500h5v5h-5z",
  edit: "M5 19l1-4L16 5l3 3L9 18z",
  merge: "M6 5c0 6 6 4 6 10v4M18 5c0 6-6 4-6 10",
  search: "M5 10.500a5.500 5.500 0 1 0 11 0a5.500 5.500 0 1 0-11 0M15 15l5 5",
  file: "M7 3.500h7l4 4V20.500H7zM14 3.500v4h4",
  check: "M5 12.500l4.500 4.500L19 7.500",
  open: "M4 7h6l2 2h8v10H4z",
};

export const icon = (kind) =>
  svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true", focusable: "false" }, svg("path", { d: ICONS[kind] }));

/** A button with an icon; its label is shown where there is room and said everywhere. */
export function button(label, { kind, press, wide = true, title, ...attributes } = {}) {
  const text = el("span", { class: wide ? "label" : "label hidden-text" }, label);
  return el("button", { type: "button", title: title ?? (wide ? null : label), on: press ? { click: press } : {}, ...attributes }, kind ? icon(kind) : null, text);
}

let last = 0;
export const unique = (stem) => `spexplain-${stem}-${(last += 1)}`;

/** A labelled field: the label, and the control below it. */
export function field(label, control, attributes = {}) {
  control.id ||= unique("field");
  return el("div", { class: "field", ...attributes }, el("label", { for: control.id }, label), control);
}

/** A switch: a checkbox that looks like one. */
export function toggle(label, checked, change) {
  const box = el("input", { type: "checkbox", role: "switch", id: unique("switch"), on: { change: () => change(box.checked) } });
  box.checked = checked;
  return el("label", { class: "switch", for: box.id }, box, el("span", { class: "track", "aria-hidden": "true" }), el("span", {}, label));
}

export function select(options, value, change, attributes = {}) {
  const list = el("select", { ...attributes, on: { change: () => change(list.value) } });
  for (const option of options) {
    const [key, text, off] = Array.isArray(option) ? option : [option, option];
    list.append(el("option", { value: key, disabled: off }, String(text)));
  }
  if (value !== undefined && value !== null) list.value = value;
  return list;
}

/** A modal dialog with a title and a close button; Escape closes it, and focus goes back where it was. */
export function dialog(root, title, { wide = false } = {}, ...children) {
  const heading = unique("title");
  const box = el("dialog", { class: wide ? "wide" : null, "aria-labelledby": heading });
  const close = button("Close", { kind: "close", wide: false, class: "quiet square", press: () => box.close() });
  box.append(el("header", {}, el("h2", { id: heading }, title), close), el("div", { class: "body", tabindex: "0" }, ...children));
  box.addEventListener("close", () => box.remove());
  box.addEventListener("click", (event) => event.target === box && box.close());
  root.append(box);
  box.showModal();
  return box;
}

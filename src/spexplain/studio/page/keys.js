// Everything by keyboard, in one table: what is listed on "?" is what works.
import { dialog, el } from "./dom.js";

const typing = (target) => target.closest?.("input:not([type=checkbox]):not([type=radio]):not([type=range]), textarea, select, [contenteditable]");

/** Shortcuts are {keys, text, press}; keys such as "p" or "mod+z". They work while focus is inside, but not in fields. */
export function listen(root, shortcuts) {
  const table = new Map();
  for (const { keys, press } of shortcuts) for (const key of keys) if (press) table.set(key, press);
  const listener = (event) => {
    if (event.defaultPrevented || root.querySelector("dialog[open]")) return;
    const mod = event.ctrlKey || event.metaKey;
    if (event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const said = `${mod ? "mod+" : ""}${event.shiftKey && event.key.length > 1 ? "shift+" : mod && event.shiftKey ? "shift+" : ""}${key}`;
    const press = table.get(said);
    if (!press || (typing(event.target) && said !== "Escape")) return;
    event.preventDefault();
    event.stopPropagation();
    press(event);
  };
  root.addEventListener("keydown", listener);
  // Right after loading nothing inside has focus yet.
  const outside = (event) => event.target === document.body && root.dataset.page !== undefined && listener(event);
  document.addEventListener("keydown", outside);
  return () => document.removeEventListener("keydown", outside);
}

export function help(root, shortcuts) {
  const mac = /mac/i.test(navigator.platform ?? "");
  const names = { mod: mac ? "⌘" : "Ctrl", shift: "Shift", ArrowDown: "↓", ArrowUp: "↑", ArrowRight: "→", ArrowLeft: "←", Escape: "Esc", " ": "Space" };
  const cap = (key) => el("kbd", {}, names[key] ?? (key.length === 1 ? key.toUpperCase() : key));
  const combination = (keys) => keys.split("+").map((part, at, all) => (part === "" ? (at === all.length - 1 ? cap("+") : null) : cap(part)));
  const groups = new Map();
  for (const each of shortcuts) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
  const lists = [...groups].map(([title, items]) =>
    el("section", {}, el("h3", {}, title), el("dl", { class: "keys" }, items.map(({ keys, text }) => el("div", {}, el("dt", {}, keys.map((each, at) => [at ? el("span", { class: "muted" }, " or ") : null, combination(each)])), el("dd", {}, text))))),
  );
  dialog(root, "Keyboard", { wide: true }, el("div", { class: "shortcuts" }, lists));
}

// Everything the library exports: shown where it is text, and saved as a file.
import { button, dialog, el, name, replace } from "./dom.js";

function bytes(base64) {
  const text = atob(base64);
  return Uint8Array.from(text, (letter) => letter.charCodeAt(0));
}

function save(file) {
  const blob = new Blob([file.text ?? bytes(file.base64)], { type: "application/octet-stream" });
  const link = el("a", { href: URL.createObjectURL(blob), download: file.name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export async function openExports(root, store) {
  const known = await store.ask({ ask: "formats" });
  if (!known) return;
  const shown = el("div", { class: "exported" });
  const list = el("div", { class: "formats", role: "radiogroup", "aria-label": "Format" });
  const box = dialog(root, "Export", { wide: true }, el("div", { class: "columns" }, list, shown));
  const buttons = known.formats.map((format) => {
    const item = el("button", { type: "button", role: "radio", "aria-checked": "false", tabindex: "-1", class: "format", "data-format": format.format, on: { click: () => choose(format, item) } }, el("span", { class: "text" }, format.title), el("span", { class: "muted" }, format.hint ?? ""));
    return item;
  });
  list.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = buttons.indexOf(document.activeElement);
    const next = buttons[(at + step + buttons.length) % buttons.length];
    next.focus();
    next.click();
  });
  replace(list, buttons);
  async function choose(format, item) {
    for (const each of buttons) {
      each.setAttribute("aria-checked", String(each === item));
      each.tabIndex = each === item ? 0 : -1;
    }
    replace(shown, el("p", { class: "muted" }, "Writing …"));
    const file = await store.ask({ ask: "export", format: format.format }, { quietly: true });
    if (!box.isConnected || item.getAttribute("aria-checked") !== "true") return;
    if (!file) {
      replace(shown, el("p", { class: "problem" }, store.message?.text ?? "This could not be written."));
      return;
    }
    const download = button(`Save ${file.name}`, { kind: "export", class: "primary save", press: () => save(file) });
    if (file.text === undefined) {
      replace(shown, el("div", { class: "line" }, download), el("p", { class: "muted" }, "This format is not text; save it and open it elsewhere."));
      return;
    }
    const copied = el("span", { class: "muted", role: "status" });
    const copy = button("Copy", {
      class: "copy",
      press: async () => {
        await navigator.clipboard.writeText(file.text).then(() => (copied.textContent = "Copied."), () => (copied.textContent = "The browser does not allow it; select the text."));
      },
    });
    replace(shown, el("div", { class: "line" }, download, copy, copied), el("pre", { tabindex: "0", role: "region", "aria-label": file.name }, name(file.text.length > 200_000 ? `${file.text.slice(0, 200_000)}\n…` : file.text)));
  }
  const first = known.formats.findIndex((each) => each.format === "sql");
  const at = Math.max(0, first);
  if (buttons.length) {
    buttons[at].focus();
    choose(known.formats[at], buttons[at]);
  }
}

// Everything the library exports: shown where that is possible, and saved as a file.
import { button, dialog, el, field, name, replace, select } from "./dom.js";

const LONGEST = 200_000; // characters that are shown; the file has all
// Formats that differ in a detail share an entry: SQL and its dialects, a picture and its kinds.
const FAMILIES = [
  { title: "SQL", label: "Dialect", has: (format) => format.format.startsWith("sql"), of: (format) => format.title.replace(/^SQL for /, "") },
  { title: "Picture of the segments", label: "Kind", has: (format) => format.title.startsWith("Picture of the segments, "), of: (format) => format.title.split(", ").at(-1) },
];

function bytes(base64) {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}

function save(file) {
  const blob = new Blob([file.text ?? bytes(file.base64)], { type: "application/octet-stream" });
  const link = el("a", { href: URL.createObjectURL(blob), download: file.name, hidden: true });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function entries(formats) {
  const found = [];
  for (const format of formats) {
    const family = FAMILIES.find((each) => each.has(format));
    const known = family && found.find((each) => each.family === family);
    if (known) known.formats.push(format);
    else found.push({ family, title: family?.title ?? format.title, formats: [format] });
  }
  return found;
}

function picture(file) {
  if (/\.png$/.test(file.name) && file.base64) return `data:image/png;base64,${file.base64}`;
  if (/\.svg$/.test(file.name)) return file.base64 ? `data:image/svg+xml;base64,${file.base64}` : `data:image/svg+xml,${encodeURIComponent(file.text)}`;
  return null;
}

export async function openExports(root, store) {
  const known = await store.ask({ ask: "formats" });
  if (!known) return;
  const list = el("div", { class: "formats", role: "radiogroup", "aria-label": "Format" });
  const shown = el("div", { class: "exported" });
  const box = dialog(root, "Export", { wide: true }, el("div", { class: "columns" }, list, shown));
  const all = entries(known.formats);
  const buttons = all.map((entry) => {
    const off = entry.formats.every((each) => each.available === false);
    const item = el(
      "button",
      { type: "button", role: "radio", "aria-checked": "false", tabindex: "-1", class: "format", "data-format": entry.family?.title.split(" ")[0].toLowerCase() ?? entry.formats[0].format, "aria-disabled": off ? "true" : null, on: { click: () => choose(entry, item) } },
      el("span", { class: "text" }, entry.title),
      off ? el("span", { class: "muted" }, entry.formats[0].why) : null,
    );
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

  let asked = 0;
  function choose(entry, item) {
    for (const each of buttons) {
      each.setAttribute("aria-checked", String(each === item));
      each.tabIndex = each === item ? 0 : -1;
    }
    const kinds = entry.formats.length > 1 ? select(entry.formats.map((each) => [each.format, entry.family.of(each), each.available === false]), entry.formats[0].format, (format) => write(format), { class: "kind" }) : null;
    const content = el("div", { class: "content" });
    replace(shown, kinds ? field(entry.family.label, kinds) : null, content);
    if (item.getAttribute("aria-disabled")) replace(content, el("p", { class: "muted" }, entry.formats[0].why));
    else write(entry.formats[0].format);

    async function write(format) {
      asked += 1;
      const mine = asked;
      content.setAttribute("aria-busy", "true");
      let file;
      try {
        file = await store.transport.ask({ ask: "export", format });
      } catch (error) {
        if (mine === asked) replace(content, el("p", { class: "problem", role: "alert" }, error.message));
        return;
      }
      if (mine !== asked || !box.isConnected) return;
      content.removeAttribute("aria-busy");
      draw(content, file);
    }
  }

  function draw(content, file) {
    const download = button(`Save ${file.name}`, { kind: "export", class: "primary save", press: () => save(file) });
    const image = picture(file);
    if (image) return replace(content, el("div", { class: "line" }, download), el("img", { src: image, alt: "Picture of the segments" }));
    if (file.text === undefined || file.text === null) return replace(content, el("div", { class: "line" }, download), el("p", { class: "muted" }, "This format is not text: save it and open it elsewhere."));
    const copied = el("span", { class: "muted", role: "status" });
    const copy = button("Copy", {
      class: "copy",
      press: () => navigator.clipboard.writeText(file.text).then(() => (copied.textContent = "Copied."), () => (copied.textContent = "The browser does not allow it; select the text.")),
    });
    const text = file.text.length > LONGEST ? `${file.text.slice(0, LONGEST)}\n…` : file.text;
    return replace(content, el("div", { class: "line" }, download, copy, copied), el("pre", { tabindex: "0", role: "region", "aria-label": file.name }, name(text)));
  }

  const first = Math.max(0, all.findIndex((each) => each.family?.title === "SQL"));
  if (buttons.length) {
    buttons[first].focus();
    buttons[first].click();
  }
}

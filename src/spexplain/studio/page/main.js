// The component: mount(element, transport) draws the studio into an element, in a page or in a notebook.
import { Figures, sentence } from "./figures.js";
import { Inspector } from "./inspector.js";
import { Rows } from "./rows.js";
import { Segments } from "./segments.js";
import { Start } from "./start.js";
import { Store } from "./store.js";
import { TreeView, has } from "./tree.js";
import { button, el, icon, name, replace } from "./dom.js";
import { openExports } from "./exports.js";
import { openVersions } from "./versions.js";
import { help, listen } from "./keys.js";
import { plural } from "./format.js";

export function mount(root, transport, { embedded = false } = {}) {
  const store = new Store(transport);
  root.classList.add("spexplain-studio");
  root.classList.toggle("is-embedded", embedded);
  root.dataset.lmSuppressShortcuts = "true"; // JupyterLab leaves keys that are pressed inside alone

  const tree = new TreeView(store, { embedded });
  const rows = new Rows(store);
  const selectedNode = () => {
    const way = tree.stage.contains(document.activeElement) ? tree.current : store.selection?.kind === "node" ? store.way(store.selection.node) : null;
    return way === null ? null : store.node(store.follow(way));
  };
  const edit = async (what, given) => {
    const state = await store.edit(what, given);
    if (state) {
      actions.say();
      // What was pressed is gone with the panel; the keyboard goes on from the tree.
      if (document.activeElement === document.body || !document.activeElement?.isConnected) tree.focus();
    }
    return state;
  };
  const actions = {
    say: () => store.say(store.isFitted ? sentence(store) : ""),
    deselect() {
      const inside = inspector.element.contains(document.activeElement) || document.activeElement === document.body;
      store.select(null);
      if (inside) tree.focus();
    },
    withTest: (node, test) => edit("with_test", { node, ...test }),
    split: (leaf, test) => edit("split", { leaf, ...test }),
    prune: (node) => edit("prune", { node }),
    flip: (node) => edit("flip", { node }),
    regrow: (node, method, leaves) => edit("regrow", { node, method, n_leaves: leaves }),
    lock: (node) => edit("lock", { node }),
    unlock: (node) => edit("unlock", { node }),
    forbid: (column, node) => edit("forbid", { column, below: node }),
    rename: (segment, name_) => {
      store.selection = { kind: "segment", code: segment.code };
      return edit("rename", { cluster: segment.label ?? segment.name, name: name_ }).then((state) => state && store.select({ kind: "segment", code: segment.code }));
    },
    merge: (one, other) => edit("merge_clusters", { one: one.label ?? one.name, other: other.label ?? other.name }),
    addLeaf: () => edit("add_leaf"),
    undo: async () => (await store.undo()) && actions.say(),
    redo: async () => (await store.redo()) && actions.say(),
    rows: (filter) => {
      rows.open(filter);
      rows.title.focus({ preventScroll: embedded });
    },
    find: () => {
      if (!rows.isOpen) rows.open();
      rows.idField.focus();
    },
  };
  const inspector = new Inspector(store, actions);
  const start = new Start(store);
  const figures = new Figures(store);
  const segments = new Segments(store);

  const whenFitted = (act) => (...given) => store.isFitted && act(...given);
  const onNode = (act) => () => {
    const node = selectedNode();
    return store.isFitted && node ? act(node) : undefined;
  };
  const inner = (act) => onNode((node) => (has(node.yes) ? act(node) : undefined));
  const shortcuts = [
    { group: "Tree", keys: ["ArrowDown", "ArrowUp"], text: "Next and previous node" },
    { group: "Tree", keys: ["ArrowRight", "ArrowLeft"], text: "Unfold or go down; fold or go up" },
    { group: "Tree", keys: ["Enter"], text: "Open the node beside the tree" },
    { group: "Tree", keys: ["t"], text: "Go to the tree", press: whenFitted(() => tree.focus()) },
    { group: "Tree", keys: ["+", "-"], text: "Zoom in, zoom out" },
    { group: "Tree", keys: ["0"], text: "Show the whole tree", press: whenFitted(() => tree.fit(true)) },
    { group: "Tree", keys: ["o"], text: "Tree or outline", press: whenFitted(() => tree.switchLayout()) },
    { group: "Selected node", keys: ["d"], text: "Go to the threshold; arrow keys move it", press: onNode((node) => beside(node, () => inspector.element.querySelector(".handle:not([hidden]), .chip, .condition")?.focus())) },
    { group: "Selected node", keys: ["c"], text: "Type a condition", press: onNode((node) => beside(node, () => inspector.condition.select())) },
    { group: "Selected node", keys: ["b"], text: "Go to the best alternatives", press: onNode((node) => beside(node, () => inspector.listed.then(() => inspector.element.querySelector(".alternative")?.focus()))) },
    { group: "Selected node", keys: ["p"], text: "Prune: make it a leaf", press: inner((node) => actions.prune(node.node)) },
    { group: "Selected node", keys: ["g"], text: "Grow the tree below anew", press: onNode((node) => beside(node, () => inspector.askRegrow(node))) },
    { group: "Selected node", keys: ["l"], text: "Lock or unlock", press: onNode((node) => (node.locked ? actions.unlock : actions.lock)(node.node)) },
    { group: "Selected node", keys: ["x"], text: "Exchange yes and no", press: inner((node) => actions.flip(node.node)) },
    { group: "Selected node", keys: ["n"], text: "Never use its column here and below", press: inner((node) => actions.forbid(node.column, node.node)) },
    { group: "Everywhere", keys: ["a"], text: "Add a leaf where it helps most", press: whenFitted(() => actions.addLeaf()) },
    { group: "Everywhere", keys: ["mod+z", "u"], text: "Undo", press: whenFitted(() => actions.undo()) },
    { group: "Everywhere", keys: ["mod+shift+z", "mod+y", "r"], text: "Redo", press: whenFitted(() => actions.redo()) },
    { group: "Everywhere", keys: ["s"], text: "Go to the segments", press: whenFitted(() => segments.element.querySelector("button")?.focus()) },
    { group: "Everywhere", keys: ["w"], text: "Rows that the tree gets wrong", press: whenFitted(() => actions.rows({ wrong: true })) },
    { group: "Everywhere", keys: ["/"], text: "The way of a row", press: whenFitted(() => actions.find()) },
    { group: "Everywhere", keys: ["v"], text: "Versions, side by side", press: whenFitted(() => openVersions(root, store)) },
    { group: "Everywhere", keys: ["e"], text: "Export", press: whenFitted(() => openExports(root, store)) },
    { group: "Everywhere", keys: ["Escape"], text: "Close what is open", press: escape },
    { group: "Everywhere", keys: ["?"], text: "This list", press: () => help(root, shortcuts) },
  ];
  const zooming = [
    { keys: ["+", "="], press: whenFitted(() => tree.zoomBy(1.25)) },
    { keys: ["-"], press: whenFitted(() => tree.zoomBy(1 / 1.25)) },
  ];

  /** Open a node beside the tree, and act once it is drawn. */
  async function beside(node, act) {
    store.select({ kind: "node", node: node.node });
    await inspector.draw();
    act();
  }

  function escape() {
    if (store.message) return store.note(null);
    if (inspector.isTrying) return inspector.reset();
    if (store.selection) return actions.deselect();
    if (rows.isOpen) {
      rows.close();
      tree.focus();
    }
    return undefined;
  }

  // --- The bar on top ---

  const themes = ["auto", "light", "dark"];
  const setTheme = (theme) => {
    root.dataset.theme = theme;
    if (!embedded) document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("spexplain-theme", theme);
    } catch {
      // Private windows may refuse; the theme then lasts as long as the page.
    }
  };
  let theme = "auto";
  try {
    theme = localStorage.getItem("spexplain-theme") ?? "auto";
  } catch {
    // As above.
  }
  setTheme(themes.includes(theme) ? theme : "auto");
  // Notebooks have a theme of their own, whatever the system prefers.
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (embedded && theme === "auto" && (jpThemeLight || vscodeThemeKind)) root.dataset.theme = jpThemeLight === "false" || /dark/.test(vscodeThemeKind ?? "") ? "dark" : "light";
  const isDark = () => root.dataset.theme === "dark" || (root.dataset.theme === "auto" && window.matchMedia?.("(prefers-color-scheme: dark)").matches);

  const undo = button("Undo", { kind: "undo", title: "Undo (Ctrl+Z)", class: "quiet undo", press: () => actions.undo() });
  const redo = button("Redo", { kind: "redo", title: "Redo (Ctrl+Shift+Z)", class: "quiet redo", press: () => actions.redo() });
  const tools = el(
    "div",
    { class: "actions", role: "group", "aria-label": "Edits and exports" },
    undo,
    redo,
    button("Add a leaf", { kind: "plus", class: "quiet add-leaf", title: "Add a leaf where it helps most (A)", press: () => actions.addLeaf() }),
    button("Rows", { kind: "rows", class: "quiet open-rows", title: "Rows that the tree gets wrong (W)", press: () => (rows.isOpen ? rows.close() : actions.rows({ wrong: true })) }),
    button("Versions", { kind: "compare", class: "quiet open-versions", title: "Versions, side by side (V)", press: () => openVersions(root, store) }),
    button("Export", { kind: "export", class: "primary open-export", title: "Export (E)", press: () => openExports(root, store) }),
  );
  const about = el("div", { class: "about" });
  const logo = icon("layout");
  logo.classList.add("logo");
  const top = el(
    "header",
    { class: "top" },
    el("div", { class: "brand" }, logo, el("span", {}, "spexplain ", el("span", { class: "muted" }, "studio"))),
    about,
    tools,
    button("Keyboard shortcuts", { kind: "help", wide: false, class: "quiet square open-help", press: () => help(root, shortcuts) }),
    button("Light or dark", { kind: "theme", wide: false, class: "quiet square theme", press: () => setTheme(isDark() ? "light" : "dark") }),
  );

  const message = el("div", { class: "message", role: "alert", hidden: true });
  const said = el("div", { class: "hidden-text", role: "status", "aria-live": "polite" });
  const working = el("div", { class: "working", "aria-hidden": "true" });
  const work = el("main", { class: "work", hidden: true }, figures.element, segments.element, tree.element, inspector.element, rows.element);
  const front = embedded ? el("div", { class: "front" }, start.element) : el("div", { class: "front" }, start.element);
  replace(root, working, top, front, work, message, said);

  store.on((changes) => {
    const { state } = store;
    if (changes.has("state")) {
      const choosing = !store.isFitted || start.again;
      work.hidden = choosing;
      front.hidden = !choosing;
      tools.hidden = choosing;
      const { table } = state;
      const found = state.settings?.cluster;
      const clusters = state.labels ?? (found ? `${found.k} by ${found.method}` : null);
      replace(
        about,
        table ? name(table.name, { class: "table-name" }) : null,
        table ? el("span", { class: "muted" }, plural(table.n_rows, "row")) : null,
        store.isFitted && clusters ? el("span", { class: "muted labels-name" }, "clusters: ", name(clusters)) : null,
        store.isFitted && state.can_open ? button("Change", { class: "link change", title: "Explain other clusters of this table", press: () => { start.open(); work.hidden = true; front.hidden = false; tools.hidden = true; } }) : null,
      );
      undo.disabled = !state.journal?.length;
      redo.disabled = !state.future;
      undo.title = state.journal?.length ? `Undo: ${state.journal.at(-1).text} (Ctrl+Z)` : "Nothing to undo";
      if (!embedded) document.title = table ? `${table.name} – spexplain studio` : "spexplain studio";
    }
    if (changes.has("selection")) work.classList.toggle("has-inspector", Boolean(store.selection));
    if (changes.has("busy")) {
      root.classList.toggle("is-busy", store.busy > 0);
      root.setAttribute("aria-busy", String(store.busy > 0));
    }
    if (changes.has("message")) {
      message.hidden = !store.message;
      message.className = `message is-${store.message?.kind}`;
      replace(message, store.message ? [el("p", {}, store.message.text), button("Close", { kind: "close", wide: false, class: "quiet square", press: () => store.note(null) })] : null);
    }
    if (changes.has("said")) said.textContent = store.said;
  });

  // --- Files that are dropped ---

  if (transport.upload) {
    const over = (event) => {
      if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
      event.preventDefault();
      root.classList.toggle("is-over", event.type === "dragover");
      if (event.type === "drop" && event.dataTransfer.files[0]) store.upload(event.dataTransfer.files[0]);
    };
    for (const kind of ["dragover", "dragleave", "drop"]) root.addEventListener(kind, over);
  }
  const unlisten = listen(root, [...shortcuts, ...zooming]);
  const onVisible = () => document.visibilityState === "visible" && store.state && store.refresh();
  document.addEventListener("visibilitychange", onVisible);
  // A notebook says when the session was edited elsewhere: in another cell, or by code.
  transport.changed = (version) => store.state && !store.changing && version !== store.state.version && store.refresh();
  store.load();
  return {
    store,
    unmount() {
      unlisten();
      document.removeEventListener("visibilitychange", onVisible);
      replace(root);
    },
  };
}

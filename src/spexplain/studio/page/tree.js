// The tree: cards on a sheet that can be moved and zoomed, or an outline where there is little room.
import { el, icon, name, replace, svg, button } from "./dom.js";
import { number, percent, plural } from "./format.js";
import { hierarchy, select, tree as layoutOf, zoom, zoomIdentity } from "./vendor.js";

const CARD = { width: 200, height: 76 };
const GAP = { across: 22, along: 58 };
const OUTLINE = { height: 58, gap: 8, indent: 15 };
const NARROW = 430; // points, below which the tree is an outline
const MOST = 1.15;
const LEAST = 0.7; // the smallest zoom at which texts are read easily
const MOVE = 240; // milliseconds

const calm = () => window.matchMedia?.("(prefers-reduced-motion: reduce)").matches;
const has = (x) => x !== null && x !== undefined && x !== -1;

export function bar(counts, colors, attributes = {}) {
  const total = counts.reduce((sum, each) => sum + each, 0) || 1;
  let at = 0;
  const parts = counts.map((count, code) => {
    const width = (100 * count) / total;
    const part = count ? svg("rect", { x: at, y: 0, width, height: 10, fill: colors(code) }) : null;
    at += width;
    return part;
  });
  return svg("svg", { class: "bar", viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", ...attributes }, ...parts.filter(Boolean));
}

export class TreeView {
  constructor(store, { embedded = false } = {}) {
    this.store = store;
    this.collapsed = new Set(); // ways
    this.current = ""; // the way of the card that has the tab stop
    this.cards = new Map(); // by way
    this.places = new Map();
    this.moved = false; // by hand: then the view stays as it is
    this.chosen = null; // layout chosen by hand
    this.links = svg("svg", { class: "links", "aria-hidden": "true" });
    this.stage = el("div", { class: "stage", role: "tree", "aria-label": "Decision tree" });
    this.sheet = el("div", { class: "sheet" }, this.links, this.stage);
    this.tools = el(
      "div",
      { class: "tools", role: "group", "aria-label": "View of the tree" },
      button("Zoom out", { kind: "minus", wide: false, class: "quiet square zooms", press: () => this.zoomBy(1 / 1.25) }),
      button("Zoom in", { kind: "plus", wide: false, class: "quiet square zooms", press: () => this.zoomBy(1.25) }),
      button("Show the whole tree", { kind: "fit", wide: false, class: "quiet square zooms", press: () => this.fit(true) }),
      (this.layoutButton = button("Outline", { kind: "layout", wide: false, class: "quiet square", press: () => this.switchLayout() })),
    );
    this.element = el("section", { class: "canvas", "aria-label": "Tree" }, this.sheet, this.tools);
    this.stage.addEventListener("keydown", (event) => this.onKey(event));
    this.zoom = zoom()
      .scaleExtent([0.2, 2.5])
      .filter((event) => !this.isOutline && (event.type === "wheel" ? event.ctrlKey || event.metaKey : !event.button))
      .on("zoom", (event) => {
        this.transform = event.transform;
        this.sheet.style.transform = `translate(${event.transform.x}px, ${event.transform.y}px) scale(${event.transform.k})`;
        if (event.sourceEvent) this.moved = true;
      });
    this.host = select(this.element);
    this.host.call(this.zoom).on("dblclick.zoom", null);
    this.transform = zoomIdentity;
    if (!embedded) {
      this.element.addEventListener("wheel", (event) => {
        if (this.isOutline || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        this.moved = true;
        this.zoom.translateBy(this.host, -event.deltaX / this.transform.k, -event.deltaY / this.transform.k);
      }, { passive: false });
    }
    new ResizeObserver(() => this.resized()).observe(this.element);
    store.on((changes) => {
      if (changes.has("state")) this.draw();
      if (changes.has("preview")) this.paint();
      if (changes.has("selection") || changes.has("path")) this.mark();
    });
  }

  // --- Layout ---

  get isOutline() {
    return this.layout === "outline";
  }

  resized() {
    const size = `${this.element.clientWidth}x${this.element.clientHeight}`;
    if (size === this.size || !this.store.isFitted) return;
    this.size = size;
    this.draw({ still: true });
  }

  switchLayout() {
    this.chosen = this.isOutline ? "tree" : "outline";
    this.moved = false;
    this.draw();
  }

  /** The visible nodes as a d3 hierarchy; data is {node, way}. */
  root() {
    const { store } = this;
    const made = (number, way) => {
      const node = store.node(number);
      const open = has(node.yes) && !this.collapsed.has(way);
      return { node, way, children: open ? [made(node.yes, `${way}y`), made(node.no, `${way}n`)] : [] };
    };
    return hierarchy(made(store.follow(""), ""));
  }

  placed() {
    const root = this.root();
    const width = this.element.clientWidth || 800;
    const height = this.element.clientHeight || 600;
    this.layout = this.chosen ?? (width < NARROW ? "outline" : null);
    const places = new Map();
    if (this.layout === "outline") {
      let y = 12;
      root.eachBefore((each) => {
        const x = 12 + OUTLINE.indent * Math.min(each.depth, 9);
        places.set(each.data.way, { x, y, width: Math.max(180, width - x - 12), height: OUTLINE.height });
        y += OUTLINE.height + OUTLINE.gap;
      });
      this.extent = { width, height: y + 48 };
      return { root, places };
    }
    const across = (down) => {
      const size = down ? [CARD.width + GAP.across, CARD.height + GAP.along] : [CARD.height + GAP.across, CARD.width + GAP.along + 22];
      layoutOf().nodeSize(size).separation(() => 1)(root);
      const found = new Map();
      root.each((each) => {
        const [x, y] = down ? [each.x - CARD.width / 2, each.y] : [each.y, each.x - CARD.height / 2];
        found.set(each.data.way, { x, y, ...CARD });
      });
      return found;
    };
    const spread = (found) => {
      const all = [...found.values()];
      const left = Math.min(...all.map((each) => each.x));
      const top = Math.min(...all.map((each) => each.y));
      return { left, top, width: Math.max(...all.map((each) => each.x + each.width)) - left, height: Math.max(...all.map((each) => each.y + each.height)) - top };
    };
    const scale = (box) => Math.min(MOST, (width - 48) / box.width, (height - 96) / box.height);
    const options = ["down", "right"].map((layout) => {
      const found = across(layout === "down");
      return { layout, found, box: spread(found), scale: scale(spread(found)) };
    });
    // From the top down is what people expect; from left to right where that is read much more easily.
    const best = options[1].scale > 1.25 * options[0].scale ? options[1] : options[0];
    this.layout = best.layout;
    this.box = best.box;
    return { root, places: best.found };
  }

  draw({ still = false } = {}) {
    const { store } = this;
    if (!store.isFitted) {
      replace(this.stage);
      replace(this.links);
      this.cards.clear();
      this.places.clear();
      return;
    }
    for (const way of [...this.collapsed]) if (store.way(store.follow(way)) !== way) this.collapsed.delete(way);
    const before = this.places;
    const { root, places } = this.placed();
    this.tree = root;
    this.places = places;
    this.element.classList.toggle("is-outline", this.isOutline);
    this.sheet.style.height = this.isOutline ? `${this.extent.height}px` : "";
    const label = this.layoutButton.querySelector(".label");
    label.textContent = this.isOutline ? "Show as tree" : "Show as outline";
    this.layoutButton.title = label.textContent;
    if (!places.has(this.current)) this.current = "";

    const kept = new Map();
    const order = [];
    root.eachBefore((each) => {
      const { way } = each.data;
      const card = this.cards.get(way) ?? this.newCard(way);
      this.fillCard(card, each);
      kept.set(way, card);
      order.push(card);
    });
    const focused = this.stage.contains(document.activeElement);
    for (const [way, card] of this.cards) if (!kept.has(way)) card.remove();
    order.forEach((card, at) => {
      if (this.stage.children[at] !== card) this.stage.insertBefore(card, this.stage.children[at] ?? null);
    });
    this.cards = kept;
    if (focused && !this.stage.contains(document.activeElement)) this.cards.get(this.current)?.focus();
    this.mark();
    this.animate(before, still || calm() || !before.size);
    if (!this.moved) this.fit();
    this.paint();
  }

  newCard(way) {
    const card = el("div", { class: "card", role: "treeitem" });
    card.addEventListener("click", (event) => {
      if (event.target.closest(".fold")) return this.fold(way);
      this.open(way);
    });
    card.addEventListener("focus", () => {
      this.current = way;
      this.tabStop();
    });
    return card;
  }

  fillCard(card, each) {
    const { store } = this;
    const { node, way } = each.data;
    const isLeaf = !has(node.yes);
    const segment = store.segment(node.segment);
    const folded = this.collapsed.has(way);
    const place = this.places.get(way);
    card.className = `card ${isLeaf ? "is-leaf" : "is-test"}${folded ? " is-folded" : ""}${node.locked ? " is-locked" : ""}`;
    card.style.width = `${place.width}px`;
    card.style.height = `${place.height}px`;
    card.style.setProperty("--k", segment?.color ?? "var(--muted)");
    card.dataset.node = node.node;
    card.dataset.way = way;
    const turn = way ? (way.endsWith("y") ? "yes" : "no") : "";
    const figures = `${plural(node.rows, "row")}, ${percent(node.purity, 0)} ${segment?.name ?? "mixed"}`;
    const said = [turn && `${turn}:`, isLeaf ? `leaf ${node.leaf}, ${segment?.name ?? "no segment"},` : `${node.text},`, figures, node.locked && "locked"];
    card.setAttribute("aria-label", said.filter(Boolean).join(" "));
    card.setAttribute("aria-level", each.depth + 1);
    card.setAttribute("aria-setsize", way ? 2 : 1);
    card.setAttribute("aria-posinset", way.endsWith("n") ? 2 : 1);
    if (isLeaf) card.removeAttribute("aria-expanded");
    else card.setAttribute("aria-expanded", String(!folded));
    card.title = isLeaf ? (segment?.name ?? "") : node.text;
    const head = isLeaf
      ? el("span", { class: "text" }, segment ? name(segment.name) : "no segment")
      : el("span", { class: "text" }, name(node.text));
    replace(
      card,
      turn ? el("span", { class: `turn turn-${turn}` }, turn) : null,
      el("span", { class: "head" }, head, node.locked ? icon("lock") : null),
      bar(node.counts, (code) => store.color(code)),
      el("span", { class: "numbers" }, el("span", { class: "rows" }, plural(node.rows, "row")), el("span", { class: "purity" }, percent(node.purity, 0))),
      isLeaf ? null : el("span", { class: "fold", "aria-hidden": "true", title: folded ? "Unfold" : "Fold" }, folded ? `+${this.hidden(node)}` : "–"),
    );
  }

  hidden(node) {
    const { store } = this;
    const count = (at) => (has(at.yes) ? count(store.node(at.yes)) + count(store.node(at.no)) : 1);
    return count(node);
  }

  animate(before, still) {
    cancelAnimationFrame(this.frame);
    const start = performance.now();
    const from = new Map();
    for (const [way, place] of this.places) {
      let at = way;
      while (!before.has(at) && at) at = at.slice(0, -1); // new cards come out of the one above
      from.set(way, before.get(at) ?? place);
    }
    const step = (now) => {
      const t = still ? 1 : Math.min(1, (now - start) / MOVE);
      const eased = 1 - (1 - t) ** 3;
      const at = new Map();
      for (const [way, place] of this.places) {
        const old = from.get(way);
        at.set(way, { ...place, x: old.x + (place.x - old.x) * eased, y: old.y + (place.y - old.y) * eased });
      }
      for (const [way, card] of this.cards) {
        const place = at.get(way);
        card.style.transform = `translate(${place.x}px, ${place.y}px)`;
      }
      this.drawLinks(at);
      if (t < 1) this.frame = requestAnimationFrame(step);
    };
    step(start);
  }

  drawLinks(at) {
    const total = this.tree.data.node.rows || 1;
    const on = this.pathWays();
    const parts = this.tree.links().map(({ source, target }) => {
      const one = at.get(source.data.way);
      const other = at.get(target.data.way);
      const width = this.isOutline ? 1.5 : 1.5 + 5 * Math.sqrt(target.data.node.rows / total);
      return svg("path", {
        d: this.link(one, other),
        class: on.has(target.data.way) ? "link on-path" : "link",
        "stroke-width": on.has(target.data.way) ? Math.max(width, 4) : width,
      });
    });
    replace(this.links, parts);
  }

  link(one, other) {
    if (this.isOutline) {
      const x = one.x + 7;
      const y = other.y + other.height / 2;
      return `M${x},${one.y + one.height}V${y}H${other.x}`;
    }
    if (this.layout === "down") {
      const [x0, y0, x1, y1] = [one.x + one.width / 2, one.y + one.height, other.x + other.width / 2, other.y];
      const middle = (y0 + y1) / 2;
      return `M${x0},${y0}C${x0},${middle} ${x1},${middle} ${x1},${y1}`;
    }
    const [x0, y0, x1, y1] = [one.x + one.width, one.y + one.height / 2, other.x, other.y + other.height / 2];
    const middle = (x0 + x1) / 2;
    return `M${x0},${y0}C${middle},${y0} ${middle},${y1} ${x1},${y1}`;
  }

  // --- What is marked ---

  pathWays() {
    const { path } = this.store;
    return new Set((path?.nodes ?? []).map((each) => this.store.way(each.node ?? each)));
  }

  mark() {
    const { store } = this;
    const { selection } = store;
    const on = this.pathWays();
    for (const [way, card] of this.cards) {
      const node = store.node(Number(card.dataset.node));
      const chosen = selection?.kind === "node" && selection.node === node?.node;
      card.classList.toggle("is-selected", chosen);
      card.classList.toggle("on-path", on.has(way));
      card.classList.toggle("is-lit", selection?.kind === "segment" && !has(node?.yes) && node?.segment === selection.code);
      card.setAttribute("aria-selected", String(chosen));
    }
    if (selection?.kind === "node" && this.cards.has(store.way(selection.node))) this.current = store.way(selection.node);
    this.tabStop();
    if (this.tree && this.places.size) this.drawLinks(this.places);
  }

  tabStop() {
    for (const [way, card] of this.cards) card.tabIndex = way === this.current ? 0 : -1;
  }

  /** Rows of the leaves with the test that is tried out, by their ids now; null while none is, or for splits. */
  triedSizes() {
    const { preview, state } = this.store;
    if (!preview || preview.leaves.length !== state.figures.n_leaves) return null;
    const ids = (number) => {
      const node = this.store.node(number);
      return has(node.yes) ? [...ids(node.yes), ...ids(node.no)] : [node.leaf];
    };
    const at = this.store.node(preview.node);
    const own = ids(at.node);
    const there = preview.turned ? [...ids(at.no), ...ids(at.yes)] : own;
    const sizes = [...preview.leaves];
    own.forEach((id, place) => (sizes[there[place]] = preview.leaves[id]));
    return sizes;
  }

  /** Rows of the leaves while a test is tried out. */
  paint() {
    const sizes = this.triedSizes();
    for (const card of this.cards.values()) {
      const node = this.store.node(Number(card.dataset.node));
      if (!node || has(node.yes)) continue;
      const rows = sizes?.[node.leaf] ?? node.rows;
      const text = card.querySelector(".rows");
      if (text) text.textContent = plural(rows, "row");
      card.classList.toggle("is-live", rows !== node.rows);
    }
  }

  // --- What people do ---

  open(way) {
    const card = this.cards.get(way);
    this.current = way;
    this.store.select({ kind: "node", node: Number(card.dataset.node) });
    card.focus({ preventScroll: true });
  }

  fold(way, folded = !this.collapsed.has(way)) {
    if (folded) this.collapsed.add(way);
    else this.collapsed.delete(way);
    this.draw();
    this.focus(way);
  }

  focus(way = this.current) {
    const card = this.cards.get(way) ?? this.cards.get("");
    if (!card) return;
    card.focus({ preventScroll: !this.isOutline });
    this.reveal(way);
  }

  /** Move the sheet as little as needed for a card to be seen whole. */
  reveal(way) {
    const place = this.places.get(way);
    if (!place || this.isOutline) return;
    const { x, y, k } = this.transform;
    const { clientWidth: width, clientHeight: height } = this.element;
    const [left, top] = [place.x * k + x, place.y * k + y];
    const [right, bottom] = [left + place.width * k, top + place.height * k];
    const pad = 16;
    const dx = left < pad ? pad - left : right > width - pad ? width - pad - right : 0;
    const dy = top < pad ? pad - top : bottom > height - pad ? height - pad - bottom : 0;
    if (dx || dy) this.zoom.translateBy(this.host, dx / k, dy / k);
  }

  onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const ways = [...this.cards.keys()];
    const at = ways.indexOf(this.current);
    const card = this.cards.get(this.current);
    const expanded = card?.getAttribute("aria-expanded");
    const go = (way) => way !== undefined && this.focus(way);
    const moves = {
      ArrowDown: () => go(ways[at + 1]),
      ArrowUp: () => go(ways[at - 1]),
      ArrowRight: () => (expanded === "false" ? this.fold(this.current, false) : expanded === "true" && go(`${this.current}y`)),
      ArrowLeft: () => (expanded === "true" ? this.fold(this.current, true) : this.current && go(this.current.slice(0, -1))),
      Home: () => go(ways[0]),
      End: () => go(ways.at(-1)),
      Enter: () => this.open(this.current),
      " ": () => this.open(this.current),
    };
    const move = moves[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    move();
  }

  zoomBy(factor) {
    if (this.isOutline) return;
    this.moved = true;
    this.zoom.scaleBy(this.host, factor);
  }

  fit(byHand = false) {
    if (byHand) this.moved = false;
    if (this.isOutline) {
      this.zoom.transform(this.host, zoomIdentity);
      return;
    }
    const { clientWidth: width, clientHeight: height } = this.element;
    if (!width || !this.box) return;
    const { box } = this;
    const all = Math.min(MOST, (width - 48) / box.width, (height - 96) / box.height);
    const k = byHand ? all : Math.max(LEAST, all);
    const root = this.places.get("");
    let x = (width - box.width * k) / 2 - box.left * k;
    let y = Math.max(28, Math.min(56, (height - box.height * k) / 2)) - box.top * k;
    if (box.width * k > width) x = this.layout === "down" ? width / 2 - (root.x + root.width / 2) * k : 24 - root.x * k;
    if (this.layout === "right") y = box.height * k > height ? height / 2 - (root.y + root.height / 2) * k : (height - box.height * k) / 2 - box.top * k;
    this.zoom.transform(this.host, zoomIdentity.translate(x, y).scale(k));
  }
}

export { has };

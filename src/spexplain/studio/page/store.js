// What the page knows: the state of the session, what is selected, and what is tried out.
import { Refused } from "./transport.js";

export class Store {
  constructor(transport) {
    this.transport = transport;
    this.state = null;
    this.selection = null; // {kind: "node", node} or {kind: "segment", code}
    this.preview = null; // figures of a test that is tried out, not in the journal
    this.path = null; // of a row
    this.busy = 0;
    this.message = null; // {kind: "error" | "note", text}
    this.said = "";
    this.listeners = new Set();
  }

  on(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  tell(...what) {
    const changes = new Set(what);
    for (const listener of [...this.listeners]) listener(changes);
  }

  get isFitted() {
    return Boolean(this.state?.nodes?.length);
  }

  /** Ask, and say what went wrong; undefined then. */
  async ask(question, { quietly = false } = {}) {
    if (!quietly) this.wait(1);
    try {
      return await this.transport.ask(question);
    } catch (error) {
      this.refused(error);
      return undefined;
    } finally {
      if (!quietly) this.wait(-1);
    }
  }

  wait(step) {
    this.busy += step;
    this.tell("busy");
  }

  refused(error) {
    if (!(error instanceof Error)) error = new Error(String(error));
    if (error.state && error.status === 409) {
      this.take(error.state);
      this.note(`${error.message} The page now shows the newest version; your edit was not made.`, "conflict");
    } else {
      this.note(error.message, "error");
    }
  }

  note(text, kind = "note") {
    this.message = text ? { text, kind } : null;
    this.tell("message");
  }

  say(text) {
    this.said = text;
    this.tell("said");
  }

  take(state) {
    const way = this.selection?.kind === "node" ? this.way(this.selection.node) : null;
    const segment = this.selection?.kind === "segment" ? this.segment(this.selection.code)?.name : null;
    this.state = state;
    this.preview = null;
    this.path = null;
    // Numbers of nodes change with the tree; the way from the root is what stays.
    if (way !== null) this.selection = this.isFitted ? { kind: "node", node: this.follow(way) } : null;
    if (segment !== null) {
      const found = state.segments?.find((each) => each.name === segment);
      this.selection = found ? { kind: "segment", code: found.code } : null;
    }
    this.tell("state", "selection", "preview", "path");
  }

  async load() {
    const state = await this.ask({ ask: "state" });
    if (state) this.take(state);
  }

  async refresh() {
    const state = await this.ask({ ask: "state" }, { quietly: true });
    if (state && state.version !== this.state?.version) this.take(state);
  }

  async edit(name, given = {}) {
    return this.change({ ask: "edit", name, arguments: given });
  }

  async change(question) {
    if (this.changing) return undefined; // one edit at a time: the next one builds on its version
    this.changing = true;
    try {
      const state = await this.ask({ version: this.state?.version, ...question });
      if (state) {
        this.note(null);
        this.take(state);
      }
      return state;
    } finally {
      this.changing = false;
    }
  }

  undo() {
    return this.state?.journal?.length ? this.change({ ask: "undo" }) : undefined;
  }

  redo() {
    return this.state?.future ? this.change({ ask: "redo" }) : undefined;
  }

  async upload(file) {
    if (!this.transport.upload) return;
    this.wait(1);
    try {
      this.take(await this.transport.upload(file));
      this.note(null);
    } catch (error) {
      this.refused(error);
    } finally {
      this.wait(-1);
    }
  }

  select(selection) {
    this.selection = selection;
    this.preview = null;
    this.tell("selection", "preview");
  }

  show(preview) {
    this.preview = preview;
    this.tell("preview");
  }

  trace(path) {
    this.path = path;
    this.tell("path");
  }

  // --- The tree ---

  node(number) {
    return this.state?.nodes?.find((each) => each.node === number);
  }

  segment(code) {
    return this.state?.segments?.find((each) => each.code === code);
  }

  color(code) {
    return this.segment(code)?.color ?? "var(--muted)";
  }

  /** The way to a node as letters: "yn" is yes, then no. */
  way(number) {
    let way = "";
    for (let at = this.node(number); at && known(at.parent); at = this.node(at.parent)) {
      way = (this.node(at.parent).yes === at.node ? "y" : "n") + way;
    }
    return way;
  }

  /** The node at the end of a way, or the last one on it. */
  follow(way) {
    let at = this.state.nodes.find((each) => !known(each.parent));
    for (const turn of way) {
      const next = turn === "y" ? at.yes : at.no;
      if (!known(next)) break;
      at = this.node(next);
    }
    return at.node;
  }
}

const known = (x) => x !== null && x !== undefined && x !== -1;

/** Calls one after another, never two at once: of those that wait, the latest is made and the others are dropped. */
export function latest(call, take) {
  let running = false;
  let waiting = null;
  let stopped = 0;
  async function next(question) {
    running = true;
    const round = stopped;
    try {
      const answer = await call(question);
      if (round === stopped) take(answer, question);
    } catch (error) {
      if (round === stopped && !waiting) take(undefined, question, error);
    }
    running = false;
    if (waiting) {
      const [then] = waiting;
      waiting = null;
      next(then);
    }
  }
  return {
    ask(question) {
      if (running) waiting = [question];
      else next(question);
    },
    stop() {
      stopped += 1;
      waiting = null;
    },
  };
}

export { Refused };

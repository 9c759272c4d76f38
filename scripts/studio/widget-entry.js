// The component in a notebook: questions travel as messages of the widget, each with a number that its answer repeats.
import { Refused } from "../../src/spexplain/studio/page/transport.js";
import { mount } from "../../src/spexplain/studio/page/main.js";

function widgetTransport(model) {
  const waiting = new Map();
  let last = 0;
  const listener = (message) => {
    const { id, answer, error, status, state, changed } = message ?? {};
    if (changed !== undefined) transport.changed?.(changed);
    const asked = waiting.get(id);
    if (!asked) return;
    waiting.delete(id);
    if (error === undefined || error === null) asked.resolve(answer);
    else asked.reject(new Refused(error, status, state));
  };
  const transport = {
    ask: (question) =>
      new Promise((resolve, reject) => {
        last += 1;
        waiting.set(last, { resolve, reject });
        model.send({ id: last, question });
      }),
    close: () => model.off("msg:custom", listener),
  };
  model.on("msg:custom", listener);
  return transport;
}

function render({ model, el }) {
  const root = document.createElement("div");
  el.append(root);
  const transport = widgetTransport(model);
  const { unmount } = mount(root, transport, { embedded: true });
  return () => {
    transport.close();
    unmount();
  };
}

export default { render };

// Questions by HTTP. In a notebook the widget brings its own transport.
export class Refused extends Error {
  constructor(message, status, state) {
    super(message);
    this.status = status;
    this.state = state;
  }
}

export function httpTransport(token) {
  async function answerOf(response) {
    const body = await response.json().catch(() => ({}));
    if (response.ok) return body;
    const reason = response.status === 403 ? "This address has no valid token; open the one that the command line printed." : undefined;
    throw new Refused(body.error ?? reason ?? `The server answered ${response.status}.`, response.status, body.state);
  }
  async function send(path, options) {
    let response;
    try {
      response = await fetch(path, { method: "POST", cache: "no-store", ...options });
    } catch {
      throw new Refused("The server does not answer; is spexplain studio still running? Nothing is lost: start it again and reload.", 0);
    }
    return answerOf(response);
  }
  const headers = { "X-Spexplain-Token": token };
  return {
    ask: (question) => send("/ask", { headers: { ...headers, "Content-Type": "application/json" }, body: JSON.stringify(question) }),
    upload: (file) => send("/open", { headers: { ...headers, "X-Spexplain-Name": encodeURIComponent(file.name), "Content-Type": "application/octet-stream" }, body: file }),
  };
}

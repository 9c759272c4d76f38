// The page: the token is in its address, and goes with every question.
import { httpTransport } from "./transport.js";
import { mount } from "./main.js";

const token = new URLSearchParams(window.location.search).get("token") ?? "";
mount(document.getElementById("studio"), httpTransport(token));

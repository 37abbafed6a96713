// Modal dialogs: the token, and confirmations.

import { h } from "./dom.js";

/** Ask for the token; the promise resolves to the input. */
export function askForToken(wasRefused) {
  return new Promise((resolve) => {
    const field = h("input", {
      type: "password",
      id: "token",
      autocomplete: "off",
      required: true,
      spellcheck: "false",
      "aria-describedby": "token-why",
    });
    const why = wasRefused
      ? "That was not the token with which the server was started."
      : "This server requires a token. It is kept until you close this tab, and sent only to this server.";
    const dialog = h("dialog", { class: "asks", "aria-labelledby": "token-title" },
      h("form", { onsubmit: given },
        h("h2", { id: "token-title" }, "Token"),
        h("p", { id: "token-why" }, why),
        h("label", { class: "field stacked", for: "token" }, h("span", {}, "Token of the server"), field),
        h("div", { class: "row end" }, h("button", { class: "main", type: "submit" }, "Continue"))));
    dialog.addEventListener("cancel", (event) => event.preventDefault()); // nothing works without it
    open(dialog);

    function given(event) {
      event.preventDefault();
      const token = field.value.trim();
      if (!/^[\x21-\x7e]+$/.test(token)) return field.focus();
      dialog.close();
      resolve(token);
    }
  });
}

/** Ask for a confirmation; the promise resolves to true or false. */
export function sure(title, sentence, action) {
  return new Promise((resolve) => {
    const yes = h("button", { class: "main", type: "button", onclick: () => dialog.close("yes") }, action);
    const no = h("button", { type: "button", onclick: () => dialog.close() }, "Cancel");
    const dialog = h("dialog",
      { class: "asks", "aria-labelledby": "sure-title", "aria-describedby": "sure-why" },
      h("h2", { id: "sure-title" }, title),
      h("p", { id: "sure-why" }, sentence),
      h("div", { class: "row end" }, no, yes));
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
    open(dialog);
    no.focus();
  });
}

function open(dialog) {
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

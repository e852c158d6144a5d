// Keys and fragments of the review page. Without this script every form still works.
"use strict";
(() => {
  const cards = () => document.getElementById("cards");
  const open = () => [...document.querySelectorAll('article.item[data-state="open"]')];
  const current = () => document.querySelector("article.item[data-current]");
  const said = document.getElementById("said");
  const command = document.querySelector("[data-command]")?.dataset.command ?? "echoless review";
  let busy = false;

  // ---------------------------------------------------------------- the current card

  function select(card, focus = true) {
    current()?.removeAttribute("data-current");
    if (!card) return document.getElementById("done")?.focus();
    card.setAttribute("data-current", "");
    if (focus) card.focus();
  }

  function neighbour(step) {
    const all = [...document.querySelectorAll("article.item")];
    const at = all.indexOf(current());
    return all[Math.min(all.length - 1, Math.max(0, at + step))];
  }

  function following(key) {
    const card = document.getElementById(`card-${key}`);
    const behind = open().filter(
      (each) => !card || card.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING);
    return behind[0] ?? open()[0];
  }

  // ---------------------------------------------------------------- fragments

  // Puts each element of a fragment in place of the one with its id.
  function place(html) {
    const body = new DOMParser().parseFromString(html, "text/html").body;
    for (const part of [...body.children]) {
      if (part.id === "said") {
        said.textContent = part.textContent;
        continue;
      }
      const old = document.getElementById(part.id);
      if (old) {
        if (old.hasAttribute("data-current")) part.setAttribute("data-current", "");
        const details = part.querySelector("details.classes");
        if (details && old.querySelector("details")?.open) details.open = true;
        old.replaceWith(document.adoptNode(part));
      } else if (part.matches("article.item")) {
        cards()?.prepend(document.adoptNode(part));
      }
    }
  }

  // Where a problem is said: on the card it is about, or at the head of the page.
  const alertOf = (card) =>
    card?.querySelector("[role=alert]") ?? document.getElementById("problem");

  function complain(card, sentence) {
    const line = alertOf(card);
    line.textContent = sentence;
    line.scrollIntoView({ block: "nearest" });
  }

  async function send(form, button) {
    const card = form.closest("article.item");
    const fields = new URLSearchParams(new FormData(form, button));
    const key = card?.dataset.key;
    const action = button?.getAttribute("formaction") ?? form.getAttribute("action");
    if (action === "/answer" && open().every((each) => each === card)) {
      fields.set("last", document.querySelector("#cards > article.item:last-of-type").dataset.key);
    }
    let response, html;
    try {
      response = await fetch(action, {
        method: "POST", body: fields, headers: { "X-Fragment": "1" }, redirect: "manual",
      });
      html = await response.text();
    } catch {
      return complain(card, "This was not stored: the review does not answer any more. What is " +
        `shown as answered is stored. Start it again with \`${command}\` and open its new link.`);
    }
    if (response.headers.get("X-Fragment") !== "1") {
      return complain(card, `This was not stored: the review refused it (${response.status}). ` +
        "Open the link that the terminal shows, or press Enter there for a new one.");
    }
    document.getElementById("problem")?.replaceChildren();
    place(html);
    after(action, key, response.ok);
  }

  // Moves on once an answer is in place.
  function after(action, key, ok) {
    const card = key ? document.getElementById(`card-${key}`) : null;
    if (!ok) {
      alertOf(card).scrollIntoView({ block: "nearest" });
      if (card && !card.contains(document.activeElement)) select(card);
    } else if (action === "/card") {
      select(card);
      card?.querySelector("[data-focus]")?.focus();
    } else if (action === "/answer") {
      const taken = card?.dataset.state === "open";
      select(taken ? card : following(key));
    } else {
      const url = new URL(location);
      url.searchParams.delete("page");
      history.replaceState(null, "", url);
      select(open()[0]);
    }
  }

  addEventListener("submit", async (event) => {
    const form = event.target;
    const path = event.submitter?.getAttribute("formaction") ?? form.getAttribute("action");
    if (!["/answer", "/card", "/undo", "/accept-rest"].includes(path)) return;
    event.preventDefault();
    if (busy) return; // an answer is under way: another key must not meet a card nobody saw
    busy = true;
    document.body.setAttribute("aria-busy", "true");
    try {
      await send(form, event.submitter);
    } finally {
      busy = false;
      document.body.removeAttribute("aria-busy");
    }
  });

  addEventListener("focusin", (event) => {
    const card = event.target.closest?.("article.item");
    if (card && card !== current()) select(card, false);
  });

  // ---------------------------------------------------------------- keys

  const names = {
    a: "accept", ArrowRight: "accept", d: "different", ArrowLeft: "different",
    s: "skip", ArrowDown: "skip",
  };

  function press(key) {
    const card = current();
    const button = (selector) => card?.querySelector(selector);
    if (key in names) return button(`button[value="${names[key]}"]`);
    if (/^[1-9]$/.test(key)) return button(`button[data-keep="${key}"]`);
    if (key === "e") return button("button[name=edit]");
    if (key === "u") return document.getElementById("undo");
    if (key === "A") {
      const name = card?.dataset.class ?? new URL(location).searchParams.get("class");
      return document.querySelector(`[data-rest="${CSS.escape(name ?? "")}"] button`);
    }
    return null;
  }

  const switched = document.getElementById("keys-switch");
  let keys = true;
  try { keys = localStorage.getItem("keys") !== "off"; } catch { /* storage is closed */ }

  function show() {
    switched.hidden = false;
    switched.setAttribute("aria-pressed", String(keys));
    switched.textContent = keys ? "Single keys: on" : "Single keys: off";
    document.documentElement.toggleAttribute("data-no-keys", !keys);
  }

  if (switched) {
    show();
    switched.addEventListener("click", () => {
      keys = !keys;
      try { localStorage.setItem("keys", keys ? "on" : "off"); } catch { /* for this page only */ }
      show();
    });
  }

  addEventListener("keydown", (event) => {
    const at = event.target instanceof Element ? event.target : document.body;
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey) return;
    if (at.closest("textarea, select, input:not([type=checkbox]), [contenteditable]")) {
      if (event.key === "Escape") (at.closest("article.item") ?? at).focus(), at.blur();
      return;
    }
    if (!keys || event.isComposing) return;
    if (event.key === "?") return location.assign("/help");
    const field = document.getElementById("words");
    if (event.key === "/" && field) return event.preventDefault(), field.focus();
    if (["j", "k", "ArrowUp"].includes(event.key) && current()) {
      event.preventDefault();
      return select(neighbour(event.key === "j" ? 1 : -1));
    }
    const button = press(event.key);
    if (!button) return;
    event.preventDefault();
    if (!event.repeat && !busy) button.click();
  });
})();

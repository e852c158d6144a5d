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

  const sorted = () => [...document.querySelectorAll("article.item")].sort(
    (one, other) => one.dataset.place - other.dataset.place);

  // Shows one card, always at the same place: before all others, which are folded to a line.
  function select(card) {
    if (!card) return document.getElementById("done")?.focus();
    for (const each of sorted()) {
      each.toggleAttribute("data-current", each === card);
      each.querySelector("details").open = each === card;
    }
    const all = [card, ...sorted().filter((each) => each !== card)];
    if (all.some((each, at) => each !== cards().children[at])) cards().prepend(...all);
    card.focus({ preventScroll: true });
    if (card.getBoundingClientRect().top < 0) card.scrollIntoView({ behavior: "instant" });
  }

  function neighbour(step) {
    const all = sorted(), at = all.indexOf(current());
    return all[Math.min(all.length - 1, Math.max(0, at + step))];
  }

  function following(card) {
    const open = sorted().filter((each) => each.dataset.state === "open");
    return open.find((each) => Number(each.dataset.place) > Number(card?.dataset.place)) ?? open[0];
  }

  addEventListener("toggle", (event) => {
    const card = event.target.closest?.("article.item");
    if (!card || event.target.parentElement !== card) return;
    if (card === current()) event.target.open = true;
    else if (event.target.open) select(card);
  }, true);

  // ---------------------------------------------------------------- fragments

  // Puts each element of a fragment in place of the one with its id; returns the card in it.
  function place(html) {
    const body = new DOMParser().parseFromString(html, "text/html").body;
    const card = body.querySelector(":scope > article.item");
    for (const part of [...body.children]) {
      if (part.id === "said") {
        said.textContent = part.textContent;
        continue;
      }
      const old = document.getElementById(part.id);
      if (old) {
        if (old.hasAttribute("data-current")) part.setAttribute("data-current", "");
        old.replaceWith(document.adoptNode(part));
      } else if (part.matches("article.item")) {
        cards()?.append(document.adoptNode(part));
      }
    }
    return card;
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
    const action = button?.getAttribute("formaction") ?? form.getAttribute("action");
    if (action === "/answer" && open().every((each) => each === card)) {
      fields.set("last", sorted().at(-1).dataset.key);
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
    after(action, place(html) ?? (response.ok ? null : card), response.ok);
  }

  // Moves on once an answer is in place.
  function after(action, card, ok) {
    if (!ok) {
      alertOf(card).scrollIntoView({ block: "nearest" });
      if (card && !card.contains(document.activeElement)) select(card);
    } else if (action === "/card") {
      select(card);
      card?.querySelector("[data-focus]")?.focus();
    } else if (action === "/answer") {
      const taken = card?.dataset.state === "open";
      select(taken ? card : following(card));
    } else {
      const url = new URL(location);
      url.searchParams.delete("page");
      history.replaceState(null, "", url);
      select(card ?? open()[0]);
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

  // ---------------------------------------------------------------- keys

  const names = { d: "different", b: "times", s: "skip", " ": "skip" };

  function press(key) {
    const card = current();
    const button = (selector) => card?.querySelector(selector);
    if (key in names) return button(`button[value="${names[key]}"]`);
    if (/^[1-9]$/.test(key)) return button(`button[data-keep="${key}"]`);
    if (key === "a") return button("button.main");
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
    if (event.key === " " && at.closest("button, summary, a, input")) return;
    const field = document.getElementById("words");
    if (event.key === "/" && field) {
      field.closest("details").open = true;
      return event.preventDefault(), field.focus();
    }
    if (["j", "k"].includes(event.key) && current()) {
      event.preventDefault();
      return select(neighbour(event.key === "j" ? 1 : -1));
    }
    const button = press(event.key);
    if (!button && event.key === "a" && current()) {
      complain(current(), "Choose the memory to keep (1 or 2), or keep both (d).");
    }
    if (!button) return;
    event.preventDefault();
    if (!event.repeat && !busy) button.click();
  });
})();

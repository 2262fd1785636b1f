// The page is complete without this script. With it, only what differs is replaced, the page follows the fleet, and keys work.
"use strict";
(() => {
  // Makes the nodes of one tree into those of another one. Elements with an id keep their place with it, so that focus stays.
  const morph = (old, next) => {
    if (old.nodeType !== next.nodeType || old.nodeName !== next.nodeName) return old.replaceWith(next);
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== next.nodeValue) old.nodeValue = next.nodeValue;
      return;
    }
    for (const { name } of [...old.attributes]) if (!next.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of next.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    if (old instanceof HTMLInputElement && old !== document.activeElement) {
      old.value = next.value;
      old.checked = next.checked;
    }
    if (old instanceof HTMLSelectElement && old !== document.activeElement) queueMicrotask(() => { old.value = next.value; });
    const named = new Map([...old.children].filter((child) => child.id).map((child) => [child.id, child]));
    let at = old.firstChild;
    for (const child of [...next.childNodes]) {
      const same = child.id && named.get(child.id);
      if (same) {
        if (same !== at) old.insertBefore(same, at); else at = at.nextSibling;
        morph(same, child);
      } else if (at && !at.id && !child.id) {
        const here = at;
        at = at.nextSibling;
        morph(here, child);
      } else {
        old.insertBefore(child, at);
      }
    }
    while (at) { const gone = at; at = at.nextSibling; gone.remove(); }
  };

  // The request under way, and whether a frame has come meanwhile.
  let asked = null;
  let missed = false;
  const show = async (href, push) => {
    if (asked) asked.abort();
    const own = asked = new AbortController();
    try {
      await replace(href, push, own.signal);
    } catch {
      if (!own.signal.aborted) note("fleetctl map does not answer any more");
    }
    if (asked !== own) return;
    asked = null;
    if (missed) follow();
  };

  const replace = async (href, push, signal) => {
    const answer = await fetch(href, { credentials: "omit", signal });
    if (!answer.ok) return;
    const next = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (signal.aborted) return;
    if (push) history.pushState(null, "", href);
    const root = document.documentElement;
    next.documentElement.dataset.theme ? root.dataset.theme = next.documentElement.dataset.theme : delete root.dataset.theme;
    morph(document.body, next.body);
    begin();
  };

  // The present follows the fleet. A moment of the past stays as it is, and so does the result of an action until it is asked for again.
  const follow = () => {
    missed = asked !== null;
    const fields = new URLSearchParams(location.search);
    if (missed || fields.has("at") || fields.has("whatif")) return;
    show("./" + location.search, false);
  };

  const note = (text) => {
    const place = document.getElementById("notice");
    place.textContent = text;
    setTimeout(() => { if (place.textContent === text) place.textContent = ""; }, 4000);
  };

  // What only works with a script is shown by it. A page that was opened on a moment of the past may come to the present.
  let events = null;
  const begin = () => {
    document.body.classList.add("scripted");
    for (const button of document.querySelectorAll("[data-copy]")) button.hidden = false;
    if (document.body.dataset.live && !events) listen();
  };

  const listen = () => {
    events = new EventSource("./events");
    events.addEventListener("frame", (event) => {
      if (event.data !== document.body.dataset.frame) follow();
    });
    // Ages grow although nothing happens.
    setInterval(() => { if (!document.hidden) follow(); }, 10000);
  };

  const address = (form) => {
    const fields = new URLSearchParams(new FormData(form));
    for (const [name, value] of [...fields]) if (!value) fields.delete(name);
    return "./?" + fields;
  };

  const hrefOf = (target) => {
    const link = target.closest && target.closest("a");
    const href = link && link.getAttribute("href");
    return href && href.startsWith("./?") ? href : null;
  };

  document.addEventListener("click", async (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const button = event.target.closest && event.target.closest("[data-copy]");
    if (button) {
      try { await navigator.clipboard.writeText(button.dataset.copy); note("Copied"); } catch { note("The browser does not allow to copy"); }
      return;
    }
    const href = hrefOf(event.target);
    if (!href) return;
    event.preventDefault();
    await show(href, true);
  });
  document.addEventListener("submit", (event) => { event.preventDefault(); show(address(event.target), true); });
  document.addEventListener("change", (event) => { if (event.target.form) show(address(event.target.form), true); });
  let typed;
  document.addEventListener("input", (event) => {
    if (event.target.type !== "search" && event.target.type !== "range") return;
    clearTimeout(typed);
    typed = setTimeout(() => show(address(event.target.form), true), 150);
  });
  window.addEventListener("popstate", () => show(location.search || "./?", false));

  document.addEventListener("keydown", (event) => {
    const isText = event.target.matches("input[type=search], select");
    if (event.key === "Escape") {
      const close = document.querySelector("#panel .close");
      if (isText) {
        // Browsers empty a search field: what was found is to be walked through.
        if (event.target.type === "search") event.preventDefault();
        event.target.blur();
      } else if (close) close.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
      return;
    }
    if (isText || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "/") { event.preventDefault(); document.getElementById("search").focus(); }
    const moment = { "[": "change-before", "]": "change-after" }[event.key];
    if (moment) document.getElementById(moment)?.click();
    if (event.key === "j" || event.key === "k") {
      const all = [...document.querySelectorAll("[id^='s-']")].map((box) => box.matches("a") ? box : box.querySelector("a"));
      const here = all.indexOf(document.activeElement);
      const next = all[event.key === "j" ? Math.min(here + 1, all.length - 1) : Math.max(here - 1, 0)];
      if (next) next.focus();
    }
  });

  begin();
})();

// Cards that a visitor has folded stay folded, in the next answer and on the next visit; controls that open are in view.

(() => {
  const KEY = "commutemap-folded";

  // A page within a frame may have no storage; then a card stays folded only while it is on the page.
  function remembered() {
    try {
      return new Set(JSON.parse(localStorage.getItem(KEY) ?? "[]"));
    } catch {
      return new Set();
    }
  }
  const folded = remembered();

  document.addEventListener("toggle", ({ target }) => {
    const name = target.dataset?.fold;
    if (!name || target.dataset.printed) return;
    if (target.open) folded.delete(name);
    else folded.add(name);
    try {
      localStorage.setItem(KEY, JSON.stringify([...folded]));
    } catch {
      // Remembered until the page is left
    }
  }, true);

  // New cards come open from the server. They are folded before the browser paints them.
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) {
      for (const node of addedNodes) {
        if (node.nodeType !== Node.ELEMENT_NODE) continue;
        const cards = node.matches("[data-fold]") ? [node] : node.querySelectorAll("[data-fold]");
        for (const card of cards) if (folded.has(card.dataset.fold)) card.open = false;
      }
    }
  }).observe(document.documentElement, { childList: true, subtree: true });

  // Controls that open below the edge of their panel come into view.
  document.addEventListener("click", ({ target }) => {
    const controls = target.closest?.(".more-controls > summary")?.parentElement;
    if (controls) requestAnimationFrame(() => controls.open && controls.scrollIntoView({ block: "nearest" }));
  });

  // Paper has no buttons, so everything is printed.
  window.addEventListener("beforeprint", () => {
    for (const card of document.querySelectorAll("[data-fold]:not([open])")) {
      card.dataset.printed = "true";
      card.open = true;
    }
  });
  window.addEventListener("afterprint", () => {
    for (const card of document.querySelectorAll("[data-printed]")) {
      card.open = false;
      setTimeout(() => delete card.dataset.printed); // after the event of the folding
    }
  });
})();

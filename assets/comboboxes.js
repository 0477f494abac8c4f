// A menu of several values (Mantine's MultiSelect) also gives the box around its text field the role of a combobox, but
// not the list that it controls. The field has both, so the box must not be announced as a second combobox.

(() => {
  const OF_COMBOBOX = ["role", "aria-expanded", "aria-haspopup"];

  function unmark(box) {
    if (box.getAttribute("role") !== "combobox" || !box.querySelector("input")) return;
    for (const name of OF_COMBOBOX) box.removeAttribute(name);
  }

  new MutationObserver((changes) => {
    for (const { target } of changes) unmark(target);
  }).observe(document.documentElement, { subtree: true, attributes: true, attributeFilter: ["role"] });
})();

// Small screens: the question is a dialog, and the answer is a sheet over the map. Wide screens show both at all times.

(() => {
  const small = window.matchMedia("(max-width: 900px)");
  const AROUND = [".top", "#banner", ".find", ".explorer .stage", "#result"]; // what an open dialog makes inert
  const question = () => document.getElementById("question");
  const isOpen = () => question()?.classList.contains("open") ?? false;

  function turnQuestion(open) {
    const dialog = question();
    if (!dialog || open === isOpen()) return;
    dialog.classList.toggle("open", open);
    const about = { role: "dialog", "aria-modal": "true", "aria-labelledby": "question-title" };
    for (const [name, value] of Object.entries(about)) {
      if (open) dialog.setAttribute(name, value);
      else dialog.removeAttribute(name);
    }
    for (const part of document.querySelectorAll(AROUND.join())) part.inert = open;
    if (open) dialog.focus({ preventScroll: true });
    else document.getElementById("change-question").focus({ preventScroll: true });
  }

  function turnSheet(open) {
    const sheet = document.getElementById("result");
    const button = document.getElementById("open-sheet");
    if (!sheet || !button) return;
    sheet.classList.toggle("whole", open);
    button.setAttribute("aria-expanded", open);
    if (!open) sheet.scrollTop = 0;
  }

  // A chosen area raises the sheet, before the map's size is measured.
  function raiseSheet(search) {
    document.querySelector(".explorer")?.classList.toggle("raised", new URLSearchParams(search).has("area"));
  }

  window.commutemap = Object.assign(window.commutemap ?? {}, { raiseSheet });

  document.addEventListener("click", ({ target }) => {
    if (target.closest?.("#change-question")) turnQuestion(true);
    if (target.closest?.("#close-question")) turnQuestion(false);
    const toggle = target.closest?.("#open-sheet");
    if (toggle) turnSheet(toggle.getAttribute("aria-expanded") !== "true");
    if (small.matches && target.closest?.(".suggestion, #area-rows .drill")) turnSheet(false); // the map shows it
  });

  // An open menu closes first. This listener runs before the menu's own, which closes it.
  function leave({ key, target }) {
    if (key !== "Escape" || target.closest?.("[data-expanded], input[aria-expanded=true]")) return;
    if (isOpen()) turnQuestion(false);
    else if (small.matches) turnSheet(false);
  }
  document.addEventListener("keydown", leave, { capture: true });

  small.addEventListener("change", ({ matches }) => {
    if (matches) return;
    turnQuestion(false);
    turnSheet(false);
  });
})();

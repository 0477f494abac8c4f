// The few things that the browser does without the server.

// The controls call these by name. The server has already searched, so keep everything it found.
window.dashMantineFunctions = Object.assign(window.dashMantineFunctions || {}, {
  keepAll: (input) => input.options,
});

window.dash_clientside = window.dash_clientside ?? {};
Object.assign((window.dash_clientside.commutemap ??= {}), {
  // The address, with the size of the map that will show it.
  look,

  // Thousands of rows take seconds as components, and milliseconds as plain cells.
  // Returns true if the table has no rows and is hidden.
  fill,
});

// Count the visitor's steps, so that Undo never leaves the page.
const push = history.pushState.bind(history);
history.pushState = (state, ...more) => push({ ...state, steps: (history.state?.steps ?? 0) + 1 }, ...more);
const canUndo = () => (history.state?.steps ?? 0) > 0;

let looked = { search: "", width: 0, height: 0, moved_by: "other" };

function look(search) {
  const map = document.getElementById("map");
  const undo = document.getElementById("undo");
  window.commutemap.raiseSheet?.(search);
  if (undo) undo.disabled = !canUndo();
  const box = map ? map.getBoundingClientRect() : { width: 700, height: 700 };
  const size = { width: Math.round(box.width), height: Math.round(box.height) };
  looked = { search: search || "", ...size, moved_by: window.commutemap.movedBy() };
  return looked;
}

// When the width of the map changes, its caption needs new line breaks. Heights change with a phone's toolbars.
let resizing = 0;
window.addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    const width = document.getElementById("map")?.getBoundingClientRect().width;
    if (!width || !looked.width || Math.round(width) === looked.width) return;
    window.dash_clientside.set_props("look", { data: look(looked.search) });
  }, 300);
});

function fill(table) {
  const body = document.getElementById("area-rows");
  if (!body || !table) return true;
  document.getElementById("table-title").replaceChildren(table.title, ...whyNoError(table.notes));
  const heads = document.createElement("tr");
  heads.append(...table.heads.map((text) => Object.assign(cell("th", text), { scope: "col" })));
  document.getElementById("table-head").replaceChildren(heads);
  body.replaceChildren(...table.rows.map((each) => row(each, table.heads.length)));
  body.closest("table").classList.toggle("many-columns", table.heads.length > 4);
  const every = document.getElementById("every");
  every.hidden = !table.can_grow;
  every.textContent = table.every ? "Show fewer rows" : `Show all ${table.size}`;
  document.getElementById("table-card").dataset.drawn = table.drawn;
  return table.rows.length === 0;
}

// A count, or the cell of its ±, with the letters of the notes that say why it has no ±.
const WITHOUT_ERROR = /^(.*?) ?\(([a-z](?:, [a-z])*)\)$/;

function noError(letters) {
  const mark = cell("span", `(${letters})`, "error no-error");
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", `no ±, note ${letters}`);
  return mark;
}

// Links to the notes to which the marks of a table refer; a link's tip is the note.
function whyNoError(notes) {
  return Object.entries(notes ?? {}).map(([letter, note]) => {
    const link = cell("a", `(${letter}) no ±: why`, "no-error");
    Object.assign(link, { href: `#no-error-${letter}`, title: note });
    return link;
  });
}

function row({ name, sub, cells, marks, unit }, n_columns) {
  const line = document.createElement("tr");
  const head = cell("th", "");
  head.scope = "row";
  if (!cells.length) {
    Object.assign(head, { scope: "rowgroup", colSpan: n_columns });
    line.className = "group";
  }
  if (unit) {
    line.dataset.unit = unit;
    const button = cell("button", name, "drill");
    button.type = "button";
    head.append(button);
  } else {
    head.append(name);
  }
  if (sub) head.append(cell("span", sub, "quiet sub"));
  const counts = cells.map((text) => {
    const [counted, share] = text.split(" | ");
    const [, known, letters] = counted.match(WITHOUT_ERROR) ?? [null, counted, ""];
    const [number, error] = known.split(" ± ");
    const count = cell("td", number, "number");
    if (error) count.append(" ", cell("span", "± " + error, "error"));
    if (letters) count.append(" ", noError(letters));
    if (share) count.append(" ", cell("span", share, "quiet sub"));
    return count;
  });
  marks.forEach((caution, place) => {
    if (!caution) return;
    const mark = cell("span", "●", "dot " + caution.split(" ")[0]);
    mark.title = caution;
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", caution);
    counts[place].prepend(mark, " ");
  });
  line.append(head, ...counts);
  return line;
}

function cell(tag, text, className) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

const say = (id, children) => window.dash_clientside.set_props(id, { children });

document.addEventListener("click", (event) => {
  const drill = event.target.closest?.("#area-rows .drill");
  if (drill) window.commutemap.act("drill", { unit: drill.closest("tr").dataset.unit });
  if (event.target.closest?.("#undo") && canUndo()) history.back();
  if (event.target.closest?.("#save-setup")) document.querySelector('a.take[href*="setup.json"]')?.click();
  const chooser = event.target.closest?.(".choose-file");
  if (chooser) chooseFile(chooser.dataset);
});

const MOST_BYTES = 2_500_000; // of a setup file; the server has its own limits

function chooseFile({ file, accept }) {
  const input = Object.assign(document.createElement("input"), { type: "file", accept });
  input.addEventListener("change", async () => {
    const [chosen] = input.files;
    if (!chosen) return;
    const { name, size } = chosen;
    if (file === "open-area") return window.commutemap.uploadArea(chosen);
    if (size > MOST_BYTES) return window.commutemap.act(file, { name, size });
    const bytes = new Uint8Array(await chosen.arrayBuffer());
    let text = "";
    for (let at = 0; at < bytes.length; at += 32768) {
      text += String.fromCharCode(...bytes.subarray(at, at + 32768));
    }
    window.commutemap.act(file, { name, size, content: btoa(text) });
  });
  input.click();
}

// Roles for screen readers: Mantine's inputs do not say that they are comboboxes, or whether they are open.
new MutationObserver((changes) => {
  for (const { target } of changes) {
    target.setAttribute("role", "combobox");
    target.setAttribute("aria-expanded", target.dataset.expanded === "true");
  }
}).observe(document.documentElement, { attributeFilter: ["data-expanded"], subtree: true });

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

// The table of an answer. It is sorted and searched here; both need every row, so they ask for those that are missing.

const LONG = 60; // rows; a longer table scrolls within its card
const SHORT_NAME = 30; // letters that stay on one line
const FEWEST = 6; // rows that are worth sorting
let listed = null; // the table, its rows as elements, and how it is sorted
let completing = ""; // the view whose other rows have been asked for

const viewOf = (table) => (table.drawn ?? "").replace(/[?&]every=[^&]*/, "");

function fill(table) {
  const body = document.getElementById("area-rows");
  if (!body || !table) return true;
  const isSame = listed && viewOf(listed.table) === viewOf(table);
  const lines = table.rows.map((each) => row(each, table.heads.length));
  listed = { table, lines, sortedBy: isSame ? listed.sortedBy : null, sought: isSame ? listed.sought : "" };
  if (!isSame) window.dash_clientside.set_props("find-rows", { value: "" });
  document.getElementById("table-title").textContent = table.title;
  document.getElementById("table-no-error").replaceChildren(...whyNoError(table.notes));
  body.closest("table").classList.toggle("many-columns", table.heads.length > 4);
  const isList = table.rows.length >= FEWEST && table.rows.every(({ cells }) => cells.length);
  document.getElementById("table-tools").hidden = !isList;
  drawHeads(isList);
  arrange();
  const every = document.getElementById("every");
  every.hidden = !table.can_grow;
  every.textContent = table.every ? "Show fewer rows" : `Show all ${table.size}`;
  document.getElementById("table-card").dataset.drawn = table.drawn;
  return table.rows.length === 0;
}

function drawHeads(isList) {
  const focused = document.activeElement?.closest("#table-head .sort")?.dataset.column;
  const heads = document.createElement("tr");
  heads.append(...listed.table.heads.map((text, column) => {
    const head = Object.assign(element("th", isList ? "" : text), { scope: "col" });
    if (!isList) return head;
    const button = Object.assign(element("button", text || "Name", "sort"), { type: "button" });
    button.dataset.column = column;
    if (listed.sortedBy?.column === column) head.ariaSort = listed.sortedBy.isDown ? "descending" : "ascending";
    head.append(button);
    return head;
  }));
  document.getElementById("table-head").replaceChildren(heads);
  if (focused !== undefined) document.querySelector(`#table-head [data-column="${focused}"]`)?.focus({ preventScroll: true });
}

// Show the rows in order, without those that lack the sought text. Sums of other rows stay last.
function arrange() {
  const { table, lines, sortedBy, sought } = listed;
  const places = table.rows.map((_, place) => place);
  if (sortedBy) places.sort((a, b) => compare(table.rows[a], table.rows[b], sortedBy) || a - b);
  const has = ({ name, sub }) => `${name} ${sub}`.toLowerCase().includes(sought);
  const shown = places.filter((place) => has(table.rows[place])).map((place) => lines[place]);
  const none = Object.assign(element("td", "No row has this text.", "no-rows"), { colSpan: table.heads.length });
  const empty = document.createElement("tr");
  empty.append(none);
  const body = document.getElementById("area-rows");
  body.replaceChildren(...(shown.length || !table.rows.length ? shown : [empty]));
  body.closest(".scroll").classList.toggle("long", shown.length > LONG);
  document.getElementById("table-said").textContent = sought ? `${shown.length.toLocaleString("en-US")} of ${table.size}` : "";
}

function compare(one, other, { column, isDown }) {
  if (one.last || other.last) return one.last - other.last;
  const way = isDown ? -1 : 1;
  if (column === 0) return way * one.name.localeCompare(other.name, "en");
  const [a, b] = [one, other].map(({ cells }) => numberIn(cells[column - 1]));
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // without a number: last
  return way * (a - b);
}

// The first number of a cell such as "1,234 ± 12 | 40%" or "−3".
const numberIn = (text = "") => {
  const [number] = text.replaceAll(",", "").match(/[-−+]?\d+(\.\d+)?/) ?? [];
  return number === undefined ? (text === "exact" ? 0 : NaN) : Number(number.replace("−", "-"));
};

function sortTable(column) {
  const { sortedBy } = listed;
  const first = column > 0; // numbers begin with the largest, names with A
  if (sortedBy?.column !== column) listed.sortedBy = { column, isDown: first };
  else listed.sortedBy = sortedBy.isDown === first ? { column, isDown: !first } : null;
  drawHeads(true);
  arrange();
  complete();
}

function complete() {
  const { table } = listed;
  if (!table.can_grow || table.every || completing === table.drawn) return;
  completing = table.drawn;
  window.commutemap.act("every", 1);
}

document.addEventListener("input", ({ target }) => {
  if (target.id !== "find-rows" || !listed) return;
  listed.sought = target.value.trim().toLowerCase();
  arrange();
  complete();
});

// A count, or the cell of its ±, with the letters of the notes that say why it has no ±.
const WITHOUT_ERROR = /^(.*?) ?\(([a-z](?:, [a-z])*)\)$/;

function noError(letters) {
  const mark = element("span", `(${letters})`, "error no-error");
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", `no ±, note ${letters}`);
  return mark;
}

// One link to the notes to which the marks of a table refer; its tip has all of them.
function whyNoError(notes) {
  const letters = Object.keys(notes ?? {});
  if (!letters.length) return [];
  const link = element("a", `(${letters.join(", ")}) no ±: why`, "no-error");
  return [Object.assign(link, { href: `#no-error-${letters[0]}`, title: Object.values(notes).join("\n") })];
}

function row({ name, sub, cells, marks, unit }, n_columns) {
  const line = document.createElement("tr");
  const head = element("th", "", name.length <= SHORT_NAME ? "short" : "");
  head.scope = "row";
  if (!cells.length) {
    Object.assign(head, { scope: "rowgroup", colSpan: n_columns });
    line.className = "group";
  }
  if (unit) {
    line.dataset.unit = unit;
    const button = element("button", name, "drill");
    button.type = "button";
    head.append(button);
  } else {
    head.append(name);
  }
  if (sub) head.append(element("span", sub, "quiet sub"));
  const counts = cells.map((text) => {
    const [counted, share] = text.split(" | ");
    const [, known, letters] = counted.match(WITHOUT_ERROR) ?? [null, counted, ""];
    const [number, error] = known.split(" ± ");
    const count = element("td", number, "number");
    if (error) count.append(" ", element("span", "± " + error, "error"));
    if (letters) count.append(" ", noError(letters));
    if (share) count.append(" ", element("span", share, "quiet sub"));
    return count;
  });
  marks.forEach((caution, place) => {
    if (!caution) return;
    const mark = element("span", "●", "dot " + caution.split(" ")[0]);
    mark.title = caution;
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", caution);
    counts[place].prepend(mark, " ");
  });
  line.append(head, ...counts);
  return line;
}

function element(tag, text = "", className = "") {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}
window.commutemap = Object.assign(window.commutemap ?? {}, { element });

const say = (id, children) => window.dash_clientside.set_props(id, { children });

document.addEventListener("click", (event) => {
  const sort = event.target.closest?.("#table-head .sort");
  if (sort) sortTable(Number(sort.dataset.column));
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

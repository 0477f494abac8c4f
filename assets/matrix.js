// The flow matrix: a table of homes by workplaces, which is sorted here, without asking the server.

window.dash_clientside = window.dash_clientside ?? {};
Object.assign((window.dash_clientside.commutemap ??= {}), {
  // Returns true if the answer is not a matrix and the card is hidden.
  fillMatrix,
});

let matrix = null;
let sortedBy = { row: -1, column: -1 };
let resting; // until the pointer has rested on a cell
const RESTING_MS = 120;
const STEPS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function fillMatrix(data) {
  matrix = data;
  sortedBy = { row: -1, column: -1 };
  if (!data || !document.getElementById("matrix")) return true;
  document.getElementById("matrix-title").textContent = data.title;
  const toErrors = data.cells ? " Point at a cell, tap it, or move to it with the arrow keys for its expected error." : "";
  document.getElementById("matrix-text").textContent = data.text + toErrors;
  document.getElementById("matrix-cell").textContent = "";
  document.getElementById("matrix-card").dataset.drawn = data.drawn;
  drawMatrix();
  return false;
}

// Positions in order: the rest stays last, and the total is left to the caller.
function order(names, hasRest, valueOf) {
  const all = names.map((_, place) => place);
  const last = hasRest ? all.splice(-1) : [];
  if (valueOf) all.sort((a, b) => valueOf(b) - valueOf(a) || a - b);
  return [...all, ...last];
}

function drawMatrix() {
  const { rows, columns, counts, same, rest } = matrix;
  const { row, column } = sortedBy;
  const down = order(rows, rest[0], column >= 0 && ((place) => counts[place][column]));
  const across = order(columns, rest[1], row >= 0 && ((place) => counts[row][place]));
  const total = columns.length; // the place of the totals
  const shown = [total, ...across];
  const inner = counts.slice(0, rows.length - rest[0]).map((line) => line.slice(0, columns.length - rest[1]));
  const top = Math.max(1, ...inner.flat());
  const nameOf = (place) => (place === total ? "Total" : columns[place]);

  const heads = element("tr");
  heads.append(element("td", "Live in ↓ · Work in →", "corner"));
  heads.append(...shown.map((place) => head(nameOf(place), "col", column === place, { column: place })));
  const body = down.map((place) => {
    const line = element("tr");
    line.append(head(rows[place], "row", row === place, { row: place }));
    line.append(...shown.map((at) => {
      const isMargin = at === total || (rest[1] && at === total - 1) || (rest[0] && place === rows.length - 1);
      return value(place, at, isMargin ? 0 : top, at !== total && same[place] === at);
    }));
    return line;
  });
  const foot = element("tr");
  foot.append(head("Total", "row", row === rows.length, { row: rows.length }));
  foot.append(...shown.map((at) => value(rows.length, at, 0, false)));
  const table = document.getElementById("matrix");
  table.replaceChildren(section("thead", [heads]), section("tbody", body), section("tfoot", [foot]));
  table.querySelector("td[data-row]").tabIndex = 0;
}

function head(name, scope, isSorted, by) {
  const cell = element("th");
  cell.scope = scope;
  if (isSorted) cell.setAttribute("aria-sort", "descending");
  const button = element("button", name + (isSorted ? (scope === "col" ? " ▾" : " ▸") : ""));
  button.type = "button";
  button.title = name;
  Object.assign(button.dataset, by);
  cell.append(button);
  return cell;
}

function value(row, column, top, isSame) {
  const count = matrix.counts[row][column];
  const cell = element("td", count.toLocaleString("en-US"), isSame ? "same" : count ? "" : "quiet");
  Object.assign(cell.dataset, { row, column });
  cell.tabIndex = -1;
  if (count && top) cell.style.setProperty("--heat", `${Math.round(3 + 52 * (count / top) ** 0.4)}%`);
  return cell;
}

function section(tag, lines) {
  const part = element(tag);
  part.append(...lines);
  return part;
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("#matrix button");
  if (button) sortMatrix(button.dataset);
  if (event.target.closest?.("#matrix-size")) enlarge(!isLarge());
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && isLarge()) enlarge(false);
  const [down, across] = STEPS[event.key] ?? [];
  const cell = down !== undefined && event.target.closest?.("#matrix td[data-row]");
  if (!cell) return;
  const lines = [...document.querySelectorAll("#matrix tr")];
  const next = lines[lines.indexOf(cell.parentElement) + down]?.cells[cell.cellIndex + across];
  event.preventDefault();
  if (next?.dataset.row) next.focus();
});
document.addEventListener("focusin", (event) => {
  const cell = event.target.closest?.("#matrix td[data-row]");
  if (!cell) return;
  document.querySelectorAll("#matrix td[tabindex='0']").forEach((other) => (other.tabIndex = -1));
  cell.tabIndex = 0;
  sayCell(cell);
});
document.addEventListener("pointerover", (event) => {
  clearTimeout(resting);
  const cell = event.pointerType === "mouse" && event.target.closest?.("#matrix td[data-row]");
  if (cell) resting = setTimeout(() => sayCell(cell), RESTING_MS);
});

// Says below the matrix what a cell counts, and its expected error as soon as the server has answered.
async function sayCell(cell) {
  const { row, column } = cell.dataset;
  const [data, count] = [matrix, matrix.counts[row][column]];
  const place = `${row},${column}`;
  const line = document.getElementById("matrix-cell");
  const counted = `${placeOf("Live", data.rows[row])}, ${placeOf("work", data.columns[column])}: ${count.toLocaleString("en-US")}`;
  line.textContent = counted;
  line.dataset.cell = place;
  if (!data.cells) return;
  const isWanted = () => matrix === data && line.dataset.cell === place;
  const join = data.cells.includes("?") ? "&" : "?";
  const address = `${data.cells}${join}row=${row}&column=${column}`;
  const answer = await window.commutemap.patiently([address], isWanted).catch(() => null);
  if (!answer?.ok) return;
  const { error, size } = await answer.json();
  if (!isWanted() || !error) return;
  line.textContent = `${counted}, ${error}${count > 0 && size > count ? " (± exceeds the count)" : ""}`;
}

// The name of a row or of a column, in words; a total has no name.
function placeOf(verb, name) {
  return name === undefined ? `${verb} anywhere` : `${verb} in ${name.replace(/^All other/, "all other")}`;
}

// Choosing the same heading again undoes the sorting. The heading keeps the focus, even if it has moved.
function sortMatrix({ row, column }) {
  const by = row !== undefined ? "row" : "column";
  const place = Number(row ?? column);
  sortedBy = { ...sortedBy, [by]: sortedBy[by] === place ? -1 : place };
  drawMatrix();
  document.querySelector(`#matrix button[data-${by}="${place}"]`)?.focus();
}

const card = () => document.getElementById("matrix-card");
const isLarge = () => card()?.classList.contains("enlarged") ?? false;

function enlarge(large) {
  const button = document.getElementById("matrix-size");
  card().classList.toggle("enlarged", large);
  button.textContent = large ? "Close" : "Enlarge";
  button.setAttribute("aria-expanded", String(large));
  button.focus();
}

// The page of a published table: its controls change the address, and every cell says what is known about it.

window.dash_clientside = window.dash_clientside ?? {};

(() => {
  const CONTROLS = ["table", "of", "find", "color", "shade", "theme"]; // as `table_page.CONTROLS` on the server
  const LOST = { table: ["of", "sort", "find", "page", "color", "row"], of: ["page", "row"], find: ["page"] }; // with a new value
  const DEFAULTS = { find: "", shade: "share", theme: "system" };
  const GAP = 8; // pixels between a cell and its tip
  const wanted = {}; // the newest value of each control, from the visitor or from the server

  const setProps = (id, given) => window.dash_clientside.set_props(id, given);
  const address = () => window.dash_component_api?.getLayout("url")?.props?.search ?? "";

  // The address, with the size of the map that will show it.
  function lookAtTable(search) {
    const { width = 600, height = 500 } = document.getElementById("map")?.getBoundingClientRect() ?? {};
    return { search: search ?? "", width: Math.round(width), height: Math.round(height) };
  }

  // Sets the controls to an address, unless the visitor has gone on to another.
  function placeTable(placed) {
    if (!placed || (placed.drawn ?? "") !== address()) return;
    Object.assign(wanted, placed.values);
    for (const [name, value] of Object.entries(placed.values)) setProps(`counts-${name}`, { value });
  }

  // The controls changed: the address gets the values that are new.
  function chooseTable(...values) {
    const query = new URLSearchParams(address());
    CONTROLS.forEach((name, at) => {
      const value = values[at];
      if (typeof value !== "string" || !(name in wanted) || wanted[name] === value) return;
      wanted[name] = value;
      for (const other of LOST[name] ?? []) query.delete(other);
      if (name === "table") {
        const [slug, part] = value.split(" ");
        put(query, "table", slug);
        put(query, "part", part, "1");
      } else put(query, name, value, DEFAULTS[name]);
    });
    go(query.toString());
  }

  function put(query, name, value, usual) {
    if (value === usual) query.delete(name);
    else query.set(name, value);
  }

  function go(text) {
    const search = text ? `?${text}` : "";
    if (search !== address()) setProps("url", { search });
  }

  Object.assign((window.dash_clientside.commutemap ??= {}), { lookAtTable, placeTable, chooseTable });

  // Sorting, paging and choosing a row are links. They change the address without a jump to the top of the page.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-step]");
    if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    setProps("url", { search: new URL(link.href).search });
  });

  // What is known about a cell, beside it: under the pointer, with the keyboard, or after a tap.
  function tip() {
    const found = document.getElementById("cell-tip");
    if (found) return found;
    const made = Object.assign(document.createElement("div"), { id: "cell-tip", className: "cell-tip", hidden: true });
    made.setAttribute("role", "tooltip");
    document.getElementById("app").append(made); // the colors are those of the page
    return made;
  }

  function show(cell) {
    const shown = tip();
    const title = Object.assign(document.createElement("strong"), { textContent: cell.dataset.cell });
    const lines = cell.dataset.lines.split("\n").map((textContent) => Object.assign(document.createElement("p"), { textContent }));
    shown.replaceChildren(title, ...lines);
    shown.hidden = false;
    cell.setAttribute("aria-describedby", "cell-tip");
    const { left, right, top, bottom } = cell.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = shown;
    const x = Math.min(Math.max((left + right - width) / 2, GAP), innerWidth - width - GAP);
    const below = bottom + GAP + height < innerHeight;
    shown.style.transform = `translate(${Math.round(x)}px, ${Math.round(below ? bottom + GAP : Math.max(top - GAP - height, GAP))}px)`;
  }

  function hide() {
    const shown = document.getElementById("cell-tip");
    if (shown) shown.hidden = true;
  }

  const cellOf = ({ target }) => target.closest?.("button[data-cell]");
  const focused = () => document.activeElement?.closest?.("button[data-cell]");
  document.addEventListener("mouseover", (event) => cellOf(event) && show(cellOf(event)));
  document.addEventListener("mouseout", (event) => cellOf(event) && (focused() ? show(focused()) : hide()));
  document.addEventListener("focusin", (event) => (cellOf(event) ? show(cellOf(event)) : hide()));
  document.addEventListener("focusout", (event) => cellOf(event) && hide());
  document.addEventListener("keydown", ({ key }) => key === "Escape" && hide());
  document.addEventListener("scroll", () => (focused() ? show(focused()) : hide()), true); // the cell has moved
})();

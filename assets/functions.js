// The little that is done in the browser itself.

// The controls call these by name. The server has searched already: keep all it found.
window.dashMantineFunctions = Object.assign(window.dashMantineFunctions || {}, {
  keepAll: (input) => input.options,
});

window.dash_clientside = Object.assign(window.dash_clientside || {}, {
  commutemap: {
    // The address, together with the size of the map it is about to be shown on.
    look,

    // Thousands of rows as components would take the page seconds; as plain cells they take milliseconds.
    // Returns whether the table is hidden: it is while it has no rows.
    fill: (table) => {
      const body = document.getElementById("area-rows");
      if (!body || !table) return true;
      for (const part of ["title", "unit", "size"]) {
        document.getElementById("table-" + part).textContent = table[part];
      }
      body.replaceChildren(...table.rows.map(row));
      return table.rows.length === 0;
    },
  },
});

let looked = { search: "", width: 0, height: 0 };

function look(search) {
  const map = document.getElementById("map");
  const box = map ? map.getBoundingClientRect() : { width: 700, height: 700 };
  looked = { search: search || "", width: Math.round(box.width), height: Math.round(box.height) };
  return looked;
}

// A map of another width needs its caption broken elsewhere. Heights come and go with the bars of a phone.
let resizing = 0;
window.addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    const width = document.getElementById("map")?.getBoundingClientRect().width;
    if (!width || !looked.width || Math.round(width) === looked.width) return;
    window.dash_clientside.set_props("look", { data: look(looked.search) });
  }, 300);
});

function row([name, county, workers, share, caution]) {
  const line = document.createElement("tr");
  const head = cell("th", name);
  head.scope = "row";
  if (county) head.append(cell("span", county, "quiet county"));
  const count = cell("td", workers, "number");
  if (caution) {
    const mark = cell("span", "●", "dot " + caution.split(" ")[0]);
    mark.title = caution;
    mark.setAttribute("role", "img");
    mark.setAttribute("aria-label", caution);
    count.prepend(mark, " ");
  }
  line.append(head, count, cell("td", share, "number quiet"));
  return line;
}

function cell(tag, text, className) {
  const element = document.createElement(tag);
  element.textContent = text;
  if (className) element.className = className;
  return element;
}

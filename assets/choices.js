// The visitor's choices. They are numbered and applied in order; no late answer replaces a newer choice.
//
// Every request sends all choices without an answer, in order, with the number of the newest one. An answer with an older
// number is ignored, because the answer to the newest number includes the older choices.

(() => {
  const READ = ["pick", "sign", "target", "center", "radii", "within"]; // as `choices.READ` on the server
  const MOST = 50; // at once; `choices.MAX_CHOICES` on the server
  const ON_MAP = ["clicked", "drawn"];
  const FILES = ["open-area", "open-setup"];
  const [REPLACES, ADDS] = ["=", "+"]; // as `area_controls.SIGNS` on the server
  const SOON_MS = 20;
  const SAID = {
    "add-circle": "circle-said",
    radii: "circle-said",
    within: "corridor-said",
    "add-corridor": "corridor-said",
    "open-area": "file-said",
    edges: "edges-said",
  }; // where it is said that a choice did not work, if not below the search box
  const PLACE = /^\s*-?\d{1,3}(\.\d+)?[\s,;]+-?\d{1,3}(\.\d+)?\s*$/; // as `events.place_of` on the server
  const small = window.matchMedia("(max-width: 900px)"); // as in the style sheet
  const ADDED = ["search", "clicked", "drawn", "open-area", "add-circle", "radii"]; // choices of a new part of an area
  let adding = false; // whether the next part is added
  let newest = 0; // number of the newest choice
  let sent = 0; // number of the newest choice that was sent
  let waiting = []; // choices without an answer
  let own = null; // the address that the last answer led to
  const SEARCHES = ["search", "center"]; // boxes whose entries the server finds
  const LACKS = { search: "area-said", center: "circle-said" }; // where it is said that nothing has such a name
  let entered = null; // { box, text }: typed into one of them and ended with Enter, until its results are here
  const results = {}; // the latest results of each box, and the text they are of
  let movedBy = "other";
  const set = {}; // what each control was set to, by the page or by the visitor
  const places = {}; // the latest settings of controls from the server
  const offered = {}; // the latest entries of menus that were found or joined

  const props = (id) => window.dash_component_api?.getLayout(id)?.props;
  const address = () => props("url")?.search ?? "";
  const setProps = (id, given) => window.dash_clientside.set_props(id, given);

  function act(trigger, value) {
    const read = Object.fromEntries(READ.map((name) => [name, props(name)?.value ?? null]));
    if (adding && ADDED.includes(trigger)) {
      adding = false;
      setProps("sign", { value: REPLACES });
    }
    newest += 1;
    window.commutemap.forget();
    waiting.push({ n: newest, trigger, value, read });
    // A file is sent once: later choices wait for its answer.
    if (!waiting.some(({ n, trigger: by }) => n <= sent && FILES.includes(by))) send();
    window.commutemap.check();
  }

  function send() {
    const choices = waiting.slice(0, MOST);
    sent = choices.at(-1).n;
    setProps("choices", { data: { n: sent, search: address(), choices } });
  }

  // The answer to some choices: the new address, and a line on choices that did not work.
  function follow(answer) {
    if (!answer || answer.n !== sent || !waiting.length) return;
    const done = waiting.filter(({ n }) => n <= sent);
    waiting = waiting.filter(({ n }) => n > sent);
    if (done.some(({ trigger }) => trigger === "search")) setProps("search", { value: null });
    sayBeside(done.at(-1)?.trigger, answer.said);
    document.getElementById("area-said")?.classList.toggle("understood", /^Understood:/.test(answer.said));
    if (answer.setup) setProps("setup-said", { children: answer.setup.said });
    if (answer.setup?.view) setProps("opened-view", { data: answer.setup.view });
    movedBy = movesItself(done.at(-1)?.trigger) ? "map" : "other";
    if (answer.search !== null && answer.search !== address()) {
      own = answer.search;
      setProps("url", { search: own });
    }
    if (waiting.length) send();
    else Object.values(places).forEach(place);
    window.commutemap.check();
  }

  // The map stays where it is after a choice on it. On a phone the answer covers a part of it, so it moves to what was drawn.
  const movesItself = (trigger) => ON_MAP.includes(trigger) && !(trigger === "drawn" && small.matches);

  // A message is beside the button or the field whose choice it is about.
  function sayBeside(trigger, text) {
    for (const name of ["area-said", ...new Set(Object.values(SAID))]) setProps(name, { children: "" });
    document.querySelectorAll(".edit-said").forEach((one) => one.remove());
    if (!text) return;
    const fields = trigger?.type === "edit" && fieldsOf(trigger);
    if (!fields) return setProps(SAID[trigger] ?? "area-said", { children: text });
    const said = Object.assign(document.createElement("p"), { className: "said-small edit-said", textContent: text });
    said.setAttribute("role", "status");
    fields.append(said);
  }

  const fieldsOf = ({ area, of }) =>
    [...document.querySelectorAll(".edit-fields")].find((fields) => {
      const choice = JSON.parse(fields.querySelector("[data-choice]")?.dataset.choice ?? "{}");
      return choice.area === area && choice.of === of;
    });

  // An address from a link or the back button, not from a choice. Earlier choices no longer count.
  function turn(search) {
    if (search !== own) {
      newest += 1;
      sent = newest;
      waiting = [];
      movedBy = "other";
      window.commutemap.forget();
    }
    own = search;
    window.commutemap.check();
  }

  // A failed request: its choices, except files, are sent again with the next one.
  function fail() {
    waiting = waiting.filter(({ trigger }) => !FILES.includes(trigger));
    sent = 0;
  }

  const key = (value) => JSON.stringify(Array.isArray(value) ? [...value].sort() : (value ?? ""));

  // Set controls to the values in the address, and menus to their entries, unless there is a newer choice.
  function place(given) {
    if (!given) return;
    places[Object.keys(given.values).length > 1 ? "all" : "show"] = given;
    if (given.drawn === null) Object.entries(given.values).forEach(([name, value]) => (set[name] = key(value)));
    if (waiting.length || given.drawn !== address()) return;
    const { values, menus = {}, next } = given;
    if (next) setProps("target", { value: next });
    const names = [...new Set([...Object.keys(values), ...Object.keys(menus)])];
    if (names.some(isAhead)) setTimeout(place, SOON_MS, given);
    for (const name of names) if (!isAhead(name)) settle(name, values[name], menus[name]);
  }

  function settle(name, value, entries) {
    const [shown, wanted] = [key(props(name)?.value), key(value)];
    const change = {};
    if (entries && JSON.stringify(entries) !== JSON.stringify(props(name)?.data)) change.data = entries;
    if (value !== undefined) {
      if (shown !== wanted) {
        if (set[name] !== undefined && shown !== set[name]) return; // just changed by the visitor: `choose` comes next
        change.value = value;
      }
      set[name] = wanted;
    }
    if (Object.keys(change).length) setProps(name, change);
  }

  // Entries of menus that do not depend on the address alone.
  function offer(given) {
    const { of, ...menus } = given ?? {};
    for (const box of SEARCHES) if (menus[box]) results[box] = { of, entries: menus[box] };
    takeEntered();
    if (menus.center) menus.center = withPlace(menus.center);
    for (const [name, entries] of Object.entries(menus)) {
      offered[name] = entries;
      give(name, entries);
    }
  }

  function give(name, entries) {
    if (offered[name] !== entries) return;
    if (isAhead(name)) setTimeout(give, SOON_MS, name, entries);
    else settle(name, undefined, entries);
  }

  // Whether a menu shows a choice that the page does not know yet. Entries would take such a menu back to the value that
  // the page knows, and the choice would be lost. A menu writes what it shows into a hidden field beside it.
  function isAhead(name) {
    let box = document.getElementById(name);
    if (box?.getAttribute("aria-haspopup") !== "listbox") return false;
    for (; box; box = box.parentElement) {
      for (let next = box.nextElementSibling; next; next = next.nextElementSibling) {
        if (next.matches("input[type=hidden]")) return next.value !== [props(name)?.value ?? []].flat().join(",");
      }
    }
    return false;
  }

  // The visitor's actions on controls. A change that the page itself made is not a choice.
  function choose() {
    for (const { prop_id: id, value } of window.dash_clientside.callback_context.triggered) {
      const at = id.lastIndexOf(".");
      const [name, prop] = [id.slice(0, at), id.slice(at + 1)];
      if (prop !== "value" || name === "search") {
        if (value) act(name, value);
      } else if (set[name] !== undefined && set[name] !== key(value)) {
        set[name] = key(value);
        act(name, value);
      }
    }
  }

  // Buttons that are a choice by themselves. They act at once, so that no click is lost if a button is redrawn.
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-choice], [data-add]");
    const { choice, add } = button?.dataset ?? {};
    if (add) addNext(add);
    if (choice) act(choice.startsWith("{") ? { ...JSON.parse(choice), ...fieldsBeside(button) } : choice, 1);
  });
  // Enter in a field of a chip applies it, and in a search box takes the first result.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.target.closest?.("[data-edit]")?.parentElement.querySelector("[data-choice]").click();
    const { id: box, value } = event.target;
    if (!SEARCHES.includes(box) || isChoosing(event.target)) return;
    if (box === "center" && keepPlace(event.target)) return;
    entered = value.trim() ? { box, text: value.trim() } : null;
    takeEntered();
  }, { capture: true });
  document.addEventListener("input", ({ target }) => SEARCHES.includes(target.id) && (entered = null));
  // Before the box itself hears of it, and clears its text.
  document.addEventListener("focusout", ({ target }) => target.id === "center" && keepPlace(target), { capture: true });

  // Whether the arrow keys have marked an entry of a menu, which Enter then takes.
  const isChoosing = (box) => {
    const list = document.getElementById(box.getAttribute("aria-controls"));
    return Boolean(list?.querySelector("[data-combobox-selected]"));
  };

  // The first result of what was entered becomes the value of its box; in the search box that is a choice (`choose`).
  // Escape closes the list of results.
  function takeEntered() {
    if (!entered || results[entered.box]?.of !== entered.text) return;
    const { box } = entered;
    const { entries: data } = results[box];
    entered = null;
    const [first] = data.flatMap(({ items }) => items ?? []);
    if (!first) return setProps(LACKS[box], { children: props(box)?.nothingFoundMessage ?? "" });
    setProps(box, { data, value: first.value });
    document.getElementById(box)?.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
  }

  // Typed coordinates stay in the box of a circle's middle. It would otherwise clear a text that is no entry of its menu.
  function keepPlace({ value }) {
    const isPlace = PLACE.test(value);
    if (isPlace) setProps("center", { data: [entryOf(value.trim())], value: value.trim() });
    return isPlace;
  }

  const entryOf = (place) => ({ value: place, label: `Latitude, longitude ${place}` }); // as `area_controls.TYPED`

  // Later results for that box keep the entry of its coordinates.
  function withPlace(entries) {
    const { value } = props("center") ?? {};
    const isLost = PLACE.test(value ?? "") && !entries.some((one) => one.value === value);
    return isLost ? [entryOf(value), ...entries] : entries;
  }

  // What was typed into the fields beside a button, by name.
  function fieldsBeside(button) {
    const fields = [...(button.closest(".edit-fields")?.querySelectorAll("[data-edit]") ?? [])];
    return Object.fromEntries(fields.map((field) => [field.dataset.edit, field.querySelector("input").value]));
  }

  // The next area is added to one of the two areas; the one after it replaces them again.
  function addNext(field) {
    adding = true;
    setProps("sign", { value: ADDS });
    setProps("target", { value: field });
    document.getElementById("search")?.focus();
  }

  window.commutemap = Object.assign(window.commutemap ?? {}, {
    act,
    address,
    fail,
    isNewest: (n) => n === sent,
    isWaiting: () => waiting.length > 0,
    movedBy: () => movedBy,
    retry: () => (waiting.length ? send() : setProps("url", { search: address() })),
  });
  window.dash_clientside = window.dash_clientside ?? {};
  Object.assign((window.dash_clientside.commutemap ??= {}), { choose, follow, offer, place, turn });
})();

"use strict";
// Tables that are sorted, searched and turned over; figures as C++ writes them (cell.cpp); printing; the data as a file.
// All that is shown without this script is in the HTML already.
const understudy = (() => {
  performance.mark("understudy:start");

  // As fmt rounds: to the nearest, an exact tie to the even digit.
  function fixed(value, digits) {
    const scaled = Math.abs(value) * 10 ** digits;
    const below = Math.floor(scaled);
    const isTie = scaled - below === 0.5 && Number.isInteger(value * 2 ** (digits + 1));
    if (!isTie || below % 2 === 1) return value.toFixed(digits);
    const text = (below / 10 ** digits).toFixed(digits);
    return value < 0 ? "-" + text : text;
  }

  function figure(value) {
    const size = Math.abs(value);
    return fixed(value, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3);
  }

  function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let unit = 0;
    while (value >= 1024 && unit + 1 < units.length) {
      value /= 1024;
      ++unit;
    }
    return unit === 0 ? value + " B" : fixed(value, 1) + " " + units[unit];
  }

  const texts = {
    text: String,
    verdict: String,
    figure,
    change: (value) => (value < 0 ? "" : "+") + figure(value),
    ratio: (value) => fixed(value, Math.abs(value) < 10 ? 3 : Math.abs(value) < 100 ? 1 : 0),
    share: (value) => fixed(value * 100, 1) + " %",
    percent: (value) => fixed(Math.floor(value * 10000 + 1e-9) / 100, 2) + " %",
    count: (value) => (Number.isInteger(value) ? String(value).replace(/\B(?=(\d{3})+$)/g, ",") : figure(value)),
    id: String,
    bytes,
  };

  function format(value, kind) {
    if (value === null || value === undefined) return "–";
    if (Array.isArray(value)) return value[0];
    if (typeof value === "string") return value;
    return Math.abs(value) >= 1e15 && kind !== "bytes" && kind !== "count" ? value.toExponential(3) : texts[kind](value);
  }

  function make(tag, properties = {}, ...children) {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  }

  function block(id) {
    const node = document.getElementById(id);
    return node && JSON.parse(node.textContent);
  }

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // On a narrow screen each row is a card, whose figures stand beside their columns' titles.
  function nameCells(table) {
    const names = [...table.tHead.rows[0].cells].map((title) => title.textContent);
    for (const row of table.tBodies[0].rows) {
      [...row.cells].forEach((cell, column) => (cell.dataset.title = names[column]));
    }
    table.classList.add("cards");
  }

  class SortedTable {
    constructor(table, data) {
      this.table = table;
      this.body = table.tBodies[0];
      this.kinds = data.kinds;
      this.rows = data.rows;
      this.shown = data.shown;
      this.order = data.rows.map((_, i) => i);
      this.first = 0;
      this.addTitles();
      if (data.rows.length > data.shown) this.addControls();
    }

    addTitles() {
      this.titles = [...this.table.tHead.rows[0].cells];
      this.titles.forEach((title, column) => {
        const button = make("button", { type: "button" }, title.textContent);
        button.addEventListener("click", () => this.sort(column));
        title.replaceChildren(button);
      });
    }

    addControls() {
      const more = document.getElementById(this.table.id + "-more");
      const label = make("label", {}, "Search ");
      const search = make("input", { type: "search" });
      search.addEventListener("input", () => this.search(search.value));
      label.append(search);
      this.state = make("output", {});
      this.back = make("button", { type: "button" }, "Previous");
      this.next = make("button", { type: "button" }, "Next");
      this.back.addEventListener("click", () => this.turn(-this.shown));
      this.next.addEventListener("click", () => this.turn(this.shown));
      more.replaceChildren(label, this.back, this.next, this.state);
      this.show();
    }

    sort(column) {
      const title = this.titles[column];
      // Numbers first by size, words first by the alphabet.
      const isNumber = title.classList.contains("n");
      const was = title.getAttribute("aria-sort");
      const isFalling = was ? was === "ascending" : isNumber;
      this.titles.forEach((other) => other.removeAttribute("aria-sort"));
      title.setAttribute("aria-sort", isFalling ? "descending" : "ascending");
      const sign = isFalling ? -1 : 1;
      const key = (row) => (Array.isArray(this.rows[row][column]) ? this.rows[row][column][0] : this.rows[row][column]);
      this.order.sort((left, right) => {
        const a = key(left);
        const b = key(right);
        if (a === null || b === null) return (a === null) - (b === null) || left - right;
        return (a < b ? -sign : a > b ? sign : 0) || left - right;
      });
      this.first = 0;
      this.show();
    }

    search(words) {
      const sought = words.toLowerCase();
      this.order = this.rows
        .map((_, i) => i)
        .filter((i) => this.rows[i].some((cell) => String(format(cell, "text")).toLowerCase().includes(sought)));
      this.titles.forEach((title) => title.removeAttribute("aria-sort"));
      this.first = 0;
      this.show();
    }

    turn(step) {
      this.first = Math.max(0, Math.min(this.first + step, this.order.length - 1));
      this.show();
    }

    cell(value, column) {
      const kind = this.kinds[column];
      const node = document.createElement(column === 0 ? "th" : "td");
      if (column === 0) node.scope = "row";
      else if (kind !== "text" && kind !== "verdict") node.className = "n";
      if (Array.isArray(value)) {
        node.append(make("a", { href: value[1] }, value[0]));
      } else if (kind === "verdict" && value !== null) {
        node.append(make("span", { className: "v-" + /^[A-Za-z]*/.exec(value)[0].toLowerCase() }, value));
      } else {
        node.textContent = format(value, kind);
      }
      return node;
    }

    show() {
      const last = Math.min(this.first + this.shown, this.order.length);
      const rows = this.order.slice(this.first, last).map((i) => {
        const row = document.createElement("tr");
        row.append(...this.rows[i].map((value, column) => this.cell(value, column)));
        return row;
      });
      this.body.replaceChildren(...rows);
      nameCells(this.table);
      if (!this.state) return;
      this.state.textContent = `${this.order.length === 0 ? 0 : this.first + 1} – ${last} of ${this.order.length} rows`;
      this.back.disabled = this.first === 0;
      this.next.disabled = last >= this.order.length;
    }
  }

  function addTables() {
    for (const table of document.querySelectorAll("div.table > table")) {
      nameCells(table);
      const data = block(table.id + "-rows");
      if (data) new SortedTable(table, data);
    }
  }

  function addDataLink() {
    const place = document.getElementById("data-link");
    if (!place) return;
    const button = make("button", { type: "button" }, "Save " + place.dataset.name);
    button.addEventListener("click", () => {
      const file = new Blob([document.getElementById("data").textContent], { type: "application/json" });
      const link = make("a", { href: URL.createObjectURL(file), download: place.dataset.name });
      link.click();
      URL.revokeObjectURL(link.href);
    });
    place.replaceChildren("The figures as JSON: ", button);
  }

  // On paper nothing can be unfolded.
  function unfoldForPrint() {
    let folded = [];
    addEventListener("beforeprint", () => {
      folded = [...document.querySelectorAll("details:not([open])")];
      folded.forEach((details) => (details.open = true));
    });
    addEventListener("afterprint", () => folded.forEach((details) => (details.open = false)));
  }

  // After the first paint: until then the page is readable as it is.
  const later = [];
  function start() {
    addTables();
    addDataLink();
    unfoldForPrint();
    later.forEach((work) => work());
    performance.mark("understudy:ready");
    document.documentElement.dataset.ready = "";
  }
  addEventListener("DOMContentLoaded", () => requestAnimationFrame(() => setTimeout(start)));

  return { format, make, block, colour, whenPainted: (work) => later.push(work) };
})();

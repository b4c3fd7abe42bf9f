"use strict";
// Draws the document in the element "page" (docs/pages.md, "The document"). Its texts only become text nodes and values
// of attributes, never markup. The script knows hints, but no figure, table or page by name.
const understudy = (() => {
  performance.mark("understudy:start");

  // ---- Nodes

  const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;
  const clean = (text) => String(text).replace(CONTROLS, "\ufffd");

  // Omits attributes without a value; children are nodes, texts or nothing.
  function filled(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== "" && value !== null && value !== undefined) node.setAttribute(name, clean(value));
    }
    const known = children.flat().filter((child) => child !== null && child !== undefined);
    node.append(...known.map((child) => (child instanceof Node ? child : clean(child))));
    return node;
  }
  const make = (tag, attributes = {}, ...children) => filled(document.createElement(tag), attributes, children);
  const shape = (tag, attributes = {}, ...children) =>
    filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

  const list = (tag, attributes, items) => make(tag, attributes, items.map((item) => make("li", {}, item)));

  function button(name, work, label = "") {
    const node = make("button", { type: "button", title: label, "aria-label": label }, name);
    node.addEventListener("click", work);
    return node;
  }

  // ---- Figures, as cell_text() in table.cpp writes them

  // Rounds as fmt does: to the nearest, exact ties to the even digit.
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
    figure,
    change: (value) => (value < 0 ? "" : "+") + figure(value),
    ratio: (value) => fixed(value, Math.abs(value) < 10 ? 3 : Math.abs(value) < 100 ? 1 : 0),
    share: (value) => fixed(value * 100, 1) + " %",
    percent: (value) => fixed(Math.floor(value * 10000 + 1e-9) / 100, 2) + " %",
    count: (value) => (Number.isInteger(value) || value >= 1000 ? fixed(value, 0).replace(/\B(?=(\d{3})+$)/g, ",") : figure(value)),
    bytes,
  };

  function format(value, hint) {
    if (value === null || value === undefined) return "–";
    if (Array.isArray(value)) return value[0];
    if (typeof value === "string") return value;
    if (Math.abs(value) >= 1e15 && hint !== "bytes" && hint !== "count") return value.toExponential(3);
    return (texts[hint] ?? String)(value);
  }

  const isUnknown = (value) => value === null || value === "";
  const isWord = (column) => column.hint === "text" || column.hint === "verdict";
  const link = ([text, href]) => make("a", { href }, text);
  const firstWord = (text) => /^[A-Za-z]*/.exec(text)[0].toLowerCase();

  function content(value, hint) {
    if (Array.isArray(value)) return link(value);
    if (hint === "verdict" && typeof value === "string") return make("span", { class: "v-" + firstWord(value) }, value);
    return format(value, hint);
  }

  function factNodes({ value, hint, unit, at }) {
    const isFigure = typeof value === "number" && at !== "";
    const shown = isFigure ? make("data", { value, "data-at": at }, format(value, hint)) : content(value, hint);
    return [shown, unit === "" || value === null ? null : " " + unit];
  }

  // ---- Tables that are sorted, searched and unfolded

  class DataTable {
    // Fewer rows need no sorting: their order is visible at a glance.
    static LEAST_SORTED = 4;

    constructor(data) {
      this.data = data;
      this.shown = data.shown || data.rows.length;
      this.order = data.rows.map((_, i) => i);
      this.body = make("tbody");
      this.titles = data.columns.map((column, i) => this.title(column, i));
      const caption = make("caption", { id: data.id + "-caption" }, data.caption);
      const head = make("thead", {}, make("tr", {}, this.titles));
      const table = make("table", { id: data.id, "data-at": data.at }, caption, head, this.body);
      const region = { class: "table", role: "region", tabindex: 0, "aria-labelledby": caption.id };
      this.node = make("div", {}, make("div", region, table), data.rows.length > this.shown ? this.controls() : null);
      this.show();
    }

    title(column, i) {
      const isSorted = this.data.rows.length >= DataTable.LEAST_SORTED;
      const name = isSorted ? button(column.title, () => this.sort(i)) : column.title;
      const isLeft = i === 0 || isWord(column);
      return make("th", { scope: "col", class: isLeft ? "" : "n", title: column.meaning, "data-key": column.key }, name);
    }

    controls() {
      const search = make("input", { type: "search" });
      search.addEventListener("input", () => this.search(search.value));
      this.state = make("output");
      this.all = button("All", () => {
        this.shown = this.data.rows.length;
        this.show();
      });
      const label = make("label", {}, "Search ", search);
      return make("div", { class: "more", id: this.data.id + "-more" }, label, this.all, this.state);
    }

    sort(column) {
      const title = this.titles[column];
      const was = title.getAttribute("aria-sort");
      // Numbers first by size, words first by the alphabet.
      const isFalling = was ? was === "ascending" : !isWord(this.data.columns[column]);
      this.titles.forEach((other) => other.removeAttribute("aria-sort"));
      title.setAttribute("aria-sort", isFalling ? "descending" : "ascending");
      const sign = isFalling ? -1 : 1;
      const key = (row) => [this.data.rows[row][column]].flat()[0];
      this.order.sort((left, right) => {
        const [a, b] = [key(left), key(right)];
        if (a === null || b === null) return (a === null) - (b === null) || left - right;
        return (a < b ? -sign : a > b ? sign : 0) || left - right;
      });
      this.show();
    }

    search(words) {
      const sought = words.toLowerCase();
      const holds = (cell) => String(format(cell, "text")).toLowerCase().includes(sought);
      this.order = this.data.rows.map((_, i) => i).filter((i) => this.data.rows[i].some(holds));
      this.titles.forEach((title) => title.removeAttribute("aria-sort"));
      this.show();
    }

    // On a narrow screen each row is a card of what is known, with figures beside their columns' titles.
    // A long text is cut to two lines, and unfolds.
    cell(value, i) {
      const column = this.data.columns[i];
      const [SHORT, LONG] = [20, 40];
      const name = String(format(value, column.hint));
      const [isLong, isShort, hasLongWord] = [name.length > LONG, name.length <= SHORT, /\S{30}/.test(name)];
      const kind = isUnknown(value) ? "unknown" : isShort ? "short" : isLong ? (hasLongWord ? "long word" : "long") : "";
      const text = isLong ? make("details", {}, make("summary", {}, content(value, column.hint))) : content(value, column.hint);
      if (i === 0) return make("th", { scope: "row", class: kind }, text);
      return make("td", { class: `${isWord(column) ? "" : "n"} ${kind}`.trim(), "data-title": column.title || "–" }, text);
    }

    // Leaves out columns that none of the shown rows has a value in.
    show() {
      const rows = this.order.slice(0, this.shown).map((row) => this.data.rows[row]);
      const isLeftOut = this.titles.map((_, i) => i > 0 && rows.every((row) => isUnknown(row[i])));
      this.titles.forEach((title, i) => (title.hidden = isLeftOut[i]));
      this.body.replaceChildren(...rows.map((row) => make("tr", {}, row.map((value, i) => (isLeftOut[i] ? null : this.cell(value, i))))));
      if (!this.state) return;
      this.state.textContent = `${rows.length} of ${this.order.length} rows`;
      this.all.disabled = rows.length === this.order.length;
    }
  }

  // ---- Plots: SVG of the width that there is

  const drawings = [];
  const MOST_DRAWN = 40;
  const finite = (value) => typeof value === "number" && Number.isFinite(value);
  const cut = (text, most) => (text.length > most ? text.slice(0, Math.max(0, most - 1)) + "…" : text);
  const letters = (width) => Math.floor(width / 8);
  const line = (x1, y1, x2, y2, classes) => shape("line", { x1, y1, x2, y2, class: classes });
  const label = (x, y, classes, text) => shape("text", { x, y, class: classes }, text);
  const titled = (title, ...shapes) => shape("g", {}, shape("title", {}, title), shapes);
  const box = (x, y, width, height, classes) =>
    shape("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), class: classes });

  // Returns the distance of ticks: 1, 2 or 5 times a power of ten, and at least `least`.
  function tickStep(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= least);
  }

  // Scale of numbers from `from` to `to`, rounded outwards to ticks.
  function axis(low, high, from, to, one = 1, least = 0) {
    const room = from > to ? 30 : 60;  // pixels per tick, vertical or horizontal
    [low, high] = [low / one, high / one];
    if (!(high > low)) {
      const around = low === 0 ? 1 : Math.abs(low) / 10;
      [low, high] = [low === 0 ? 0 : low - around, high + around];
    }
    const step = tickStep(Math.max(least, (high - low) / Math.max(2, Math.min(6, Math.abs(to - from) / room))));
    const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
    const digits = Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
    return {
      ticks: Array.from({ length: last - first + 1 }, (_, i) => (first + i) * step * one),
      at: (value) => from + ((value / one / step - first) / (last - first)) * (to - from),
      text: (tick) => (tick / one).toFixed(digits),
    };
  }

  function axisBelow(x, top, bottom, unit) {
    const last = x.ticks.at(-1);
    const end = `${x.text(last)} ${unit}`.trim();
    const free = x.at(last) - 8.3 * (end.length + 1);  // where the last name, which has the unit, begins
    const named = x.ticks.filter((tick) => x.at(tick) + 4.2 * x.text(tick).length < free);
    const names = named.map((tick) => label(x.at(tick), bottom + 16, "soft mid", x.text(tick)));
    const lines = x.ticks.map((tick) => line(x.at(tick), top, x.at(tick), bottom, "axis"));
    return [lines, names, label(x.at(last), bottom + 16, "soft end", end)];
  }

  function legend(names) {
    const colour = (i) => shape("svg", { viewBox: "0 0 10 10", "aria-hidden": "true" }, box(0, 0, 10, 10, "f" + (i % 10)));
    return names.length > 0 ? list("ul", { class: "legend" }, names.map((name, i) => [colour(i), name])) : null;
  }

  // `draw` returns the height and the shapes of a drawing of a given width.
  function picture(draw, names, caption, description) {
    const svg = shape("svg", { role: "img", "aria-label": [caption, ...description].join(" ") });
    const node = make("figure", {}, legend(names), svg, make("figcaption", {}, caption));
    drawings.push(() => {
      const width = Math.min(960, Math.max(240, node.clientWidth));
      const [height, ...shapes] = draw(width);
      svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
      svg.replaceChildren(...shapes.flat(Infinity));
    });
    return node;
  }

  const unitOf = (plot, text) => `${text} ${plot.unit}`.trim();
  const nameOf = (table, row) => {
    const name = format(row[0], table.columns[0].hint);
    return table.columns[0].hint === "id" ? `${table.columns[0].title} ${name}` : name;
  };
  const textOf = (plot, table, row, column) =>
    finite(row[column]) ? unitOf(plot, format(row[column], table.columns[column].hint)) : "not known";
  const ofMany = ({ caption }, { length }, drawn) =>
    length > drawn ? `${caption} The first ${drawn} of ${length} are drawn.` : caption;

  function bar(plot, table) {
    const columns = plot.columns.filter((column) => table.rows.some((row) => row[column] > 0));
    if (columns.length === 0) return null;
    const rows = table.rows.slice(0, Math.ceil(MOST_DRAWN / columns.length));
    const most = Math.max(...rows.flatMap((row) => columns.map((column) => row[column]).filter(finite)));
    const [HEIGHT, GAP] = [13, 9];
    const step = HEIGHT * columns.length + GAP;
    const shareOf = { share: 100 }[table.columns[columns[0]].hint] ?? 1;
    const draw = (width) => {
      const left = Math.min(190, width * 0.34);
      const x = axis(0, most * shareOf, left, width - 96);
      const bottom = 4 + step * rows.length;
      const shapes = rows.map((row, i) => {
        const top = 4 + step * i;
        const middle = top + (HEIGHT * columns.length) / 2 + 5;
        const name = label(left - 8, middle, "end", cut(nameOf(table, row), letters(left)));
        return [name, columns.map((column, place) => {
          const y = top + HEIGHT * place;
          const end = finite(row[column]) ? x.at(Math.max(0, row[column] * shareOf)) : left;
          const text = textOf(plot, table, row, column);
          return [box(left, y, end - left, HEIGHT - 2, "f" + (place % 10)), label(end + 5, y + HEIGHT - 3, "soft small", text)];
        })];
      });
      return [bottom + 24, axisBelow(x, 4, bottom, shareOf === 100 ? "%" : plot.unit), shapes];
    };
    const titles = columns.map((column) => table.columns[column].title);
    const told = (row) => columns.map((column, i) => `${titles[i]} ${textOf(plot, table, row, column)}`).join(", ");
    const names = plot.columns.length > 1 ? titles : [];
    return picture(draw, names, ofMany(plot, table.rows, rows.length), rows.map((row) => `${nameOf(table, row)}: ${told(row)}.`));
  }

  // The values determine the shown range. An interval counts only up to about the spread of the values, so that a very
  // wide interval does not squeeze the others.
  function intervalExtent(rows, reference) {
    const values = rows.map((row) => row.value).concat(finite(reference) ? [reference] : []);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    const room = Math.max(high - low, 0.02 * Math.max(Math.abs(high), Math.abs(low)));
    return [
      Math.min(low, ...rows.map((row) => Math.max(row.low, low - room))),
      Math.max(high, ...rows.map((row) => Math.min(row.high, high + room))),
    ];
  }

  function toneOf(row, reference) {
    const tones = { slower: "bad", faster: "good", unsure: "attention" };
    if (row.words !== null) return tones[firstWord(row.words)] ?? "neutral";
    if (!finite(reference)) return "neutral";
    return row.low > reference ? "bad" : row.high < reference ? "good" : "neutral";
  }

  function interval(plot, table) {
    const [value, low, high] = plot.columns;
    const known = table.rows.filter((row) => finite(row[value]));
    const rows = known.slice(0, MOST_DRAWN).map((row) => ({
      name: nameOf(table, row),
      value: row[value],
      low: finite(row[low]) ? row[low] : row[value],
      high: finite(row[high]) ? row[high] : row[value],
      words: plot.words === null ? null : (row[plot.words] ?? ""),
      text: textOf(plot, table, row, value),
    }));
    if (rows.length === 0) return null;
    const ROW = 24;
    const extent = intervalExtent(rows, plot.reference);
    const told = (row) => `${row.name}: ${row.text} (${figure(row.low)} … ${figure(row.high)})${row.words ? " " + row.words : ""}`;
    const draw = (width) => {
      const left = Math.min(230, width * 0.3);
      const right = width - Math.min(240, width * 0.34);
      const x = axis(...extent, left, right);
      const bottom = 4 + ROW * rows.length;
      const shapes = rows.map((row, i) => {
        const y = 4 + ROW * (i + 0.5);
        const tone = toneOf(row, plot.reference);
        const stroke = "whisker s" + tone;
        const [from, to] = [Math.max(x.at(row.low), left), Math.min(x.at(row.high), right)];
        const arrow = (at, back) => [line(at, y, back, y - 4, stroke), line(at, y, back, y + 4, stroke)];
        const below = x.at(row.low) < left ? arrow(left, left + 6) : [];
        const above = x.at(row.high) > right ? arrow(right, right - 6) : [];
        const marker = box(x.at(row.value) - 3, y - 6, 6, 12, "f" + tone);
        return [
          label(left - 12, y + 4, "end", cut(row.name, letters(left - 12))),
          titled(told(row), line(from, y, to, y, stroke), below, above, marker),
          label(right + 12, y + 4, "soft", cut(`${row.text} ${row.words ?? ""}`.trim(), letters(width - right - 12))),
        ];
      });
      const reference = finite(plot.reference) ? line(x.at(plot.reference), 4, x.at(plot.reference), bottom, "ref") : [];
      return [bottom + 24, axisBelow(x, 4, bottom, plot.unit), reference, shapes];
    };
    return picture(draw, [], ofMany(plot, known, rows.length), rows.map((row) => told(row) + "."));
  }

  function quantile(sorted, q) {
    const position = q * (sorted.length - 1);
    const below = Math.floor(position);
    return sorted[below] + (position - below) * (sorted[Math.min(below + 1, sorted.length - 1)] - sorted[below]);
  }

  // Selects the samples to draw: outliers (beyond six times the distance of the quartiles) are only counted.
  function drawnRange(all) {
    let [low, high] = [Infinity, -Infinity];
    for (const { values } of all) {
      const [first, third] = [quantile(values, 0.25), quantile(values, 0.75)];
      const far = 6 * (third - first);
      const near = far === 0 ? values : values.filter((value) => value >= first - far && value <= third + far);
      [low, high] = [Math.min(low, near[0]), Math.max(high, near.at(-1))];
    }
    const left = all.flatMap(({ values }) => values.filter((value) => value < low || value > high)).length;
    return { low, high, left };
  }

  // Freedman and Diaconis (1981): bins of 2·(third − first quartile) ÷ ∛n; the samples with most bins decide.
  function binsOf(all, { low, high }) {
    const asked = all.map(({ values }) => {
      const width = (2 * (quantile(values, 0.75) - quantile(values, 0.25))) / Math.cbrt(values.length);
      return width > 0 ? Math.ceil((high - low) / width) : 0;
    });
    return Math.min(60, Math.max(8, ...asked));
  }

  function distribution(plot, table) {
    const sorted = (column) => table.rows.map((row) => row[column]).filter(finite).sort((a, b) => a - b);
    const all = plot.columns
      .map((column) => ({ name: table.columns[column].title, values: sorted(column) }))
      .filter(({ values }) => values.length > 0);
    if (all.length === 0) return null;
    const range = drawnRange(all);
    const bins = binsOf(all, range);
    const size = (range.high - range.low) / bins;
    for (const samples of all) {
      samples.counts = new Array(bins).fill(0);
      for (const value of samples.values) {
        if (value < range.low || value > range.high) continue;
        ++samples.counts[size > 0 ? Math.min(bins - 1, Math.floor((value - range.low) / size)) : 0];
      }
    }
    const most = Math.max(...all.flatMap(({ counts }) => counts));
    const [TOP, BOTTOM] = [8, 200];
    const draw = (width) => {
      const [left, right] = [46, width - 12];
      const x = axis(range.low, range.high, left, right);
      const y = axis(0, most, BOTTOM, TOP);
      const bars = all.map(({ name, values, counts }, i) =>
        counts.map((count, bin) => {
          if (count === 0) return [];
          const from = range.low + size * bin;
          const end = size > 0 ? x.at(from + size) : x.at(from) + 3;
          const title = `${name}: ${count} of ${values.length} from ${figure(from)} to ${unitOf(plot, figure(from + size))}`;
          const width = Math.max(1, end - x.at(from) - 1);
          return titled(title, box(x.at(from), y.at(count), width, BOTTOM - y.at(count), `f${i % 10} see`));
        }),
      );
      const [low, high] = (plot.band ?? []).map(x.at);
      const band = plot.band ? box(low, TOP, high - low, BOTTOM - TOP, "band") : [];
      const medians = all.map(({ name, values }, i) => {
        const at = x.at(quantile(values, 0.5));
        const title = `median of ${name}: ${unitOf(plot, figure(quantile(values, 0.5)))}`;
        return titled(title, line(at, TOP, at, BOTTOM, `whisker s${i % 10}`));
      });
      const axes = [axisBelow(x, TOP, BOTTOM, plot.unit), label(left - 6, y.at(most) + 6, "soft end", most)];
      return [226, axes, bars, band, medians, line(left, BOTTOM, right, BOTTOM, "axis")];
    };
    const out = range.left > 0 ? ` Not drawn, farther out: ${range.left}.` : "";
    const description = all.map(({ name, values }) => {
      const [low, middle, high] = [0, 0.5, 1].map((q) => figure(quantile(values, q)));
      return `${name}: ${values.length} samples from ${low} to ${high}, median ${middle}.`;
    });
    return picture(draw, all.length > 1 ? all.map(({ name }) => name) : [], plot.caption + out, description);
  }

  // ---- Series: values over places, single ones read by the mouse and the keyboard

  class Series {
    static LEFT = 84;
    static RIGHT = 12;
    static TOP = 8;
    static BOTTOM = 210;

    constructor(plot, table) {
      Object.assign(this, { plot, table, last: table.rows.length - 1, chosen: null });
      this.hint = table.columns[plot.columns[0]].hint;
      this.marks = table.rows.flatMap((row, place) => (row[plot.words] ? [{ place, text: row[plot.words] }] : []));
      this.lines = plot.columns.map((column, i) => ({ column, i, isBound: plot.bounds.includes(column) }));
      const names = this.lines.filter((of) => !of.isBound).map((of) => table.columns[of.column].title);
      const told = this.marks.map((mark) => `${this.name(mark.place)}: ${mark.text}.`);
      const ends = [0, this.last].map((place) => this.told(place) + ".");
      this.node = picture((width) => this.draw(width), names.length > 1 ? names : [], plot.caption, [...ends, ...told, "Arrows read values."]);
      this.svg = this.node.querySelector(":scope > svg");
      filled(this.svg, { tabindex: 0, role: "application" }, []);
      this.state = make("output", { "aria-live": "polite" });
      this.node.classList.add("interactive");
      this.node.lastChild.append(this.state);
      this.svg.addEventListener("keydown", (event) => this.key(event));
      this.svg.addEventListener("pointermove", (event) => this.choose(this.placeAt(event)));
      this.svg.addEventListener("pointerleave", () => this.choose(null));
    }

    name(place) {
      return format(this.table.rows[place][0], this.table.columns[0].hint);
    }

    told(place) {
      const { plot, table } = this;
      const values = plot.columns.map((column) => {
        const text = textOf(plot, table, table.rows[place], column);
        return plot.columns.length > 1 ? `${table.columns[column].title} ${text}` : text;
      });
      const marks = this.marks.filter((mark) => mark.place === place).map((mark) => mark.text);
      return `${table.columns[0].title} ${this.name(place)}: ${[...values, ...marks].join(", ")}`;
    }

    key(event) {
      const to = { ArrowLeft: (this.chosen ?? 1) - 1, ArrowRight: (this.chosen ?? -1) + 1, Home: 0, End: this.last }[event.key];
      if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.choose(Math.min(Math.max(to, 0), this.last));
    }

    placeAt(event) {
      const { left } = this.svg.getBoundingClientRect();
      const share = (event.clientX - left - Series.LEFT) / (this.width - Series.LEFT - Series.RIGHT);
      return share < -0.02 || share > 1.02 ? null : Math.min(Math.max(Math.round(share * this.last), 0), this.last);
    }

    choose(place) {
      this.chosen = place;
      this.state.textContent = place === null ? "" : clean(this.told(place));
      this.cursor?.remove();
      if (place === null) return;
      this.cursor = line(this.x(place), Series.TOP, this.x(place), Series.BOTTOM, "ref");
      this.svg.append(this.cursor);
    }

    x(place) {
      return Series.LEFT + (place / Math.max(1, this.last)) * (this.width - Series.LEFT - Series.RIGHT);
    }

    // A line through all values. If there are more values than columns of pixels, each column is a stroke from its
    // lowest to its highest value. The line breaks where a value is missing.
    path(column, y) {
      const { rows } = this.table;
      const step = Math.max(1, Math.floor(rows.length / 800));
      let path = "";
      let isOpen = false;
      for (let place = 0; place < rows.length; place += step) {
        const values = rows.slice(place, place + step).map((row) => row[column]).filter(finite);
        if (values.length > 0) {
          const [low, high] = [Math.min(...values), Math.max(...values)];
          path += `${isOpen ? "L" : "M"}${this.x(place).toFixed(1)} ${y.at(low).toFixed(1)}`;
          if (high > low) path += `V${y.at(high).toFixed(1)}`;
        }
        isOpen = values.length > 0;
      }
      return path;
    }

    points(column, classes, y) {
      const { rows } = this.table;
      const point = (value, place) => shape("circle", { cx: this.x(place), cy: y.at(value), r: 2.5, class: classes });
      return rows.length > 120 ? [] : rows.map((row, place) => (finite(row[column]) ? point(row[column], place) : []));
    }

    axisOfValues() {
      const values = this.table.rows.flatMap((row) => this.plot.columns.map((column) => row[column]).filter(finite));
      const [low, high] = values.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
      // Ticks of bytes are round multiples of a power of 1024.
      const one = this.hint === "bytes" ? 1024 ** Math.floor(Math.log2(Math.max(high, 1)) / 10) : 1;
      return axis(this.plot.from_zero ? Math.min(0, low) : low, high, Series.BOTTOM, Series.TOP, one, this.hint === "count" ? 1 : 0);
    }

    places() {
      const count = Math.max(1, Math.min(4, this.last, Math.floor((this.width - Series.LEFT) / 180)));
      return Array.from({ length: Math.min(count, this.last) + 1 }, (_, i) => {
        const place = Math.round((this.last * i) / count);
        const align = i === 0 ? "soft" : i === count ? "soft end" : "soft mid";
        return label(this.x(place), Series.BOTTOM + 18, align, cut(this.name(place), 16));
      });
    }

    mark({ place, text }) {
      const x = this.x(place);
      const tone = toneOf({ words: text });
      const [at, align] = x < this.width / 2 ? [x + 5, ""] : [x - 5, "end "];
      const stroke = line(x, Series.TOP, x, Series.BOTTOM, "whisker s" + tone);
      return [stroke, label(at, Series.TOP + 10, align + "over f" + tone, cut(text, 60))];
    }

    draw(width) {
      this.width = width;
      const y = this.axisOfValues();
      const ticks = y.ticks.map((tick) => [
        line(Series.LEFT, y.at(tick), width - Series.RIGHT, y.at(tick), "axis"),
        label(Series.LEFT - 6, y.at(tick) + 4, "soft end", this.hint === "bytes" ? bytes(Math.round(tick)) : y.text(tick)),
      ]);
      const lines = this.lines.map(({ column, i, isBound }) => [
        shape("path", { d: this.path(column, y), class: isBound ? "line bound" : `line s${i % 10}` }),
        isBound ? [] : this.points(column, `f${i % 10}`, y),
      ]);
      const place = label((Series.LEFT + width) / 2, Series.BOTTOM + 36, "soft mid", this.table.columns[0].title);
      const marks = this.marks.map((mark) => this.mark(mark));
      return [252, ticks, label(4, Series.TOP + 6, "soft", this.plot.unit), this.places(), place, lines, marks];
    }
  }

  function series(plot, table) {
    const isKnown = plot.columns.some((column) => table.rows.some((row) => finite(row[column])));
    return isKnown ? new Series(plot, table).node : null;
  }

  // ---- Scatter: points on two logarithmic axes, below limits

  function decades(low, high, from, to) {
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const step = Math.ceil(((last - first) * 45) / Math.abs(to - from));
    return {
      ticks: Array.from({ length: Math.floor((last - first) / step) + 1 }, (_, i) => 10 ** (first + i * step)),
      at: (value) => from + ((Math.log10(value) - first) / (last - first)) * (to - from),
      text: (tick) => (tick >= 1e-3 && tick < 1e6 ? String(Number(tick.toPrecision(1))) : tick.toExponential(0)),
    };
  }

  function scatter(plot, table) {
    const [xs, ys, areas] = plot.columns;
    const rows = table.rows.filter((row) => row[xs] > 0 && row[ys] > 0).sort((a, b) => b[areas] - a[areas]);
    if (rows.length === 0) return null;
    const kinds = [...new Set(rows.map((row) => row[plot.words]))];
    const toldOf = (row, column) => textOf({ unit: table.columns[column].title }, table, row, column);
    const told = (row) => `${nameOf(table, row)}: ${plot.columns.map((column) => toldOf(row, column)).join(", ")}`;
    const [rising, flat] = [true, false].map((rises) => plot.limits.filter((limit) => limit.rises === rises));
    const corners = rising.flatMap((slope) => flat.map((limit) => limit.at / slope.at));
    const [allX, allY] = [rows.map((row) => row[xs]).concat(corners), rows.map((row) => row[ys])];
    const highest = Math.max(...flat.map((limit) => limit.at), ...allY);
    const [LEFT, TOP, BOTTOM] = [70, 24, 320];
    const draw = (width) => {
      const x = decades(Math.min(...allX) / 1.5, Math.max(...allX) * 3, LEFT, width - 12);
      const y = decades(Math.min(...allY) / 1.5, highest * 1.5, BOTTOM, TOP);
      const [lowX, highX, lowY] = [x.ticks[0], 10 ** Math.ceil(Math.log10(Math.max(...allX) * 3)), y.ticks[0]];
      const steepest = Math.max(...rising.map((limit) => limit.at));
      const taken = [];
      const names = [label(4, TOP - 12, "soft", table.columns[ys].title), label(width / 2, BOTTOM + 34, "soft mid", table.columns[xs].title)];
      const limits = [...flat, ...rising].map(({ name, at: most, rises }, i) => {
        const y1 = (place) => y.at(rises ? most * place : most);
        const [from, to] = rises ? [Math.max(lowX, lowY / most), highest / most] : [Math.max(lowX, most / steepest), highX];
        // Names of rising limits, which can be close together, are side by side, below their lines.
        const end = rises ? Math.min(to, from * (highX / lowX) ** (0.13 * (i - flat.length + 1))) : to;
        const at = rises ? [x.at(end) + 8, y1(end) + 12] : [x.at(end), y1(end) - 4];
        taken.push([at[0] + (rises ? 40 : -60), at[1] - 4]);
        names.push(label(...at, rises ? "soft over" : "soft over end", name));
        return line(x.at(from), y1(from), x.at(to), y1(to), "whisker sneutral");
      });
      const points = rows.map((row) => {
        const [cx, cy, r] = [x.at(row[xs]), y.at(row[ys]), 3 + 22 * Math.sqrt(row[areas] / rows[0][areas])];
        const point = shape("circle", { cx, cy, r, class: `f${kinds.indexOf(row[plot.words]) % 10} see` });
        const isFree = (x) => taken.every(([left, top]) => Math.abs(x - left) > 120 || Math.abs(cy - top) > 13);
        const place = r > 5 ? [cx, cx - r - 60].find(isFree) : undefined;
        if (place !== undefined) taken.push([place, cy]);
        if (place !== undefined) names.push(label(place, cy + 4, "mid over", cut(nameOf(table, row), 22)));
        return titled(told(row), point);
      });
      const axisLeft = y.ticks.map((tick) => [
        line(LEFT, y.at(tick), width - 12, y.at(tick), "axis"),
        label(LEFT - 6, y.at(tick) + 4, "soft end", y.text(tick)),
      ]);
      return [BOTTOM + 42, axisLeft, axisBelow(x, TOP, BOTTOM, ""), limits, points, names];
    };
    return picture(draw, kinds, plot.caption, rows.map((row) => told(row) + "."));
  }

  // ---- Lanes of events on a canvas: however many there are, a frame draws at most one rectangle a pixel and lane

  const start = (lane, i) => lane.events[4 * i];
  const end = (lane, i) => lane.events[4 * i] + lane.events[4 * i + 1];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function timeText(ns) {
    const size = Math.abs(ns);
    const [unit, by] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
    return Number((ns / by).toFixed(3)) + " " + unit;
  }

  class Lanes {
    static ROW = 20;
    static AXIS = 24;
    static GROUP = 18;
    static COLOURS = 10;
    static RIGHT = 8;
    static LEAST_NS = 20;

    constructor(data) {
      this.data = data;
      this.begin = Infinity;
      this.end = -Infinity;
      this.lanes = data.lanes.map((lane) => {
        const events = [];
        let [longest, at] = [0, 0];
        for (const number of lane.events) {
          const [gap, duration, ...about] = data.events.slice(4 * number, 4 * number + 4);
          events.push(at + gap, duration, ...about);
          this.begin = Math.min(this.begin, at + gap);
          at += gap + duration;
          longest = Math.max(longest, duration);
          this.end = Math.max(this.end, at);
        }
        return { ...lane, events, count: lane.events.length, longest };
      });
      this.chosen = null;
      this.left = innerWidth < 640 ? 108 : 150;
      Object.assign(this, { from: this.begin, to: this.end });
      const keys = "Timeline. Arrows: events and lanes; plus and minus: zoom; Enter: zoom to the event; 0: all.";
      this.canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": keys });
      this.state = make("output", { "aria-live": "polite" });
      const names = legend(data.kinds.slice(0, Lanes.COLOURS));
      const caption = make("figcaption", {}, data.caption);
      const classes = { class: "timeline interactive", id: data.id };
      this.node = make("figure", classes, this.buttons(), names, this.canvas, this.state, caption);
      this.listen();
      this.place();
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.later());
      drawings.push(() => this.draw());
    }

    show(from, to) {
      const span = Math.min(Math.max(to - from, Lanes.LEAST_NS), this.end - this.begin);
      this.from = Math.min(Math.max(from, this.begin), this.end - span);
      this.to = this.from + span;
      this.later();
    }

    // `at`: the position that zooming keeps, from 0 (left) to 1 (right).
    zoom(factor, at = 0.5) {
      const stays = this.from + (this.to - this.from) * at;
      const span = (this.to - this.from) * factor;
      this.show(stays - span * at, stays + span * (1 - at));
    }

    move(share) {
      const step = (this.to - this.from) * share;
      this.show(this.from + step, this.to + step);
    }

    // For users without a wheel or a keyboard.
    buttons() {
      return make(
        "div",
        { class: "bar" },
        button("+", () => this.zoom(0.5), "Zoom in"),
        button("−", () => this.zoom(2), "Zoom out"),
        button("←", () => this.move(-0.5), "Earlier"),
        button("→", () => this.move(0.5), "Later"),
        button("All", () => this.show(this.begin, this.end), "Show all"),
        make("span", { class: "note" }, "Drag to move, Ctrl and wheel to zoom, or the keyboard."),
      );
    }

    listen() {
      const share = (event) => {
        const { left, width } = this.canvas.getBoundingClientRect();
        return (event.clientX - left - this.left) / (width - this.left - Lanes.RIGHT);
      };
      this.canvas.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || !this.key(event.key)) return;
        event.preventDefault();
      });
      // The wheel without a key scrolls the page.
      const wheel = (event) => {
        if (!event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        this.zoom((event.deltaY || event.deltaX) > 0 ? 1.25 : 0.8, Math.min(Math.max(share(event), 0), 1));
      };
      this.canvas.addEventListener("wheel", wheel, { passive: false });
      let dragged = null;
      this.canvas.addEventListener("pointerdown", (event) => {
        dragged = { at: share(event), from: this.from, to: this.to };
        this.canvas.setPointerCapture(event.pointerId);
      });
      this.canvas.addEventListener("pointermove", (event) => {
        if (!dragged) return this.point(share(event), event);
        const step = (dragged.at - share(event)) * (dragged.to - dragged.from);
        this.show(dragged.from + step, dragged.to + step);
      });
      for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => (dragged = null));
    }

    // Positions of the lanes; a group's name is above its lanes.
    place() {
      let y = Lanes.AXIS;
      let group = "";
      for (const lane of this.lanes) {
        lane.isFirst = lane.group !== group && lane.group !== "";
        y += lane.isFirst ? Lanes.GROUP : 0;
        group = lane.group;
        lane.y = y;
        y += Lanes.ROW;
      }
      this.height = y + 6;
      this.canvas.style.height = this.height + "px";
    }

    later() {
      if (this.waits) return;
      this.waits = true;
      requestAnimationFrame(() => {
        this.waits = false;
        this.draw();
      });
    }

    // Returns the first event that starts at `time` or later; with `isAfter` the first that starts later.
    search(lane, time, isAfter) {
      let [low, high] = [0, lane.count];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (isAfter ? start(lane, middle) <= time : start(lane, middle) < time) low = middle + 1;
        else high = middle;
      }
      return low;
    }

    // Returns the event nearest to a time.
    nearest(number, time) {
      return Math.max(0, this.search(this.lanes[number], time, true) - 1);
    }

    draw() {
      const width = this.canvas.clientWidth;  // the first access makes the browser lay out the page
      const began = performance.now();
      const ratio = devicePixelRatio || 1;
      this.canvas.width = Math.max(1, Math.round(width * ratio));
      this.canvas.height = Math.round(this.height * ratio);
      const pen = this.canvas.getContext("2d");
      pen.scale(ratio, ratio);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      this.scale = (width - this.left - Lanes.RIGHT) / (this.to - this.from);
      this.drawAxis(pen, width);
      const colours = Array.from({ length: Lanes.COLOURS }, (_, i) => colour("--c" + i));
      this.lanes.forEach((lane, i) => this.drawLane(pen, lane, i, width, colours));
      // Drawing time, read by the benchmark.
      this.canvas.dataset.drawMs = (performance.now() - began).toFixed(2);
    }

    x(time) {
      return this.left + (time - this.from) * this.scale;
    }

    drawAxis(pen, width) {
      const step = Math.max(1, tickStep((this.to - this.from) / Math.max(2, (width - this.left) / 110)));
      pen.fillStyle = colour("--soft");
      pen.strokeStyle = colour("--line");
      pen.beginPath();
      for (let tick = Math.ceil((this.from - this.begin) / step) * step; tick + this.begin <= this.to; tick += step) {
        const x = this.x(tick + this.begin);
        pen.moveTo(x, Lanes.AXIS - 6);
        pen.lineTo(x, this.height);
        pen.fillText(timeText(tick), x + 3, Lanes.AXIS / 2);
      }
      pen.stroke();
    }

    drawLane(pen, lane, number, width, colours) {
      const { ROW, GROUP, COLOURS } = Lanes;
      pen.fillStyle = colour("--soft");
      if (lane.isFirst) pen.fillText(clean(lane.group), 0, lane.y - GROUP / 2);
      pen.fillText(cut(clean(lane.name), letters(this.left - 12)), 8, lane.y + ROW / 2);
      pen.save();
      pen.beginPath();
      pen.rect(this.left, lane.y, width - this.left - Lanes.RIGHT, ROW);
      pen.clip();
      let drawn = -1;
      for (let i = this.search(lane, this.from - lane.longest, false); i < lane.count && start(lane, i) <= this.to; ++i) {
        const left = Math.max(this.x(start(lane, i)), this.left - 2);
        const right = Math.min(this.x(end(lane, i)), width);
        if (right <= drawn && right - left < 1) continue;
        drawn = Math.max(left + 1, right);
        pen.fillStyle = colours[Math.min(lane.events[4 * i + 3], COLOURS - 1)];
        pen.fillRect(left, lane.y + 2, Math.max(1, right - left - (right - left > 3 ? 1 : 0)), ROW - 4);
        if (right - left > 40) {
          pen.fillStyle = colour("--paper");
          pen.fillText(cut(clean(this.data.names[lane.events[4 * i + 2]]), letters(right - left - 6)), left + 3, lane.y + ROW / 2);
        }
      }
      if (this.chosen?.lane === number) {
        const { event } = this.chosen;
        pen.strokeStyle = colour("--ink");
        pen.lineWidth = 2;
        const left = this.x(start(lane, event));
        pen.strokeRect(left, lane.y + 1, Math.max(3, this.x(end(lane, event)) - left), ROW - 2);
      }
      pen.restore();
    }

    choose(lane, event) {
      this.chosen = { lane, event };
      this.state.textContent = clean(this.describe(lane, event));
      this.later();
    }

    describe(number, i) {
      const lane = this.lanes[number];
      const kind = this.data.kinds[lane.events[4 * i + 3]];
      const where = lane.group === "" ? lane.name : `${lane.group}, ${lane.name}`;
      return (
        `${this.data.names[lane.events[4 * i + 2]]} (${kind}): ${timeText(lane.events[4 * i + 1])}, ` +
        `at ${timeText(start(lane, i) - this.begin)}; ${where}, ${i + 1} of ${lane.count}`
      );
    }

    point(at, event) {
      if (at < 0 || at > 1) return;
      const y = event.clientY - this.canvas.getBoundingClientRect().top;
      const number = this.lanes.findIndex((lane) => y >= lane.y && y < lane.y + Lanes.ROW);
      if (number < 0 || this.lanes[number].count === 0) return;
      const time = this.from + at * (this.to - this.from);
      const found = this.nearest(number, time);
      if (time <= end(this.lanes[number], found) + 3 / this.scale) this.choose(number, found);
    }

    // Returns the next lane with events in a direction, or the same lane.
    laneBeside(lane, step) {
      let next = lane + step;
      while (next >= 0 && next < this.lanes.length && this.lanes[next].count === 0) next += step;
      return next >= 0 && next < this.lanes.length ? next : lane;
    }

    // Returns true if the key was handled.
    key(key) {
      const works = {
        "+": () => this.zoom(0.5),
        "=": () => this.zoom(0.5),
        "-": () => this.zoom(2),
        0: () => this.show(this.begin, this.end),
        PageUp: () => this.move(-0.9),
        PageDown: () => this.move(0.9),
        ArrowLeft: () => this.step(0, -1),
        ArrowRight: () => this.step(0, 1),
        ArrowUp: () => this.step(-1, 0),
        ArrowDown: () => this.step(1, 0),
        Enter: () => this.showChosen(),
      };
      if (!Object.hasOwn(works, key)) return false;
      works[key]();
      return true;
    }

    // Selects the event next to the selected one: on another lane, or later or earlier.
    step(lanes, events) {
      const lane = this.chosen ? this.chosen.lane : this.laneBeside(-1, 1);
      const next = this.chosen && lanes !== 0 ? this.laneBeside(lane, lanes) : lane;
      let event = this.nearest(lane, this.from);
      if (this.chosen && next === lane) event = Math.min(Math.max(this.chosen.event + events, 0), this.lanes[lane].count - 1);
      else if (this.chosen) event = this.nearest(next, start(this.lanes[lane], this.chosen.event));
      this.choose(next, event);
      const [from, to] = [start(this.lanes[next], event), end(this.lanes[next], event)];
      const span = this.to - this.from;
      if (to < this.from || from > this.to) this.show(from - span / 2, from + span / 2);
    }

    showChosen() {
      if (!this.chosen) return;
      const { lane, event } = this.chosen;
      const [from, to] = [start(this.lanes[lane], event), end(this.lanes[lane], event)];
      const room = Math.max(to - from, Lanes.LEAST_NS);
      this.show(from - room, to + room);
    }
  }

  // ---- The page

  const plots = { distribution, interval, bar, series, scatter };

  function tableNodes(table) {
    const pictures = table.plots.map((plot) => (Object.hasOwn(plots, plot.hint) ? plots[plot.hint](plot, table) : undefined));
    // A plot of an unknown kind is shown as a table.
    const isShown = table.shown > 0 || pictures.includes(undefined);
    const nodes = [...pictures, isShown ? new DataTable(table).node : null].filter(Boolean);
    return nodes.length > 1 ? make("div", { class: "beside" }, nodes) : nodes;
  }

  // Names and values; a note is shown below its value.
  function definitions(classes, facts) {
    const note = (fact) => (fact.note ? make("dd", { class: "note" }, fact.note) : null);
    const entry = (fact) => [make("dt", {}, fact.name), make("dd", {}, factNodes(fact)), note(fact)];
    return facts.length > 0 ? make("dl", { class: classes }, facts.map((fact) => make("div", {}, entry(fact)))) : null;
  }

  function blockNodes(block) {
    if (block.facts) return definitions("facts", block.facts);
    if (block.table) return tableNodes(block.table);
    if (block.lanes) return new Lanes(block).node;
    if (block.notes) return block.notes.map((note) => make("p", {}, note));
    return make("pre", {}, JSON.stringify(block, null, 1));
  }

  function verdictNode({ tone, verdict, findings }) {
    if (verdict === "" && findings.length === 0) return null;
    const [sign, name] = { good: ["✓", "Good"], attention: ["!", "Attention"], bad: ["✗", "Bad"] }[tone] ?? ["i", "Verdict"];
    const mark = make("span", { class: "sign", role: "img", "aria-label": name }, sign);
    const sentence = verdict === "" ? null : make("p", { class: "sentence" }, mark, make("strong", { id: "verdict" }, verdict));
    const more = findings.length > 0 ? list("ul", { id: "findings" }, findings) : null;
    return make("section", { class: "verdict " + tone, "aria-label": "Verdict" }, sentence, more);
  }

  // Sections after the first ones unfold: by a click, by the address, for paper.
  function sectionNode({ id, title, blocks }, place) {
    const OPEN = 3;
    const heading = make("h2", { id: id + "-title" }, title);
    const content = make("div", { class: "beside" }, blocks.flatMap(blockNodes));
    if (place < OPEN) return make("section", { id, "aria-labelledby": heading.id }, heading, content);
    const fold = make("details", {}, make("summary", {}, heading), content);
    fold.addEventListener("toggle", drawAll);
    return make("section", { id, "aria-labelledby": heading.id }, fold);
  }

  function headerNode({ title, subtitle, above }) {
    const way = above.length > 0 ? make("nav", { "aria-label": "Pages above" }, list("ol", {}, above.map(link))) : null;
    return make("header", {}, way, make("h1", {}, title), subtitle === "" ? null : make("p", {}, subtitle));
  }

  function footerNode({ footer, data_name: name }) {
    const save = () => {
      const file = new Blob([document.getElementById("data").textContent], { type: "application/json" });
      const to = make("a", { href: URL.createObjectURL(file), download: name });
      to.click();
      URL.revokeObjectURL(to.href);
    };
    const data = name === "" ? null : make("p", {}, "The figures as JSON: ", button("Save " + name, save));
    return make("footer", {}, make("p", {}, footer), data);
  }

  const drawAll = () => drawings.forEach((draw) => draw());
  const unfold = (node) => {
    node?.querySelectorAll("details").forEach((fold) => (fold.open = true));
    drawAll();
    return node;
  };
  // The address may name a section that did not exist when the browser looked for it, or a folded one.
  const showNamed = () => location.hash && unfold(document.getElementById(decodeURIComponent(location.hash.slice(1))))?.scrollIntoView();

  const page = JSON.parse(document.getElementById("page").textContent);
  document.title = clean(page.title);
  const contents = list("ol", {}, page.sections.map(({ id, title }) => link([title, "#" + id])));
  document.body.prepend(
    make("a", { class: "skip", href: "#main" }, "Skip to content"),
    headerNode(page),
    page.sections.length > 0 ? make("nav", { class: "contents", "aria-label": "On this page" }, contents) : "",
    make("main", { id: "main", tabindex: -1 }, verdictNode(page), definitions("figures", page.figures), page.sections.map(sectionNode)),
    footerNode(page),
  );
  drawAll();
  addEventListener("resize", drawAll);
  addEventListener("beforeprint", () => unfold(document));
  addEventListener("hashchange", showNamed);
  showNamed();
  performance.mark("understudy:ready");
  document.documentElement.dataset.ready = "";
  return { format };
})();

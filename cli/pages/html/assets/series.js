"use strict";
// Zooming, for series and timelines; series of values over places.
understudy.Zoom = class {
  // What of [low, high] is seen; `changed` draws it. `least` is the narrowest that can be seen.
  constructor(low, high, least, changed) {
    Object.assign(this, { low, high, least, changed, from: low, to: high });
  }

  show(from, to) {
    const span = Math.min(Math.max(to - from, this.least), this.high - this.low);
    this.from = Math.min(Math.max(from, this.low), this.high - span);
    this.to = this.from + span;
    this.changed();
  }

  // `at`: the place that stays where it is, from 0 (left) to 1 (right).
  by(factor, at = 0.5) {
    const fixed = this.from + (this.to - this.from) * at;
    const span = (this.to - this.from) * factor;
    this.show(fixed - span * at, fixed + span * (1 - at));
  }

  move(share) {
    const step = (this.to - this.from) * share;
    this.show(this.from + step, this.to + step);
  }

  all() {
    this.show(this.low, this.high);
  }

  // Buttons, for those who have neither a wheel nor a keyboard.
  bar(...more) {
    const make = understudy.make;
    const button = (name, label, work) => {
      const node = make("button", { type: "button", title: label }, name);
      node.setAttribute("aria-label", label);
      node.addEventListener("click", work);
      return node;
    };
    return make(
      "div",
      { className: "bar" },
      button("+", "Zoom in", () => this.by(0.5)),
      button("−", "Zoom out", () => this.by(2)),
      button("←", "Earlier", () => this.move(-0.5)),
      button("→", "Later", () => this.move(0.5)),
      button("All", "Show all", () => this.all()),
      ...more,
    );
  }

  // Mouse and keyboard on a node whose drawing lies between `left` and `right` of its width (in pixels from its edges).
  // `key` has the first say about a key, `point` is told where the mouse is: from 0 to 1, or null.
  listen(node, margins, key, point) {
    const share = (event) => {
      const box = node.getBoundingClientRect();
      const [left, right] = margins(box.width);
      return (event.clientX - box.left - left) / (box.width - left - right);
    };
    const keys = {
      "+": () => this.by(0.5),
      "=": () => this.by(0.5),
      "-": () => this.by(2),
      0: () => this.all(),
      Home: () => this.show(this.low, this.low + this.to - this.from),
      End: () => this.show(this.high - this.to + this.from, this.high),
      PageUp: () => this.move(-0.9),
      PageDown: () => this.move(0.9),
    };
    node.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (key(event.key)) event.preventDefault();
      else if (keys[event.key]) {
        event.preventDefault();
        keys[event.key]();
      }
    });
    // The wheel alone scrolls the page.
    node.addEventListener(
      "wheel",
      (event) => {
        if (!event.ctrlKey && !event.shiftKey) return;
        event.preventDefault();
        const by = event.deltaY || event.deltaX;
        this.by(by > 0 ? 1.25 : 0.8, Math.min(Math.max(share(event), 0), 1));
      },
      { passive: false },
    );
    let dragged = null;
    node.addEventListener("pointerdown", (event) => {
      dragged = { at: share(event), from: this.from, to: this.to };
      node.setPointerCapture(event.pointerId);
    });
    node.addEventListener("pointermove", (event) => {
      const at = share(event);
      if (!dragged) point(at, event);
      else {
        const step = (dragged.at - at) * (dragged.to - dragged.from);
        this.show(dragged.from + step, dragged.to + step);
      }
    });
    node.addEventListener("pointerup", () => (dragged = null));
    node.addEventListener("pointercancel", () => (dragged = null));
    node.addEventListener("pointerleave", () => dragged || point(null));
  }
};

understudy.whenPainted(() => {
  const NS = "http://www.w3.org/2000/svg";
  const [WIDTH, LEFT, RIGHT, TOP, BOTTOM] = [900, 84, 888, 8, 210];

  function shape(tag, attributes, text) {
    const node = document.createElementNS(NS, tag);
    for (const name in attributes) node.setAttribute(name, attributes[name]);
    if (text !== undefined) node.textContent = text;
    return node;
  }

  function ticks(low, high) {
    const least = (high - low) / 6;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= least);
    const found = [];
    for (let tick = Math.ceil(low / step); tick <= high / step + 1e-9; ++tick) found.push(tick * step);
    return { found, digits: Math.min(9, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))) };
  }

  class SeriesPlot {
    constructor(node, data) {
      this.data = data;
      this.places = Math.max(...data.lines.map((line) => line.values.length));
      this.svg = node.querySelector("figure > svg");
      this.zoom = new understudy.Zoom(0, this.places - 1, Math.min(4, this.places - 1), () => this.draw());
      this.chosen = null;
      this.state = understudy.make("output", {});
      const figure = node.querySelector("figure");
      figure.classList.add("interactive");
      figure.prepend(this.zoom.bar());
      this.svg.after(this.state);
      this.svg.setAttribute("tabindex", "0");
      this.svg.setAttribute("role", "application");
      this.svg.setAttribute(
        "aria-label",
        this.svg.getAttribute("aria-label") + " Keys: arrows read values, + and − zoom, 0 shows all.",
      );
      this.zoom.listen(
        this.svg,
        (width) => [(LEFT / WIDTH) * width, ((WIDTH - RIGHT) / WIDTH) * width],
        (key) => this.key(key),
        (at) => this.choose(at === null ? null : Math.round(this.zoom.from + at * (this.zoom.to - this.zoom.from))),
      );
    }

    key(key) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
      if (!step) return false;
      const next = this.chosen === null ? Math.round(this.zoom.from) : this.chosen + step;
      this.choose(Math.min(Math.max(next, 0), this.places - 1));
      if (this.chosen < this.zoom.from || this.chosen > this.zoom.to) this.zoom.move(step * 0.5);
      return true;
    }

    name(place) {
      return this.data.places.length > place ? this.data.places[place] : place;
    }

    text(value) {
      if (value === null || value === undefined) return "–";
      return this.data.unit === "bytes"
        ? understudy.format(value, "bytes")
        : understudy.format(value, "figure") + " " + this.data.unit;
    }

    choose(place) {
      const isThere = place !== null && place >= 0 && place < this.places;
      this.chosen = isThere ? place : null;
      const marks = this.data.marks.filter((mark) => mark.place === place).map((mark) => mark.text);
      const values = this.data.lines.map(
        (line) => (this.data.lines.length > 1 ? line.name + " " : "") + this.text(line.values[place]),
      );
      this.state.textContent = isThere
        ? `${this.data.place} ${this.name(place)}: ${[...values, ...marks].join(", ")}`
        : "";
      this.cursor();
    }

    x(place) {
      return LEFT + ((place - this.zoom.from) / (this.zoom.to - this.zoom.from || 1)) * (RIGHT - LEFT);
    }

    cursor() {
      if (this.line) this.line.remove();
      if (this.chosen === null) return;
      const x = this.x(this.chosen);
      this.line = shape("line", { x1: x, x2: x, y1: TOP, y2: BOTTOM, class: "ref" });
      this.svg.append(this.line);
    }

    path(values, y) {
      const first = Math.max(0, Math.floor(this.zoom.from) - 1);
      const last = Math.min(values.length - 1, Math.ceil(this.zoom.to) + 1);
      const step = Math.max(1, Math.floor((last - first) / 800));
      let path = "";
      let isOpen = false;
      for (let place = first; place <= last; place += step) {
        let [low, high] = [Infinity, -Infinity];
        for (let i = place; i < Math.min(place + step, last + 1); ++i) {
          if (values[i] === null || values[i] === undefined) continue;
          low = Math.min(low, values[i]);
          high = Math.max(high, values[i]);
        }
        if (low > high) {
          isOpen = false;
          continue;
        }
        path += `${isOpen ? "L" : "M"}${this.x(place).toFixed(1)} ${y(low).toFixed(1)}`;
        if (high > low) path += `V${y(high).toFixed(1)}`;
        isOpen = true;
      }
      return path;
    }

    draw() {
      const { data, zoom } = this;
      let [low, high] = [data.fromZero ? 0 : Infinity, -Infinity];
      for (const { values } of data.lines) {
        for (let i = Math.floor(zoom.from); i <= Math.ceil(zoom.to); ++i) {
          if (values[i] === null || values[i] === undefined) continue;
          low = Math.min(low, values[i]);
          high = Math.max(high, values[i]);
        }
      }
      if (!(high > low)) [low, high] = Number.isFinite(low) ? [low - 1, low + 1] : [0, 1];
      const y = (value) => BOTTOM - ((value - low) / (high - low)) * (BOTTOM - TOP);
      // Keeps what runs out of the picture on both sides from the axes.
      const clip = shape("svg", { x: LEFT, y: 0, width: RIGHT - LEFT, height: BOTTOM + 4 });
      clip.setAttribute("viewBox", `${LEFT} 0 ${RIGHT - LEFT} ${BOTTOM + 4}`);
      data.lines.forEach(({ values, bound }, i) =>
        clip.append(shape("path", { d: this.path(values, y), class: bound ? "line bound" : `line s${i % 10}` })),
      );
      const parts = [];
      // Bytes have round numbers of their own.
      const one = data.unit === "bytes" ? 1024 ** Math.floor(Math.log2(Math.max(high, 1)) / 10) : 1;
      const { found, digits } = ticks(low / one, high / one);
      for (const tick of found.map((found) => found * one)) {
        parts.push(shape("line", { x1: LEFT, x2: RIGHT, y1: y(tick), y2: y(tick), class: "axis" }));
        const text = data.unit === "bytes" ? understudy.format(Math.round(tick), "bytes") : tick.toFixed(digits);
        parts.push(shape("text", { x: LEFT - 6, y: y(tick) + 4, class: "soft end" }, text));
      }
      if (data.unit !== "bytes") parts.push(shape("text", { x: 4, y: TOP + 6, class: "soft" }, data.unit));
      for (let i = 0; i <= 4; ++i) {
        const place = Math.round(zoom.from + ((zoom.to - zoom.from) * i) / 4);
        const align = i === 0 ? "soft" : i === 4 ? "soft end" : "soft mid";
        const name = String(this.name(place));
        const text = name.length > 16 ? name.slice(0, 15) + "…" : name;
        parts.push(shape("text", { x: this.x(place), y: BOTTOM + 18, class: align }, text));
      }
      parts.push(shape("text", { x: (LEFT + RIGHT) / 2, y: BOTTOM + 36, class: "soft mid" }, data.place));
      for (const mark of data.marks) {
        const x = this.x(mark.place);
        if (x < LEFT || x > RIGHT) continue;
        parts.push(shape("line", { x1: x, x2: x, y1: TOP, y2: BOTTOM, class: "whisker s" + mark.tone }));
        const isLeft = x < WIDTH / 2;
        const align = (isLeft ? "" : "end ") + "f" + mark.tone;
        parts.push(shape("text", { x: isLeft ? x + 5 : x - 5, y: TOP + 10, class: align }, mark.text.slice(0, 60)));
      }
      this.svg.replaceChildren(...parts, clip);
      this.cursor();
    }
  }

  for (const node of document.querySelectorAll("div.series")) {
    const data = understudy.block(node.id + "-series");
    if (data && data.lines.some((line) => line.values.length > 1)) new SeriesPlot(node, data);
  }
});

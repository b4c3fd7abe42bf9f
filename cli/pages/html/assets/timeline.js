"use strict";
// Lanes of events on a canvas. However many there are, a frame draws at most one rectangle a pixel and lane.
understudy.whenPainted(() => {
  const [LEFT, RIGHT, ROW, AXIS, GROUP] = [150, 8, 20, 24, 18];
  const COLOURS = 10;

  // Four numbers an event.
  const start = (lane, i) => lane.events[4 * i];
  const end = (lane, i) => lane.events[4 * i] + lane.events[4 * i + 1];

  class TimelinePlot {
    constructor(node, data) {
      this.data = data;
      this.lanes = data.lanes.map((lane) => {
        const count = lane.events.length / 4;
        let longest = 0;
        for (let i = 0; i < count; ++i) longest = Math.max(longest, lane.events[4 * i + 1]);
        return { ...lane, count, longest };
      });
      this.zoom = new understudy.Zoom(data.begin, data.end, 20, () => this.later());
      this.chosen = null;
      this.canvas = understudy.make("canvas", { tabIndex: 0 });
      this.canvas.setAttribute("role", "application");
      this.canvas.setAttribute(
        "aria-label",
        "Timeline. Left and right: events of a lane; up and down: lanes; plus and minus: zoom; Enter: zoom to the event; 0: all.",
      );
      this.state = understudy.make("output", {});
      this.state.setAttribute("aria-live", "polite");
      const hint = understudy.make("span", { className: "note" }, "Drag to move, Ctrl and wheel to zoom, or the keyboard.");
      node.classList.add("interactive");
      node.querySelector("figcaption").before(this.zoom.bar(hint), this.canvas, this.state);
      this.zoom.listen(
        this.canvas,
        () => [LEFT, RIGHT],
        (key) => this.key(key),
        (at, event) => this.point(at, event),
      );
      this.place();
      new ResizeObserver(() => this.later()).observe(this.canvas);
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.later());
      addEventListener("beforeprint", () => this.draw());
      this.draw();
    }

    // Where each lane is; a group's name stands above its lanes.
    place() {
      let y = AXIS;
      let group = null;
      for (const lane of this.lanes) {
        if (lane.group !== group && lane.group !== "") y += GROUP;
        lane.isFirst = lane.group !== group && lane.group !== "";
        group = lane.group;
        lane.y = y;
        y += ROW;
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

    // The first event that may be seen: all before it end too early.
    firstSeen(lane) {
      const sought = this.zoom.from - lane.longest;
      let [low, high] = [0, lane.count];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (start(lane, middle) < sought) low = middle + 1;
        else high = middle;
      }
      return low;
    }

    draw() {
      const began = performance.now();
      const width = this.canvas.clientWidth;
      const ratio = devicePixelRatio || 1;
      this.canvas.width = Math.max(1, Math.round(width * ratio));
      this.canvas.height = Math.round(this.height * ratio);
      const pen = this.canvas.getContext("2d");
      pen.scale(ratio, ratio);
      pen.clearRect(0, 0, width, this.height);
      pen.font = "12px system-ui, sans-serif";
      pen.textBaseline = "middle";
      this.scale = (width - LEFT - RIGHT) / (this.zoom.to - this.zoom.from);
      this.drawAxis(pen, width);
      const colours = Array.from({ length: COLOURS }, (_, i) => understudy.colour("--c" + i));
      this.lanes.forEach((lane, i) => this.drawLane(pen, lane, i, width, colours));
      // How long it took, for the benchmark.
      this.canvas.dataset.drawMs = (performance.now() - began).toFixed(2);
    }

    x(time) {
      return LEFT + (time - this.zoom.from) * this.scale;
    }

    text(ns) {
      const size = Math.abs(ns);
      const [unit, by] = size >= 1e9 ? ["s", 1e9] : size >= 1e6 ? ["ms", 1e6] : size >= 1e3 ? ["µs", 1e3] : ["ns", 1];
      return Number((ns / by).toFixed(3)) + " " + unit;
    }

    drawAxis(pen, width) {
      const least = (this.zoom.to - this.zoom.from) / Math.max(2, (width - LEFT) / 110);
      const power = 10 ** Math.floor(Math.log10(least));
      const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((value) => value >= least));
      pen.fillStyle = understudy.colour("--soft");
      pen.strokeStyle = understudy.colour("--line");
      pen.beginPath();
      const begin = this.data.begin;
      for (let tick = Math.ceil((this.zoom.from - begin) / step) * step; tick + begin <= this.zoom.to; tick += step) {
        const x = this.x(tick + begin);
        pen.moveTo(x, AXIS - 6);
        pen.lineTo(x, this.height);
        pen.fillText(this.text(tick), x + 3, AXIS / 2);
      }
      pen.stroke();
    }

    drawLane(pen, lane, number, width, colours) {
      const ink = understudy.colour("--ink");
      pen.fillStyle = understudy.colour("--soft");
      if (lane.isFirst) pen.fillText(lane.group, 0, lane.y - GROUP / 2);
      pen.fillText(lane.name.length > 22 ? lane.name.slice(0, 21) + "…" : lane.name, 8, lane.y + ROW / 2);
      pen.save();
      pen.beginPath();
      pen.rect(LEFT, lane.y, width - LEFT - RIGHT, ROW);
      pen.clip();
      let drawn = -1;
      for (let i = this.firstSeen(lane); i < lane.count && start(lane, i) <= this.zoom.to; ++i) {
        const left = Math.max(this.x(start(lane, i)), LEFT - 2);
        const right = Math.min(this.x(end(lane, i)), width);
        if (right <= drawn && right - left < 1) continue;
        drawn = Math.max(left + 1, right);
        pen.fillStyle = colours[Math.min(lane.events[4 * i + 3], COLOURS - 1)];
        pen.fillRect(left, lane.y + 2, Math.max(1, right - left - (right - left > 3 ? 1 : 0)), ROW - 4);
        if (right - left > 40) {
          const name = this.data.names[lane.events[4 * i + 2]];
          const most = Math.floor((right - left - 6) / 7);
          pen.fillStyle = understudy.colour("--paper");
          pen.fillText(name.length > most ? name.slice(0, Math.max(0, most - 1)) + "…" : name, left + 3, lane.y + ROW / 2);
        }
      }
      if (this.chosen && this.chosen.lane === number) {
        const i = this.chosen.event;
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.strokeRect(this.x(start(lane, i)), lane.y + 1, Math.max(3, this.x(end(lane, i)) - this.x(start(lane, i))), ROW - 2);
      }
      pen.restore();
    }

    choose(lane, event) {
      const isThere = lane !== null && event >= 0 && event < this.lanes[lane].count;
      this.chosen = isThere ? { lane, event } : null;
      this.state.textContent = isThere ? this.describe(lane, event) : "";
      this.later();
    }

    describe(number, i) {
      const lane = this.lanes[number];
      const kind = this.data.kinds[lane.events[4 * i + 3]];
      const where = lane.group === "" ? lane.name : `${lane.group}, ${lane.name}`;
      return (
        `${this.data.names[lane.events[4 * i + 2]]} (${kind}): ${this.text(lane.events[4 * i + 1])}, ` +
        `at ${this.text(start(lane, i) - this.data.begin)}; ${where}, ${i + 1} of ${lane.count}`
      );
    }

    // The event nearest to a time.
    nearest(number, time) {
      const lane = this.lanes[number];
      let [low, high] = [0, lane.count];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (start(lane, middle) <= time) low = middle + 1;
        else high = middle;
      }
      return Math.max(0, low - 1);
    }

    point(at, event) {
      if (at === null || at < 0 || at > 1) return;
      const y = event.clientY - this.canvas.getBoundingClientRect().top;
      const number = this.lanes.findIndex((lane) => y >= lane.y && y < lane.y + ROW);
      if (number < 0 || this.lanes[number].count === 0) return;
      const time = this.zoom.from + at * (this.zoom.to - this.zoom.from);
      const found = this.nearest(number, time);
      const slack = 3 / this.scale;
      if (time <= end(this.lanes[number], found) + slack) this.choose(number, found);
    }

    key(key) {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
      const rows = { ArrowUp: -1, ArrowDown: 1 }[key];
      if (!step && !rows && key !== "Enter") return false;
      if (!this.chosen) {
        const lane = this.lanes.findIndex((row) => row.count > 0);
        this.choose(lane, this.nearest(lane, this.zoom.from));
        return true;
      }
      let { lane, event } = this.chosen;
      if (rows) {
        let next = lane + rows;
        while (next >= 0 && next < this.lanes.length && this.lanes[next].count === 0) next += rows;
        if (next < 0 || next >= this.lanes.length) return true;
        event = this.nearest(next, start(this.lanes[lane], event));
        lane = next;
      } else if (step) {
        event = Math.min(Math.max(event + step, 0), this.lanes[lane].count - 1);
      } else {
        const [from, to] = [start(this.lanes[lane], event), end(this.lanes[lane], event)];
        const room = Math.max(to - from, 20);
        this.zoom.show(from - room, to + room);
      }
      this.choose(lane, event);
      const [from, to] = [start(this.lanes[lane], event), end(this.lanes[lane], event)];
      if (to < this.zoom.from || from > this.zoom.to) {
        const span = this.zoom.to - this.zoom.from;
        this.zoom.show(from - span / 2, from + span / 2);
      }
      return true;
    }
  }

  for (const node of document.querySelectorAll("figure.timeline")) {
    const data = understudy.block(node.id + "-timeline");
    if (data) new TimelinePlot(node, data);
  }
});

"""Writes the document of a run as Markdown."""

COMMON = ["on the device, ms", "coverage", "mismatches", "unhealthy", "J an iteration", "mean W",
          "clocks"]
TRAINED_HEAD = ["sample", "original, ms", "replay asap, ms", "replay recorded, ms", "peak bytes",
                *COMMON]
STORED_HEAD = ["sample", "replay, ms", "peak bytes", *COMMON]
CHECKS_HEAD = ["check", "result", "s", "figures", "why"]


def percent(ratio):
    return f"{100 * (ratio - 1):+.1f} %"


def beside(value, reference, form):
    return f"{value:{form}} ({percent(value / reference)})" if reference else f"{value:{form}}"


def number(value, form):
    return "–" if value is None else f"{value:{form}}"


def common_cells(row):
    return [number(row["device_ms"], ".3f"), f"{100 * row['coverage']:.2f} %",
            str(row["mismatches"]), str(row["unhealthy"]),
            number(row["energy_j_per_iteration"], ".3f"), number(row["mean_power_w"], ".0f"),
            row["clocks"]]


def trained_cells(row):
    return [row["name"], f"{row['original_ms']:.3f}",
            beside(row["asap_ms"], row["original_ms"], ".3f"),
            beside(row["paced_ms"], row["original_ms"], ".3f"),
            beside(row["peak_bytes"], row["original_peak_bytes"], ","), *common_cells(row)]


def ranks_cells(row):
    return [*trained_cells(row), number(row["communication_ms"], ".3f"), row["comms"]]


def stored_cells(row):
    return [row["name"], f"{row['asap_ms']:.3f}", f"{row['peak_bytes']:,}", *common_cells(row)]


def _figure(value):
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def check_cells(row):
    figures = ", ".join(f"{name} {_figure(value)}" for name, value in row["figures"].items()
                        if isinstance(value, (int, float, str)))
    return [row["name"], row["status"], number(row["seconds"], ".1f"), figures,
            row["reason"].replace("|", "/")]


SECTIONS = {
    "trained": ("Captured and replayed here", trained_cells, TRAINED_HEAD),
    "ranks": ("Captured and replayed here, a rank a GPU", ranks_cells,
              [*TRAINED_HEAD, "communication, ms", "by"]),
    "moved": ("Captured on a CPU, moved here", stored_cells, STORED_HEAD),
    "recorded": ("Recorded on other GPUs, rank 0 alone", stored_cells, STORED_HEAD),
}


def table(head, rows):
    return ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head),
            *("| " + " | ".join(cells) + " |" for cells in rows), ""]


def to_markdown(document):
    lines = [f"# Replay on {document['device']}, {document['date']}", "",
             "Made by `scripts/check_gpu`. Times are medians of 50 steps; what each check and column "
             "is, [gpu.md](../gpu.md) says.", ""]
    rows = [row for name in SECTIONS for row in document[name]]
    if rows:
        environment = rows[0]["environment"]
        versions = ", ".join(f"{key} {value}" for key, value in sorted(
            environment["versions"].items()))
        lines += [f"- CPU: {environment['cpu_model']}", f"- {versions}", ""]
    if document["checks"]:
        lines += ["## Checks", "", *table(CHECKS_HEAD, map(check_cells, document["checks"]))]
    for name, (title, cells, head) in SECTIONS.items():
        if document[name]:
            lines += [f"## {title}", "", *table(head, [cells(row) for row in document[name]])]
    lines += [f"- {name} failed: {reason}" for name, reason in document["failures"].items()]
    lines += [f"- {name} is not in the archive: {size:,} bytes"
              for name, size in document["left_out"].items()]
    return "\n".join(lines).rstrip() + "\n"

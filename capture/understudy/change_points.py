"""Looks for change points by Apache Otava, which this Python must have: `understudy fleet nightly` starts it."""

import json
import sys
import warnings

warnings.simplefilter("ignore")  # of what Otava imports

from otava.series import AnalysisOptions, Metric, Series  # noqa: E402


def main():
    """Reads {"series":[[…]],…} from the file that the argument names, and replaces it by [[{…}]]. Libraries may print to standard output,
    so the answer does not go there."""
    with open(sys.argv[1], encoding="utf-8") as file:
        request = json.load(file)
    options = AnalysisOptions()
    options.window_len = request["window"]
    options.max_pvalue = request["max_p_value"]
    options.min_magnitude = request["min_magnitude"]
    found = []
    for values in request["series"]:
        series = Series("series", None, list(range(len(values))), {"ms": Metric(-1)}, {"ms": values}, {})
        points = series.analyze(options).change_points["ms"]
        found.append([{"index": int(point.index), "p": float(point.pvalue())} for point in points])
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(found, file)

#pragma once

#include <string>

#include "et_schema/base/enum_names.h"
#include "et_schema/base/interval_members.h"
#include "et_schema/model/report_figures.h"
#include "fleet/comparer/compare.h"
#include "fleet/comparer/device_work.h"

namespace understudy::comparer {

// What JSON and pages hold of a comparison: each figure is described once
// (et_schema/base/record.h).
using et_schema::CellKind;
using et_schema::SameAs;

// The speed probe is not a row of a comparison.
inline constexpr et_schema::EnumNames<RowKind::kSpeedProbe> kRowKinds("iteration", "common",
                                                                      "class", "gap", "operator",
                                                                      "operator on the device",
                                                                      "collective", "");

void members(auto& walk, SameAs<Run> auto& run) {
  walk("file", run.file);
  walk("source", run.is_profile ? "profile" : "report");
  walk("benchmark", run.environment.benchmark);
  walk("benchmark_hash", run.environment.benchmark_hash);
  walk("date_utc", run.environment.date_utc);
  walk("complete", run.interrupted_by.empty());
  walk("world_size", run.world_size);
  walk.unless(et_schema::StepWork(), "work", run.work);
}

void members(auto& walk, SameAs<EnvironmentDifference> auto& row) {
  walk("field", row.field, "field");
  walk("a", row.a, "A");
  walk("b", row.b, "B");
}

void members(auto& walk, SameAs<Row> auto& row) {
  walk("kind", kRowKinds[row.kind]);
  walk("name", row.name, "name");
  walk("detail", row.detail);
  walk("count_a", row.count_a);
  walk("count_b", row.count_b);
  walk("a_ms", row.a_ms, "A ms");
  walk("b_ms", row.b_ms, "B ms");
  walk("change_ms", row.change_ms, "change ms", CellKind::kChange);
  walk("ratio", row.ratio, "B ÷ A", "95 % interval", CellKind::kRatio);
  walk("beside_rest", row.beside_rest, "beside the rest", CellKind::kRatio);
  walk("p", row.p);
  walk("verdict", to_string(row.verdict), "verdict", CellKind::kVerdict);
  walk("why", row.why);
}

void members(auto& walk, SameAs<DeviceRow> auto& row) {
  const bool is_shared = row.a_ms && row.b_ms;
  const bool has_ratio = is_shared && *row.a_ms > 0;
  walk("name", row.name, "name");
  walk.if_any("operator", row.call, "operator");
  walk("a_ms", row.a_ms, "A ms");
  walk("b_ms", row.b_ms, "B ms");
  walk("change_ms", row.change_ms(), "change ms", CellKind::kChange);
  walk("ratio", has_ratio ? std::optional(*row.b_ms / *row.a_ms) : std::nullopt, "B ÷ A",
       CellKind::kRatio);
  walk("a_launches", row.a_launches, "launches A", CellKind::kCount);
  walk("b_launches", row.b_launches, "launches B", CellKind::kCount);
  walk("on", is_shared ? "both" : row.a_ms ? "A only" : "B only", "on");
}

void members(auto& walk, SameAs<DeviceStep> auto& step) {
  walk("file", step.file);
  walk("device", step.device);
  walk("step_ms", step.step_ms);
  walk("busy_ms", step.busy_ms);
  walk("idle", step.idle);
}

void members(auto& walk, SameAs<DeviceComparison> auto& devices) {
  walk("a", devices.a);
  walk("b", devices.b);
  walk("all", devices.all);
  walk("shared", devices.shared);
  walk("classes", devices.classes);
  walk("operators", devices.calls);
  walk("kernels", devices.kernels);
}

}  // namespace understudy::comparer

// Measured operators under the ceilings of their device: how much of it they use, and what bounds
// them.
#include "roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/common/command_line.h"
#include "cli/pages/document/from_json.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/map_values.h"
#include "et_schema/model/op_class.h"
#include "predictor/calls/measured_files.h"
#include "predictor/operators/features.h"
#include "predictor/platform/ceilings.h"
#include "predictor/work/work.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::counts, pages::figures, pages::shares, pages::shortened, pages::table_at, pages::texts;
using predictor::Ceiling, predictor::MeasuredCall, predictor::Work;

constexpr double kGiga = 1e9;

/// Calls of one operator or class.
struct Calls {
  std::string name;
  std::string op_class;
  std::uint64_t count = 0;
  double ns = 0;
  double low_ns = 0, high_ns = 0;  ///< from the 10th to the 90th percentile of each call
  double flops = 0;
  double bytes = 0;
  double arithmetic_ns = 0;         ///< time of `flops` at the ceilings of their types
  std::uint64_t counted_flops = 0;  ///< calls whose operations were counted; else from shapes
  std::uint64_t counted_bytes = 0;
};

/// Returns the rate of a type's products, else of float32's; infinity if neither is known.
double flop_ceiling(const std::vector<Ceiling>& ceilings, std::string_view type) {
  double rate = std::numeric_limits<double>::infinity();
  for (const Ceiling& one : ceilings) {
    const bool is_fallback = one.name == "float32" && std::isinf(rate);
    rate = !one.is_bandwidth && (one.name == type || is_fallback) ? one.per_s : rate;
  }
  return rate;
}

std::string_view type_of(const MeasuredCall& call) {
  return to_string(predictor::compute_dtype(call.call));
}

void add(const MeasuredCall& call, const std::vector<Ceiling>& ceilings, Calls& calls) {
  const Work work = predictor::measured_work(call.call, call.counters);
  calls.op_class = et_schema::op_class(call.call.name);
  ++calls.count;
  const et_schema::TimeStats& time = call.time();
  calls.ns += time.median_ns;
  calls.low_ns += time.p10_ns > 0 ? time.p10_ns : time.median_ns;  // tables tell no percentiles
  calls.high_ns += std::max(time.p90_ns, time.median_ns);
  calls.flops += work.flops;
  calls.bytes += predictor::bytes_of(work);
  calls.arithmetic_ns += work.flops / flop_ceiling(ceilings, type_of(call)) * kGiga;
  calls.counted_flops += work.counted_flops ? 1 : 0;
  calls.counted_bytes += work.counted_bytes ? 1 : 0;
}

/// "aten::mm(float32[64,128] float32[128,32])".
std::string call_text(const MeasuredCall& call) {
  return fmt::format("{}({})", full_name(call.call), to_string(call.call.inputs));
}

struct Bound {
  std::string by;  ///< the ceiling that decides: a level of memory, or "arithmetic"
  double least_ns = 0;
};

/// Returns the bound by the slowest level of memory that the calls did not exceed. Calls whose
/// tensors stay in a cache exceed the levels below it.
Bound bound_of(const Calls& calls, const std::vector<Ceiling>& ceilings) {
  Bound bound;
  for (const Ceiling& level : ceilings) {
    const double memory_ns = calls.bytes / level.per_s * kGiga;
    const double least_ns = std::max(memory_ns, calls.arithmetic_ns);
    if (level.is_bandwidth && (bound.by.empty() || least_ns <= calls.ns)) {
      bound = {memory_ns > calls.arithmetic_ns ? level.name : "arithmetic", least_ns};
    }
  }
  return bound;
}

/// Sums calls with equal names, the longest first.
Json sums_by(const std::vector<MeasuredCall>& calls, const std::vector<Ceiling>& ceilings,
             std::string (*name_of)(const MeasuredCall&)) {
  constexpr double kLeastShare = 0.1;
  std::map<std::string, Calls> sums;
  for (const MeasuredCall& call : calls) {
    add(call, ceilings, et_schema::row_named(name_of(call), sums));
  }
  Json rows = Json::array();
  for (const Calls& sum : et_schema::largest_first(std::move(sums), &Calls::ns)) {
    const Bound bound = bound_of(sum, ceilings);
    const double share = bound.least_ns / sum.ns;
    const auto source = [&](std::uint64_t counted) {
      return counted == 0 ? "shapes" : counted == sum.count ? "counters" : "both";
    };
    rows.push_back({{"name", sum.name},
                    {"class", sum.op_class},
                    {"calls", sum.count},
                    {"ns", sum.ns},
                    {"low_ns", sum.low_ns},
                    {"high_ns", sum.high_ns},
                    {"least_ns", bound.least_ns},
                    {"flop", sum.flops},
                    {"bytes", sum.bytes},
                    {"flop_per_byte", sum.bytes > 0 ? Json(sum.flops / sum.bytes) : Json()},
                    {"flop_per_s", sum.flops / sum.ns * kGiga},
                    {"bytes_per_s", sum.bytes / sum.ns * kGiga},
                    {"share", share},
                    {"bound_by", share < kLeastShare ? "neither" : bound.by},
                    {"flop_by", source(sum.counted_flops)},
                    {"bytes_by", source(sum.counted_bytes)}});
  }
  return rows;
}

pages::Section section_of(const Json& document, const std::string& id, const char* title) {
  pages::Table table = table_at(
      document, "/" + id, fmt::format("{} under the ceilings, by time", title),
      {shortened(texts("name"), 40), texts("class"), counts("calls"), figures("ms", "ns", 1e-6),
       figures("low", "low_ns", 1e-6), figures("high", "high_ns", 1e-6),
       figures("MFLOP", "flop", 1e-6), figures("MB", "bytes", 1e-6),
       figures("FLOP/B", "flop_per_byte"), figures("GFLOP/s", "flop_per_s", 1e-9),
       figures("GB/s", "bytes_per_s", 1e-9), shares("of the ceiling", "share"),
       texts("bound by", "bound_by"), texts("FLOP by", "flop_by"), texts("bytes by", "bytes_by")});
  pages::Plot plot{.draw = pages::Draw::kScatter,
                   .caption = "Areas are times. Calls without arithmetic have no point.",
                   .columns = {8, 9, 3},
                   .words = 1};
  for (const Json& one : document.at("ceilings")) {
    const double rate = one.at("per_s").get<double>() / kGiga;
    const bool rises = one.at("kind") == "bandwidth";
    plot.limits.push_back({fmt::format("{} {} {}", one.at("name").get<std::string>(),
                                       et_schema::figure_text(rate), rises ? "GB/s" : "GFLOP/s"),
                           rate, rises});
  }
  table.plots = {std::move(plot)};
  return {id, title, {std::move(table)}};
}

}  // namespace

pages::Page roofline_page(const std::vector<std::string>& paths,
                          const std::optional<std::string>& platform) {
  predictor::RowsRead read = predictor::read_measured_calls(paths);
  std::vector<MeasuredCall>& calls = read.calls;
  const auto on_host = [](const MeasuredCall& call) { return call.device == "cpu"; };
  if (!std::ranges::all_of(calls, on_host)) {
    std::erase_if(calls, on_host);  // they ran beside the device's
  }
  const predictor::DeviceKey device = predictor::key_of(calls.front());
  std::vector<Ceiling> ceilings =
      !platform && !read.ceilings.empty()
          ? predictor::ceilings_of(read.ceilings, device)
          : predictor::ceilings_of(
                platform ? predictor::read_platform(*platform) : predictor::Platform(), device);
  refuse_if(
      ceilings.empty(), "no ceilings are known of this device", "--platform",
      "rows of replay --cold, what calibrate measured there, or a card whose data sheet is known",
      to_string(device), "understudy calibrate -o here.platform.json", paths.front());
  std::erase_if(ceilings, [&](const Ceiling& one) {
    return !one.is_bandwidth && one.name != "float32" &&
           std::ranges::find(calls, one.name, type_of) == calls.end();
  });
  const Json document = {
      {"device", to_string(device)},
      {"ceilings", predictor::to_json(ceilings)},
      {"calls", sums_by(calls, ceilings, call_text)},
      {"operators",
       sums_by(calls, ceilings, [](const MeasuredCall& call) { return full_name(call.call); })},
      {"classes", sums_by(calls, ceilings, [](const MeasuredCall& call) {
         return std::string(et_schema::op_class(call.call.name));
       })}};
  pages::Page page;
  page.title = fmt::format("Roofline of {} calls, {}", et_schema::with_commas(calls.size()),
                           to_string(device));
  const Json& longest = document["operators"][0];
  page.verdict.sentence = fmt::format(
      "{} takes longest, {} ms of all calls; that is {} of what its ceiling allows, and {} bounds "
      "it.",
      longest["name"].get<std::string>(), et_schema::figure_text(longest["ns"].get<double>() / 1e6),
      et_schema::share_text(longest["share"].get<double>()),
      longest["bound_by"].get<std::string>());
  page.sections = {section_of(document, "calls", "Calls"),
                   section_of(document, "operators", "Operators"),
                   section_of(document, "classes", "Classes"),
                   {"ceilings",
                    "Ceilings",
                    {table_at(document, "/ceilings", "Bandwidth in GB/s, arithmetic in GFLOP/s",
                              {texts("ceiling", "name"), texts("of", "kind"),
                               figures("per second", "per_s", 1e-9)})}}};
  return made_by("operators", std::move(page), document, "roofline.json");
}

}  // namespace understudy::cli

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "arguments.h"
#include "cli/common/output.h"
#include "cli/common/output_path.h"
#include "cli/common/progress.h"
#include "cli/common/run_main.h"
#include "cli/pages/prediction/prediction_page.h"
#include "cli/profile/profiled_device.h"
#include "et_schema/base/error.h"
#include "et_schema/base/map_values.h"
#include "et_schema/base/output_file.h"
#include "et_schema/model/op_class.h"
#include "judged.h"
#include "predictor/calls/known_cards.h"
#include "predictor/operators/anchored.h"

namespace understudy::cli {
namespace {

using Document = nlohmann::ordered_json;
using predictor::Card;
using predictor::TimeParts;

/// A group of kernels with its recorded and predicted times, summed over all steps.
struct Sums {
  std::string name;
  double kernels = 0;
  double recorded_ns = 0;
  double roofline_ns = 0;
  TimeParts parts = {};

  Sums& operator+=(const Sums& more) {
    kernels += more.kernels;
    recorded_ns += more.recorded_ns;
    roofline_ns += more.roofline_ns;
    parts += more.parts;
    return *this;
  }
};

using Groups = std::map<std::string, Sums>;

TimeParts times(TimeParts parts, double factor) {
  for (double& ns : parts.ns) {
    ns *= factor;
  }
  return parts;
}

/// Returns the card with the TF32 peak for float32, if the call's kernels multiply in TF32.
Card as_multiplied(Card card, const ProfiledCall& call) {
  if (std::ranges::any_of(call.kernels, et_schema::multiplies_tf32, &ProfiledKernel::name)) {
    card.flops_by_dtype[et_schema::DType::kFloat32] =
        predictor::most_flops(card, et_schema::DType::kFloat32);
  }
  return card;
}

/// Returns the time of equal calls on the other card by class of kernel. A class keeps its recorded
/// share of a call.
Groups anchored_classes(const ProfiledCall& call, const Card& from, const Card& to) {
  const Card here = as_multiplied(from, call);
  const Card there = as_multiplied(to, call);
  const auto calls = static_cast<double>(call.times_ns.size());
  predictor::RecordedKernels on_card{.call = call.call};
  predictor::RecordedKernels crossing{.call = call.call, .crosses_hosts = true};
  on_card.kernels = 0;
  double longest_ns = -1;
  for (const ProfiledKernel& kernel : call.kernels) {
    (kernel.crosses_hosts ? crossing : on_card).ns += kernel.ns / calls;
    if (!kernel.crosses_hosts) {
      on_card.kernels += static_cast<double>(kernel.count) / calls;
      if (kernel.ns > longest_ns) {
        longest_ns = kernel.ns;
        on_card.kernel_class = kernel.kernel_class;
        on_card.blocks = kernel.blocks;
      }
    }
  }
  const TimeParts there_parts = predictor::anchored_time(on_card, here, there);
  const TimeParts crossing_parts = predictor::anchored_time(crossing, here, there);
  const double roofline_ns = predictor::roofline_bound_ns(call.call, there);
  Groups classes;
  for (const ProfiledKernel& kernel : call.kernels) {
    const predictor::RecordedKernels& all = kernel.crosses_hosts ? crossing : on_card;
    const double share = all.ns > 0 ? kernel.ns / all.ns : 0;
    et_schema::row_named(kernel.kernel_class, classes) +=
        {kernel.kernel_class, static_cast<double>(kernel.count), kernel.ns,
         kernel.crosses_hosts ? kernel.ns : roofline_ns * share,
         times(kernel.crosses_hosts ? crossing_parts : there_parts, share)};
  }
  return classes;
}

struct Predicted {
  Sums all;
  std::vector<Sums> classes;  ///< longest first
  std::vector<std::pair<const ProfiledCall*, Sums>> calls;
};

Predicted predict_calls(const ProfiledDevice& device, const Card& here, const Card& there) {
  Predicted predicted;
  Groups classes;
  for (const ProfiledCall& call : device.calls) {
    Sums of_call{call.key()};
    for (const auto& [name, sums] : anchored_classes(call, here, there)) {
      et_schema::row_named(name, classes) += sums;
      of_call += sums;
    }
    predicted.all += of_call;
    predicted.calls.emplace_back(&call, std::move(of_call));
  }
  predicted.classes = et_schema::largest_first(std::move(classes), &Sums::recorded_ns);
  return predicted;
}

/// Figures of one step.
Document figures_of(const Sums& sums, double steps) {
  const double ns = sums.parts.total_ns();
  const double width_ns = sums.parts.half_width_ns();
  const double ms = 1 / (steps * kNsPerMs);
  return {{"kernels",
           steps == 1 ? Document(std::llround(sums.kernels)) : Document(sums.kernels / steps)},
          {"recorded_ms", sums.recorded_ns * ms},
          {"ms", ns * ms},
          {"low_ms", std::max(ns - width_ns, 0.0) * ms},
          {"high_ms", (ns + width_ns) * ms},
          {"ratio", sums.recorded_ns > 0 ? ns / sums.recorded_ns : 0},
          {"roofline_ms", sums.roofline_ns > 0 ? Document(sums.roofline_ns * ms) : Document()}};
}

Document named(const char* key, const std::string& name, Document figures) {
  Document row = {{key, name}};
  row.update(figures);
  return row;
}

Document document_of(const ProfiledDevice& device, const Predicted& predicted, const Card& here,
                     const Card& there) {
  const auto steps = static_cast<double>(device.steps);
  const double ms = 1 / (steps * kNsPerMs);
  Document parts = Document::array();
  constexpr std::array<const char*, predictor::kTimeParts> kParts = {
      "floors", "latency", "products", "memory", "unknown work", "not the card's"};
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const double ns = predicted.all.parts.ns[i];
    parts.push_back({{"name", kParts[i]},
                     {"ms", ns * ms},
                     {"share", ns / std::max(predicted.all.parts.total_ns(), 1.0)}});
  }
  Document classes = Document::array();
  for (const Sums& sums : predicted.classes) {
    classes.push_back(named("class", sums.name, figures_of(sums, steps)));
  }
  Document calls = Document::array();
  for (const auto& [call, sums] : predicted.calls) {
    Document row = named("operator", sums.name, figures_of(sums, steps));
    row["calls"] = static_cast<double>(call->times_ns.size()) / steps;
    row["kernel"] = std::ranges::max_element(call->kernels, {}, &ProfiledKernel::ns)->name;
    calls.push_back(std::move(row));
  }
  return {{"format", "understudy-anchored-prediction"},
          {"version", 1},
          {"profile", device.file},
          {"from_card", here.name},
          {"card", there.name},
          {"steps", device.steps},
          {"has_arguments", device.has_layouts()},
          {"device", figures_of(predicted.all, steps)},
          {"host",
           {{"step_ms", device.step_ns / kNsPerMs},
            {"device_busy_ms", device.busy_ns / kNsPerMs},
            {"device_idle", device.idle ? Document(*device.idle) : Document()}}},
          {"doubts", et_schema::doubt_text(device.doubts)},
          {"parts", std::move(parts)},
          {"classes", std::move(classes)},
          {"calls", std::move(calls)}};
}

Card recorded_card(const PredictArguments& arguments, const ProfiledDevice& device) {
  if (!arguments.from_card.empty()) {
    return card_named(arguments.from_card, "--from-card");
  }
  if (const Card* const known = predictor::find_known_card(device.device)) {
    return *known;
  }
  throw et_schema::usage_error(
      "the profile does not tell which card it is of",
      {.file = device.file,
       .field = "deviceProperties",
       .expected = "the name of a known card, and no part of one",
       .got = device.device.name.empty() ? "none" : predictor::recorded_card_name(device.device),
       .hint = "say it with --from-card: a name, such as H100, or the JSON file of a card or of a "
               "part of one"});
}

}  // namespace

int predict_from_profile(const PredictArguments& arguments) {
  refuse_output(arguments.report, {arguments.profile, arguments.card, arguments.from_card},
                "--report");
  Progress progress(arguments.quiet);
  const Card there = card_named(arguments.card, "--card");
  progress.show("reading");
  const ProfiledDevice device = read_profiled_device(arguments.profile);
  const Card here = recorded_card(arguments, device);
  const Document document = document_of(device, predict_calls(device, here, there), here, there);
  progress.clear();
  const pages::Page page = pages::anchored_page(document, kRowsInText);
  if (!arguments.report.empty()) {
    et_schema::write_file_atomically(arguments.report, page.data);
  }
  if (!arguments.quiet || arguments.report.empty()) {
    print_output(pages::written(page, arguments.format));
  }
  return kStatusOk;
}

}  // namespace understudy::cli

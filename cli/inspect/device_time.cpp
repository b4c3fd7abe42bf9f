#include "generator/link/device_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/compile/compile.h"
#include "cli/pages/document/from_json.h"
#include "cli/profile/launches.h"
#include "cli/profile/profiled_device.h"
#include "documents.h"
#include "et_schema/base/figures.h"
#include "et_schema/base/file_name.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/map_values.h"
#include "et_schema/formats/counted_kernels/counted_kernels.h"
#include "et_schema/formats/json_trace/sniff.h"
#include "et_schema/formats/kineto/kineto.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using et_schema::DeviceTimeline;
using et_schema::LostBy;
using generator::KernelTime;
using pages::counts, pages::facts_at, pages::figures, pages::shares, pages::shortened,
    pages::table_at, pages::texts;

constexpr double kDeviceNsPerMs = 1e6;

void add_time(const KernelTime& kernel, std::int64_t all_ns, Json row, Json& rows) {
  const auto ns = static_cast<double>(kernel.device_ns);
  row.update({{"count", kernel.count},
              {"ms", ns / kDeviceNsPerMs},
              {"share", all_ns == 0 ? 0 : ns / static_cast<double>(all_ns)}});
  rows.push_back(std::move(row));
}

/// Returns the sums of kernels with equal texts, the longest first: {name, count, ms, share}.
Json sums_by(const std::vector<KernelTime>& kernels, std::int64_t all_ns,
             const std::function<std::string_view(const KernelTime&)>& text_of) {
  std::map<std::string_view, KernelTime> sums;
  for (const KernelTime& kernel : kernels) {
    KernelTime& sum = sums[text_of(kernel)];
    sum.kernel = text_of(kernel);
    sum.count += kernel.count;
    sum.device_ns += kernel.device_ns;
  }
  Json rows = Json::array();
  for (const KernelTime& sum : et_schema::largest_first(std::move(sums), &KernelTime::device_ns)) {
    add_time(sum, all_ns, {{"name", sum.kernel}}, rows);
  }
  return rows;
}

/// Returns launches without device time, and corrected or dropped times, by reason.
Json lost_document(const DeviceTimeline& timeline, const DeviceUse& use) {
  const auto count = [&timeline](LostBy why) {
    return timeline.lost_by[static_cast<std::size_t>(why)];
  };
  return {{"launches", use.doubts.launches},
          {"without_event", count(LostBy::kNoEvent)},
          {"without_time", count(LostBy::kNoTime)},
          {"memsets", count(LostBy::kMemset)},
          {"captured", count(LostBy::kCaptured)},
          {"ranged", count(LostBy::kRanged)},
          {"unknown_category", use.doubts.unknown},
          {"clipped", timeline.clipped},
          {"clock_shift_ms", static_cast<double>(timeline.clock_shift_ns) / kDeviceNsPerMs},
          {"doubts", et_schema::doubt_text(use.doubts)}};
}

/// Returns the counters of kernels that are not 0, the largest shares first: {launcher, kernel,
/// count, counter, per_launch, share}. Only sums have a share of all kernels' sum.
Json counters_of(const et_schema::Profile& profile, const DeviceTimeline& timeline) {
  et_schema::Counters all;
  const std::vector<generator::KernelCounters> kernels =
      generator::kernel_counters(profile, timeline);
  for (const generator::KernelCounters& kernel : kernels) {
    for (const auto& [counter, sum] : kernel.sums) {
      all[counter] += sum;
    }
  }
  std::vector<Json> rows;
  for (const generator::KernelCounters& kernel : kernels) {
    for (const auto& [counter, sum] : kernel.sums) {
      if (sum != 0) {
        rows.push_back(
            {{"launcher", kernel.launcher},
             {"kernel", kernel.kernel},
             {"count", kernel.count},
             {"counter", counter},
             {"per_launch", sum / static_cast<double>(kernel.count)},
             {"share",
              et_schema::counter_fact(counter).adds_up() ? Json(sum / all[counter]) : Json()}});
      }
    }
  }
  std::ranges::stable_sort(rows, std::greater(), [](const Json& row) {
    return row["share"].is_null() ? 0 : row["share"].get<double>();
  });
  return Json(rows);
}

Json profile_document(const et_schema::Profile& profile, const DeviceTimeline& timeline) {
  const std::vector<KernelTime> kernels = generator::kernel_times(profile, timeline);
  std::int64_t all_ns = 0;
  std::uint64_t count = 0;
  for (const KernelTime& kernel : kernels) {
    all_ns += kernel.device_ns;
    count += kernel.count;
  }
  Json rows = Json::array();
  for (const KernelTime& kernel : kernels) {
    add_time(kernel, all_ns,
             {{"name", kernel.kernel},
              {"class", kernel.kernel_class},
              {"launched_by", to_string(kernel.by)},
              {"launcher", kernel.launcher}},
             rows);
  }
  std::vector<et_schema::DeviceEvent> of_steps = timeline.events;
  std::vector<et_schema::DeviceEvent> outside;
  std::erase_if(of_steps, [&outside](const et_schema::DeviceEvent& event) {
    const bool is_outside = event.step == et_schema::kUnknownEvent;
    outside.insert(outside.end(), is_outside ? 1U : 0U, event);
    return is_outside;
  });
  const auto busy_ns = [](const std::vector<et_schema::DeviceEvent>& events) {
    return static_cast<double>(total_ns(DeviceTimeline::busy(events)));
  };
  const DeviceUse use = device_use(profile, timeline);
  const auto ms = [&timeline](double ns) {
    return timeline.events.empty() ? Json() : Json(ns / kDeviceNsPerMs);
  };
  return {{"file", profile.file},
          {"device", use.device.name.empty() ? Json() : Json(use.device.name)},
          {"steps", use.steps},
          {"step_ms", ms(use.step_ns)},
          {"span_ms", ms(use.window_ns)},
          {"idle", use.idle ? Json(*use.idle) : Json()},
          {"beyond_ms", ms(use.beyond_ns)},
          {"busy_ms", ms(busy_ns(of_steps))},
          {"of_no_step", outside.size()},
          {"of_no_step_ms", busy_ns(outside) / kDeviceNsPerMs},
          {"device_ms", static_cast<double>(all_ns) / kDeviceNsPerMs},
          {"count", count},
          {"lost", lost_document(timeline, use)},
          {"classes",
           sums_by(kernels, all_ns, [](const KernelTime& kernel) { return kernel.kernel_class; })},
          {"launches",
           sums_by(kernels, all_ns, [](const KernelTime& kernel) { return to_string(kernel.by); })},
          {"kernels", std::move(rows)},
          {"counters", counters_of(profile, timeline)}};
}

pages::Section profile_section(const Json& document, std::size_t place) {
  const std::string at = fmt::format("/device_time/{}", place);
  const auto sums = [&](const char* key, const std::string& title) {
    return table_at(document, at + key, "Device time by " + title,
                    {texts(title, "name"), counts("count"), figures("ms"), shares("share")});
  };
  const std::string file = document["device_time"][place]["file"].get<std::string>();
  return {fmt::format("profile-{}", place),
          document["device_time"].size() == 1 ? std::string(et_schema::file_name(file)) : file,
          {facts_at(document, at,
                    {texts("card", "device"), figures("on the device", "device_ms", 1, "ms"),
                     figures("in which any stream was at work", "busy_ms", 1, "ms"),
                     figures("a step as profiled, with its work", "step_ms", 1, "ms"),
                     figures("in the marks of the steps", "span_ms", 1, "ms"),
                     shares("of that the device was idle", "idle"),
                     figures("at work outside of the marks", "beyond_ms", 1, "ms"),
                     counts("kernels, copies and fills", "count")}),
           sums("/classes", "class"), sums("/launches", "what launched it"),
           table_at(
               document, at + "/kernels", "Kernels, the longest first",
               {shortened(texts("kernel", "name")), counts("count"), figures("ms"), shares("share"),
                texts("class"), texts("launched by", "launched_by"), texts("launcher")},
               20),
           table_at(document, at + "/counters", "Counters of kernels, the largest shares first",
                    {texts("counter"), figures("per launch", "per_launch"), shares("share"),
                     counts("count"), texts("launcher"), shortened(texts("kernel"))},
                    20)}};
}

void add_findings(const et_schema::Profile& profile, const Json& document, bool is_first,
                  std::vector<std::string>& findings) {
  const auto count = [&document](const char* key) {
    return document.at("lost").at(key).get<std::uint64_t>();
  };
  const auto add = [&](std::uint64_t events, const std::string& text) {
    if (events > 0) {
      findings.push_back(fmt::format("{}: {}", profile.file, text));
    }
  };
  const auto doubts = document.at("lost").at("doubts").get<std::string>();
  add(doubts.empty() || is_first ? 0 : 1, doubts);
  const auto outside = document.at("of_no_step").get<std::uint64_t>();
  add(outside, fmt::format("{} of work launched before the profile or outside of the marks, {} ms: "
                           "they are of no step here.",
                           et_schema::counted(outside, "event"),
                           et_schema::figure_text(document.at("of_no_step_ms").get<double>())));
  add(count("ranged"),
      fmt::format(
          "{} launches were measured by the range profiler, which tells counters and no times.",
          count("ranged")));
  const Json& counters = document.at("counters");
  const bool has_launcher =
      std::ranges::any_of(counters, [](const Json& row) { return row["launcher"] != ""; });
  add(counters.empty() || has_launcher ? 0 : 1,
      "ranges name no launch, and their number is another than that of the launches: counters "
      "stand by kernel alone.");
  add(count("clipped"),
      fmt::format("{} duration{} into the next event of the stream: clipped there.",
                  count("clipped"), count("clipped") == 1 ? " runs" : "s run"));
  if (profile.losses[et_schema::Loss::kTruncatedFiles] > 0) {
    findings.push_back(
        fmt::format("{} is cut off: what came after its end counts nowhere.", profile.file));
  }
  if (document.at("count") == 0 && doubts.empty() && count("ranged") == 0) {
    findings.push_back(
        fmt::format("{} shows no device: record with ProfilerActivity.CUDA, which ROCm has, too.",
                    profile.file));
  }
}

std::string verdict_of(const Json& profiles) {
  const Json& profile = profiles.front();
  auto doubts = profile["lost"]["doubts"].get<std::string>();
  doubts += doubts.empty() ? "" : " ";
  if (profile["classes"].empty()) {
    return doubts + "No device time is known.";
  }
  const Json& longest = profile["classes"].front();
  const std::string idle =
      profile["idle"].is_number()
          ? "; idle in " + et_schema::share_text(profile["idle"].get<double>()) + " of the step"
          : "";
  return fmt::format("{}{}{} ms on the device, {} of it in {}{}.",
                     profiles.size() == 1 ? "" : profile["file"].get<std::string>() + ": ", doubts,
                     et_schema::figure_text(profile["device_ms"].get<double>()),
                     et_schema::share_text(longest["share"].get<double>()),
                     longest["name"].get<std::string>(), idle);
}

/// Returns what a profile of a step that did not run launched: {file, kernels, calls}, in order of
/// launch by operator, kernel, grid and block.
Json launches_document(const et_schema::Profile& profile) {
  std::map<Launch, std::size_t> places;
  Json rows = Json::array();
  Json calls = Json::array();
  for (const Launch& launch : launches_of(profile)) {
    Json& list = launch.is_call ? calls : rows;
    const auto [place, is_new] = places.try_emplace(launch, list.size());
    if (is_new) {
      list.emplace_back(Json{{"count", 0}}).update(json_of(launch));
    }
    Json& count = list[place->second]["count"];
    count = count.get<std::uint64_t>() + 1;
  }
  return {{"file", profile.file}, {"kernels", std::move(rows)}, {"calls", std::move(calls)}};
}

/// Shows the `place`-th of the document's "launches".
pages::Section launches_section(const Json& document, std::size_t place) {
  const std::string at = fmt::format("/launches/{}", place);
  const std::string file = document["launches"][place]["file"].get<std::string>();
  return {fmt::format("launches-{}", place),
          std::string(et_schema::file_name(file)),
          {table_at(document, at + "/kernels", "Kernels, copies and fills, in order of launch",
                    {texts("launcher"), texts("phase"), counts("count"), texts("grid"),
                     texts("block"), counts("registers"), counts("shared bytes", "shared_bytes"),
                     shortened(texts("kernel", "name"))}),
           table_at(document, at + "/calls",
                    "Calls of libraries: which of its kernels a library takes is not known",
                    {texts("launcher"), texts("phase"), counts("count"), texts("call", "name")})}};
}

}  // namespace

pages::Page device_time_page(const std::vector<std::string>& paths) {
  pages::Page page;
  Json profiles = Json::array();
  Json launches = Json::array();
  for (const std::string& path : paths) {
    refuse_if(is_one_benchmark({path}), "a benchmark's device time is shown without a flag",
              "--device-time", "profiles", "a benchmark",
              "understudy inspect BENCH shows it by class of kernel and by what it is in the "
              "benchmark",
              path);
    et_schema::read_input_files(
        path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
          if (et_schema::classify_json(file.data) == et_schema::JsonKind::kKineto) {
            const et_schema::Profile profile =
                et_schema::parse_kineto(file.data, file.name, et_schema::KinetoDetail::kShapes);
            if (profile.not_run) {
              launches.push_back(launches_document(profile));
              return;
            }
            profiles.push_back(profile_document(profile, et_schema::device_timeline(profile)));
            add_findings(profile, profiles.back(), profiles.size() == 1, page.verdict.findings);
          } else if (et_schema::has_counted_kernels(file.data)) {
            et_schema::Profile counted;
            counted.file = file.name;
            counted.ranges = et_schema::parse_counted_kernels(file.data, file.name);
            profiles.push_back(profile_document(counted, et_schema::device_timeline(counted)));
            page.verdict.findings.push_back(
                file.name + " has counters alone: understudy generate --counters takes them.");
          } else if (file.name == path) {
            (void)et_schema::parse_kineto(file.data, file.name);  // says what it is
          }
        });
  }
  refuse_if(profiles.empty() && launches.empty(), "no profile among the inputs", "--device-time",
            "Kineto (chrome) traces, or counters of ncu or rocprofv3", "none",
            "give what torch.profiler's export_chrome_trace() wrote, or a folder of them",
            paths.front());
  page.title = profiles.empty() ? "What the step launches" : "Where the device's time went";
  page.verdict.sentence = profiles.empty() ? "The step did not run: what it would launch is known, "
                                             "and no time."
                                           : verdict_of(profiles);
  Json document = {{"device_time", std::move(profiles)}};
  for (std::size_t i = 0; i < launches.size(); ++i) {
    document["launches"].push_back(std::move(launches[i]));
    page.sections.push_back(launches_section(document, i));
  }
  for (std::size_t i = 0; i < document["device_time"].size(); ++i) {
    page.sections.push_back(profile_section(document, i));
  }
  return made_by("inspect", std::move(page), document, "device_time.json");
}

}  // namespace understudy::cli

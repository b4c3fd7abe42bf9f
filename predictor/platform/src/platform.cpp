#include "predictor/platform/platform.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "et_schema/base/error.h"
#include "et_schema/base/input_files.h"
#include "et_schema/base/version.h"
#include "predictor/calls/measured_files.h"
#include "predictor/operators/operator_models_json.h"

namespace understudy::predictor {
namespace {

using et_schema::JsonField;
using et_schema::read_json;
using nlohmann::ordered_json;

constexpr const char* kFormat = "understudy-platform";
constexpr const char* kHint = "make the file again with `calibrate`";
constexpr std::array<std::string_view, 5> kSections = {"ceilings", "collectives", "embeddings",
                                                       "host", "overheads"};

[[noreturn]] void refuse(const std::string& file, const char* expected, const char* got) {
  throw et_schema::bad_input("the platform cannot be read",
                             {.file = file, .expected = expected, .got = got, .hint = kHint});
}

/// Key of a group of rows; its fields are written once per group.
auto key_of_rows(const MeasuredCall& row) {
  return std::tuple(row.call.name, key_of(row), row.source, row.call.overload, row.call.is_full);
}

ordered_json rows_json(const std::vector<MeasuredCall>& rows) {
  std::map<decltype(key_of_rows(rows.front())), ordered_json> groups;
  for (const MeasuredCall& row : rows) {
    ordered_json& calls = groups[key_of_rows(row)];
    if (calls.is_null()) {
      calls = {{"operator", full_name(row.call)},
               {"device", row.device},
               {"threads", row.threads},
               {"timed", to_string(row.timed())},
               {"source", row.source},
               {"calls", ordered_json::array()}};
      if (row.call.is_full) {
        calls["is_full"] = true;
      }
    }
    ordered_json call = {to_string(row.call.inputs), to_string(row.call.outputs),
                         row.time().median_ns, row.time().spread_ns, row.time().n};
    if (!row.counters.empty()) {
      call.push_back(row.counters);
    }
    calls["calls"].push_back(std::move(call));
  }
  ordered_json json = ordered_json::array();
  for (auto& [key, group] : groups) {
    json.push_back(std::move(group));
  }
  return json;
}

std::vector<TensorLayout> read_tensors(const JsonField& field) {
  return parse_tensors(field.as_text(), [&field](std::string_view /*word*/) {
    field.fail("tensors such as \"float32[4,5] int64[4]\"", field.as_text());
  });
}

constexpr et_schema::NumberRange kTime = {"nanoseconds, more than 0",
                                          [](double ns) { return ns > 0 && std::isfinite(ns); }};

void read_call(const JsonField& field, TimedAs timed, MeasuredCall& row) {
  const std::vector<JsonField> items = field.items();
  constexpr std::size_t kWithoutCounters = 5;
  if (items.size() != kWithoutCounters && items.size() != kWithoutCounters + 1) {
    field.fail("inputs, outputs, median ns, spread ns, n, and counters where there are any");
  }
  row.call.inputs = read_tensors(items[0]);
  row.call.outputs = read_tensors(items[1]);
  row.set_time(timed, {.n = items[4].as_uint(),
                       .median_ns = read_json<double>(items[2], kTime),
                       .spread_ns = items[3].as_double()});
  row.counters.clear();
  if (items.size() > kWithoutCounters) {
    read_json(items[kWithoutCounters], row.counters);
  }
}

std::vector<MeasuredCall> read_rows(const JsonField& field) {
  std::vector<MeasuredCall> rows;
  for (const JsonField& group : field.items()) {
    MeasuredCall row;
    row.call = et_schema::call_named(group.at("operator").as_text());
    row.device = group.at("device").as_text();
    row.threads = group.at("threads").as_int32();
    const auto timed = read_json<TimedAs>(group.at("timed"), kTimedAsNames);
    row.source = group.at("source").as_text();
    const std::optional<JsonField> is_full = group.find("is_full");
    row.call.is_full = is_full && is_full->as_bool();
    for (const JsonField& call : group.at("calls").items()) {
      read_call(call, timed, row);
      rows.push_back(row);
    }
  }
  return rows;
}

/// Parses a platform file of this version; returns the result of `read` for its fields.
template <typename Read>
auto with_root(std::string_view text, const std::string& file, Read&& read) {
  const et_schema::JsonSource source{file, "the platform cannot be read", kHint};
  const nlohmann::json document = et_schema::parse_json(text, source);
  const JsonField root(document, source);
  et_schema::check_format(root, {"platform", kFormat, kPlatformVersion});
  return read(root, document);
}

/// Returns the host of the platform's CPU rows, with peaks to be measured from these rows again.
std::optional<Card> read_host(const JsonField& operators) {
  const std::optional<JsonField> devices = operators.find("devices");
  for (const JsonField& device : devices ? devices->items() : std::vector<JsonField>()) {
    if (device.at("device").as_text() != "cpu") {
      continue;
    }
    auto host = read_json<Card>(device.at("card"));
    host.flops = 0;
    host.bandwidth_bytes_per_s = 0;
    host.flops_by_dtype.clear();
    host.source = host.source.substr(0, host.source.rfind("; "));
    return host;
  }
  return std::nullopt;
}

PlatformContent read_content(const JsonField& root, const nlohmann::json& document) {
  PlatformContent content;
  read_json(root.at("operators").at("cards"), content.cards);
  content.host = read_host(root.at("operators"));
  content.rows = read_rows(root.at("rows"));
  for (const auto& [name, value] : root.at("sections").members()) {
    if (std::ranges::find(kSections, name) == kSections.end()) {
      value.fail(fmt::format("one of the sections {}", fmt::join(kSections, ", ")), name);
    }
    content.sections[name] = document.at("sections").at(name).dump();
  }
  return content;
}

void add(PlatformContent&& more, PlatformContent& content) {
  std::ranges::move(more.rows, std::back_inserter(content.rows));
  for (Card& card : more.cards) {
    if (std::ranges::find(content.cards, card.name, &Card::name) == content.cards.end()) {
      content.cards.push_back(std::move(card));
    }
  }
  if (!content.host) {
    content.host = std::move(more.host);
  }
  more.sections.merge(content.sections);
  content.sections = std::move(more.sections);
}

/// Returns the content of a platform file or an archive of them; null for other files and folders.
std::optional<PlatformContent> content_of(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return std::nullopt;
  }
  std::optional<PlatformContent> content;
  std::string other;
  et_schema::read_input_files(path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
    if (!names_format(file.data, kFormat)) {
      other = file.name;
      return;
    }
    with_root(file.data, file.name, [&](const JsonField& root, const nlohmann::json& document) {
      if (!content) {
        content.emplace();
      }
      add(read_content(root, document), *content);
    });
  });
  if (content && !other.empty()) {
    refuse(other, "a platform file", "another file in an archive of them");
  }
  return content;
}

}  // namespace

std::string to_json(const Platform& platform) {
  ordered_json json = {{"format", kFormat},
                       {"version", kPlatformVersion},
                       {"tool_version", et_schema::kToolVersion},
                       {"operators", json_value(platform.operators)}};
  if (platform.energy) {
    json["energy"] = json_value(*platform.energy);
  }
  json["sections"] = ordered_json::object();
  for (const auto& [name, text] : platform.sections) {
    json["sections"][name] = ordered_json::parse(text);
  }
  json["rows"] = rows_json(platform.rows);
  return et_schema::dump_lines(json, 3) + "\n";
}

Platform parse_platform(std::string_view text, const std::string& file) {
  return with_root(text, file, [&](const JsonField& root, const nlohmann::json& document) {
    PlatformContent content = read_content(root, document);
    Platform platform;
    read_json(root.at("operators"), platform.operators);
    if (const auto energy = root.find("energy")) {
      platform.energy = read_json<EnergyModels>(*energy);
    }
    platform.rows = std::move(content.rows);
    platform.sections = std::move(content.sections);
    return platform;
  });
}

Platform read_platform(const std::string& path) {
  std::optional<Platform> platform;
  et_schema::read_input_files(path, et_schema::process_limits(), [&](et_schema::InputFile&& file) {
    if (platform) {
      refuse(path, "one platform file", "several files");
    }
    platform = parse_platform(file.data, file.name);
  });
  if (!platform) {
    refuse(path, "a platform file", "no JSON file");
  }
  return std::move(*platform);
}

std::vector<std::string> take_platform_files(const std::vector<std::string>& paths,
                                             PlatformContent& content) {
  std::vector<std::string> others;
  for (const std::string& path : paths) {
    if (std::optional<PlatformContent> found = content_of(path)) {
      add(*std::move(found), content);
    } else {
      others.push_back(path);
    }
  }
  return others;
}

}  // namespace understudy::predictor

#include "bench_manifest.h"

#include <fmt/format.h>

#include <algorithm>

#include "et_schema/base/enum_names.h"
#include "et_schema/base/json_record.h"
#include "et_schema/formats/bench/records.h"
#include "et_schema/formats/pytorch_et/process_groups.h"

namespace understudy::et_schema {

using nlohmann::ordered_json;

namespace {

constexpr EnumNames<JoinKind::kOwn> kJoinNames("record function id", "order", "own");
constexpr EnumNames<DeviceWait::For::kEvent> kWaitNames("device", "stream", "event");

}  // namespace

std::optional<Outside> outside_named(std::string_view name) {
  for (std::size_t i = 0; i < kOutsideCount; ++i) {
    if (to_string(static_cast<Outside>(i)) == name) {
      return static_cast<Outside>(i);
    }
  }
  return std::nullopt;
}

const std::string& outside_names() {
  static const std::string names = [] {
    std::string all;
    for (std::size_t i = 0; i < kOutsideCount; ++i) {
      all += fmt::format("{}\"{}\"", i == 0 ? "" : " or ", to_string(static_cast<Outside>(i)));
    }
    return all;
  }();
  return names;
}

std::optional<JoinKind> join_named(std::string_view name) {
  return kJoinNames.find(name);
}

std::optional<DeviceWait::For> wait_named(std::string_view name) {
  return kWaitNames.find(name);
}

static constexpr const char* kFormat = "understudy-bench";

static ordered_json json_value(const Losses& losses) {
  return json_of(losses.nonzero());
}

static void read_value(const JsonField& field, Losses& losses) {
  for (const auto& [name, count] : field.members()) {
    const std::optional<Loss> loss = loss_from_string(name);
    if (!loss) {
      field.fail("names of loss counters, as docs/formats.md lists them", name);
    }
    losses.add(*loss, count.as_uint());
  }
}

static ordered_json json_value(const std::pair<Device, Device>& devices) {
  return {to_string(devices.first), to_string(devices.second)};
}

static void read_value(const JsonField& field, std::pair<Device, Device>& devices) {
  const std::vector<std::string> texts = field.as_texts();
  if (texts.size() != 2) {
    field.fail("[device, device]");
  }
  devices = {parse_device(texts[0]), parse_device(texts[1])};
}

static ordered_json json_value(const ProgramDifferences::NodeShift& node) {
  return {node.first, node.shift};
}

static void read_value(const JsonField& field, ProgramDifferences::NodeShift& node) {
  const std::vector<std::int64_t> numbers = field.as_ints();
  if (numbers.size() != 2 || numbers[0] < 0) {
    field.fail("[instruction, shift]");
  }
  node = {static_cast<std::uint64_t>(numbers[0]), numbers[1]};
}

static ordered_json json_value(const OwnGroup& group) {
  return {group.named, group.own};
}

static void read_value(const JsonField& field, OwnGroup& group) {
  const std::vector<std::int64_t> numbers = field.as_ints();
  if (numbers.size() != 2 || std::ranges::any_of(numbers, [](std::int64_t number) {
        return !std::in_range<GroupId>(number);
      })) {
    field.fail("[group, group]");
  }
  group = {static_cast<GroupId>(numbers[0]), static_cast<GroupId>(numbers[1])};
}

void members(auto& json, SameAs<ProgramDifferences::Comm> auto& comm) {
  json("instruction", comm.instruction);
  json("root_or_peer", comm.root_or_peer);
  json("seq", comm.seq);
  json("in_splits", comm.in_splits);
  json("out_splits", comm.out_splits);
}

void members(auto& json, SameAs<ProgramDifferences> auto& differences) {
  json("devices", differences.devices);
  json("nodes", differences.nodes);
  json("comms", differences.comms);
  json("groups", differences.groups);
}

void members(auto& json, SameAs<Source> auto& source) {
  json("file", source.file);
  json("bytes", source.bytes);
  json.hash("content_hash", source.content_hash);
  json("schema", source.schema);
}

void members(auto& json, SameAs<ProcessGroup> auto& group) {
  json("name", group.name);
  json("description", group.description);
  json("backend", group.backend);
  json("size", group.size, AtLeast{0});
  json("ranks", group.ranks);
}

static void check_record(const JsonField& field, ProcessGroup& group) {
  std::vector<std::int64_t> sorted = group.ranks;
  std::ranges::sort(sorted);
  if (!sorted.empty() &&
      (sorted.front() < 0 || std::ranges::adjacent_find(sorted) != sorted.end())) {
    field.at("ranks").fail("ranks that are not negative, each once");
  }
}

std::string_view to_string(JoinKind join) {
  return kJoinNames[join];
}

std::string_view to_string(DeviceWait::For waits_for) {
  return kWaitNames[waits_for];
}

void members(auto& json, SameAs<Origin> auto& origin) {
  json("first", origin.first);
  json("count", origin.count);
  json("piece", origin.piece);
  json("occurrence", origin.occurrence);
  json("repetition", origin.repetition);
  json("rank", origin.rank);
  json("file", origin.file);
  json.hash("content_hash", origin.content_hash);
}

void members(auto& json, SameAs<Manifest::Rank> auto& rank) {
  json("program", rank.program);
  json("selection", rank.selection);
  json("losses", rank.losses);
  json.if_any("differences", rank.differences);
  json.if_any("timings", rank.timings);
  json.unless(std::nullopt, "profile", rank.profile);
  json.if_any("origins", rank.origins);
}

static void check_record(const JsonField& field, Manifest::Rank& rank) {
  if (rank.profile) {
    (void)field.at("timings");
  }
}

void members(auto& json, SameAs<PartialJob> auto& partial) {
  json("world_size", partial.world_size);
  json("ranks", partial.ranks);
}

static void check_partial(const JsonField& field, const PartialJob& partial, std::size_t programs) {
  const std::vector<std::int64_t>& ranks = partial.ranks;
  if (partial.world_size < 1 || partial.world_size > kMaxWorldSize) {
    field.at("world_size").fail(fmt::format("1 to {}", kMaxWorldSize));
  }
  const bool is_ascending =
      std::ranges::adjacent_find(ranks, std::greater_equal<>()) == ranks.end();
  if (ranks.size() != programs || !is_ascending || ranks.front() < 0 ||
      ranks.back() >= partial.world_size) {
    field.at("ranks").fail(
        fmt::format("{} ranks below {}, ascending", programs, partial.world_size));
  }
}

/// Returns a list as JSON, one item per line. Items are numbered by `index_key`, if set.
template <typename Item>
static std::string lines_of(const std::vector<Item>& items, const char* index_key = nullptr) {
  ordered_json list = ordered_json::array();
  for (const Item& item : items) {
    ordered_json one = ordered_json::object();
    if (index_key != nullptr) {
      one[index_key] = list.size();
    }
    one.update(json_of(item));
    list.push_back(std::move(one));
  }
  return dump_lines(list, 1);
}

std::string manifest_to_json(const Manifest& manifest) {
  std::string out = fmt::format(
      "{{\"format\":\"{}\",\n\"version\":{},\n\"tool_version\":{},\n\"world_size\":{}", kFormat,
      kBenchVersion, dump_lines(manifest.bench.tool_version, 0), manifest.ranks.size());
  if (manifest.bench.partial) {
    out += ",\n\"partial\":" + dump_lines(json_of(*manifest.bench.partial), 0);
  }
  if (manifest.bench.scaled) {
    out += ",\n\"scaled\":" + dump_lines(json_of(*manifest.bench.scaled), 0);
  }
  out += ",\n\"sources\":" + lines_of(manifest.bench.sources);
  out += ",\n\"process_groups\":" + lines_of(manifest.bench.groups, "id");
  return out + ",\n\"ranks\":" + lines_of(manifest.ranks, "rank") + "}\n";
}

Manifest parse_manifest(std::string_view json, const std::string& file) {
  const JsonSource source{file + "/" + kManifestName, "the benchmark's manifest cannot be read",
                          "make the benchmark again with `generate`"};
  const nlohmann::json document = parse_json(json, source);
  const JsonField root(document, source);
  check_format(root, {"benchmark", kFormat, kBenchVersion});

  Manifest manifest;
  manifest.bench.tool_version = root.at("tool_version").as_text();
  read_json(root.at("sources"), manifest.bench.sources);
  read_json(root.at("process_groups"), manifest.bench.groups);
  for (const JsonField& item : root.at("ranks").items()) {
    if (item.at("rank").as_uint() != manifest.ranks.size()) {
      item.at("rank").fail(std::to_string(manifest.ranks.size()));
    }
    read_json(item, manifest.ranks.emplace_back());
  }
  const JsonField world_size = root.at("world_size");
  if (world_size.as_int() < 1 || world_size.as_int() > kMaxWorldSize) {
    world_size.fail(fmt::format("1 to {}", kMaxWorldSize));
  }
  if (world_size.as_uint() != manifest.ranks.size()) {
    world_size.fail(fmt::format("{}, the number of ranks listed", manifest.ranks.size()));
  }
  if (const auto partial = root.find("partial")) {
    read_json(*partial, manifest.bench.partial.emplace());
    check_partial(*partial, *manifest.bench.partial, manifest.ranks.size());
  }
  if (const auto scaled = root.find("scaled")) {
    read_json(*scaled, manifest.bench.scaled.emplace());
    if (manifest.bench.scaled->ranks.size() != manifest.ranks.size()) {
      scaled->at("ranks").fail(fmt::format("{} ranks, one a program", manifest.ranks.size()));
    }
  }
  if (!manifest.bench.sources.empty() && manifest.bench.sources.size() != manifest.ranks.size()) {
    root.at("sources").fail(fmt::format("{} sources, one a rank", manifest.ranks.size()),
                            std::to_string(manifest.bench.sources.size()));
  }
  return manifest;
}

}  // namespace understudy::et_schema

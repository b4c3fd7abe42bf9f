#include "bench_manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "bench_profile.h"
#include "et_schema/pytorch_et/process_groups.h"
#include "et_schema/support/json_fields.h"
#include "et_schema/support/json_text.h"

namespace understudy::et_schema {
namespace {

constexpr const char* kFormat = "understudy-bench";

// ---- writing

class ManifestWriter {
 public:
  std::string write(const Manifest& manifest) {
    out_ = fmt::format("{{\"format\":\"{}\",\n\"version\":{},\n\"tool_version\":", kFormat,
                       manifest.version);
    append_json_string(out_, manifest.tool_version);
    out_ += fmt::format(",\n\"world_size\":{}", manifest.ranks.size());
    if (manifest.partial) {
      out_ += fmt::format(",\n\"partial\":{{\"world_size\":{},\"ranks\":",
                          manifest.partial->world_size);
      append_json_ints(out_, manifest.partial->ranks);
      out_ += '}';
    }
    list(",\n\"sources\":[", manifest.sources, &ManifestWriter::write_source);
    list(",\n\"process_groups\":[", manifest.groups, &ManifestWriter::write_group);
    list(",\n\"ranks\":[", manifest.ranks, &ManifestWriter::write_rank);
    out_ += "}\n";
    return std::move(out_);
  }

 private:
  template <typename Item>
  void list(const char* start, const std::vector<Item>& items,
            void (ManifestWriter::*write_item)(const Item&, std::size_t)) {
    out_ += start;
    for (std::size_t i = 0; i < items.size(); ++i) {
      out_ += i == 0 ? "\n" : ",\n";
      (this->*write_item)(items[i], i);
    }
    out_ += ']';
  }

  void write_source(const Source& source, std::size_t /*index*/) {
    out_ += "{\"file\":";
    append_json_string(out_, source.file);
    out_ += fmt::format(R"(,"bytes":{},"content_hash":"{:016x}","schema":)", source.bytes,
                        source.content_hash);
    append_json_string(out_, source.schema);
    out_ += '}';
  }

  void write_group(const ProcessGroup& group, std::size_t index) {
    out_ += fmt::format(R"({{"id":{},"name":)", index);
    append_json_string(out_, group.name);
    text(",\"description\":", group.description);
    text(",\"backend\":", group.backend);
    out_ += fmt::format(R"(,"size":{},"ranks":)", group.size);
    append_json_ints(out_, group.ranks);
    out_ += '}';
  }

  void write_rank(const Manifest::Rank& rank, std::size_t index) {
    out_ += fmt::format(R"({{"rank":{},"program":)", index);
    append_json_string(out_, rank.program);
    write_selection(rank.selection);
    out_ += ",\"losses\":{";
    bool first = true;
    for (const auto& [name, count] : rank.losses.nonzero()) {
      out_ += fmt::format("{}\"{}\":{}", first ? "" : ",", name, count);
      first = false;
    }
    out_ += '}';
    if (!rank.differences.empty()) {
      write_differences(rank.differences);
    }
    if (rank.profile) {
      text(",\"timings\":", rank.timings);
      out_ += ",\"profile\":";
      append_profile(out_, *rank.profile);
    }
    write_origins(rank.origins);
    out_ += '}';
  }

  void write_origins(const std::vector<Origin>& origins) {
    for (std::size_t i = 0; i < origins.size(); ++i) {
      const Origin& origin = origins[i];
      out_ += fmt::format(R"({}{{"first":{},"count":{})", i == 0 ? ",\"origins\":[" : ",",
                          origin.first, origin.count);
      text(",\"piece\":", origin.piece);
      text(",\"occurrence\":", origin.occurrence);
      text(fmt::format(R"(,"repetition":{},"rank":{},"file":)", origin.repetition, origin.rank),
           origin.file);
      out_ += fmt::format(R"(,"content_hash":"{:016x}"}})", origin.content_hash);
    }
    out_ += origins.empty() ? "" : "]";
  }

  void write_selection(const Selection& selection) {
    text(R"(,"selection":{"step":)", selection.step);
    out_ += ",\"filters\":[";
    for (std::size_t i = 0; i < selection.filters.size(); ++i) {
      text(i == 0 ? "" : ",", selection.filters[i]);
    }
    out_ += fmt::format(R"(],"operators":{},"labels":{},"rounds":{},"opened":[)",
                        selection.operators, selection.labels, selection.rounds);
    for (std::size_t i = 0; i < selection.opened.size(); ++i) {
      const Opened& opened = selection.opened[i];
      text(i == 0 ? "{\"name\":" : ",{\"name\":", opened.name);
      out_ += fmt::format(",\"count\":{}", opened.count);
      text(",\"reason\":", opened.reason);
      if (opened.own_ns != 0) {
        out_ += fmt::format(",\"own_ns\":{}", opened.own_ns);
      }
      out_ += '}';
    }
    out_ += "]}";
  }

  void write_differences(const ProgramDifferences& differences) {
    out_ += R"(,"differences":{"devices":[)";
    for (std::size_t i = 0; i < differences.devices.size(); ++i) {
      text(i == 0 ? "[" : ",[", to_string(differences.devices[i].first));
      text(",", to_string(differences.devices[i].second));
      out_ += ']';
    }
    out_ += "],\"nodes\":[";
    for (std::size_t i = 0; i < differences.nodes.size(); ++i) {
      out_ += fmt::format("{}[{},{}]", i == 0 ? "" : ",", differences.nodes[i].first,
                          differences.nodes[i].shift);
    }
    out_ += "],\"comms\":[";
    for (std::size_t i = 0; i < differences.comms.size(); ++i) {
      const ProgramDifferences::Comm& comm = differences.comms[i];
      out_ += fmt::format(R"({}{{"instruction":{},"group":{},"root_or_peer":{},"seq":{})",
                          i == 0 ? "" : ",", comm.instruction, comm.group, comm.root_or_peer,
                          comm.seq ? std::to_string(*comm.seq) : "null");
      out_ += ",\"in_splits\":";
      append_json_ints(out_, comm.in_splits);
      out_ += ",\"out_splits\":";
      append_json_ints(out_, comm.out_splits);
      out_ += '}';
    }
    out_ += "]}";
  }

  void text(std::string_view before, std::string_view value) {
    out_ += before;
    append_json_string(out_, value);
  }

  std::string out_;
};

// ---- reading

Source read_source(const JsonField& field) {
  Source source;
  source.file = field.at("file").as_text();
  source.bytes = field.at("bytes").as_uint();
  source.content_hash = field.at("content_hash").as_hash();
  source.schema = field.at("schema").as_text();
  return source;
}

ProcessGroup read_group(const JsonField& field) {
  ProcessGroup group;
  group.name = field.at("name").as_text();
  group.description = field.at("description").as_text();
  group.backend = field.at("backend").as_text();
  group.size = field.at("size").as_int();
  if (group.size < 0) {
    field.at("size").fail("a size that is not negative");
  }
  group.ranks = field.at("ranks").as_ints();
  std::vector<std::int64_t> sorted = group.ranks;
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty() &&
      (sorted.front() < 0 || std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())) {
    field.at("ranks").fail("ranks that are not negative, each once");
  }
  return group;
}

Selection read_selection(const JsonField& field) {
  Selection selection;
  selection.step = field.at("step").as_text();
  selection.filters = field.at("filters").as_free_texts();
  selection.operators = field.at("operators").as_uint();
  selection.labels = field.at("labels").as_uint();
  selection.rounds = field.at("rounds").as_uint();
  for (const JsonField& opened : field.at("opened").items()) {
    selection.opened.push_back(
        {opened.at("name").as_text(), opened.at("count").as_uint(), opened.at("reason").as_text()});
    if (const auto own_ns = opened.find("own_ns")) {
      selection.opened.back().own_ns = own_ns->as_int();
    }
  }
  return selection;
}

ProgramDifferences read_differences(const JsonField& field) {
  ProgramDifferences differences;
  for (const JsonField& pair : field.at("devices").items()) {
    const std::vector<std::string> texts = pair.as_texts();
    if (texts.size() != 2) {
      pair.fail("[device, device]");
    }
    differences.devices.emplace_back(parse_device(texts[0]), parse_device(texts[1]));
  }
  for (const JsonField& pair : field.at("nodes").items()) {
    const std::vector<std::int64_t> numbers = pair.as_ints();
    if (numbers.size() != 2 || numbers[0] < 0) {
      pair.fail("[instruction, shift]");
    }
    differences.nodes.push_back({static_cast<std::uint64_t>(numbers[0]), numbers[1]});
  }
  for (const JsonField& item : field.at("comms").items()) {
    ProgramDifferences::Comm comm;
    comm.instruction = item.at("instruction").as_uint();
    const std::uint64_t group = item.at("group").as_uint();
    if (group > std::numeric_limits<GroupId>::max()) {
      item.at("group").fail("a number below 2^32");
    }
    comm.group = static_cast<GroupId>(group);
    comm.root_or_peer = item.at("root_or_peer").as_int();
    if (const JsonField seq = item.at("seq"); !seq.is_null()) {
      comm.seq = seq.as_int();
    }
    comm.in_splits = item.at("in_splits").as_ints();
    comm.out_splits = item.at("out_splits").as_ints();
    differences.comms.push_back(std::move(comm));
  }
  return differences;
}

PartialJob read_partial(const JsonField& field, std::size_t programs) {
  PartialJob partial{field.at("world_size").as_int(), field.at("ranks").as_ints()};
  const std::vector<std::int64_t>& ranks = partial.ranks;
  if (partial.world_size < 1 || partial.world_size > kMaxWorldSize) {
    field.at("world_size").fail(fmt::format("1 to {}", kMaxWorldSize));
  }
  const bool is_ascending =
      std::adjacent_find(ranks.begin(), ranks.end(), std::greater_equal<>()) == ranks.end();
  if (ranks.size() != programs || !is_ascending || ranks.front() < 0 ||
      ranks.back() >= partial.world_size) {
    field.at("ranks").fail(
        fmt::format("{} ranks below {}, ascending", programs, partial.world_size));
  }
  return partial;
}

Origin read_origin(const JsonField& field) {
  Origin origin;
  origin.first = field.at("first").as_uint();
  origin.count = field.at("count").as_uint();
  origin.piece = field.at("piece").as_text();
  origin.occurrence = field.at("occurrence").as_text();
  origin.repetition = field.at("repetition").as_uint();
  origin.rank = static_cast<int>(field.at("rank").as_int());
  origin.file = field.at("file").as_text();
  origin.content_hash = field.at("content_hash").as_hash();
  return origin;
}

Manifest::Rank read_rank(const JsonField& field, std::size_t index) {
  if (field.at("rank").as_uint() != index) {
    field.at("rank").fail(std::to_string(index));
  }
  Manifest::Rank rank;
  rank.program = field.at("program").as_text();
  rank.selection = read_selection(field.at("selection"));
  for (const auto& [name, count] : field.at("losses").members()) {
    if (!rank.losses.add_by_name(name, count.as_uint())) {
      field.at("losses").fail("names of loss counters, as docs/formats.md lists them", name);
    }
  }
  if (const auto differences = field.find("differences")) {
    rank.differences = read_differences(*differences);
  }
  if (const auto profile = field.find("profile")) {
    rank.profile = read_profile(*profile);
    rank.timings = field.at("timings").as_text();
  }
  if (const auto origins = field.find("origins")) {
    for (const JsonField& origin : origins->items()) {
      rank.origins.push_back(read_origin(origin));
    }
  }
  return rank;
}

}  // namespace

std::string manifest_to_json(const Manifest& manifest) {
  return ManifestWriter().write(manifest);
}

Manifest parse_manifest(std::string_view json, const std::string& file) {
  const JsonSource source{file + "/" + kManifestName, "the benchmark's manifest cannot be read",
                          "make the benchmark again with `generate`"};
  const nlohmann::json document = parse_json(json, source);
  const JsonField root(document, source);
  check_format(root, {"benchmark", kFormat, kBenchVersion});

  Manifest manifest;
  manifest.tool_version = root.at("tool_version").as_text();
  for (const JsonField& item : root.at("sources").items()) {
    manifest.sources.push_back(read_source(item));
  }
  for (const JsonField& item : root.at("process_groups").items()) {
    manifest.groups.push_back(read_group(item));
  }
  for (const JsonField& item : root.at("ranks").items()) {
    manifest.ranks.push_back(read_rank(item, manifest.ranks.size()));
  }
  const JsonField world_size = root.at("world_size");
  if (world_size.as_int() < 1 || world_size.as_int() > kMaxWorldSize) {
    world_size.fail(fmt::format("1 to {}", kMaxWorldSize));
  }
  if (world_size.as_uint() != manifest.ranks.size()) {
    world_size.fail(fmt::format("{}, the number of ranks listed", manifest.ranks.size()));
  }
  if (const auto partial = root.find("partial")) {
    manifest.partial = read_partial(*partial, manifest.ranks.size());
  }
  if (!manifest.sources.empty() && manifest.sources.size() != manifest.ranks.size()) {
    root.at("sources").fail(fmt::format("{} sources, one a rank", manifest.ranks.size()),
                            std::to_string(manifest.sources.size()));
  }
  return manifest;
}

}  // namespace understudy::et_schema

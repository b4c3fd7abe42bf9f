#include "et_schema/formats/bench/bench.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "bench_manifest.h"
#include "et_schema/base/assert.h"
#include "et_schema/base/digest.h"
#include "et_schema/base/error.h"
#include "et_schema/base/input_limit.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/quote.h"
#include "et_schema/base/read_file.h"
#include "et_schema/base/zip.h"
#include "et_schema/facts/operator_map.h"
#include "et_schema/facts/public_operators.h"
#include "et_schema/formats/bench/kernels.h"
#include "et_schema/formats/bench/program_text.h"
#include "et_schema/model/bodies.h"
#include "program_check.h"

namespace understudy::et_schema {
namespace {

std::string op_map_name(std::size_t number) {
  return "op_maps/" + std::to_string(number) + ".json";
}

// A zip's first member starts with a local header of 30 bytes, then its name.
constexpr std::string_view kZipSignature("PK\3\4", 4);
constexpr std::size_t kZipNameOffset = 30;

bool starts_as_bench(std::string_view bytes) {
  const std::string_view name = kManifestName;
  return bytes.starts_with(kZipSignature) && bytes.size() >= kZipNameOffset + name.size() &&
         bytes.substr(kZipNameOffset, name.size()) == name;
}

void check_utf8(const std::string& text, const std::string& file) {
  if (simdjson::validate_utf8(text)) {
    return;
  }
  throw bad_input("the benchmark cannot be written",
                  {.file = file,
                   .expected = "names and texts in UTF-8",
                   .got = "other bytes",
                   .hint = "rename the trace, or the operators and annotations in it"});
}

// Groups ranks by behaviour: the first program of each behaviour becomes the shared file.
class Packer {
 public:
  Packer(const Bench& bench, const std::string& file, ManifestNames names)
      : bench_(bench), file_(file), names_(names) {}

  std::vector<ZipMember> pack() {
    Manifest manifest;
    manifest.bench = {bench_.tool_version, bench_.sources, bench_.groups, {},
                      bench_.partial,      bench_.scaled};
    for (std::size_t rank = 0; rank < bench_.programs.size(); ++rank) {
      manifest.ranks.push_back(pack_rank(rank));
    }
    members_.front() = {kManifestName, manifest_to_json(manifest)};
    std::ranges::move(timings_, std::back_inserter(members_));
    for (const ZipMember& member : members_) {
      check_utf8(member.data, file_ + "/" + member.name);
    }
    std::ranges::move(kernel_members(bench_.programs), std::back_inserter(members_));
    for (std::size_t i = 0; i < bench_.op_maps.size(); ++i) {
      members_.push_back({op_map_name(i), bench_.op_maps[i]});
    }
    return std::move(members_);
  }

 private:
  /// Ranks that share a Program object share its members, too.
  Manifest::Rank pack_rank(std::size_t rank) {
    const auto [known, is_new] = packed_.try_emplace(&bench_.programs[rank]);
    if (is_new) {
      known->second = pack_program(rank);
    }
    Manifest::Rank packed = known->second;
    OwnGroups& groups = packed.differences.groups;  // in place of those of the shared file
    for (OwnGroup& group : groups) {
      group.own = own_group(bench_.programs.groups(rank), group.own);
    }
    for (const OwnGroup& group : bench_.programs.groups(rank)) {
      if (std::ranges::count(known->second.differences.groups, group.named, &OwnGroup::own) == 0) {
        groups.push_back(group);
      }
    }
    std::erase_if(groups, [](const OwnGroup& group) { return group.named == group.own; });
    if (rank < bench_.origins.size()) {
      packed.origins = bench_.origins[rank];
    }
    return packed;
  }

  Manifest::Rank pack_program(std::size_t rank) {
    const Program& program = bench_.programs[rank];
    check_program(program, bench_.groups.size(),
                  {file_, static_cast<int>(rank),
                   "a bug of the generator: report it, with the trace that brings it about"});
    const auto [shared, is_new] = shared_.try_emplace(
        program_to_text(program, TextDetail::kBehaviour), Shared{rank, members_.size()});
    if (is_new) {
      const std::string name = "programs/" + std::to_string(members_.size() - 1) + ".jsonl";
      members_.push_back({name, program_to_text(program)});
    }
    const Shared& where = shared->second;
    Manifest::Rank packed{
        members_[where.member].name,
        differences(bench_.programs[where.first_rank], program),
        names_ == ManifestNames::kHashed ? hashed_names(program.selection) : program.selection,
        program.losses,
        program.profile,
        {},
        {}};
    if (program.profile) {
      packed.timings = "timings/" + std::to_string(rank) + ".jsonl";
      timings_.push_back({packed.timings, timings_to_text(program)});
    }
    return packed;
  }

  struct Shared {
    std::size_t first_rank = 0;
    std::size_t member = 0;
  };
  const Bench& bench_;
  const std::string& file_;
  ManifestNames names_;
  std::map<std::string, Shared> shared_;  // by behaviour
  std::map<const Program*, Manifest::Rank> packed_;
  std::vector<ZipMember> members_{ZipMember{}};  // the manifest comes first
  std::vector<ZipMember> timings_;               // come last
};

class Unpacker {
 public:
  Unpacker(std::string_view bytes, const std::string& file, const ReadLimits& limits)
      : file_(file), limits_(limits), members_(unzip(bytes, file, limits)) {}

  Bench unpack() {
    Manifest manifest = parse_manifest(member(kManifestName), file_);
    Bench bench = std::move(manifest.bench);
    const std::vector<CompiledKernel> kernels = read_kernels();
    for (std::size_t number = 0; number < manifest.ranks.size(); ++number) {
      Manifest::Rank& rank = manifest.ranks[number];
      if (!rank.origins.empty()) {
        bench.origins.resize(manifest.ranks.size());
        bench.origins[number] = std::exchange(rank.origins, {});
      }
      OwnGroups groups = own_groups(rank, static_cast<int>(number), bench.groups.size());
      if (const std::optional<std::size_t> same = same_as(manifest.ranks, number)) {
        bench.programs.push_same_as(*same, std::move(groups));
        continue;
      }
      Program program = program_of(rank, static_cast<int>(number), bench.groups.size());
      attach_kernels(kernels, program);
      bench.programs.push_back(std::move(program), std::move(groups));
    }
    for (auto map = members_.find(op_map_name(0)); map != members_.end();
         map = members_.find(op_map_name(bench.op_maps.size()))) {
      OperatorMap().add_rows(map->second, file_ + "/" + map->first);  // validates the map
      bench.op_maps.push_back(map->second);
    }
    return bench;
  }

 private:
  /// Takes the rank's groups out of its differences.
  OwnGroups own_groups(Manifest::Rank& rank, int number, std::size_t groups) const {
    for (const OwnGroup& group : rank.differences.groups) {
      if (group.own >= groups) {
        throw bad_input("the benchmark's manifest does not fit its programs",
                        {.file = file_ + "/" + kManifestName,
                         .rank = number,
                         .field = "differences.groups",
                         .expected = fmt::format("a number below {}, that of groups", groups),
                         .got = std::to_string(group.own),
                         .hint = "make the benchmark again with `generate`"});
      }
    }
    return std::exchange(rank.differences.groups, {});
  }

  /// Returns the first rank that shares this rank's program: equal except for origins and groups.
  std::optional<std::size_t> same_as(const std::vector<Manifest::Rank>& ranks, std::size_t number) {
    std::vector<std::size_t>& alike = ranks_of_[{ranks[number].program, ranks[number].timings}];
    const auto found = std::ranges::find_if(
        alike, [&](std::size_t earlier) { return ranks[earlier] == ranks[number]; });
    if (found != alike.end()) {
      return *found;
    }
    alike.push_back(number);
    return std::nullopt;
  }

  Program program_of(const Manifest::Rank& rank, int number, std::size_t groups) {
    Program program = shared_program(rank.program);
    apply(rank.differences, program, file_ + "/" + kManifestName, number);
    program.selection = rank.selection;
    program.losses = rank.losses;
    program.profile = rank.profile;
    if (program.profile) {
      apply_timings(member(rank.timings), file_ + "/" + rank.timings, program);
    }
    check_program(program, groups,
                  {file_ + "/" + rank.program, number, "make the benchmark again with `generate`"});
    return program;
  }

  [[nodiscard]] std::vector<CompiledKernel> read_kernels() const {
    const auto list = members_.find(kKernelsName);
    if (list == members_.end()) {
      return {};
    }
    return parse_kernels(list->second, file_ + "/" + kKernelsName, [this](const std::string& name) {
      const auto found = members_.find(name);
      return found == members_.end() ? nullptr : &found->second;
    });
  }

  [[nodiscard]] const std::string& member(const std::string& name) const {
    const auto found = members_.find(name);
    if (found != members_.end()) {
      return found->second;
    }
    throw bad_input("the benchmark lacks a member",
                    {.file = file_,
                     .expected = "a member \"" + quote(name) + "\" in the zip",
                     .got = "none",
                     .hint = "make the benchmark again with `generate`"});
  }

  const Program& shared_program(const std::string& name) {
    const std::string& text = member(name);
    // A small file may name one program for many ranks, so each copy counts towards the limit.
    expanded_bytes_ += text.size();
    if (expanded_bytes_ > limits_.max_total_bytes) {
      throw bad_input(
          "the benchmark unpacks to more than is allowed",
          {.file = file_,
           .expected = "programs of at most " + std::to_string(limits_.max_total_bytes) +
                       " bytes over all ranks",
           .got = "more",
           .hint = "do not use this file unless you trust where it is from"});
    }
    check_held(file_, expanded_bytes_, limits_);
    const auto [place, is_new] = programs_.try_emplace(name);
    if (is_new) {
      place->second = program_from_text(text, file_ + "/" + name);
    }
    return place->second;
  }

  const std::string& file_;
  const ReadLimits& limits_;
  std::map<std::string, std::string> members_;
  std::map<std::string, Program> programs_;
  /// Distinct ranks by their members' names.
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> ranks_of_;
  std::uint64_t expanded_bytes_ = 0;
};

std::string hashed(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  return "#" + digest_of(text).substr(0, kDigits);
}

/// Returns "--subgraph #…" for "--subgraph encoder". Filters with a fixed set of values reveal
/// nothing and are kept.
std::string hashed_filter(const std::string& filter) {
  const std::size_t blank = filter.find(' ');
  const bool tells_nothing = blank == std::string::npos || filter.starts_with("--only ");
  // A benchmark that is written again has hashed filters already.
  if (tells_nothing || filter.find(" #") == blank) {
    return filter;
  }
  return filter.substr(0, blank + 1) + hashed(std::string_view(filter).substr(blank + 1));
}

}  // namespace

int Bench::recorded_rank(std::size_t program) const {
  return static_cast<int>(partial ? partial->ranks[program] : static_cast<std::int64_t>(program));
}

int Bench::recorded_world_size() const {
  // If the trace is one rank of a larger job, the world group has the job's size.
  const int in_groups = groups.empty() ? 1 : static_cast<int>(groups.front().ranks.size());
  return std::max({world_size(), in_groups, partial ? static_cast<int>(partial->world_size) : 1});
}

std::string bench_bytes(const Bench& bench, const std::string& file, ManifestNames names) {
  UNDERSTUDY_ASSERT(!bench.programs.empty());
  UNDERSTUDY_ASSERT(bench.sources.empty() || bench.sources.size() == bench.programs.size());
  return zip_bytes(Packer(bench, file, names).pack());
}

void write_bench(const Bench& bench, const std::string& path, ManifestNames names) {
  write_file_atomically(path, bench_bytes(bench, path, names));
}

bool is_bench_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::array<char, kZipNameOffset + 32> start{};
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  return starts_as_bench({start.data(), static_cast<std::size_t>(file.gcount())});
}

Bench read_bench(const std::string& path, const ReadLimits& limits) {
  return read_bench_bytes(read_file(path, limits), path, limits);
}

Bench read_bench_bytes(std::string_view bytes, const std::string& file, const ReadLimits& limits) {
  if (!starts_as_bench(bytes)) {
    throw bad_input(
        "not a benchmark of Understudy",
        {.file = file,
         .expected = std::string("a zip whose first member is ") + kManifestName,
         .got = bytes.empty() ? "an empty file" : "\"" + quote(bytes.substr(0, 16)) + "\" …",
         .hint = "make a benchmark with `understudy generate TRACE… -o bench.et`"});
  }
  return Unpacker(bytes, file, limits).unpack();
}

std::vector<std::string> named_op_maps(const Programs& programs) {
  std::set<std::string_view> files;
  for (const Program& program : programs) {
    for_each_instruction(program.instructions, [&files](const Instruction& instruction) {
      if (const MapRow* const row = operator_map().find_name(instruction.name)) {
        files.insert(row->file);
      }
    });
  }
  std::vector<std::string> maps;
  for (auto file = operator_map().files().rbegin(); file != operator_map().files().rend(); ++file) {
    if (files.contains(file->path)) {
      maps.push_back(file->json);
    }
  }
  return maps;
}

void use_operator_maps(const Bench& bench, const std::string& file) {
  for (std::size_t i = 0; i < bench.op_maps.size(); ++i) {
    use_rows_of_benchmark(bench.op_maps[i], file + "/" + op_map_name(i));
  }
}

std::string benchmark_hash(const Bench& bench) {
  std::string hashes;
  for (const ProcessGroup& group : bench.groups) {
    hashes += fmt::format("{} {} {}", group.name.size(), group.name, group.size);
    for (const auto rank : group.ranks) {
      hashes += fmt::format(" {}", rank);
    }
    hashes += '\n';
  }
  // Makes one program's text at a time: all texts can be larger than the benchmark in memory. A
  // program's groups are numbered in order, and the rank's follow where these are others.
  struct Known {
    std::string hash;
    std::vector<GroupId> groups;  ///< in order of appearance
  };
  std::map<const Program*, Known> all;
  for (std::size_t rank = 0; rank < bench.programs.size(); ++rank) {
    const auto [known, is_new] = all.try_emplace(&bench.programs[rank]);
    auto& [hash, groups] = known->second;
    if (is_new) {
      hash = digest_of(program_to_text(bench.programs[rank], TextDetail::kGroupsInOrder));
      for_each_instruction(bench.programs[rank].instructions, [&](const Instruction& instruction) {
        if (instruction.comm && std::ranges::count(groups, instruction.comm->group) == 0) {
          groups.push_back(instruction.comm->group);
        }
      });
    }
    hashes += hash;
    std::string own;
    bool is_in_order = true;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      const GroupId group = own_group(bench.programs.groups(rank), groups[i]);
      is_in_order = is_in_order && group == i;
      own += fmt::format(" {}", group);
    }
    hashes += (is_in_order ? "" : own) + "\n";
  }
  for (const std::string& map : bench.op_maps) {
    hashes += digest_of(map) + "\n";
  }
  constexpr std::size_t kDigits = 32;
  return digest_of(hashes).substr(0, kDigits);
}

Selection hashed_names(Selection selection) {
  for (std::string& filter : selection.filters) {
    filter = hashed_filter(filter);
  }
  for (Opened& opened : selection.opened) {
    const bool stays = is_public_operator(opened.name) || opened.name.starts_with('#');
    opened.name = stays ? std::move(opened.name) : hashed(opened.name);
  }
  return selection;
}

}  // namespace understudy::et_schema

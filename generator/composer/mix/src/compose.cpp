#include "generator/composer/mix/compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <ranges>
#include <set>
#include <utility>

#include "et_schema/base/content_hash.h"
#include "et_schema/base/error.h"
#include "et_schema/base/version.h"
#include "et_schema/formats/bench/kernels.h"
#include "generator/composer/mix/piece.h"
#include "generator/matching/matching.h"
#include "groups.h"
#include "occurrence.h"
#include "timeline.h"

namespace understudy::composer {
namespace {

using et_schema::Bench;
using et_schema::CompiledKernel;
using et_schema::Instruction;
using et_schema::KernelBuild;
using et_schema::Program;

constexpr std::size_t kMostInstructions = 10'000'000;

const PlanPiece& piece_of(const Plan& plan, const std::string& name) {
  return *std::ranges::find(plan.pieces, name, &PlanPiece::name);
}

const PlanSource& source_of(const Plan& plan, const std::string& name) {
  return *std::ranges::find(plan.sources, name, &PlanSource::name);
}

/// The plan's sources, each read once per annotation.
class Sources {
 public:
  Sources(const Plan& plan, const Load& load) : plan_(plan), load_(load) {}

  const Bench& of(const PlanPiece& piece) {
    const PlanSource& source = source_of(plan_, piece.source);
    auto [found, added] = read_.try_emplace({piece.source, piece.annotation});
    if (added) {
      found->second = std::make_unique<Bench>(load_(source, piece.annotation));
      found->second->programs.separate();
    }
    const Bench& bench = *found->second;
    if (source.rank && *source.rank >= bench.world_size()) {
      refuse_plan(plan_.file, source.line, "a rank that the source does not have",
                  fmt::format("below {}", bench.world_size()), fmt::format("{}", *source.rank));
    }
    return bench;
  }

  /// Returns the custom operator maps of all sources, without duplicates.
  [[nodiscard]] std::vector<std::string> op_maps() const {
    std::vector<std::string> maps;
    for (const auto& [key, bench] : read_) {
      for (const std::string& map : bench->op_maps) {
        if (std::ranges::find(maps, map) == maps.end()) {
          maps.push_back(map);
        }
      }
    }
    return maps;
  }

  /// Returns the machine code of all sources, ordered by key. Sources may have builds of a kernel
  /// for different architectures.
  [[nodiscard]] std::vector<CompiledKernel> kernels() const {
    std::map<std::string, CompiledKernel> merged;
    for (const auto& [key, bench] : read_) {
      for (const Program& program : bench->programs) {
        for (const CompiledKernel& kernel : program.kernels) {
          add_builds(kernel.builds, merged.try_emplace(kernel.key, kernel).first->second.builds);
        }
      }
    }
    const auto kernels = std::views::values(merged);
    return {kernels.begin(), kernels.end()};
  }

 private:
  /// Keeps one build per architecture, in ascending order.
  static void add_builds(const std::vector<KernelBuild>& added, std::vector<KernelBuild>& builds) {
    for (const KernelBuild& build : added) {
      const auto place =
          std::ranges::lower_bound(builds, build.architecture, {}, &KernelBuild::architecture);
      if (place == builds.end() || place->architecture != build.architecture) {
        builds.insert(place, build);
      }
    }
  }

  const Plan& plan_;
  const Load& load_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<Bench>> read_;
};

/// Composes the program of one rank.
class RankComposer {
 public:
  RankComposer(const Plan& plan, Sources& sources, NewGroups& groups, int rank)
      : plan_(plan), sources_(sources), groups_(groups), rank_(rank) {}

  Program compose() {
    std::vector<Timeline> parts;
    for (const PlanItem& item : plan_.run) {
      add_item(item, parts);
    }
    const Timeline timeline = in_sequence(parts, all_);
    finish(timeline);
    return std::move(program_);
  }

  /// Returns the origin of each run of instructions.
  std::vector<et_schema::Origin> take_origins() { return std::move(origins_); }

  /// Adds the steps that pieces were taken from.
  void add_sources(et_schema::Account& account) const {
    for (const Program* const source : used_) {
      std::set<const Instruction*> taken;
      for (const auto& [key, piece] : selected_) {
        for (const std::size_t at : key.second == source ? piece.instructions : Places()) {
          taken.insert(&source->instructions[at]);
        }
      }
      et_schema::add_step(
          *source,
          [&taken](const et_schema::HeldTime& part) {
            const bool is_left = part.instruction != nullptr && !taken.contains(part.instruction);
            return is_left ? std::string("in no piece") : et_schema::in_no_instruction(part);
          },
          account);
    }
  }

 private:
  void add_item(const PlanItem& item, std::vector<Timeline>& parts) {
    if (!item.ranks.empty() && std::ranges::find(item.ranks, rank_) == item.ranks.end()) {
      return;
    }
    for (int i = 0; i < item.repeat; ++i) {
      if (item.parts.empty()) {
        add_piece(item, parts);
        continue;
      }
      std::vector<Timeline> inner;
      for (const PlanItem& part : item.parts) {
        std::vector<Timeline> one;
        PlanItem placed = part;
        placed.ranks = part.ranks.empty() ? item.ranks : part.ranks;
        add_item(placed, one);
        inner.push_back(in_sequence(one, all_));
      }
      parts.push_back(side_by_side(inner, next_lane_, all_));
    }
  }

  /// Returns the ranks of the new job that an item runs on.
  [[nodiscard]] std::vector<int> ranks_of(const PlanItem& item) const {
    std::vector<int> ranks = item.ranks;
    for (int rank = 0; item.ranks.empty() && rank < plan_.ranks; ++rank) {
      ranks.push_back(rank);
    }
    return ranks;
  }

  /// Returns the index of the source's program for this rank, and the new job's rank for each rank
  /// of the source.
  std::pair<std::size_t, std::vector<int>> choose(const PlanItem& item, const PlanPiece& asked,
                                                  const Bench& bench) {
    const PlanSource& source = source_of(plan_, asked.source);
    const std::vector<int> ranks = ranks_of(item);
    const auto place = static_cast<std::size_t>(std::ranges::find(ranks, rank_) - ranks.begin());
    const auto world = static_cast<std::size_t>(bench.world_size());
    const std::size_t chosen = source.rank  ? static_cast<std::size_t>(*source.rank)
                               : world == 1 ? 0
                                            : place % world;
    const Program& program = bench.programs[chosen];
    const bool is_alone = world == 1 && bench.recorded_world_size() == 1;
    if (is_alone || !communicates(program, selected(asked, program))) {
      return {chosen,
              std::vector<int>(static_cast<std::size_t>(bench.recorded_world_size()), rank_)};
    }
    if (source.rank || world != ranks.size() || bench.partial) {
      refuse_plan(plan_.file, item.line, "world sizes that do not fit: the piece communicates",
                  fmt::format("{} ranks, as its source has", bench.recorded_world_size()),
                  source.rank ? "one rank of it" : fmt::format("{} ranks", ranks.size()),
                  "run it on as many ranks (ranks: [0, 1, …]), or choose operators that do not "
                  "communicate");
    }
    return {chosen, ranks};
  }

  void add_piece(const PlanItem& item, std::vector<Timeline>& parts) {
    const PlanPiece& asked = piece_of(plan_, item.piece);
    const Bench& bench = sources_.of(asked);
    const auto [chosen, ranks] = choose(item, asked, bench);
    const Program& origin = bench.programs[chosen];
    const Piece& piece = selected(asked, origin);
    if (piece.instructions.empty()) {
      refuse_plan(plan_.file, asked.line, "a piece that selects nothing",
                  fmt::format("an instruction of {}", asked.source),
                  fmt::format("none with {}", conditions_text(asked)),
                  "understudy inspect --by name lists the source's operators");
    }
    placed_ += piece.instructions.size();
    if (placed_ > kMostInstructions) {
      refuse_plan(plan_.file, item.line, "a mix that is too large",
                  fmt::format("{} instructions a rank at most", kMostInstructions), "more",
                  "repeat less: what repeats within one iteration can be iterations");
    }
    refuse_overlap(asked, origin, piece);
    Binding binding;
    binding.shared =
        item.own_tensors ? nullptr : &shared_[{asked.source, chosen, asked.annotation}];
    binding.group = [&, &ranks = ranks](et_schema::GroupId group) {
      return groups_.find(asked.source, bench, group, ranks);
    };
    note_origin(item.as, asked, bench, chosen);
    all_.push_back(place_piece(origin, piece, binding, program_));
    parts.push_back(alone(all_.size() - 1, all_));
    if (std::ranges::find(used_, &origin) == used_.end()) {
      used_.push_back(&origin);
    }
  }

  const Piece& selected(const PlanPiece& asked, const Program& origin) {
    auto [found, added] = selected_.try_emplace({asked.name, &origin});
    if (added) {
      found->second = select_piece(origin, asked);
    }
    return found->second;
  }

  /// Refuses pieces of one source that have instructions in common.
  void refuse_overlap(const PlanPiece& asked, const Program& origin, const Piece& piece) {
    for (const auto& [key, other] : selected_) {
      if (key.second != &origin || key.first == asked.name) {
        continue;
      }
      const auto both = std::ranges::find_if(piece.instructions, [&other = other](std::size_t at) {
        return std::ranges::binary_search(other.instructions, at);
      });
      if (both != piece.instructions.end()) {
        refuse_plan(plan_.file, asked.line, "pieces that overlap",
                    fmt::format("no instruction of piece {} (line {})", key.first,
                                piece_of(plan_, key.first).line),
                    fmt::format("node {} ({})", origin.instructions[*both].node_id,
                                origin.instructions[*both].name));
      }
    }
  }

  void note_origin(const std::string& occurrence, const PlanPiece& asked, const Bench& bench,
                   std::size_t chosen) {
    et_schema::Origin origin;
    origin.piece =
        asked.name == asked.source ? asked.name : fmt::format("{} of {}", asked.name, asked.source);
    origin.occurrence = occurrence;
    // Counts over the whole mix, since repetitions may be nested.
    origin.repetition = repetitions_[occurrence]++;
    origin.rank = bench.recorded_rank(chosen);
    if (chosen < bench.sources.size()) {
      origin.file = bench.sources[chosen].file;
      origin.content_hash = bench.sources[chosen].content_hash;
    }
    by_occurrence_.push_back(std::move(origin));
  }

  void finish(const Timeline& timeline) {
    std::vector<std::vector<std::size_t>> places(all_.size());
    for (const std::size_t occurrence : timeline.order) {
      const std::size_t number = places[occurrence].size();
      places[occurrence].push_back(program_.instructions.size());
      program_.instructions.push_back(std::move(all_[occurrence].instructions[number]));
      const std::size_t at = program_.instructions.size() - 1;
      if (origins_.empty() || last_origin_ != occurrence) {
        origins_.push_back(by_occurrence_[occurrence]);
        origins_.back().first = at;
        last_origin_ = occurrence;
      }
      ++origins_.back().count;
    }
    for (std::size_t i = 0; i < all_.size(); ++i) {
      for (const auto& [storage, place] : all_[i].holds) {
        program_.storages[storage].held_until = static_cast<std::uint32_t>(places[i][place]);
      }
    }
    number_threads();
    make_values(program_);
    describe_program(timeline);
  }

  /// Numbers threads from 1, in order of their first instruction.
  void number_threads() {
    std::map<std::uint64_t, std::uint64_t> numbers;
    rename_threads(program_.instructions, [&](std::uint64_t thread) {
      return numbers.try_emplace(thread, numbers.size() + 1).first->second;
    });
  }

  void describe_program(const Timeline& timeline) {
    using et_schema::InstructionKind;
    program_.selection.step = "composed";
    for (const Instruction& instruction : program_.instructions) {
      const InstructionKind kind = instruction.kind;
      program_.selection.labels += kind == InstructionKind::kNative ? 1U : 0U;
      const bool is_operator = kind != InstructionKind::kNative &&
                               kind != InstructionKind::kAlias && kind != InstructionKind::kMarker;
      program_.selection.operators += is_operator ? 1U : 0U;
    }
    for (const Program* origin : used_) {
      program_.losses += origin->losses;
      program_.selection.opened.insert(program_.selection.opened.end(),
                                       origin->selection.opened.begin(),
                                       origin->selection.opened.end());
    }
    program_.profile = compose_profile(program_, used_, timeline.length_ns);
    if (!program_.profile) {
      for (Instruction& instruction : program_.instructions) {
        instruction.timing.reset();
      }
    }
  }

  using Places = std::vector<std::size_t>;
  using SourceKey = std::tuple<std::string, std::size_t, std::string>;
  const Plan& plan_;
  Sources& sources_;
  NewGroups& groups_;
  int rank_;
  Program program_;
  std::vector<Occurrence> all_;
  /// Next thread number for parts that run concurrently; counts down, above all recorded numbers.
  std::uint64_t next_lane_ = std::numeric_limits<std::uint64_t>::max();
  std::vector<et_schema::Origin> by_occurrence_;
  std::map<std::string, std::uint64_t> repetitions_;  ///< by name: number of occurrences so far
  std::vector<et_schema::Origin> origins_;
  std::size_t last_origin_ = 0;
  std::size_t placed_ = 0;
  std::map<std::pair<std::string, const Program*>, Piece> selected_;
  std::map<SourceKey, Binding::Shared> shared_;
  std::vector<const Program*> used_;
};

/// Checks that the communications of all ranks match.
void match(const Plan& plan, const Bench& bench) {
  try {
    static_cast<void>(matching::match_programs(bench.programs, bench.groups));
  } catch (const et_schema::Error& error) {
    throw error.with_file(plan.file);
  }
}

}  // namespace

Bench compose(const Plan& plan, const Load& load, et_schema::Account* sources_account) {
  Sources sources(plan, load);
  NewGroups groups(plan.ranks);
  Bench bench;
  bench.tool_version = et_schema::kToolVersion;
  std::set<std::string> schemas;
  for (int rank = 0; rank < plan.ranks; ++rank) {
    RankComposer composer(plan, sources, groups, rank);
    bench.programs.push_back(composer.compose());
    bench.origins.push_back(composer.take_origins());
    if (sources_account != nullptr) {
      composer.add_sources(*sources_account);
    }
    if (bench.programs.back().instructions.empty()) {
      refuse_plan(plan.file, 0, "a rank with nothing to do", "a piece on each rank",
                  fmt::format("none on rank {}", rank));
    }
  }
  bench.op_maps = sources.op_maps();
  const std::vector<CompiledKernel> kernels = sources.kernels();
  bench.programs.edit_each(
      [&](Program& program, std::size_t) { et_schema::attach_kernels(kernels, program); });
  for (const PlanPiece& piece : plan.pieces) {
    for (const et_schema::Source& source : sources.of(piece).sources) {
      schemas.insert(source.schema);
    }
  }
  bench.groups = groups.take();
  et_schema::Source source;
  source.file = plan.name;
  source.schema = schemas.size() == 1 ? *schemas.begin() : "mixed";
  bench.sources.assign(static_cast<std::size_t>(plan.ranks), source);
  match(plan, bench);
  return bench;
}

}  // namespace understudy::composer

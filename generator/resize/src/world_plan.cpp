#include "world_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "generator/flow/model_names.h"

namespace understudy::generator {
namespace {

std::vector<const Instruction*> calls_without_marks(const Program& program) {
  std::vector<const Instruction*> work;
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != et_schema::InstructionKind::kMarker &&
        instruction.kind != et_schema::InstructionKind::kAlias) {
      work.push_back(&instruction);
    }
  }
  return work;
}

void check_alike(const Program& model, int model_rank, const Program& program, int rank) {
  const std::vector<const Instruction*> first = calls_without_marks(model);
  const std::vector<const Instruction*> other = calls_without_marks(program);
  const auto [a, b] =
      std::mismatch(first.begin(), first.end(), other.begin(), other.end(),
                    [](const Instruction* x, const Instruction* y) { return x->name == y->name; });
  if (a == first.end() && b == other.end()) {
    return;
  }
  const auto name = [](const auto& at, const auto& end) {
    return at == end ? std::string("the step's end") : (*at)->name;
  };
  et_schema::ErrorContext context{
      .rank = rank,
      .field = "--world-size",
      .expected = fmt::format("{}, as rank {} calls there", name(a, first.end()), model_rank),
      .got = name(b, other.end()),
      .hint =
          "generate it from one of them, which then stands for the other, or capture the job on "
          "that number of ranks"};
  if (b != other.end()) {
    context.node = (*b)->node_id;
  }
  throw et_schema::bad_input(kNoOtherWorld, std::move(context));
}

std::int64_t position_in(const Mesh& mesh, const std::vector<bool>& along, std::int64_t rank) {
  const std::vector<std::int64_t> ranks = mesh.ranks_along(along, mesh.place_of(rank));
  return std::ranges::find(ranks, rank) - ranks.begin();
}

}  // namespace

std::string call_text(const WorldPlan& plan, et_schema::GroupId group, const Instruction& call) {
  return fmt::format("{} in group '{}'", et_schema::to_string(call.comm->kind),
                     plan.bench().groups[group].name);
}

void refuse_call(const WorldPlan& plan, std::int64_t rank, et_schema::GroupId group,
                 const Instruction& call, std::string expected, std::string got, std::string hint) {
  throw et_schema::bad_input(kNoOtherWorld, {.rank = static_cast<int>(plan.source(rank).rank),
                                             .node = call.node_id,
                                             .field = call_text(plan, group, call),
                                             .expected = std::move(expected),
                                             .got = std::move(got),
                                             .hint = std::move(hint)});
}

WorldPlan::WorldPlan(const et_schema::Bench& bench, const WorldSize& size)
    : bench_(bench),
      keeps_size_(size.ranks == bench.recorded_world_size()),
      kinds_(decide_kinds(bench, size.kinds, keeps_size_)),
      before_(bench, kinds_, keeps_size_),
      axis_(keeps_size_ ? 0 : before_.growing_axis(kinds_)),
      after_(before_.with_size(axis_, ranks_along(size))),
      shares_programs_(size.shares_programs) {
  for (std::int64_t rank = 0; rank < after_.world_size(); ++rank) {
    Mesh::Coordinates place = after_.place_of(rank);
    place[axis_] %= size_before();
    const std::int64_t recorded = before_.rank_at(place);
    sources_.push_back({recorded, program_as(recorded)});
  }
  if (!keeps_size_) {
    check_alike();
  }
}

/// Returns the number of ranks along the axis that grows or shrinks.
std::int64_t WorldPlan::ranks_along(const WorldSize& size) const {
  const std::int64_t others = before_.world_size() / size_before();
  if (size.ranks % others != 0) {
    throw et_schema::bad_input(
        kNoOtherWorld, {.field = "--world-size",
                        .expected = fmt::format("a multiple of {}: {}, {}, {}, …", others, others,
                                                2 * others, 3 * others),
                        .got = fmt::format("{}", size.ranks),
                        .hint = fmt::format("{} of {} ranks keep their groups' sizes", others,
                                            before_.world_size())});
  }
  return size.ranks / others;
}

std::vector<std::int64_t> WorldPlan::ranks_after(et_schema::GroupId group,
                                                 std::int64_t rank) const {
  const std::vector<bool> all(after_.axes().size(), true);
  return after_.ranks_along(kinds_[group] ? before_.along(group) : all, after_.place_of(rank));
}

std::int64_t WorldPlan::count_after(et_schema::GroupId group) const {
  const auto before = static_cast<std::int64_t>(before_.ranks_of(group).size());
  return grows(group) ? before / size_before() * size_after() : before;
}

std::int64_t WorldPlan::position_before(et_schema::GroupId group, std::int64_t rank) const {
  return position_in(before_, before_.along(group), rank);
}

std::int64_t WorldPlan::position_after(et_schema::GroupId group, std::int64_t rank) const {
  return position_in(after_, before_.along(group), rank);
}

std::vector<int> WorldPlan::others() const {
  std::set<int> others;
  for (std::int64_t times = 1; times <= 8; times *= 2) {
    for (const std::int64_t size :
         {size_before() % times == 0 ? size_before() / times : size_before(),
          size_before() * times}) {
      others.insert(static_cast<int>(before_.world_size() / size_before() * size));
    }
  }
  others.erase(static_cast<int>(after_.world_size()));
  return {others.begin(), others.end()};
}

/// Returns the program of a recorded rank or, if it is not in the benchmark, of a rank with the
/// same pipeline coordinates. Throws Error (bad input) if there is none.
std::size_t WorldPlan::program_as(std::int64_t rank) const {
  std::optional<std::size_t> other;
  for (std::size_t i = 0; i < bench_.programs.size(); ++i) {
    if (bench_.recorded_rank(i) == rank) {
      return i;
    }
    if (!other && is_like(bench_.recorded_rank(i), rank)) {
      other = i;
    }
  }
  if (other) {
    return *other;
  }
  throw et_schema::bad_input(
      kNoOtherWorld, {.rank = static_cast<int>(rank),
                      .field = "traces",
                      .expected = "a rank of each stage of the pipeline",
                      .got = fmt::format("ranks {}", fmt::join(bench_.partial->ranks, ", ")),
                      .hint = "give the trace of such a rank, too; --allow-missing without "
                              "--world-size replays these alone"});
}

/// Returns true if two ranks have the same pipeline coordinates, so that they call the same
/// operators.
bool WorldPlan::is_like(std::int64_t a, std::int64_t b) const {
  const Mesh::Coordinates at = before_.place_of(a);
  const Mesh::Coordinates bt = before_.place_of(b);
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] != bt[i] && before_.axes()[i].kind == GroupKind::kPipeline) {
      return false;
    }
  }
  return true;
}

/// Checks that ranks along the axis call the same operators in the same order.
void WorldPlan::check_alike() const {
  for (std::size_t program = 1; program < bench_.programs.size(); ++program) {
    const std::int64_t rank = bench_.recorded_rank(program);
    Mesh::Coordinates place = before_.place_of(rank);
    place[axis_] = 0;
    const std::size_t as = program_as(before_.rank_at(place));
    generator::check_alike(bench_.programs[as], bench_.recorded_rank(as), bench_.programs[program],
                           static_cast<int>(rank));
  }
}

}  // namespace understudy::generator

#include "exchanges.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "et_schema/model/comm_traits.h"
#include "et_schema/model/op_class.h"
#include "generator/flow/model_names.h"
#include "sizes.h"

namespace understudy::generator {
namespace {

/// The rows that a recorded rank sends to each rank of its group, and receives from all.
struct RecordedExchange {
  std::size_t position = 0;        ///< in the recorded group
  std::vector<std::int64_t> sent;  ///< by position
  std::int64_t received = 0;       ///< in total
};

std::int64_t sum_of(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{0});
}

/// Divides `part` into whole shares. Which shares get the remainder depends on `turn`, so that
/// columns are as even as rows.
void deal(std::int64_t part, const std::vector<std::size_t>& takers, std::size_t turn,
          std::vector<std::int64_t>& row) {
  const auto count = static_cast<std::int64_t>(takers.size());
  for (std::size_t i = 0; i < takers.size(); ++i) {
    const auto place = static_cast<std::int64_t>((i + turn) % takers.size());
    row[takers[i]] += part / count + (place < part % count ? 1 : 0);
  }
}

std::int64_t sum_of_column(const RowMatrix& matrix, std::size_t column) {
  std::int64_t sum = 0;
  for (const auto& row : matrix) {
    sum += row[column];
  }
  return sum;
}

/// Moves rows of the matrix from columns with too many to columns with too few.
void even_columns(const std::vector<RecordedExchange>& ranks, RowMatrix& matrix) {
  std::vector<std::int64_t> excess(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    excess[i] = sum_of_column(matrix, i) - ranks[i].received;
  }
  std::size_t to = 0;
  for (std::size_t from = 0; from < ranks.size(); ++from) {
    for (std::size_t row = 0; row < ranks.size() && excess[from] > 0; ++row) {
      while (excess[from] > 0 && matrix[row][from] > 0) {
        while (excess[to] >= 0) {
          ++to;
        }
        const std::int64_t moved = std::min({excess[from], matrix[row][from], -excess[to]});
        matrix[row][from] -= moved;
        matrix[row][to] += moved;
        excess[from] -= moved;
        excess[to] += moved;
      }
    }
  }
}

/// `ranks`: by new rank, the exchange of the recorded rank that it copies.
RowMatrix dealt_exchange(const std::vector<RecordedExchange>& ranks) {
  const std::size_t count = ranks.size();
  const std::size_t recorded = ranks.front().sent.size();
  std::vector<std::vector<std::size_t>> takers(recorded);
  std::vector<std::size_t> turns(count);
  for (std::size_t i = 0; i < count; ++i) {
    turns[i] = takers[ranks[i].position].size();
    takers[ranks[i].position].push_back(i);
  }
  for (std::size_t position = 0; position < recorded; ++position) {
    if (takers[position].empty()) {
      takers[position].push_back(position % count);
    }
  }
  RowMatrix matrix(count, std::vector<std::int64_t>(count));
  std::int64_t sent = 0;
  std::int64_t received = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t position = 0; position < recorded; ++position) {
      deal(ranks[i].sent[position], takers[position], turns[i], matrix[i]);
    }
    sent += sum_of(ranks[i].sent);
    received += ranks[i].received;
  }
  if (sent == received) {
    even_columns(ranks, matrix);
  }
  return matrix;
}

std::int64_t rows_of(const Program& program, const Instruction& call, std::size_t argument) {
  const Slot& slot = program.slots[et_schema::slots_in({call.args[argument]}).front()];
  return slot.sizes.empty() ? 1 : slot.sizes[0];
}

/// Sets the first of the sizes that an allocation is given.
void set_rows(std::int64_t from, std::int64_t to, Instruction& allocation) {
  for (Argument& argument : allocation.args) {
    auto* const sizes = std::get_if<Argument::List>(&argument.value);
    if (sizes != nullptr && !sizes->empty() && sizes->front() == Argument{from}) {
      sizes->front().value = to;
      return;
    }
  }
}

bool meets(const Program& program, const Instruction& instruction, StorageId storage) {
  return std::ranges::any_of(et_schema::all_slots_of(instruction),
                             [&](SlotId slot) { return program.slots[slot].storage == storage; });
}

}  // namespace

/// Returns a program's exchanges, in order, in its own group along the axes of the recorded group.
std::vector<const Instruction*> Exchanges::calls_like(std::size_t program,
                                                      et_schema::GroupId recorded) const {
  std::vector<const Instruction*> calls;
  each_communication(plan_.bench().programs[program].instructions, [&](const Instruction& call) {
    const et_schema::GroupId group = call.comm->group;
    if (is_exchange(call) && plan_.kinds()[group] &&
        plan_.before().along(group) == plan_.before().along(recorded) &&
        (calls.empty() || calls.front()->comm->group == group)) {
      calls.push_back(&call);
    }
  });
  return calls;
}

const RowMatrix& Exchanges::dealt(std::int64_t rank, et_schema::GroupId group,
                                  et_schema::GroupId recorded, std::size_t number) {
  const auto [found, is_new] = dealt_.try_emplace({group, number});
  if (!is_new) {
    return found->second;
  }
  std::vector<RecordedExchange> ranks;
  for (const std::int64_t member : plan_.ranks_after(recorded, rank)) {
    const WorldSource& source = plan_.source(member);
    const Program& program = plan_.bench().programs[source.program];
    const std::vector<const Instruction*> calls = calls_like(source.program, recorded);
    if (number >= calls.size()) {
      throw et_schema::bad_input(
          kNoOtherWorld, {.rank = static_cast<int>(source.rank),
                          .field = fmt::format("group '{}'", plan_.bench().groups[recorded].name),
                          .expected = "as many exchanges as its other ranks",
                          .got = fmt::format("{}", calls.size())});
    }
    const Instruction& call = *calls[number];
    const std::int64_t rows = rows_of(program, call, 0);
    std::vector<std::int64_t> sent = call.comm->in_splits;
    if (sent.empty()) {
      const std::size_t count = plan_.before().ranks_of(call.comm->group).size();
      sent.assign(count, rows / static_cast<std::int64_t>(count));
    }
    if (sum_of(sent) != rows) {
      refuse_call(plan_, member, recorded, call, fmt::format("splits that add up to {} rows", rows),
                  fmt::format("{}", fmt::join(sent, ", ")));
    }
    const auto position = static_cast<std::size_t>(plan_.position_before(recorded, source.rank));
    ranks.push_back({position, std::move(sent), rows_of(program, call, 1)});
  }
  return found->second = dealt_exchange(ranks);
}

bool Exchanges::change(std::int64_t rank, et_schema::GroupId group, et_schema::GroupId recorded,
                       std::size_t number, Instruction& call, Program& program) {
  const std::int64_t size = plan_.count_after(recorded);
  et_schema::CommInfo& comm = *call.comm;
  if (et_schema::traits(comm.kind).sizes == et_schema::CommSizes::kEqualParts &&
      rows_of(program, call, 0) % size == 0 && rows_of(program, call, 1) % size == 0) {
    return false;
  }
  const RowMatrix& matrix = dealt(rank, group, recorded, number);
  const auto self = static_cast<std::size_t>(plan_.position_after(recorded, rank));
  comm.kind = et_schema::CommKind::kAllToAllV;
  comm.in_splits = matrix[self];
  comm.out_splits.clear();
  for (const auto& row : matrix) {
    comm.out_splits.push_back(row[self]);
  }
  const std::int64_t received = sum_of(comm.out_splits);
  return !plan_.shares_programs() && received != rows_of(program, call, 1) &&
         receive(received, rank, recorded, call, program);
}

/// Resizes the call's output to `rows` rows, if only its allocation uses it.
bool Exchanges::receive(std::int64_t rows, std::int64_t rank, et_schema::GroupId recorded,
                        const Instruction& call, Program& program) const {
  const SlotId output = et_schema::slots_in({call.args[1]}).front();
  const WorldSource& source = plan_.source(rank);
  Instruction* allocation = nullptr;
  for (Instruction& instruction : program.instructions) {
    if (&instruction == &call || !meets(program, instruction, program.slots[output].storage)) {
      continue;
    }
    if (!et_schema::allocates_memory(instruction.name) || !instruction.schema) {
      throw WorldDoesNotFit{{.rank = static_cast<int>(source.rank),
                             .node = call.node_id,
                             .field = call_text(plan_, recorded, call),
                             .expected = "ranks that receive together what they send together",
                             .got = fmt::format("{} rows in place of {}, which {} takes", rows,
                                                rows_of(program, call, 1), instruction.name)}};
    }
    allocation = &instruction;
  }
  const Program& was = plan_.bench().programs[source.program];
  program.slots[output].sizes[0] = rows;
  fit_storages(was, program, static_cast<int>(source.rank), "--world-size");
  if (allocation != nullptr) {
    set_rows(rows_of(was, call, 1), rows, *allocation);
    allocation->body.clear();
  }
  return allocation != nullptr;
}

}  // namespace understudy::generator

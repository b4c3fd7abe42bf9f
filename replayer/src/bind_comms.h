#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "et_schema/program.h"
#include "replayer/bind.h"
#include "replayer/bound.h"

namespace understudy::replayer {

/// Describes a communication's call. Throws Error (bad input) where splits, group or reduction do
/// not fit its tensors.
[[nodiscard]] BoundComm bind_comm(const et_schema::Program& program,
                                  const et_schema::Instruction& instruction,
                                  const std::vector<BoundGroup>& groups);

/// Communications that were started and not yet joined, while a program is bound in order.
class OpenComms {
 public:
  explicit OpenComms(const et_schema::Program& program) : program_(program) {}

  void start(std::uint32_t comm, const et_schema::Instruction& instruction, const BoundComm& bound);
  /// Those that must be joined before an instruction that reads or writes these slots.
  [[nodiscard]] std::vector<std::uint32_t> take_touched(
      const std::vector<et_schema::SlotId>& slots);
  /// That which a recorded wait names.
  [[nodiscard]] std::vector<std::uint32_t> take_waited(const et_schema::CommInfo& wait);
  [[nodiscard]] std::vector<std::uint32_t> take_all();

 private:
  struct Open {
    std::uint32_t comm = 0;
    std::optional<std::int64_t> seq;
    std::set<et_schema::StorageId> storages;
  };
  template <typename Matches>
  std::vector<std::uint32_t> take_if(Matches matches);

  const et_schema::Program& program_;
  std::vector<Open> open_;
};

}  // namespace understudy::replayer

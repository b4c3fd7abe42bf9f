#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "et_schema/base/arena.h"
#include "et_schema/model/losses.h"
#include "identity.h"
#include "optimizer.h"
#include "read_calls.h"
#include "tensors.h"

namespace understudy::generator {

/// Finds the tensors of calls' arguments: those that the optimizer's step or identity.h identifies,
/// those of the c10d operator around a communication, or else tensors older than the profile.
class InputTensors {
 public:
  InputTensors(const HostEvents& host, std::span<const Call> calls, const Autograd& autograd,
               Gradients& gradients, Tensors& tensors, et_schema::Arena arena,
               et_schema::Losses& losses)
      : host_(host),
        tensors_(tensors),
        arena_(arena),
        losses_(losses),
        identity_(host, calls, autograd, tensors, gradients),
        optimizer_(tensors, gradients) {}

  /// Begins a step of an optimizer.
  void begin_step() { optimizer_.begin(); }
  /// Returns the tensors of a call's arguments in order; `open` are the calls around it.
  [[nodiscard]] std::vector<SeenIndex> find(Call& call, std::span<const Frame> open,
                                            std::uint64_t moment);
  void ended(const Call& call, std::span<const SeenIndex> inputs,
             std::span<const SeenIndex> results);

 private:
  [[nodiscard]] std::string_view next_name(const Call& call) const;
  void promote(const Call& call, std::span<const Frame> open, std::vector<SeenIndex>& found);
  [[nodiscard]] Wanted wanted_of(const Call& call, std::size_t position,
                                 et_schema::DType dtype) const;
  [[nodiscard]] SeenIndex find_input(const Call& call, std::size_t position,
                                     std::span<const Frame> open, std::span<const SeenIndex> taken,
                                     OptimizerStep::Operand operand);
  [[nodiscard]] et_schema::DType list_dtype(const Call& call, std::size_t position,
                                            std::span<const SeenIndex> taken) const;
  [[nodiscard]] SeenIndex given_by_caller(const Call& call, const et_schema::Tensor& tensor,
                                          std::span<const Frame> open) const;
  [[nodiscard]] SeenIndex add_external(const et_schema::Tensor& tensor, std::int64_t now_ns,
                                       std::span<const Frame> open);
  [[nodiscard]] bool overlaps_written(const Call& call, std::size_t position,
                                      std::span<const SeenIndex> taken, SeenIndex found) const;
  [[nodiscard]] static bool is_number(const Call& call, const et_schema::Tensor& tensor);
  void order_arguments(const Call& call, std::vector<SeenIndex>& found) const;
  void type_lists(const Call& call, std::span<const SeenIndex> found);

  const HostEvents& host_;
  Tensors& tensors_;
  et_schema::Arena arena_;
  et_schema::Losses& losses_;
  Identity identity_;
  OptimizerStep optimizer_;
  std::map<HostIndex, std::vector<OptimizerStep::Operand>> updates_;  ///< by open call of a step
  std::uint64_t moment_ = 0;
};

}  // namespace understudy::generator

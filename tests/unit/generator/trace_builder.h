#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"
#include "generator/job/generate.h"

namespace understudy::generator::test {

inline constexpr const char* kAdd =
    "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor";
inline constexpr const char* kDetach = "aten::detach(Tensor(a) self) -> Tensor(a)";
inline constexpr const char* kEmbedding =
    "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool "
    "scale_grad_by_freq=False, bool sparse=False) -> Tensor";
inline constexpr const char* kMulInPlace =
    "aten::mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)";
inline constexpr const char* kRelu = "aten::relu(Tensor self) -> Tensor";
inline constexpr const char* kSqrt = "aten::sqrt(Tensor self) -> Tensor";

/// A recorded value: its JSON text, shape and type.
struct TestValue {
  std::string value;
  std::string shape = "[]";
  std::string type;
  std::string strides = "[]";
};

/// A tensor of float by default. `storage` and `id` as recorded; contiguous.
[[nodiscard]] TestValue tensor(std::int64_t id, std::int64_t storage,
                               std::vector<std::int64_t> sizes, const std::string& dtype = "float",
                               std::int64_t offset = 0);
/// A tensor of float without storage, as wrappers, sparse and opaque tensors are recorded.
[[nodiscard]] TestValue without_storage(std::int64_t id, const std::vector<std::int64_t>& sizes,
                                        const std::vector<std::int64_t>& strides);
[[nodiscard]] TestValue integer(std::int64_t value);
[[nodiscard]] TestValue list(const std::vector<TestValue>& items);
[[nodiscard]] TestValue none();

/// Writes traces of schema 1.1.1, node by node in order of start.
class TraceBuilder {
 public:
  /// Adds a node and returns its id. Parent 2 is the thread's root.
  std::uint64_t add(std::uint64_t parent, const std::string& name, const std::string& schema,
                    const std::vector<TestValue>& inputs, const std::vector<TestValue>& outputs,
                    const std::string& more_attributes = "");
  [[nodiscard]] et_schema::Trace trace() const;
  /// The program of the trace alone.
  [[nodiscard]] et_schema::Program program(const GenerateOptions& options = {}) const;

 private:
  std::uint64_t next_id_ = 3;
  std::vector<std::string> nodes_;
};

/// Names of the instructions, in order.
[[nodiscard]] std::vector<std::string> names(
    const std::vector<et_schema::Instruction>& instructions);

/// The slot of an instruction's argument, which is a tensor.
[[nodiscard]] const et_schema::Slot& argument_slot(const et_schema::Program& program,
                                                   std::size_t instruction, std::size_t argument);
/// The slot of an instruction's result, which is a tensor.
[[nodiscard]] const et_schema::Slot& result_slot(const et_schema::Program& program,
                                                 std::size_t instruction, std::size_t result);

}  // namespace understudy::generator::test

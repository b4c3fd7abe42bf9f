#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/formats/call_results/call_results.h"
#include "et_schema/formats/kineto/kineto.h"
#include "et_schema/model/program.h"
#include "et_schema/model/trace.h"

namespace understudy::generator {

using et_schema::CallResults;
using et_schema::ResultTensor;

/// A call of an operator whose results are asked for. Tensors among the inputs tell sizes, strides,
/// dtype and device; their ids and offsets mean nothing.
struct AskedCall {
  std::string_view schema;  ///< whole: "aten::add.Tensor(Tensor self, …) -> Tensor"
  /// One for each argument of the schema, kNone for an absent one.
  std::span<const et_schema::Value> inputs;
};

/// Answers calls, each at its place.
using AskResults = std::function<std::vector<CallResults>(std::span<const AskedCall>)>;

/// Calls as a program that has each different one once: an instruction each, in order of their
/// first occurrence. Slots are layouts: arguments of one layout have one slot, whatever tensor they
/// are.
struct AskedProgram {
  et_schema::Program program;
  std::vector<std::size_t> instruction_of;  ///< by call
};
[[nodiscard]] AskedProgram program_of_calls(std::span<const AskedCall> calls);

/// Makes an execution trace of a profile that was read with KinetoDetail::kArguments: a node for
/// each operator and annotation, joined to its event by rf_id. Where events have no ids of their
/// own ("Record function id"), they are numbered in `profile`, so that link() joins them.
///
/// A profile tells operators' arguments, and neither overloads, results nor which tensor is which.
/// Overloads are matched by number and types of the arguments; `ask` tells the results; tensors are
/// told apart by layout, lifetime and place in the program (docs/profiles.md says how, and how
/// often it is right). An operator that no schema fits, or whose results nothing tells, is a label,
/// and the operators below it are replayed in its place. Everything that was inferred or made up is
/// counted in Trace::losses. Throws Error (bad input): a profile without operators.
///
/// `step` is what the trace holds of a profile that marks several steps (ProfilerStep#K): "all",
/// one step by its K, of the others the marks alone, or the first one, if it is empty.
[[nodiscard]] et_schema::Trace trace_of_profile(et_schema::Profile& profile, const AskResults& ask,
                                                std::string_view step = "all");

/// The K of the step of median length, among those that lost no device event, of a profile that
/// marks several (ProfilerStep#K); else empty.
[[nodiscard]] std::string typical_step(const et_schema::Profile& profile);

}  // namespace understudy::generator

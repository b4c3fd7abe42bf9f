#pragma once

#include <cstddef>
#include <functional>
#include <memory>
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

/// An operator's call whose results are queried. Tensors among the inputs have sizes, strides,
/// dtype and device; their ids and offsets are not set.
struct AskedCall {
  std::string_view schema;  ///< whole: "aten::add.Tensor(Tensor self, …) -> Tensor"
  /// One for each argument of the schema; kNone if the argument is absent.
  std::span<const et_schema::Value> inputs;
};

/// Returns the results of each call, in the order of the calls.
using AskResults = std::function<std::vector<CallResults>(std::span<const AskedCall>)>;

/// Numbers calls in order of first occurrence; equal ones, of all ranks too, have one number.
class CallBook {
 public:
  CallBook();
  ~CallBook();
  CallBook(const CallBook&) = delete;
  CallBook& operator=(const CallBook&) = delete;
  /// Forgets new_calls(), and returns the number of each call.
  std::vector<std::size_t> add(std::span<const AskedCall> calls);
  /// Returns the number of an instruction, which must have a schema.
  std::size_t add(const et_schema::Program& program, const et_schema::Instruction& call);
  /// Returns a program of the calls that were numbered since. Slots are layouts: arguments of one
  /// layout share a slot, whichever tensor they are.
  [[nodiscard]] const et_schema::Program& new_calls() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Makes an execution trace from a profile that was read with KinetoDetail::kArguments. Each
/// operator and annotation becomes a node, joined to its event by rf_id. If events have no ids
/// ("Record function id"), they are numbered in `profile`, so that link() joins them.
///
/// A profile records operators' arguments, but not overloads, results or the identity of tensors.
/// Overloads are matched by number and types of the arguments. `ask` returns the results. Tensors
/// are identified by layout, lifetime and place in the program (docs/profiles.md explains how, and
/// how often this is right). An operator that matches no schema, or whose results are unknown,
/// becomes a label, and the operators below it are replayed instead. Everything inferred or assumed
/// is counted in Trace::losses. Throws Error (bad input) if the profile has no operators.
///
/// `step` selects from a profile that marks several steps (ProfilerStep#K): "all"; a number K, for
/// that step; or empty, for the first step. Only the marks of other steps are kept.
[[nodiscard]] et_schema::Trace trace_of_profile(et_schema::Profile& profile, const AskResults& ask,
                                                std::string_view step = "all");

/// Returns the number K of the step of median length among those that lost no device event. Empty
/// unless the profile marks several steps (ProfilerStep#K).
[[nodiscard]] std::string typical_step(const et_schema::Profile& profile);

}  // namespace understudy::generator

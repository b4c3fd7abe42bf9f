#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "et_schema/model/dtype.h"
#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// A tensor among a call's results.
struct ResultTensor {
  DType dtype = DType::kUndefined;  ///< kUndefined: an undefined tensor
  std::vector<std::int64_t> sizes;
  std::vector<std::int64_t> strides;  ///< in elements; empty for a sparse tensor
  /// Number of the input tensor that owns the storage, by for_each_tensor(); -1: a new storage.
  int storage_of = -1;
  int same_as = -1;              ///< number of the input that is this tensor (in-place); -1: none
  std::int64_t offset_from = 0;  ///< storage offset minus that of the input `storage_of`, in
                                 ///< elements; in a new storage, the offset itself
  bool offset_is_absolute = false;  ///< `offset_from` is the offset in the storage itself:
                                    ///< as_strided() with storage_offset
  bool operator==(const ResultTensor&) const = default;
};

/// CallResults::why_not for a nested tensor, which has no sizes.
inline constexpr std::string_view kNestedResult = "a result is a nested tensor";

/// Results of a call.
struct CallResults {
  /// All tensors, with lists concatenated. Results that are not tensors are omitted.
  std::vector<ResultTensor> tensors = {};
  std::vector<int> list_sizes = {};  ///< sizes of the results that are lists of tensors, in order
  std::string why_not = {};          ///< why the results are unknown; if set, `tensors` is empty
  bool fails = false;                ///< `why_not` is what the call failed with, whatever it reads
  std::vector<std::string> calls = {};  ///< of a function alone: the schemas of what it calls
  bool operator==(const CallResults&) const = default;
};

/// Returns the first line of a file of results (JSON lines): format and version.
[[nodiscard]] std::string call_results_header();
/// Parses the header and a line a call:
/// {"tensors":[{"dtype","sizes","strides","storage_of","same_as","offset_from",
/// "offset_is_absolute"}],"list_sizes":[]}, {"why_not":"…","fails":true} or {"calls":[]}. Default
/// values are omitted. Throws Error (bad input); `file` names the text in errors.
[[nodiscard]] std::vector<CallResults> call_results_from_text(std::string_view text,
                                                              const std::string& file);

/// One change of a program that gets other sizes: the new layout of a tensor, a new number among
/// an instruction's arguments, or a remark on an instruction. Instructions are numbered as in the
/// program's text, with those of bodies.
struct OtherSize {
  std::optional<SlotId> slot = {};
  std::vector<std::int64_t> sizes = {};
  std::vector<std::int64_t> strides = {};
  std::int64_t offset = 0;
  std::optional<std::size_t> instruction = {};
  std::optional<std::size_t> argument = {};
  std::optional<std::size_t> item = {};  ///< of a list
  std::int64_t number = 0;
  std::int64_t step = 0;     ///< what each further place of a rank adds to the offset or number
  std::string refused = {};  ///< why the instruction or tensor cannot have the size
  std::string kept = {};     ///< why results keep their recorded sizes
  bool assumed = false;      ///< it makes a tensor of the size, though nothing else demands it
  std::optional<std::vector<std::int64_t>> known = {};  ///< no data has the size: those that it has
};

/// Parses the header and one OtherSize a line. Throws Error (bad input).
[[nodiscard]] std::vector<OtherSize> other_sizes_from_text(std::string_view text,
                                                           const std::string& file);

/// Returns whether an answer can be one about the call, whoever gave it: it names tensors that the
/// call takes, and layouts whose extents stay far below 64 bits.
[[nodiscard]] bool fits(const CallResults& results, const Instruction& call);
/// `calls`: numbered as in the program's text.
[[nodiscard]] bool fits(const OtherSize& other, const Program& program,
                        std::span<const Instruction* const> calls);

}  // namespace understudy::et_schema

#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace understudy::contents {

/// What an operator's schema, tags and name say.
struct Operator {
  c10::OperatorHandle handle;
  std::string name;                  ///< without its overload
  std::vector<std::size_t> written;  ///< places of arguments that it writes
  std::vector<bool> matters;    ///< by argument: what lies there before has a part in the result
  bool is_of_torch = false;     ///< the host has the same one
  bool is_of_groups = false;    ///< between ranks: the played NCCL says what it made known
  bool makes_nothing = false;   ///< takes memory alone
  bool keeps_contents = false;  ///< a view, or a change of a tensor's form
  bool moves = false;           ///< may take other memory for its tensor
  bool is_random = false;
  bool is_copy = false;           ///< moves numbers from tensor to tensor; all of what it may call
  bool has_dynamic_size = false;  ///< of its result, by values
  bool decides = false;           ///< by values, within C++
  bool reads_lengths = false;     ///< decides by its tensors of integers
};

/// Returns null if the dispatcher does not know it.
[[nodiscard]] const Operator* find_operator(const c10::OperatorName& name);

}  // namespace understudy::contents

#pragma once

#include <cstdint>
#include <string_view>

namespace understudy::generator {

/// How an operator's results come by their sizes.
enum class SizeRule : std::uint8_t {
  kSame,      ///< each is a size of an argument, or an argument
  kReshaped,  ///< other sizes with as many elements
  kOneDim,    ///< like kSame, but for the dimension that "dim" names
  kChannels,  ///< like kSame in the first two dimensions; the others are computed
  kIndexed,   ///< like kSame, but for tensors of integers, whose content tells sizes
  kUnknown
};

/// `op`: with or without overload.
[[nodiscard]] SizeRule size_rule(std::string_view op);

/// Whether integers among the arguments index rows of the argument "weight".
[[nodiscard]] bool indexes_rows(std::string_view op);

}  // namespace understudy::generator

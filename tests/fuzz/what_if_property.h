#pragma once

#include <string_view>

namespace understudy::fuzz {

/// By the input's first byte: a question, a batch size, or a program of a few calls made of the
/// other bytes. Each is refused or read; of a program with another batch size every size is the
/// recorded one or has grown with the batch, and lies within its storage. A violation throws
/// std::logic_error or aborts.
void check_what_if(std::string_view input);

}  // namespace understudy::fuzz

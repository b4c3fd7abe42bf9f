#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "random.h"

namespace understudy::fuzz {

/// One change of JSON text by its structure, so that what comes out is mostly JSON again: a value
/// takes the place of another, most often of one with the same key (an id, a parent, a shape, a
/// type); two change places; numbers become extreme ones; a text becomes one of `texts`; an element
/// of an array goes away or comes twice, the second time with an id of its own. Text that is no
/// JSON comes back as it was, or changed where it looks like it.
[[nodiscard]] std::string mutate_json(const std::string& json,
                                      const std::vector<std::string_view>& texts, Random& random);

}  // namespace understudy::fuzz

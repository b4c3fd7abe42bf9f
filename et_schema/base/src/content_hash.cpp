#include "et_schema/base/content_hash.h"

// Inlines XXH3 from its header, which is fastest and needs no library.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace understudy::et_schema {

std::uint64_t content_hash(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace understudy::et_schema

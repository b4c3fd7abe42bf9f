#include "et_schema/base/content_hash.h"

// The header's own inline copy: no library to link, and the fastest form.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace understudy::et_schema {

std::uint64_t content_hash(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace understudy::et_schema

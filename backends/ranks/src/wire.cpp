#include "backends/wire.h"

#include "et_schema/support/assert.h"

namespace understudy::backends {

void Transfers::all_reduce(const Buffer& /*buffer*/, ReduceOp /*op*/, Channel /*channel*/) {
  UNDERSTUDY_ASSERT(false);
}
void Transfers::reduce(const Buffer& /*buffer*/, ReduceOp /*op*/, int /*root*/,
                       Channel /*channel*/) {
  UNDERSTUDY_ASSERT(false);
}
void Transfers::broadcast(const Buffer& /*buffer*/, int /*root*/, Channel /*channel*/) {
  UNDERSTUDY_ASSERT(false);
}
void Transfers::all_gather(const Buffer& /*buffer*/, std::int64_t /*own_bytes*/,
                           Channel /*channel*/) {
  UNDERSTUDY_ASSERT(false);
}
void Transfers::all_to_all(const Buffer& /*from*/, const Buffer& /*to*/,
                           std::int64_t /*part_bytes*/, Channel /*channel*/) {
  UNDERSTUDY_ASSERT(false);
}
void Transfers::barrier(Channel /*channel*/) {
  UNDERSTUDY_ASSERT(false);
}

}  // namespace understudy::backends

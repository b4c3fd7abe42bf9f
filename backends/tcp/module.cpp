#include <memory>

#include "backends/wire.h"
#include "et_schema/support/assert.h"
#include "tcp_wire.h"

extern "C" int understudy_backend_version() {
  return understudy::backends::kBackendVersion;
}

extern "C" understudy::backends::Backend* understudy_make_backend(
    const understudy::backends::BackendOptions& options) {
  namespace backends = understudy::backends;
  const std::optional<backends::Launch> launch = backends::launched();
  UNDERSTUDY_ASSERT(launch.has_value());
  return backends::make_ranks_backend(
             std::make_unique<backends::TcpWire>(*launch, options.time_limit_s), options)
      .release();
}

#pragma once

#include <cstdint>
#include <string>

#include "cli/pages/document/page.h"
#include "et_schema/formats/bench/bench.h"
#include "et_schema/model/device_time.h"

namespace understudy::cli {

/// Shows the result of `compose`.
[[nodiscard]] pages::Page composed_page(const et_schema::Bench& bench, const std::string& path,
                                        std::uint64_t bytes, const et_schema::Account& sources);

}  // namespace understudy::cli

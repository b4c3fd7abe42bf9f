#pragma once

#include <string>

#include "et_schema/bench/bench.h"
#include "pages/html/page.h"

namespace understudy::cli {

/// A benchmark as a page: what it holds, the timeline of the recorded step and where its time went,
/// as far as a profile was linked. `json`: what `inspect --format json` prints, the page's data.
[[nodiscard]] pages::Page bench_page(const et_schema::Bench& bench, const std::string& file,
                                     const std::string& json);

}  // namespace understudy::cli

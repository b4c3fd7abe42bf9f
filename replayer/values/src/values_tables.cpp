#include <fmt/format.h>

#include <utility>

#include "et_schema/base/assert.h"
#include "et_schema/base/error.h"
#include "replayer/values/draws.h"
#include "replayer/values/values.h"
#include "values_store.h"

namespace understudy::replayer {

TableSeeder::TableSeeder(at::Tensor table, std::int64_t row_elements, et_schema::ValueRule rule,
                         ValueKey key)
    : table_(std::move(table)), row_elements_(row_elements), rule_(std::move(rule)), key_(key) {
  UNDERSTUDY_ASSERT(table_.is_cpu() && table_.is_contiguous() && row_elements_ > 0);
  check_rule(rule_, table_.numel());
}

void TableSeeder::seed_rows(std::span<const std::int64_t> rows) {
  const std::int64_t count = table_.numel() / row_elements_;
  for (const std::int64_t row : rows) {
    if (row < 0 || row >= count) {
      et_schema::ErrorContext context;
      context.field = "indices";
      context.expected = fmt::format("rows 0 to {}", count - 1);
      context.got = fmt::format("row {}", row);
      context.hint = "the benchmark's value rules do not fit this operator: generate it again";
      throw et_schema::run_failed("an index points outside of its table", context);
    }
  }
  const Draws draws(rule_, key_, table_.numel());
  for (const std::int64_t row : rows) {
    if (seeded_.insert(row).second) {
      write_row(draws, row);
    }
  }
}

void TableSeeder::restore() {
  const Draws draws(rule_, key_, table_.numel());
  for (const std::int64_t row : seeded_) {
    write_row(draws, row);
  }
}

void TableSeeder::write_row(const Draws& draws, std::int64_t row) {
  const std::int64_t first = row * row_elements_;
  auto* data = static_cast<std::byte*>(table_.data_ptr()) +
               first * static_cast<std::int64_t>(table_.element_size());
  store_draws(draws, rule_, first, row_elements_, data, table_.scalar_type());
}

}  // namespace understudy::replayer

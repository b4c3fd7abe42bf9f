// Tables of emitted projects: what a step reads of them is as if they had been filled.
#include <ATen/TensorOperators.h>
#include <ATen/ops/_embedding_bag.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/embedding.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/index.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <vector>

#include "bench/tensors.h"
#include "replayer/memory/memory.h"

namespace understudy::replayer {
namespace {

constexpr std::int64_t kWidth = 64;
constexpr std::int64_t kRows = bench::kMappedBytes / (kWidth * 4);
constexpr std::uint64_t kSeed = 7;
constexpr std::uint64_t kId = 12;

/// A table that is just large enough, and what it holds by its rule.
struct Made {
  bench::Maker maker{kSeed};
  at::Tensor table = maker.tensor(kId, at::kFloat, {kRows, kWidth}, bench::normal(0, 1));

  at::Tensor with_seeding(const std::function<at::Tensor()>& read) {
    maker.fill_all();
    const bench::TableSeeding seeding(maker.tables());
    return read();
  }
};

/// Row by row by the rule: element i counts from the table's begin.
at::Tensor expected(const std::vector<std::int64_t>& rows) {
  const et_schema::ValueRule rule = *bench::normal(0, 1);
  const Draws draws(rule, {kSeed, kId}, kRows * kWidth);
  at::Tensor made = at::empty({static_cast<std::int64_t>(rows.size()), kWidth}, at::kFloat);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    store(draws, rule, rows[i] * kWidth, kWidth, made[static_cast<std::int64_t>(i)].data_ptr(),
          at::kFloat);
  }
  return made;
}

const std::vector<std::int64_t> kRead = {3, kRows - 1, 3, 70000};
at::Tensor rows_read() {
  return at::tensor(kRead);
}

TEST(EmittedTables, LookedUpRowsHaveTheirValues) {
  Made made;
  EXPECT_TRUE(at::equal(made.with_seeding([&] { return at::embedding(made.table, rows_read()); }),
                        expected(kRead)));
  Made select;
  EXPECT_TRUE(
      at::equal(select.with_seeding([&] { return at::index_select(select.table, 0, rows_read()); }),
                expected(kRead)));
  Made index;
  const c10::List<std::optional<at::Tensor>> from_the_end({rows_read() - kRows});
  EXPECT_TRUE(at::equal(index.with_seeding([&] { return at::index(index.table, from_the_end); }),
                        expected(kRead)));
  Made bags;
  const at::Tensor sums = bags.with_seeding(
      [&] { return std::get<0>(at::_embedding_bag(bags.table, rows_read(), at::arange(4))); });
  EXPECT_TRUE(at::equal(sums, expected(kRead)));
}

TEST(EmittedTables, APartOfATableHasTheTablesValues) {
  Made made;
  const at::Tensor rows = made.with_seeding(
      [&] { return at::embedding(made.table.narrow(0, 1000, 5000), rows_read().slice(0, 0, 1)); });
  EXPECT_TRUE(at::equal(rows, expected({1003})));
}

TEST(EmittedTables, RestoreGivesWrittenRowsTheirFirstValues) {
  Made made;
  made.maker.changes({made.table});
  const at::Tensor first =
      made.with_seeding([&] { return at::embedding(made.table, rows_read()); }).clone();
  made.maker.remember();
  made.table.index_fill_(0, rows_read(), 5);
  made.maker.restore();
  EXPECT_TRUE(at::equal(at::embedding(made.table, rows_read()), first));
}

TEST(EmittedTables, TakeMemoryWhereTheyAreRead) {
  Made made;
  made.maker.changes({made.table});
  made.with_seeding([&] { return at::embedding(made.table, rows_read()); });
  made.maker.remember();
  EXPECT_LE(touched_bytes(made.table.storage()), 16 * 4096) << "three rows, of a page or two each";
}

TEST(EmittedTables, ARowBeyondTheTableIsRefused) {
  Made made;
  EXPECT_THROW(made.with_seeding([&] { return at::embedding(made.table, rows_read() + kRows); }),
               c10::Error);
}

}  // namespace
}  // namespace understudy::replayer

// Documents made of JSON: what their tables hold, and that texts hold it all.

#include "cli/pages/document/from_json.h"

#include <gtest/gtest.h>

#include "page_samples.h"

namespace understudy::pages {
namespace {

using Json = nlohmann::ordered_json;

const Json& ranks_document() {
  static const Json document = Json::parse(R"({
    "bytes": 2048, "nothing": null, "tags": {"team": "a", "tier": 1}, "steps": [1, 2],
    "ranks": [
      {"rank": 0, "losses": {"aliases": 4}, "groups": [{"name": "world", "size": 8}],
       "ops": [{"name": "aten::mm", "self_ns": 1500000, "at": {"node": 9}}]},
      {"rank": 1, "losses": {"aliases": 2, "missing_nodes": 1},
       "groups": [{"name": "world", "size": 8}, {"name": "pair", "size": 2}],
       "ops": [{"name": "aten::mm", "self_ns": 500000, "at": {"node": 9}}]},
      {"rank": 2, "losses": {}, "groups": [{"name": "world", "size": 8}, {"name": "pair", "size": 2}],
       "ops": []}]})");
  return document;
}

Table groups_at(const Json& document) {
  return table_at(document, "/ranks/*/groups", "Groups",
                  {texts("group", "name"), counts("size"), ids("rank")});
}

std::string text_of(const Table& table) {
  return to_text({{"section", "Section", {table}}});
}

TEST(TableAt, TellsRowsOfSeveralRanksOnce) {
  EXPECT_EQ(text_of(groups_at(ranks_document())),
            "\nGroups\n"
            "  size  group  rank\n"
            "     8  world  all\n"
            "     2  pair   1, 2\n");
}

TEST(TableAt, OfOneRankHasNoColumnOfRanks) {
  Json one = ranks_document();
  one["ranks"].erase(2);
  one["ranks"].erase(0);
  EXPECT_EQ(text_of(groups_at(one)),
            "\nGroups\n"
            "  size  group\n"
            "     8  world\n"
            "     2  pair\n");
}

TEST(TableAt, EqualRanksAreOneRow) {
  Json ranks = Json::array();
  for (const int rank : {0, 1, 2, 5}) {
    ranks.push_back({{"rank", rank}, {"ms", rank == 1 ? 7.5 : 2.5}});
  }
  const std::vector<Column> columns = {ids("rank"), figures("ms")};
  EXPECT_EQ(text_of(table_at({{"ranks", ranks}}, "/ranks", "Ranks", columns)),
            "\nRanks\n"
            "     ms  rank\n"
            "  2.500  0, 2, 5\n"
            "  7.500  1\n");
  ranks.erase(2);
  ranks.erase(2);
  EXPECT_EQ(text_of(table_at({{"ranks", ranks}}, "/ranks", "Ranks", columns)),
            "\nRanks\n"
            "  rank     ms\n"
            "     0  2.500\n"
            "     1  7.500\n");
}

TEST(TableAt, SumsAndScales) {
  const Table table = table_at(ranks_document(), "/ranks/*/ops", "Operators",
                               {shortened(texts("operator", "name"), 5),
                                summed(figures("ms", "self_ns", 1e-6)), ids("node", "at/node")});
  EXPECT_EQ(text_of(table),
            "\nOperators, sums over all\n"
            "     ms  node  operator\n"
            "  2.000     9  aten:…\n");
}

TEST(TableAt, KernelsLoseTheirNamespacesBeforeTheyAreCut) {
  const Json kernels = {
      {"kernels",
       {{{"name", "at::native::softmax"}},
        {{"name", "void at::native::(anonymous namespace)::softmax<c10::Half>(c10::Half*)"}},
        {{"name", "void at::native::mul<at::kernel(at::Tensor&)::{lambda()#2}::operator()>"}}}}};
  EXPECT_EQ(text_of(table_at(kernels, "/kernels", "Kernels", {shortened(texts("name"), 28)})),
            "\nKernels\n"
            "  name\n"
            "  at::native::softmax\n"
            "  void softmax<Half>(Half*)\n"
            "  void mul<kernel(Tensor&)::{l…\n");
}

TEST(LossesAt, SaysWhatTheyMean) {
  EXPECT_EQ(
      text_of(losses_at(ranks_document(), "/ranks/*/losses")),
      "\nLosses: what was lost, assumed or repaired on the way from the trace, sums over all\n"
      "  count  loss           severity  meaning\n"
      "      6  aliases        info      Views made outside of the dispatcher, rebuilt with "
      "as_strided.\n"
      "      1  missing_nodes  loss      Nodes that the file lacks: thread roots are made up, "
      "nodes "
      "without a parent hang from their thread's root, dependencies are passed over.\n");
}

TEST(FactAt, IsNothingWhereTheDataHasNone) {
  EXPECT_EQ(fact_text(fact_at(ranks_document(), "/bytes", "bytes", CellKind::kBytes)), "2.0 KiB");
  EXPECT_EQ(fact_text(fact_at(ranks_document(), "/nothing", "nothing", CellKind::kCount)), "–");
  EXPECT_EQ(fact_text(fact_at(ranks_document(), "/absent/key", "absent", CellKind::kCount)), "–");
  EXPECT_EQ(fact_text(fact_at(ranks_document(), "/tags", "tags", CellKind::kText)),
            "team=a, tier=1");
  EXPECT_EQ(fact_text(fact_at(ranks_document(), "/steps", "steps", CellKind::kText)), "1, 2");
}

/// Each fact of the data and the first cell of each row stand in the text.
void expect_in_text(const Page& page, std::size_t& seen) {
  const std::string text = to_text(page);
  for (const Section& section : page.sections) {
    for (const Block& block : section.blocks) {
      if (const auto* const facts = std::get_if<Facts>(&block)) {
        for (const Fact& fact : *facts) {
          ++seen;
          EXPECT_NE(text.find(fact_text(fact)), std::string::npos) << fact.name;
        }
      } else if (const auto* const table = std::get_if<Table>(&block)) {
        for (std::size_t i = 0; i < std::min(table->rows.size(), table->shown_in_text); ++i) {
          const std::string name = cell_text(table->rows[i].front(), table->columns.front().kind);
          ++seen;
          EXPECT_NE(text.find(name.substr(0, table->columns.front().most_in_text)),
                    std::string::npos)
              << table->id << ": " << name;
        }
      }
    }
  }
}

TEST(Documents, HaveEachFactAndRowInTheText) {
  std::size_t seen = 0;
  const auto samples = sample_pages({});
  for (const NamedPage& sample : samples) {
    expect_in_text(sample.page, seen);
  }
  EXPECT_GT(seen, samples.size()) << "a page of plots has none, the others have many";
}

}  // namespace
}  // namespace understudy::pages

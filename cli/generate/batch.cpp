#include "generate/batch.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/figures.h"
#include "common/table.h"

namespace understudy::cli {

void add_batch_options(CLI::App& app, BatchTexts& texts) {
  CLI::Option* batch =
      app.add_option("--batch", texts.batch,
                     "FROM:TO, such as 64:256: give the benchmark batch size TO instead of the "
                     "recorded FROM, without recorded times")
          ->type_name("SIZES");
  app.add_option("--size", texts.size,
                 "FROM:TO, such as 512:2048: the same of the length of sequences, or of another "
                 "size of the data, that nothing else has")
      ->type_name("SIZES")
      ->excludes(batch);
}

std::optional<generator::BatchSize> BatchTexts::parsed() const {
  if (batch.empty() && size.empty()) {
    return std::nullopt;
  }
  return generator::parse_batch_size(batch + size, !size.empty());
}

std::string batched_text(const generator::BatchSize& batch,
                         const generator::BatchedBench& batched) {
  std::map<std::string, generator::BatchChange> operators;
  for (const auto& changes : batched.changes) {
    for (const generator::BatchChange& change : changes) {
      const auto [found, added] = operators.try_emplace(change.name, change);
      found->second.count += added ? 0 : change.count;
    }
  }
  TextTable table({{"operator"}, {"calls", Alignment::kRight}, {"the first was"}, {"and is"}});
  for (const auto& [name, change] : operators) {
    table.add({name, with_commas(change.count), change.before, change.after});
  }
  std::string text = fmt::format("\n{} {} became {}: shapes of these operators\n",
                                 batch.anywhere ? "Size" : "Batch", batch.from, batch.to) +
                     table.to_text();
  if (batched.dropped_bodies > 0) {
    text += fmt::format(
        "\nLeft out, as no rule tells its sizes: what was recorded below {} operators\n",
        with_commas(batched.dropped_bodies));
  }
  return text;
}

nlohmann::ordered_json batched_json(const generator::BatchSize& batch,
                                    const generator::BatchedBench& batched) {
  nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
  for (const auto& changes : batched.changes) {
    nlohmann::ordered_json& rank = ranks.emplace_back(nlohmann::ordered_json::array());
    for (const generator::BatchChange& change : changes) {
      rank.push_back({{"name", change.name},
                      {"count", change.count},
                      {"before", change.before},
                      {"after", change.after}});
    }
  }
  return {{"from", batch.from},
          {"to", batch.to},
          {"dropped_bodies", batched.dropped_bodies},
          {"ranks", std::move(ranks)}};
}

}  // namespace understudy::cli

#include "change.h"

#include <fmt/format.h>

#include <utility>

#include "cli/pages/document/from_json.h"
#include "et_schema/base/error.h"
#include "et_schema/base/output_file.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;
using pages::counts, pages::facts_at, pages::ids, pages::summed, pages::table_at, pages::texts;
using pages::Section;

Json batched_json(const generator::BatchSize& batch, const generator::BatchedBench& batched) {
  Json ranks = Json::array();
  for (const auto& changes : batched.changes) {
    Json& rank = ranks.emplace_back(Json::array());
    for (const generator::BatchChange& change : changes) {
      rank.push_back({{"name", change.name},
                      {"count", change.count},
                      {"before", change.before},
                      {"after", change.after}});
    }
  }
  Json notes = Json::array();
  for (const auto& of_rank : batched.notes) {
    Json& rank = notes.emplace_back(Json::array());
    for (const generator::BatchNote& note : of_rank) {
      rank.push_back({{"name", note.name}, {"count", note.count}, {"note", note.note}});
    }
  }
  return {{"from", batch.from},
          {"to", batch.to},
          {"dropped_bodies", batched.dropped_bodies},
          {"ranks", std::move(ranks)},
          {"notes", std::move(notes)}};
}

Json hidden_json(const Hidden& hidden) {
  const generator::Obfuscated& what = hidden.what;
  Json counts = Json::object();
  for (const auto& [kind, names] : what.map) {
    counts[kind] = names.size();
  }
  return {{"names_file", hidden.names_path},           {"names", std::move(counts)},
          {"hidden_operators", what.hidden_operators}, {"hidden_without_body", what.without_body},
          {"rounded_numbers", what.rounded_numbers},   {"cleared_numbers", what.cleared_numbers}};
}

Section batch_section(const Json& document, const generator::BatchSize& size) {
  return {
      "batch",
      fmt::format("{} {} became {}", size.anywhere ? "Size" : "Batch", size.from, size.to),
      {table_at(document, "/batch/ranks/*",
                fmt::format("{} {} became {}: shapes of these operators",
                            size.anywhere ? "Size" : "Batch", size.from, size.to),
                {texts("operator", "name"), summed(counts("calls", "count")),
                 texts("the first was", "before"), texts("and is", "after")}),
       table_at(
           document, "/batch/notes/*", "Sizes to look at",
           {texts("operator", "name"), summed(counts("calls", "count")), texts("why", "note")}),
       facts_at(document, "/batch",
                {counts("operators below which what was recorded is left out: it has the old sizes",
                        "dropped_bodies")})}};
}

Section hidden_section(const Json& document) {
  return {
      "obfuscated",
      "Obfuscated: what was replaced is in a file for the owner alone",
      {facts_at(
           document, "/obfuscated",
           {counts("numbers, to one digit", "rounded_numbers"),
            counts("numbers, left out", "cleared_numbers"),
            counts("operators that are found by name on no target now", "hidden_operators"),
            counts("of these without what was recorded below them: dropped", "hidden_without_body"),
            texts("that file", "names_file")}),
       table_at(document, "/obfuscated/names", "Replaced names",
                {texts("replaced", "name"), counts("names", "value")})}};
}

}  // namespace

Hidden hide(et_schema::Bench& bench, const std::string& names_path) {
  Hidden hidden{names_path, generator::obfuscate(std::move(bench))};
  et_schema::write_file_atomically(names_path, generator::to_json(hidden.what.map));
  bench = std::move(hidden.what.bench);
  return hidden;
}

void add_changes(Json& document, const Changes& changes) {
  if (changes.batched) {
    document["batch"] = batched_json(changes.batched->size, changes.batched->bench);
  }
  if (changes.scaled_dropped_bodies) {
    document["scaled"]["dropped_bodies"] = *changes.scaled_dropped_bodies;
  }
  if (changes.removed_kernels > 0) {
    document["removed_kernels"] = changes.removed_kernels;
  }
  if (changes.hidden) {
    document["obfuscated"] = hidden_json(*changes.hidden);
  }
}

void add_change_sections(pages::Page& page, const Json& document, const Changes& changes) {
  if (changes.hidden) {
    page.sections.push_back(hidden_section(document));
  }
  if (changes.batched) {
    page.sections.push_back(batch_section(document, changes.batched->size));
  }
  if (changes.scaled_dropped_bodies) {
    page.sections.push_back(
        {"dropped-bodies",
         "What the other number of ranks left out",
         {facts_at(
             document, "/scaled",
             {counts("operators below which what was recorded is left out: it has the old sizes",
                     "dropped_bodies")})}});
  }
  if (changes.removed_kernels > 0) {
    page.sections.push_back(
        {"removed",
         "Machine code that was left out, since its grids are of the recorded sizes",
         {facts_at(document, "", {counts("kernels: stubs now", "removed_kernels")})}});
  }
}

}  // namespace understudy::cli

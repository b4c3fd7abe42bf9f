#include <algorithm>
#include <iterator>

#include "et_schema/base/error.h"
#include "et_schema/base/nearest_word.h"
#include "replayer/counters/source.h"

namespace understudy::replayer {
namespace {

/// As in "dram__bytes.sum".
bool looks_like_a_makers(const std::string& name) {
  return name.find("__") != std::string::npos || name.find('.') != std::string::npos;
}

[[noreturn]] void refuse(const std::string& name, const std::vector<std::string>& known) {
  const std::string meant = et_schema::nearest_word(name, known);
  throw et_schema::usage_error("unknown counter " + name,
                               {.field = "--counters",
                                .expected = "default, or names of replay --counters list",
                                .got = name,
                                .hint = meant.empty() ? "" : "did you mean " + meant + "?"});
}

}  // namespace

std::vector<std::string> chosen_counters(const std::vector<std::string>& asked,
                                         std::span<const OpenedSource> sources) {
  std::vector<std::string> known = {"default"};
  for (const et_schema::CounterFact& fact : et_schema::counter_facts()) {
    known.emplace_back(fact.name);
  }
  for (const OpenedSource& opened : sources) {
    if (opened.source != nullptr) {
      std::ranges::copy(opened.source->names(), std::back_inserter(known));
    }
  }
  const bool knows_makers = std::ranges::any_of(known, looks_like_a_makers);
  std::vector<std::string> chosen;
  const auto choose = [&chosen](std::string_view name) {
    for (const std::string_view added : {et_schema::counter_fact(name).weight, name}) {
      if (!added.empty() && std::ranges::find(chosen, added) == chosen.end()) {
        chosen.emplace_back(added);
      }
    }
  };
  for (const std::string& name : asked) {
    if (name == "default") {
      std::ranges::for_each(kDefaultCounters, choose);
    } else if (std::ranges::find(known, name) != known.end() ||
               (!knows_makers && looks_like_a_makers(name))) {
      choose(name);
    } else {
      refuse(name, known);
    }
  }
  return chosen;
}

}  // namespace understudy::replayer

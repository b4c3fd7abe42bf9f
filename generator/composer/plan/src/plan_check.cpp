#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <regex>
#include <set>

#include "et_schema/base/error.h"
#include "et_schema/base/regular_expression.h"
#include "generator/composer/plan/plan.h"

namespace understudy::composer {
namespace {

template <typename Named>
std::vector<std::string> names_of(const std::vector<Named>& items) {
  std::vector<std::string> names;
  std::ranges::transform(items, std::back_inserter(names), &Named::name);
  return names;
}

template <typename Named>
void refuse_twice(const Plan& plan, const std::vector<Named>& items, const char* what) {
  std::map<std::string, int> lines;
  for (const Named& item : items) {
    const auto [found, added] = lines.emplace(item.name, item.line);
    if (!added) {
      refuse_plan(plan.file, item.line, fmt::format("two {}s of one name", what),
                  "names of their own",
                  fmt::format("'{}' is also in line {}", item.name, found->second));
    }
  }
}

void refuse_unknown(const Plan& plan, int line, const char* what, const std::string& name,
                    const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    refuse_plan(plan.file, line, fmt::format("a {} that the plan does not have", what),
                known.empty() ? fmt::format("a {} (there is none)", what)
                              : fmt::format("one of {}", fmt::join(known, ", ")),
                name);
  }
}

void check_piece(const Plan& plan, const PlanPiece& piece) {
  refuse_unknown(plan, piece.line, "source", piece.source, names_of(plan.sources));
  if (piece.nodes && piece.nodes->first > piece.nodes->second) {
    refuse_plan(plan.file, piece.line, "a range of nodes that ends before it begins",
                "FIRST-LAST with FIRST up to LAST",
                fmt::format("{}-{}", piece.nodes->first, piece.nodes->second));
  }
  try {
    static_cast<void>(et_schema::regular_expression(piece.operators));
  } catch (const std::regex_error& error) {
    refuse_plan(plan.file, piece.line, "the operators are not a regular expression",
                "an expression as '^aten::mm$'",
                fmt::format("{}: {}", piece.operators, error.what()));
  }
}

void check_ranks(const Plan& plan, const PlanItem& item) {
  const std::set<int> distinct(item.ranks.begin(), item.ranks.end());
  const bool fits = std::all_of(item.ranks.begin(), item.ranks.end(),
                                [&](int rank) { return rank >= 0 && rank < plan.ranks; });
  if (!fits || distinct.size() != item.ranks.size()) {
    refuse_plan(plan.file, item.line, "ranks that the new job does not have",
                fmt::format("ranks from 0 to {}, each once", plan.ranks - 1),
                fmt::format("[{}]", fmt::join(item.ranks, ", ")));
  }
}

/// Collects the names of occurrences. `as` distinguishes occurrences of one piece.
void collect(const Plan& plan, const std::vector<PlanItem>& items, std::set<std::string>& names) {
  for (const PlanItem& item : items) {
    check_ranks(plan, item);
    if (!item.parts.empty()) {
      collect(plan, item.parts, names);
      continue;
    }
    refuse_unknown(plan, item.line, "piece", item.piece, names_of(plan.pieces));
    const bool added = names.insert(item.as).second;
    if (!added && item.as != item.piece) {
      refuse_plan(plan.file, item.line, "two occurrences of one name", "names of their own",
                  item.as);
    }
  }
}

}  // namespace

void check_plan(const Plan& plan) {
  refuse_twice(plan, plan.sources, "source");
  refuse_twice(plan, plan.pieces, "piece");
  for (const PlanPiece& piece : plan.pieces) {
    check_piece(plan, piece);
  }
  std::set<std::string> names;
  collect(plan, plan.run, names);
}

void refuse_plan(const std::string& file, int line, const std::string& summary,
                 const std::string& expected, const std::string& got, const std::string& hint) {
  throw et_schema::bad_input(summary, {.file = file,
                                       .field = line > 0 ? fmt::format("line {}", line) : "",
                                       .expected = expected,
                                       .got = got,
                                       .hint = hint});
}

}  // namespace understudy::composer

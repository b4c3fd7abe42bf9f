#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <set>

#include "et_schema/base/control_characters.h"
#include "et_schema/base/error.h"
#include "generator/composer/plan/plan.h"

namespace understudy::composer {
namespace {

constexpr int kMostRanks = 65536;
constexpr int kMostRepeats = 1'000'000;
constexpr std::size_t kDeepest = 64;
constexpr std::size_t kMostItems = 100'000;  // YAML aliases can repeat a part exponentially

class Reader {
 public:
  explicit Reader(const std::string& file) { plan_.file = file; }

  Plan read(const YAML::Node& root) {
    check_keys(root, "plan", {"version", "name", "ranks", "sources", "pieces", "run"});
    if (root["version"] && number(root["version"], 1, 1'000'000) != 1) {
      refuse(root["version"], "a plan of another version", "version 1", text(root["version"]));
    }
    plan_.name = root["name"] ? text(root["name"]) : plan_.name;
    plan_.ranks = root["ranks"] ? number(root["ranks"], 1, kMostRanks) : 1;
    for (const auto& entry : members(need(root, "sources"))) {
      plan_.sources.push_back(read_source(entry.first, entry.second));
    }
    for (const auto& entry : members(need(root, "pieces"))) {
      plan_.pieces.push_back(read_piece(entry.first, entry.second));
    }
    for (const YAML::Node& item : items(need(root, "run"))) {
      plan_.run.push_back(read_item(item, 0));
    }
    if (plan_.run.empty()) {
      refuse(root["run"], "a plan that runs nothing", "a piece or more under run", "none");
    }
    check_plan(plan_);
    return std::move(plan_);
  }

 private:
  using Member = std::pair<YAML::Node, YAML::Node>;

  static int line_of(const YAML::Node& node) { return std::max(node.Mark().line + 1, 1); }

  [[noreturn]] void refuse(const YAML::Node& node, const std::string& summary,
                           const std::string& expected, const std::string& got) const {
    refuse_plan(plan_.file, line_of(node), summary, expected, got);
  }

  static std::string kind_of(const YAML::Node& node) {
    switch (node.Type()) {
      case YAML::NodeType::Scalar:
        return "'" + node.Scalar() + "'";
      case YAML::NodeType::Sequence:
        return "a list";
      case YAML::NodeType::Map:
        return "a map";
      default:
        return "nothing";
    }
  }

  [[nodiscard]] std::string text(const YAML::Node& node) const {
    if (!node.IsScalar() || node.Scalar().empty()) {
      refuse(node, "a text is missing", "a text", kind_of(node));
    }
    if (et_schema::has_control_characters(node.Scalar())) {
      refuse(node, "a text with control characters", "a text that a terminal shows as it is",
             et_schema::escape_control_characters(node.Scalar()));
    }
    return node.Scalar();
  }

  [[nodiscard]] int number(const YAML::Node& node, int least, int most) const {
    const std::string written = node.IsScalar() ? node.Scalar() : "";
    int value = 0;
    const char* const end = written.data() + written.size();
    const auto [read, error] = std::from_chars(written.data(), end, value);
    if (written.empty() || error != std::errc() || read != end || value < least || value > most) {
      refuse(node, "a number that does not fit",
             fmt::format("a whole number from {} to {}", least, most), kind_of(node));
    }
    return value;
  }

  [[nodiscard]] bool flag(const YAML::Node& node, const char* yes, const char* no) const {
    const std::string value = text(node);
    if (value != yes && value != no) {
      refuse(node, "a choice that is not known", fmt::format("{} or {}", yes, no), value);
    }
    return value == yes;
  }

  [[nodiscard]] std::vector<YAML::Node> items(const YAML::Node& node) const {
    if (!node.IsSequence()) {
      refuse(node, "a list is missing", "a list", kind_of(node));
    }
    return {node.begin(), node.end()};
  }

  [[nodiscard]] std::vector<Member> members(const YAML::Node& node) const {
    if (!node.IsMap()) {
      refuse(node, "names are missing", "a map of names", kind_of(node));
    }
    std::vector<Member> all;
    for (const auto& entry : node) {
      all.emplace_back(entry.first, entry.second);
    }
    return all;
  }

  [[nodiscard]] YAML::Node need(const YAML::Node& node, const char* key) const {
    const YAML::Node value = node[key];
    if (!value) {
      refuse(node, "a key is missing", key, "none");
    }
    return value;
  }

  void check_keys(const YAML::Node& node, const char* what,
                  std::initializer_list<std::string_view> known) const {
    std::set<std::string> seen;
    for (const Member& member : members(node)) {
      const std::string key = member.first.IsScalar() ? member.first.Scalar() : "";
      if (!seen.insert(key).second) {
        refuse(member.first, fmt::format("a key of a {} that comes twice", what), "each key once",
               key);
      }
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        refuse(member.first, fmt::format("a key of a {} that is not known", what),
               fmt::format("one of {}", fmt::join(known, ", ")), kind_of(member.first));
      }
    }
  }

  [[nodiscard]] std::vector<int> ranks(const YAML::Node& node) const {
    std::vector<int> all;
    for (const YAML::Node& item : items(node)) {
      all.push_back(number(item, 0, kMostRanks));
    }
    return all;
  }

  [[nodiscard]] PlanSource read_source(const YAML::Node& name, const YAML::Node& node) const {
    check_keys(node, "source", {"path", "rank", "step"});
    PlanSource source;
    source.name = text(name);
    source.line = line_of(name);
    source.path = text(need(node, "path"));
    source.step = node["step"] ? text(node["step"]) : "";
    if (node["rank"]) {
      source.rank = number(node["rank"], 0, kMostRanks);
    }
    return source;
  }

  [[nodiscard]] PlanPiece read_piece(const YAML::Node& name, const YAML::Node& node) const {
    check_keys(node, "piece", {"of", "nodes", "operators", "class", "shape", "annotation"});
    PlanPiece piece;
    piece.name = text(name);
    piece.line = line_of(name);
    piece.source = text(need(node, "of"));
    piece.operators = node["operators"] ? text(node["operators"]) : "";
    piece.op_class = node["class"] ? text(node["class"]) : "";
    piece.annotation = node["annotation"] ? text(node["annotation"]) : "";
    if (node["nodes"]) {
      piece.nodes = read_range(node["nodes"]);
    }
    if (node["shape"]) {
      for (const YAML::Node& size : items(node["shape"])) {
        piece.shape.push_back(number(size, 0, std::numeric_limits<int>::max()));
      }
    }
    return piece;
  }

  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> read_range(const YAML::Node& node) const {
    const std::string range = text(node);
    std::pair<std::uint64_t, std::uint64_t> ids;
    const char* const end = range.data() + range.size();
    const auto first = std::from_chars(range.data(), end, ids.first);
    const bool has_dash = first.ec == std::errc() && first.ptr != end && *first.ptr == '-';
    const auto last = std::from_chars(has_dash ? first.ptr + 1 : end, end, ids.second);
    if (!has_dash || last.ec != std::errc() || last.ptr != end) {
      refuse(node, "a range of nodes that cannot be read", "FIRST-LAST, as 120-340", range);
    }
    return ids;
  }

  [[nodiscard]] PlanItem read_item(const YAML::Node& node, std::size_t depth) {
    if (++items_read_ > kMostItems) {
      refuse(node, "a plan that runs too much", fmt::format("{} entries of run", kMostItems),
             "more");
    }
    if (depth > kDeepest) {
      refuse(node, "a plan that is nested too deeply", fmt::format("{} levels", kDeepest), "more");
    }
    PlanItem item;
    item.line = line_of(node);
    if (node.IsScalar()) {
      item.piece = text(node);
      item.as = item.piece;
      return item;
    }
    check_keys(node, "run", {"piece", "side_by_side", "as", "repeat", "tensors", "ranks"});
    const bool is_piece = node["piece"].IsDefined();
    if (is_piece == node["side_by_side"].IsDefined()) {
      refuse(node, "an entry of run that is not one thing", "piece or side_by_side",
             is_piece ? "both" : "none of them");
    }
    item.repeat = node["repeat"] ? number(node["repeat"], 1, kMostRepeats) : 1;
    item.own_tensors = node["tensors"] && flag(node["tensors"], "own", "shared");
    item.ranks = node["ranks"] ? ranks(node["ranks"]) : std::vector<int>();
    if (is_piece) {
      item.piece = text(node["piece"]);
      item.as = node["as"] ? text(node["as"]) : item.piece;
      return item;
    }
    const std::vector<YAML::Node> parts = items(node["side_by_side"]);
    if (parts.size() < 2) {
      refuse(node, "nothing to run beside each other", "two parts or more",
             fmt::format("{}", parts.size()));
    }
    for (const YAML::Node& part : parts) {
      item.parts.push_back(read_item(part, depth + 1));
    }
    return item;
  }

  Plan plan_;
  std::size_t items_read_ = 0;
};

/// Returns the parser's line, or 1 if the parser does not know it.
int line_of(const YAML::Exception& error) {
  return std::max(error.mark.line + 1, 1);
}

}  // namespace

Plan parse_plan(std::string_view text, const std::string& file) {
  if (text.starts_with("PK\x03\x04")) {
    throw et_schema::bad_input("this is no plan", {.file = file,
                                                   .expected = "a plan in YAML (docs/compose.md)",
                                                   .got = "a benchmark, or another zip file",
                                                   .hint = "a plan names it among its sources"});
  }
  YAML::Node root;
  try {
    root = YAML::Load(std::string(text));
  } catch (const YAML::Exception& error) {
    refuse_plan(file, line_of(error), "the plan is not YAML", "YAML", error.msg);
  }
  // A marker at the start of a line counts even inside a quoted text. yaml-cpp's LoadAll() never
  // ends on some invalid texts.
  const std::string lines = std::string(text) + '\n';
  std::size_t second = std::string::npos;
  for (const char* marker : {"\n---\n", "\n--- ", "\n---\t", "\n---\r"}) {
    second = std::min(second, lines.find(marker, static_cast<std::size_t>(root.Mark().pos)));
  }
  if (second != std::string::npos) {
    const auto line = std::ranges::count(text.substr(0, second + 1), '\n') + 1;
    refuse_plan(file, static_cast<int>(line), "two plans in one file", "one document", "several");
  }
  if (!root.IsMap()) {
    refuse_plan(file, 1, "the plan is no map", "sources, pieces and run", "something else");
  }
  try {
    return Reader(file).read(root);
  } catch (const YAML::Exception& error) {
    refuse_plan(file, line_of(error), "the plan cannot be read", "a plan", error.msg);
  }
}

}  // namespace understudy::composer

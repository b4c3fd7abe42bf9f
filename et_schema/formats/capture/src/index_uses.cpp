#include "et_schema/formats/capture/index_uses.h"

#include <fmt/format.h>

#include "et_schema/base/json_fields.h"

namespace understudy::et_schema {
namespace {

std::vector<ReuseBin> read_bins(const JsonField& field) {
  std::vector<ReuseBin> bins;
  for (const JsonField& item : field.items()) {
    const std::vector<std::int64_t> numbers = item.as_ints();
    if (numbers.size() < 4 || numbers.size() % 2 != 0) {
      item.fail("a list of [low, high, times, numbers, …]",
                fmt::format("{} numbers", numbers.size()));
    }
    ReuseBin& bin = bins.emplace_back(ReuseBin{numbers[0], numbers[1], {}});
    for (std::size_t i = 2; i < numbers.size(); i += 2) {
      bin.repeats.push_back({numbers[i], numbers[i + 1]});
    }
  }
  return bins;
}

RecordedTensor read_tensor(const JsonField& field) {
  return {field.at("op").as_text(), field.at("call").as_uint(), field.at("tensor").as_uint(),
          field.at("sizes").as_ints()};
}

ZeroUse read_zeros(const JsonField& field) {
  const JsonField share = field.at("share");
  ZeroUse use{read_tensor(field), share.as_double()};
  if (!(use.share > 0 && use.share <= 1)) {
    share.fail("a number above 0, at most 1", fmt::format("{}", use.share));
  }
  return use;
}

Reuse read_reuse(const JsonField& field) {
  Reuse reuse;
  reuse.bins = read_bins(field.at("reuse"));
  if (const auto run = field.find("run")) {
    reuse.run = run->as_int();
  }
  if (const auto sorted = field.find("sorted")) {
    reuse.sorted = sorted->as_bool();
  }
  if (const auto problem = find_problem(reuse)) {
    field.at(problem->field.c_str()).fail(problem->expected, problem->got);
  }
  return reuse;
}

SparseUse read_sparse(const JsonField& field) {
  SparseUse use;
  use.of = read_tensor(field);
  const JsonField layout = field.at("layout");
  if (const auto known = sparse_layout_from_string(layout.as_text())) {
    use.layout = *known;
  } else {
    layout.fail("coo, csr or csc", layout.as_text());
  }
  use.elements = field.at("elements").as_int();
  if (use.elements < 1) {
    field.at("elements").fail("at least 1", fmt::format("{}", use.elements));
  }
  use.coalesced = field.at("coalesced").as_bool();
  for (const JsonField& item : field.at("indices").items()) {
    use.indices.push_back(read_reuse(item));
  }
  if (use.indices.empty() || use.indices.size() > use.of.sizes.size()) {
    field.at("indices").fail(fmt::format("1 to {} dimensions", use.of.sizes.size()),
                             fmt::format("{}", use.indices.size()));
  }
  return use;
}

bool take_end(std::string_view& name, std::string_view end) {
  if (!name.ends_with(end)) {
    return false;
  }
  name.remove_suffix(end.size());
  return true;
}

}  // namespace

IndexUses parse_index_uses(std::string_view json, const std::string& file) {
  const JsonSource source{file, "the record of index values cannot be read",
                          "capture again with scripts/capture, or take the file away: index values "
                          "are then drawn by rule"};
  const nlohmann::json document = parse_json(json, source);
  const JsonField root(document, source);
  check_format(root, {"record of index values", "understudy-indices", kIndexUsesVersion});
  IndexUses read;
  for (const auto& [op, calls] : root.at("calls").members()) {
    read.calls.emplace(op, calls.as_uint());
  }
  read.left_out = root.at("left_out").as_uint();
  for (const JsonField& use : root.at("uses").items()) {
    read.uses.push_back({read_tensor(use), read_reuse(use)});
  }
  for (const JsonField& use : root.at("zeros").items()) {
    read.zeros.push_back(read_zeros(use));
  }
  for (const JsonField& use : root.at("sparse").items()) {
    read.sparse.push_back(read_sparse(use));
  }
  return read;
}

std::optional<std::string> stem_of_index_uses(std::string_view file) {
  take_end(file, ".gz");
  return take_end(file, ".indices.json") ? std::optional(std::string(file)) : std::nullopt;
}

std::string stem_of_trace(std::string_view file) {
  take_end(file, ".gz");
  take_end(file, ".json");
  take_end(file, ".et");
  return std::string(file);
}

}  // namespace understudy::et_schema

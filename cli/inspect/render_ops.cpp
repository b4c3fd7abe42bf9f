#include "inspect/render_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/figures.h"
#include "common/table.h"
#include "inspect/tables.h"

namespace understudy::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string ms(std::int64_t ns) {
  constexpr double kNsPerMs = 1e6;
  return fmt::format("{:.3f}", static_cast<double>(ns) / kNsPerMs);
}

/// Of the device's time where there is any, else of the host's; none without times.
std::optional<double> share(const OpRow& row, const OpRow& total) {
  const auto time = total.device_ns > 0 ? &OpRow::device_ns : &OpRow::self_ns;
  return total.*time > 0
             ? std::optional(static_cast<double>(row.*time) / static_cast<double>(total.*time))
             : std::nullopt;
}

void add(OpRow& sum, const OpRow& row) {
  sum.count += row.count;
  sum.timed += row.timed;
  sum.self_ns += row.self_ns;
  sum.device_ns += row.device_ns;
}

/// An optimizer's operators take hundreds of tensors.
std::string short_name(std::string name) {
  constexpr std::size_t kWidest = 120;
  if (name.size() > kWidest) {
    name = name.substr(0, kWidest) + " …";
  }
  return name;
}

struct AllRanks {
  std::vector<OpRow> rows;
  OpRow total;
  std::int64_t step_ns = 0;
  bool is_timed = false;
};

AllRanks sum_of(const std::vector<RankOps>& ranks) {
  AllRanks all;
  std::map<std::string, OpRow> rows;
  for (const RankOps& ops : ranks) {
    all.step_ns += ops.step_ns.value_or(0);
    all.is_timed = all.is_timed || ops.step_ns.has_value();
    add(all.total, ops.total);
    for (const OpRow& row : ops.rows) {
      OpRow& sum = rows[row.name];
      sum.name = row.name;
      add(sum, row);
    }
  }
  for (auto& [name, row] : rows) {
    all.rows.push_back(std::move(row));
  }
  const auto time = all.total.device_ns > 0 ? &OpRow::device_ns : &OpRow::self_ns;
  std::ranges::stable_sort(all.rows, [time](const OpRow& a, const OpRow& b) {
    return std::pair(a.*time, a.count) > std::pair(b.*time, b.count);
  });
  return all;
}

std::string totals_text(const AllRanks& all, std::size_t ranks) {
  const std::int64_t rest = std::max<std::int64_t>(all.step_ns - all.total.self_ns, 0);
  std::string text = fmt::format("  {} ms in operators, {} ms of the step{} in none of them\n",
                                 ms(all.total.self_ns), ms(rest), ranks == 1 ? "" : "s");
  if (all.total.timed < all.total.count) {
    text +=
        fmt::format("  {} of {} calls have no recorded time\n",
                    with_commas(all.total.count - all.total.timed), with_commas(all.total.count));
  }
  return text;
}

}  // namespace

std::string ops_text(const std::vector<RankOps>& ranks, GroupBy by) {
  const AllRanks all = sum_of(ranks);
  const bool has_device = all.total.device_ns > 0;
  std::vector<TableColumn> columns = {
      {by == GroupBy::kName ? "operator" : std::string(to_string(by))},
      {"calls", Alignment::kRight}};
  if (all.is_timed) {
    columns.push_back({"self ms", Alignment::kRight});
    if (has_device) {
      columns.push_back({"device ms", Alignment::kRight});
    }
    columns.push_back({"share", Alignment::kRight});
  }
  TextTable table(std::move(columns));
  for (const OpRow& row : all.rows) {
    std::vector<std::string> cells = {short_name(printable(row.name)), with_commas(row.count)};
    if (all.is_timed) {
      cells.push_back(ms(row.self_ns));
      if (has_device) {
        cells.push_back(ms(row.device_ns));
      }
      cells.push_back(fmt::format("{:.1f} %", kPercent * share(row, all.total).value_or(0)));
    }
    table.add(std::move(cells));
  }
  const std::string totals = all.is_timed ? totals_text(all, ranks.size()) : "";
  return table.to_text() + totals;
}

std::string ops_csv(const std::vector<RankOps>& ranks, GroupBy by) {
  TextTable table({{"rank"},
                   {by == GroupBy::kName ? "operator" : std::string(to_string(by))},
                   {"count"},
                   {"timed"},
                   {"self_ms"},
                   {"device_ms"},
                   {"share"}});
  for (const RankOps& ops : ranks) {
    for (const OpRow& row : ops.rows) {
      const bool is_timed = row.timed > 0 || row.device_ns > 0;
      const std::optional<double> part = share(row, ops.total);
      table.add({std::to_string(ops.rank), row.name, std::to_string(row.count),
                 std::to_string(row.timed), is_timed ? ms(row.self_ns) : "",
                 is_timed ? ms(row.device_ns) : "", part ? fmt::format("{:.6f}", *part) : ""});
    }
  }
  return table.to_csv();
}

void add_ops(Json& rank, const RankOps& ops, GroupBy by) {
  Json list = Json::array();
  for (const OpRow& row : ops.rows) {
    const std::optional<double> part = share(row, ops.total);
    list.push_back(
        {{"name", row.name},
         {"count", row.count},
         {"timed", row.timed},
         {"self_ns", row.timed > 0 ? Json(row.self_ns) : Json()},
         {"device_ns", row.timed > 0 || row.device_ns > 0 ? Json(row.device_ns) : Json()},
         {"share", part ? Json(*part) : Json()}});
  }
  rank["ops_by"] = to_string(by);
  rank["ops_self_ns"] = ops.step_ns ? Json(ops.total.self_ns) : Json();
  rank["ops_device_ns"] = ops.step_ns ? Json(ops.total.device_ns) : Json();
  rank["step_ns"] = ops.step_ns ? Json(*ops.step_ns) : Json();
  rank["ops"] = std::move(list);
}

}  // namespace understudy::cli

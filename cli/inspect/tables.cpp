#include "inspect/tables.h"

#include <fmt/format.h>

#include <algorithm>

namespace understudy::cli {
namespace {

std::string number(std::uint64_t value) {
  return fmt::format("{}", value);
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(),
      [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
      },
      ' ');
  return result;
}

TextTable calls_table(const std::vector<RankSummary>& ranks) {
  TextTable table({{"rank", Alignment::kRight},
                   {"node", Alignment::kRight},
                   {"collective", Alignment::kLeft},
                   {"seq", Alignment::kRight},
                   {"group", Alignment::kLeft},
                   {"group size", Alignment::kRight},
                   {"dtype", Alignment::kLeft},
                   {"in bytes", Alignment::kRight},
                   {"out bytes", Alignment::kRight}});
  for (const RankSummary& rank : ranks) {
    for (const CallSummary& call : rank.calls) {
      table.add({fmt::format("{}", rank.trace->rank), number(call.node), printable(call.name),
                 call.seq, printable(call.group),
                 call.group_size == 0 ? std::string() : fmt::format("{}", call.group_size),
                 call.dtype, number(call.in_bytes), number(call.out_bytes)});
    }
  }
  return table;
}

TextTable tensors_table(const std::vector<RankSummary>& ranks) {
  TextTable table({{"rank", Alignment::kRight},
                   {"device", Alignment::kLeft},
                   {"dtype", Alignment::kLeft},
                   {"occurrences", Alignment::kRight},
                   {"tensors", Alignment::kRight},
                   {"storages", Alignment::kRight},
                   {"largest bytes", Alignment::kRight}});
  for (const RankSummary& rank : ranks) {
    for (const TensorSummary& kind : rank.tensors) {
      table.add({fmt::format("{}", rank.trace->rank), kind.device.empty() ? "none" : kind.device,
                 kind.dtype, number(kind.occurrences), number(kind.ids), number(kind.storages),
                 number(kind.largest_bytes)});
    }
  }
  return table;
}

}  // namespace understudy::cli

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/table.h"
#include "et_schema/support/control_characters.h"
#include "pages/html/page.h"

namespace understudy::pages {
namespace {

using cli::Alignment;
using cli::TextTable;
using et_schema::escape_control_characters;

bool is_number(CellKind kind) {
  return kind != CellKind::kText && kind != CellKind::kVerdict;
}

std::string text_of(const Facts& facts) {
  const bool has_numbers =
      std::ranges::any_of(facts, [](const Fact& fact) { return is_number(fact.kind); });
  TextTable rows =
      has_numbers ? TextTable({{"", Alignment::kRight}, {""}}) : TextTable({{""}, {""}});
  std::string words;
  for (const Fact& fact : facts) {
    const std::string value = fact_text(fact);
    if (value.empty()) {
      continue;
    }
    if (has_numbers && !is_number(fact.kind)) {
      words += fmt::format("  {}: {}\n", escape_control_characters(fact.name),
                           escape_control_characters(value));
    } else if (has_numbers) {
      rows.add({value, fact.name});
    } else {
      rows.add({fact.name, value});
    }
  }
  return (rows.empty() ? "" : rows.to_text()) + words;
}

std::string text_of(const Table& table) {
  std::vector<std::size_t> order(table.columns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_partition(order.begin(), order.end(),
                        [&table](std::size_t i) { return is_number(table.columns[i].kind); });
  std::vector<cli::TableColumn> columns;
  for (const std::size_t i : order) {
    const Column& column = table.columns[i];
    columns.push_back(
        {column.title, is_number(column.kind) ? Alignment::kRight : Alignment::kLeft});
  }
  TextTable rows(columns);
  const std::size_t shown = std::min(table.shown_in_text, table.rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string> cells;
    for (const std::size_t column : order) {
      cells.push_back(cell_text(table.rows[i][column], table.columns[column].kind));
    }
    rows.add(std::move(cells));
  }
  return rows.to_text() +
         (shown < table.rows.size() ? fmt::format("  … {} more\n", table.rows.size() - shown) : "");
}

std::string text_of(const Notes& notes) {
  std::string text;
  for (const std::string& note : notes.texts) {
    text += fmt::format("  {}{}\n", notes.are_warnings ? "WARNING: " : "",
                        escape_control_characters(note));
  }
  return text;
}

/// A table's caption is a heading of its own; what stands before the first one has the section's.
std::string text_of(const Section& section) {
  std::string text;
  const auto begin = [&text](const std::string& heading) {
    text += "\n" + escape_control_characters(heading) + "\n";
  };
  for (const Block& block : section.blocks) {
    std::string rows;
    if (const auto* const table = std::get_if<Table>(&block);
        table && !table->rows.empty() && table->shown_in_text > 0) {
      begin(table->caption.empty() ? section.title : table->caption);
      rows = text_of(*table);
    } else if (const auto* const facts = std::get_if<Facts>(&block)) {
      rows = text_of(*facts);
    } else if (const auto* const notes = std::get_if<Notes>(&block)) {
      rows = text_of(*notes);
    }
    if (text.empty() && !rows.empty()) {
      begin(section.title);
    }
    text += rows;
  }
  return text;
}

}  // namespace

std::string to_text(const std::vector<Section>& sections) {
  std::string text;
  for (const Section& section : sections) {
    text += text_of(section);
  }
  return text;
}

std::string to_text(const Page& page) {
  std::string text;
  for (const std::string& line : {page.title, page.subtitle, page.verdict}) {
    text += line.empty() ? "" : escape_control_characters(line) + "\n";
  }
  for (const std::string& finding : page.findings) {
    text += fmt::format("  - {}\n", escape_control_characters(finding));
  }
  return text + to_text(page.sections);
}

}  // namespace understudy::pages

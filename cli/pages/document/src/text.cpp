#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>

#include "cli/pages/document/page.h"
#include "et_schema/base/control_characters.h"

namespace understudy::pages {
namespace {

using et_schema::escape_control_characters;

bool is_number(CellKind kind) {
  return kind != CellKind::kText && kind != CellKind::kVerdict;
}

/// Returns the number of UTF-8 characters: continuation bytes are not counted.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

/// Returns rows as lines of aligned cells, with two blanks between and before them. Cells cannot
/// break the layout. `are_right`: columns that are aligned to the right.
std::string aligned(std::vector<std::vector<std::string>> rows,
                    const std::vector<bool>& are_right) {
  std::vector<std::size_t> widths(are_right.size());
  for (std::vector<std::string>& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = escape_control_characters(row[i]);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  }
  std::string text;
  for (const std::vector<std::string>& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      line += "  " + (are_right[i] ? padding + row[i] : row[i] + padding);
    }
    text += line.erase(line.find_last_not_of(' ') + 1) + '\n';
  }
  return text;
}

std::string text_of(const Facts& facts) {
  const bool has_numbers =
      std::ranges::any_of(facts, [](const Fact& fact) { return is_number(fact.kind); });
  std::vector<std::vector<std::string>> rows;
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
      rows.push_back({value, fact.name});
    } else {
      rows.push_back({fact.name, value});
    }
  }
  return aligned(std::move(rows), {has_numbers, false}) + words;
}

/// Returns a C++ name without its namespaces: "void vectorized_kernel<4, GeluFunctor<float> >".
std::string without_namespaces(std::string_view name) {
  constexpr std::string_view kUnnamed = "(anonymous namespace)";
  const auto is_of_word = [](char letter) {
    return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
  };
  std::string left;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!name.substr(i).starts_with("::")) {
      left += name[i];
      continue;
    }
    ++i;
    const std::size_t before = left.size();
    if (left.ends_with(kUnnamed)) {
      left.resize(before - kUnnamed.size());
    }
    while (!left.empty() && is_of_word(left.back())) {
      left.pop_back();
    }
    left += left.size() == before ? "::" : "";
  }
  return left;
}

/// Cuts a text. Templated kernels differ near the end of their names, so their namespaces are
/// removed first.
std::string shortened(std::string text, std::size_t most) {
  if (text.size() > most && text.find('<') != std::string::npos) {
    text = without_namespaces(text);
  }
  if (text.size() > most) {
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0U) == 0x80U) {
      --most;  // must not cut within a character
    }
    text = text.substr(0, most) + "…";
  }
  return text;
}

std::string text_of(const Table& table) {
  std::vector<std::size_t> order(table.columns.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&table](std::size_t i) { return table.columns[i].most_in_text == 0; });
  std::stable_partition(order.begin(), order.end(),
                        [&table](std::size_t i) { return is_number(table.columns[i].kind); });
  std::vector<std::vector<std::string>> rows(1);
  std::vector<bool> are_right;
  for (const std::size_t i : order) {
    rows.front().push_back(table.columns[i].title);
    are_right.push_back(is_number(table.columns[i].kind));
  }
  const std::size_t shown = std::min(table.shown_in_text, table.rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    std::vector<std::string>& cells = rows.emplace_back();
    for (const std::size_t place : order) {
      const Column& column = table.columns[place];
      cells.push_back(shortened(cell_text(table.rows[i][place], column.kind), column.most_in_text));
    }
  }
  return aligned(std::move(rows), are_right) +
         (shown < table.rows.size() ? fmt::format("  … {} more\n", table.rows.size() - shown) : "");
}

std::string text_of(const Notes& notes) {
  std::string text;
  for (const std::string& note : notes.texts) {
    text += fmt::format("  {}\n", escape_control_characters(note));
  }
  return text;
}

/// Returns a section as text. The section's title is above the blocks before the first table; each
/// table has its caption as a heading.
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
  for (const std::string& line : {page.title, page.subtitle, page.verdict.sentence}) {
    text += line.empty() ? "" : escape_control_characters(line) + "\n";
  }
  for (const std::string& finding : page.verdict.findings) {
    text += fmt::format("  - {}\n", escape_control_characters(finding));
  }
  return text + to_text(page.sections);
}

}  // namespace understudy::pages

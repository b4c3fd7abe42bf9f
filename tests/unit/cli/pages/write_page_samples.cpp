// page_samples FOLDER [OPERATORS]: writes a page of every kind, hostile texts in all of them, and a
// large one, for a browser to look at.

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "page_samples.h"

namespace {

void write(const std::filesystem::path& path, const understudy::pages::Page& page) {
  std::ofstream file(path, std::ios::binary);
  file << understudy::pages::to_html(page);
}

/// Numbers of many sizes, with ties of rounding among them, as the program writes each: value,
/// hint, text.
nlohmann::json cells_of(std::size_t count) {
  using understudy::pages::CellKind;
  constexpr std::array<std::pair<CellKind, const char*>, 5> kKinds = {
      {{CellKind::kFigure, "figure"},
       {CellKind::kChange, "change"},
       {CellKind::kRatio, "ratio"},
       {CellKind::kShare, "share"},
       {CellKind::kPercent, "percent"}}};
  nlohmann::json cells;
  for (std::size_t i = 0; i < count; ++i) {
    const double value = static_cast<double>(i * 37 % 4096) / 16 + 0.0625;
    for (const auto& [kind, hint] : kKinds) {
      cells.push_back({value, hint, understudy::pages::cell_text(value, kind)});
    }
    const std::uint64_t whole = i * i * 977;
    cells.push_back({whole, "count", understudy::pages::cell_text(whole, CellKind::kCount)});
    cells.push_back({whole, "bytes", understudy::pages::cell_text(whole, CellKind::kBytes)});
  }
  return cells;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    return 2;
  }
  const std::filesystem::path folder(argv[1]);
  constexpr std::size_t kOperators = 10'000;
  const std::size_t operators = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : kOperators;
  for (const auto& [file, page] : understudy::pages::sample_pages()) {
    write(folder / file, page);
  }
  const understudy::pages::Words hostile{
      "</script><script>document.title='broken out'</script><img src=x "
      "onerror=\"document.title='broken out'\">'\"&<!--"};
  for (const auto& [file, page] : understudy::pages::sample_pages(hostile)) {
    write(folder / ("hostile-" + file), page);
  }
  write(folder / "large.html", understudy::pages::large_page(operators));
  std::ofstream(folder / "cells.json", std::ios::binary) << cells_of(operators).dump();
  return 0;
}

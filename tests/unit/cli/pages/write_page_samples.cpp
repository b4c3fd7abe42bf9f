// page_samples FOLDER [OPERATORS]: writes a page of every kind, hostile texts in all of them, and a
// large one, for a browser to look at.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "page_samples.h"

namespace {

void write(const std::filesystem::path& path, const understudy::pages::Page& page) {
  std::ofstream file(path, std::ios::binary);
  file << understudy::pages::to_html(page);
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
  return 0;
}

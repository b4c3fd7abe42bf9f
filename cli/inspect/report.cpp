#include "inspect/report.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include "et_schema/report/report_json.h"
#include "et_schema/support/input_files.h"
#include "et_schema/support/read_file.h"
#include "pages/report/report_page.h"

namespace understudy::cli {
bool is_report_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return false;
  }
  constexpr std::size_t kHeadBytes = 4096;
  std::string head(kHeadBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), kHeadBytes);
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head.find("\"understudy-report\"") != std::string::npos;
}

std::string render_report(const std::string& path, Format format) {
  return pages::written(
      et_schema::parse_report(et_schema::read_file(path, et_schema::process_limits()), path),
      format);
}

}  // namespace understudy::cli

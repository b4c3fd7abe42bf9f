#include "inspect/report.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include "et_schema/report/report_json.h"
#include "et_schema/support/input_files.h"
#include "et_schema/support/read_file.h"
#include "pages/report/report_page.h"
#include "report_text/report_text.h"

namespace understudy::cli {
namespace {

et_schema::Report read_report(const std::string& path) {
  return et_schema::parse_report(et_schema::read_file(path, et_schema::process_limits()), path);
}

}  // namespace

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
  const et_schema::Report report = read_report(path);
  switch (format) {
    case Format::kJson:
      return et_schema::to_json(report);
    case Format::kCsv:
      return report_to_csv(report);
    case Format::kText:
      break;
  }
  return report_to_text(report);
}

std::string report_as_page(const std::string& path) {
  return pages::to_html(pages::report_page(read_report(path)));
}

}  // namespace understudy::cli

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>

#include "cli/common/output_path.h"
#include "cli/pages/document/from_json.h"
#include "cli/pages/fleet/fleet_pages.h"
#include "cli/pages/report/report_page.h"
#include "et_schema/base/output_file.h"
#include "et_schema/base/version.h"
#include "rows.h"
#include "tasks.h"

namespace understudy::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// What the pages of a site have in common: the first line of the request.
struct Frame {
  std::string fleet_name;
  std::string date;  ///< of the newest night
  std::vector<std::string> jobs;
  std::vector<std::int64_t> nights;  ///< those with a page
  std::string baseline;              ///< empty: the platform with the most benchmarks
  std::optional<std::int64_t> open_night;
  std::vector<BenchmarkRow> benchmarks;
};

void members(auto& json, et_schema::SameAs<Frame> auto& frame) {
  json("fleet_name", frame.fleet_name, et_schema::kFreeText);
  json("date", frame.date);
  json("jobs", frame.jobs, et_schema::kFreeText);
  json("nights", frame.nights);
  json("baseline", frame.baseline);
  json("open_night", frame.open_night);
  json("benchmarks", frame.benchmarks);
}

/// Returns what the newest night found that has ended. `newest`: its summary; null: none.
et_schema::Assessment newest_verdict(const Frame& frame, const Json& newest) {
  et_schema::Assessment verdict;
  verdict.sentence = fmt::format("{} jobs; no night has ended yet.", frame.jobs.size());
  if (!newest.is_null()) {
    const pages::Page night = night_page(newest);
    verdict = night.verdict;
    verdict.sentence = fmt::format("{}. {}", night.title, night.verdict.sentence);
  }
  if (frame.open_night) {
    verdict.sentence += fmt::format(" Night {} is going on.", *frame.open_night);
  }
  return verdict;
}

/// Returns the jobs of a subset, largest weight first, as many as fit in a cell.
std::string weightiest(const fleet::Selection& subset) {
  constexpr std::size_t kMost = 20;
  std::vector<fleet::SelectedJob> jobs = subset.jobs;
  std::ranges::stable_sort(jobs, std::greater{}, &fleet::SelectedJob::weight);
  jobs.resize(std::min(jobs.size(), kMost));
  std::string names;
  for (const fleet::SelectedJob& job : jobs) {
    names += (names.empty() ? "" : ", ") + job.job;
  }
  return names;
}

Json subsets_json(const Frame& frame) {
  Json list = Json::array();
  for (const fleet::Selection& subset : usual_subsets(frame.benchmarks)) {
    list.push_back({{"subset", fmt::format("{} of {} jobs", subset.jobs.size(), frame.jobs.size())},
                    {"benchmarks", subset.jobs.size()},
                    {"mix_distance", subset.mix_distance},
                    {"random_mix_distance", subset.random_mix_distance},
                    {"jobs", weightiest(subset)}});
  }
  return list;
}

/// Returns the page of a replay. If the store has lost or damaged the report, the page says so: the
/// site has no dead links.
pages::Page replay_page(const Json& line) {
  pages::Page page;
  try {
    page = pages::report_page(read_stored_report(pages::text_in(line, "path")));
  } catch (const et_schema::Error& error) {
    page.title = "Replay of " + pages::text_in(line, "name");
    page.verdict = {pages::Tone::kBad, "Its report cannot be shown: " + error.summary() + "."};
  }
  page.above = {{"Fleet", "index.html"}};
  return page;
}

std::set<std::string> texts_of(const std::vector<std::int64_t>& numbers) {
  std::set<std::string> texts;
  for (const std::int64_t number : numbers) {
    texts.insert(std::to_string(number));
  }
  return texts;
}

/// Draws the pages of a site, each as its line is read.
class Site {
 public:
  Site(const std::string& line, const TakePage& take)
      : take_(take),
        frame_(request_in<Frame>(line)),
        newest_(document_in(line).at("newest")),
        shown_{.fleet_name = frame_.fleet_name,
               .date = frame_.date,
               .tool_version = et_schema::kToolVersion,
               .jobs = {frame_.jobs.begin(), frame_.jobs.end()},
               .nights = texts_of(frame_.nights)} {
    if (!frame_.baseline.empty() || std::ranges::any_of(frame_.benchmarks, [](const auto& row) {
          return !row.times.empty();
        })) {
      platforms_ = fleet::compare_platforms({frame_.benchmarks.begin(), frame_.benchmarks.end()},
                                            frame_.baseline);
      draw_platforms();
    }
  }

  void draw(Json line) {
    const std::string kind = pages::text_in(line, "page");
    if (kind == "replay") {
      take_(pages::page_name(kind, pages::text_in(line, "name")), replay_page(line));
      return;
    }
    Json& document = line.at("document");
    if (kind == "fleet") {
      draw_fleet(document);
    } else if (kind == "night") {
      pages::Page page = pages::within_site(night_page(document), shown_);
      page.subtitle = pages::text_in(line, "date");
      take_(pages::night_file(std::to_string(pages::count_in(document, "night"))), page);
    } else {
      complete_history(document);
      take_(pages::job_file(pages::text_in(document, "job")),
            pages::benchmark_page(document, shown_));
    }
  }

 private:
  void draw_platforms() {
    take_("platforms.html", pages::platforms_page(platforms_, shown_));
    for (std::size_t i = 0; i < platforms_.platforms.size(); ++i) {
      take_(pages::page_name("platform", platforms_.platforms[i].platform),
            pages::platform_page(platforms_, i, shown_));
    }
  }

  void draw_fleet(Json& document) {
    for (Json& row : document.at("platforms")) {
      row["has_page"] =
          std::ranges::find(platforms_.platforms, pages::text_in(row, "platform"),
                            &fleet::PlatformSummary::platform) != platforms_.platforms.end();
    }
    document["subsets"] = subsets_json(frame_);
    take_("index.html", pages::fleet_page(document, shown_, newest_verdict(frame_, newest_)));
  }

  const TakePage& take_;
  Frame frame_;
  Json newest_;
  pages::SiteFrame shown_;
  fleet::PlatformComparison platforms_;
};

}  // namespace

void draw_site(std::istream& lines, const TakePage& take) {
  of_document([&] {
    std::string line;
    std::getline(lines, line);
    Site site(line, take);
    while (std::getline(lines, line)) {
      site.draw(document_in(line));
    }
  });
}

/// Writes a fleet as a site of static pages.
Answer site_task(std::istream& lines, const TaskOptions& options) {
  std::error_code error;
  refuse_folder(options.output, "--output", "the site",
                fs::exists(fs::path(options.output) / "index.html", error),
                "a site's folder (with index.html), an empty one, or a name for one");
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  draw_site(lines, [&](const std::string& file, const pages::Page& page) {
    const std::string html = pages::to_html(page);
    et_schema::write_below(options.output, file, html);
    bytes += html.size();
    ++count;
  });
  return {fmt::format("{} pages, {:.1f} MB: {}\n", count, static_cast<double>(bytes) / 1e6,
                      (fs::path(options.output) / "index.html").string())};
}

}  // namespace understudy::cli

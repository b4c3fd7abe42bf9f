#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/common/output.h"
#include "cli/pages/document/table.h"
#include "cli/pages/document/timeline.h"
#include "et_schema/base/assessment.h"

namespace understudy::pages {

using et_schema::Tone;

/// A figure that is shown large: "31.24 ms", "median of 40 iterations".
struct KeyFigure {
  Fact figure;
  std::string note = {};
};

/// Sentences below figures or tables.
struct Notes {
  std::vector<std::string> texts = {};
};

/// Content of a section. Texts leave out timelines.
using Block = std::variant<Facts, Table, Notes, Timeline>;

struct Section {
  std::string id;  ///< unique within the page: letters, digits, "-"
  std::string title;
  std::vector<Block> blocks;  ///< a section without content is left out
};

/// A result as a document. to_html() and to_text() write the same figures.
struct Page {
  std::string title;                   ///< title of the window, and heading
  std::string subtitle = {};           ///< subject: platform, date, versions
  std::vector<Link> above = {};        ///< pages that contain this one, the widest first
  et_schema::Assessment verdict = {};  ///< shown first
  std::vector<KeyFigure> figures = {};
  std::vector<Section> sections = {};
  std::string data = {};       ///< JSON with what the page shows, for programs
  std::string data_name = {};  ///< file name of the data: "report.json"
  /// members of the data that HTML leaves out, since it shows none of them: depth, from 1, and key
  std::vector<std::pair<int, std::string>> unseen = {};
  std::string footer = {};  ///< the tool that made the page
};

/// page.html with its style and script. @PAGE@ and @DATA@ are placeholders of the document and the
/// data.
extern const std::string_view kPageTemplate;

/// Returns the document that the page's script draws, as JSON: docs/pages.md, "The document".
[[nodiscard]] std::string to_page_json(const Page& page);

/// Returns the page as one self-contained file: no network, light and dark, usable with a keyboard
/// and a screen reader. Equal pages give equal bytes.
[[nodiscard]] std::string to_html(const Page& page);

/// Returns the page for a terminal: title, verdict and findings, then the sections' facts, tables
/// and notes without their plots. Columns are aligned; columns of numbers precede columns of words.
[[nodiscard]] std::string to_text(const Page& page);
/// Returns only the sections as text.
[[nodiscard]] std::string to_text(const std::vector<Section>& sections);

/// Returns the page in this format: text, HTML, the data, or the data's figures as csv
/// (json_csv.h).
[[nodiscard]] std::string written(const Page& page, cli::Format format);

}  // namespace understudy::pages

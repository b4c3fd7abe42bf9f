#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/common/output.h"
#include "cli/pages/document/table.h"
#include "cli/pages/document/timeline.h"

namespace understudy::pages {

/// How the page's first sentence is to be taken.
enum class Tone : std::uint8_t {
  kGood,       ///< nothing speaks against it
  kAttention,  ///< look at the findings
  kBad,        ///< slower, failed, not whole
  kNeutral     ///< says nothing of good and bad
};

/// A figure worth a glance: "31.24 ms", "median of 40 iterations".
struct KeyFigure {
  Fact figure;
  std::string note = {};
};

/// Sentences below figures or tables.
struct Notes {
  std::vector<std::string> texts = {};
  bool are_warnings = false;
};

/// A drawing for a terminal: whole lines of texts alone.
struct InText {
  std::string lines;
};

/// What stands in a section. A timeline is on the page alone; texts leave it out.
using Block = std::variant<Facts, Table, Notes, Timeline, InText>;

struct Section {
  std::string id;  ///< no other of the page has it: letters, digits, "-"
  std::string title;
  std::vector<Block> blocks;  ///< a section without content is left out
};

/// A result as a document: its figures stand here once, to_html() and to_text() write them.
struct Page {
  std::string title;             ///< of the window, and the heading
  std::string subtitle = {};     ///< what it is about: platform, date, versions
  std::vector<Link> above = {};  ///< pages that this one belongs to, the widest first
  Tone tone = Tone::kNeutral;
  std::string verdict;                     ///< one sentence; comes first
  std::vector<std::string> findings = {};  ///< sentences: what is wrong, or to be known
  std::vector<KeyFigure> figures = {};
  std::vector<Section> sections = {};
  std::string data = {};       ///< JSON; what the page shows, to be read by programs
  std::string data_name = {};  ///< the name under which the page offers it: "report.json"
  std::string footer = {};     ///< which tool made it
};

/// page.html with its style and script; where @PAGE@ and @DATA@ stand come the document and the
/// data.
extern const std::string_view kPageTemplate;

/// The document that the page's script draws, as JSON: docs/pages.md, "The document".
[[nodiscard]] std::string to_page_json(const Page& page);

/// The page in one file that needs no other: no network, light and dark, usable with a keyboard and
/// a screen reader. The same page gives the same bytes.
[[nodiscard]] std::string to_html(const Page& page);

/// The same for a terminal: title, verdict and findings, then the sections' facts, tables and notes
/// without their plots. Columns are aligned; those of numbers stand before those of words.
[[nodiscard]] std::string to_text(const Page& page);
/// The sections of it alone.
[[nodiscard]] std::string to_text(const std::vector<Section>& sections);

/// As asked for: one of these, the data, or the data's figures as csv (json_csv.h).
[[nodiscard]] std::string written(const Page& page, cli::Format format);

}  // namespace understudy::pages

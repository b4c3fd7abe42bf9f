#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "cli/common/output.h"
#include "cli/pages/html/markup.h"
#include "cli/pages/html/table.h"

namespace understudy::pages {

/// A style or a script, and what a Content-Security-Policy calls it: "sha256-…".
struct Asset {
  std::string_view content;
  std::string_view hash;
};

/// What every page holds beside its content. A browser runs these scripts and no other: their
/// hashes are in the page's policy.
struct Assets {
  Asset style;
  std::vector<Asset> scripts;
};
/// The library's own.
[[nodiscard]] const Assets& embedded_assets();

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

/// What stands in a section. A drawing (Markup) is on the page alone; texts leave it out.
using Block = std::variant<Facts, Table, Notes, Markup, InText>;

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

/// The whole document, in one file that needs no other: no network, light and dark, usable with a
/// keyboard and a screen reader, readable on paper and without scripts. The same page gives the
/// same bytes.
[[nodiscard]] std::string to_html(const Page& page, const Assets& assets = embedded_assets());

/// The same for a terminal: title, verdict and findings, then the sections' facts, tables and notes
/// without their drawings. Columns are aligned; those of numbers stand before those of words.
[[nodiscard]] std::string to_text(const Page& page);
/// The sections of it alone.
[[nodiscard]] std::string to_text(const std::vector<Section>& sections);

/// As asked for: one of these, the data, or the data's figures as csv (json_csv.h).
[[nodiscard]] std::string written(const Page& page, cli::Format format);

}  // namespace understudy::pages

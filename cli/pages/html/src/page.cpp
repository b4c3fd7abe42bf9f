#include "cli/pages/html/page.h"

#include <fmt/format.h>

#include "cli/common/json_csv.h"
#include "raw_html.h"

namespace understudy::pages {
namespace {

/// The tone in words, for whoever does not see colours.
struct ToneText {
  std::string_view name;
  std::string_view sign;
  std::string_view label;
};
ToneText text_of(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return {"good", "✓", "Good"};
    case Tone::kAttention:
      return {"attention", "!", "Attention"};
    case Tone::kBad:
      return {"bad", "✗", "Bad"};
    case Tone::kNeutral:
      break;
  }
  return {"neutral", "i", "Verdict"};
}

/// Nothing is loaded from anywhere, and nothing runs that the page's maker did not put there.
std::string policy_of(const Assets& assets) {
  std::string scripts;
  for (const Asset& script : assets.scripts) {
    scripts += fmt::format(" '{}'", script.hash);
  }
  return fmt::format(
      "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; style-src '{}'; "
      "script-src{}",
      assets.style.hash, scripts.empty() ? " 'none'" : scripts);
}

Markup raw_element(std::string_view tag, std::string_view content) {
  return Unescaped::html(fmt::format("<{0}>{1}</{0}>\n", tag, content));
}

Markup head_of(const Page& page, const Assets& assets) {
  return element("head", {},
                 element("meta", {{"charset", "utf-8"}}) + text("\n") +
                     element("meta", {{"http-equiv", "Content-Security-Policy"},
                                      {"content", policy_of(assets)}}) +
                     text("\n") +
                     element("meta", {{"name", "viewport"},
                                      {"content", "width=device-width, initial-scale=1"}}) +
                     element("meta", {{"name", "color-scheme"}, {"content", "light dark"}}) +
                     element("link", {{"rel", "icon"}, {"href", "data:,"}}) + text("\n") +
                     element("title", {}, page.title) + text("\n") +
                     raw_element("style", assets.style.content));
}

Markup header_of(const Page& page) {
  Markup above;
  for (const Link& link : page.above) {
    above += element("li", {}, link_markup(link));
  }
  Markup header;
  if (!above.empty()) {
    header += element("nav", {{"aria-label", "Pages above"}}, element("ol", {}, above));
  }
  header += element("h1", {}, page.title);
  if (!page.subtitle.empty()) {
    header += element("p", {}, page.subtitle);
  }
  return element("header", {}, header) + text("\n");
}

Markup notes_markup(const Notes& notes) {
  Markup list;
  for (const std::string& note : notes.texts) {
    list += element(notes.are_warnings ? "li" : "p", {}, note);
  }
  return list.empty() || !notes.are_warnings ? list : element("ul", {{"class", "warnings"}}, list);
}

Markup body_of(const Section& section) {
  struct Writer {
    Markup operator()(const Facts& facts) const { return facts_markup(facts); }
    Markup operator()(const Table& table) const { return table_markup(table); }
    Markup operator()(const Notes& notes) const { return notes_markup(notes); }
    Markup operator()(const Markup& drawing) const { return drawing; }
    Markup operator()(const InText& /*of texts*/) const { return {}; }
  };
  Markup body;
  for (const Block& block : section.blocks) {
    body += std::visit(Writer{}, block);
  }
  return body;
}

Markup contents_of(const Page& page) {
  Markup list;
  for (const Section& section : page.sections) {
    if (!body_of(section).empty()) {
      list += element("li", {}, element("a", {{"href", "#" + section.id}}, section.title));
    }
  }
  return list.empty() ? list
                      : element("nav", {{"class", "contents"}, {"aria-label", "On this page"}},
                                element("ol", {}, list)) +
                            text("\n");
}

Markup verdict_of(const Page& page) {
  if (page.verdict.empty()) {
    return {};
  }
  const ToneText tone = text_of(page.tone);
  Markup body = element(
      "p", {{"class", "sentence"}},
      element("span", {{"class", "sign"}, {"role", "img"}, {"aria-label", std::string(tone.label)}},
              tone.sign) +
          element("strong", {{"id", "verdict"}}, page.verdict));
  Markup findings;
  for (const std::string& finding : page.findings) {
    findings += element("li", {}, finding);
  }
  if (!findings.empty()) {
    body += element("ul", {{"id", "findings"}}, findings);
  }
  return element("section",
                 {{"class", "verdict " + std::string(tone.name)}, {"aria-label", "Verdict"}},
                 body) +
         text("\n");
}

Markup figures_of(const Page& page) {
  Markup list;
  for (const KeyFigure& figure : page.figures) {
    Markup value = element("dd", {}, fact_value(figure.figure));
    if (!figure.note.empty()) {
      value += element("dd", {{"class", "note"}}, figure.note);
    }
    list += element("div", {}, element("dt", {}, figure.figure.name) + value);
  }
  return list.empty() ? list : element("dl", {{"class", "figures"}}, list) + text("\n");
}

Markup sections_of(const Page& page) {
  Markup all;
  for (const Section& section : page.sections) {
    const Markup body = body_of(section);
    if (body.empty()) {
      continue;
    }
    const std::string title_id = section.id + "-title";
    all += element("section", {{"id", section.id}, {"aria-labelledby", title_id}},
                   element("h2", {{"id", title_id}}, section.title) + text("\n") + body) +
           text("\n");
  }
  return all;
}

Markup footer_of(const Page& page) {
  Markup footer = element("p", {}, page.footer);
  if (!page.data.empty()) {
    // A link that saves it is made by page.js: without scripts there is no such thing.
    footer += element("p", {{"id", "data-link"}, {"data-name", page.data_name}},
                      "The figures are in this file as JSON, in the element \"data\".");
  }
  return element("footer", {}, footer) + text("\n");
}

}  // namespace

const Assets& embedded_assets() {
  static const Assets assets{k_page_css, {k_page_js, k_series_js, k_timeline_js}};
  return assets;
}

std::string to_html(const Page& page, const Assets& assets) {
  Markup body = element("a", {{"class", "skip"}, {"href", "#main"}}, "Skip to content") +
                text("\n") + header_of(page) + contents_of(page) +
                element("main", {{"id", "main"}, {"tabindex", "-1"}},
                        text("\n") + verdict_of(page) + figures_of(page) + sections_of(page)) +
                text("\n") + footer_of(page);
  if (!page.data.empty()) {
    body += json_block("data", page.data);
  }
  for (const Asset& script : assets.scripts) {
    body += raw_element("script", script.content);
  }
  const Markup html = element("html", {{"lang", "en"}},
                              text("\n") + head_of(page, assets) + text("\n") +
                                  element("body", {}, text("\n") + body) + text("\n"));
  return "<!doctype html>\n" + html.html() + "\n";
}

std::string written(const Page& page, cli::Format format) {
  switch (format) {
    case cli::Format::kJson:
      return page.data;
    case cli::Format::kCsv:
      return cli::json_to_csv(nlohmann::ordered_json::parse(page.data));
    case cli::Format::kHtml:
      return to_html(page);
    case cli::Format::kText:
      break;
  }
  return to_text(page);
}

}  // namespace understudy::pages

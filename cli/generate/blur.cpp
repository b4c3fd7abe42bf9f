#include "generate/blur.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "common/figures.h"
#include "common/table.h"

namespace understudy::cli {
namespace {

constexpr double kMost = 0.5;

std::string change_text(double before, double after) {
  return before > 0 ? fmt::format("{:+.2f} %", (after / before - 1) * kPercent) : "none";
}

nlohmann::ordered_json pair_of(double before, double after) {
  return {before, after};
}

}  // namespace

void add_blur_option(CLI::App& app, std::optional<double>& within) {
  app.add_option_function<std::string>(
         "--shapes-within",
         [&within](const std::string& text) {
           const bool is_percent = text.ends_with('%');
           double number = 0;
           if (!CLI::detail::lexical_cast(is_percent ? text.substr(0, text.size() - 1) : text,
                                          number) ||
               !(number > 0 && number / (is_percent ? kPercent : 1) <= kMost)) {
             throw CLI::ValidationError(
                 "--shapes-within",
                 fmt::format("{} is no share from 0 to 50%, as 5% or 0.05", text));
           }
           within = number / (is_percent ? kPercent : 1);
         },
         "Change tensor sizes by at most this share, consistently, where alignment and choice of "
         "algorithms stay; other sizes are kept and named")
      ->type_name("X%");
}

generator::Blurred blur(et_schema::Bench bench, double within) {
  generator::Blurred blurred = generator::blur_shapes(std::move(bench), within);
  for (et_schema::Program& program : blurred.bench.programs) {
    program.selection.filters.push_back(fmt::format("--shapes-within {}", within));
  }
  return blurred;
}

std::string blurred_text(const generator::Blurred& blurred) {
  std::string text = "\nShapes: what stands for a size stands for it everywhere\n";
  TextTable changed(
      {{"size", Alignment::kRight}, {"now", Alignment::kRight}, {"by", Alignment::kRight}});
  for (const auto& [size, now] : blurred.changed) {
    changed.add({with_commas(static_cast<std::uint64_t>(size)),
                 with_commas(static_cast<std::uint64_t>(now)),
                 change_text(static_cast<double>(size), static_cast<double>(now))});
  }
  text += changed.empty() ? "  none could be changed\n" : changed.to_text();
  TextTable kept({{"kept", Alignment::kRight}, {"because"}});
  for (const auto& [size, why] : blurred.kept) {
    kept.add({with_commas(static_cast<std::uint64_t>(size)), why});
  }
  text += kept.empty() ? "" : "\n" + kept.to_text();
  if (blurred.dropped_bodies > 0) {
    text +=
        fmt::format("\nLeft out, as it does not fit: what was recorded below operators, of {}\n",
                    with_commas(blurred.dropped_bodies));
  }
  return text + fmt::format(
                    "\nWork an iteration: {} floating-point operations in products, "
                    "convolutions and recurrent layers, {} bytes of operators' tensors\n",
                    change_text(blurred.before.flops, blurred.after.flops),
                    change_text(blurred.before.bytes, blurred.after.bytes));
}

nlohmann::ordered_json blurred_json(const generator::Blurred& blurred) {
  nlohmann::ordered_json changed = nlohmann::ordered_json::object();
  for (const auto& [size, now] : blurred.changed) {
    changed[std::to_string(size)] = now;
  }
  nlohmann::ordered_json kept = nlohmann::ordered_json::object();
  for (const auto& [size, why] : blurred.kept) {
    kept[std::to_string(size)] = why;
  }
  return {{"changed", std::move(changed)},
          {"kept", std::move(kept)},
          {"dropped_bodies", blurred.dropped_bodies},
          {"flops", pair_of(blurred.before.flops, blurred.after.flops)},
          {"bytes", pair_of(blurred.before.bytes, blurred.after.bytes)}};
}

}  // namespace understudy::cli

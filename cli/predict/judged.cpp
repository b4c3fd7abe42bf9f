#include "judged.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "et_schema/base/figures.h"
#include "predictor/fitting/errors.h"

namespace understudy::cli {

void Judged::add(const std::string& name, double measured_ns,
                 const predictor::Estimate& predicted) {
  ++calls_;
  extrapolated_ += predicted.extrapolated ? 1U : 0U;
  unmodelled_ += predicted.modelled ? 0U : 1U;
  if (measured_ns > 0) {
    Group& group = groups_[name];
    group.residuals.push_back(std::log(measured_ns / predicted.ns));
    const bool is_within = measured_ns >= predicted.low_ns && measured_ns <= predicted.high_ns;
    group.within += is_within ? 1U : 0U;
  }
}

std::string Judged::summary() const {
  using et_schema::with_commas;
  return fmt::format("{} calls predicted, {} extrapolated, {} without a model", with_commas(calls_),
                     with_commas(extrapolated_), with_commas(unmodelled_));
}

pages::Section Judged::section(const std::string& title) const {
  using pages::counts, pages::shares;
  pages::Table table{
      .id = "judged-table",
      .caption = "Against the table's times",
      .columns = {pages::texts(title), counts("calls"), shares("mean"), shares("geo"),
                  shares("worst"), shares("bias"), shares("in interval")}};
  for (const auto& [name, group] : groups_) {
    const predictor::Errors errors = predictor::errors_of(group.residuals);
    table.rows.push_back({name, errors.n, errors.mean, errors.geometric, errors.worst, errors.bias,
                          static_cast<double>(group.within) / static_cast<double>(errors.n)});
  }
  return {"judged", "Against the table's times", {std::move(table)}};
}

}  // namespace understudy::cli

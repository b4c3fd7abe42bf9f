#pragma once

#include "et_schema/model/program.h"
#include "et_schema/model/step_work.h"
#include "predictor/calls/card.h"

namespace understudy::predictor {

/// Returns the work of the operators of these programs, one for each rank (docs/metrics.md,
/// "Work"). Ranks may share a program. Communication has none.
[[nodiscard]] et_schema::StepWork step_work(const std::vector<const et_schema::Program*>& of_ranks);

/// Returns the work of the ranks with its rates (set_rates()) in a step of `step_ms`. `card`: null
/// for the card that the first rank was recorded on.
[[nodiscard]] et_schema::StepWork step_work(const std::vector<const et_schema::Program*>& of_ranks,
                                            double step_ms, const Card* card);

/// Sets the rates of a step of so many ranks, and the shares of the card's peak unless a product's
/// type has none. Without a time, changes nothing.
void set_rates(double step_ms, int ranks, const Card* card, et_schema::StepWork& work);

}  // namespace understudy::predictor

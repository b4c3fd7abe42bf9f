#pragma once

#include "composer/plan/plan.h"

namespace understudy::composer {

/// What can be told of a plan without its sources. Throws Error (bad input).
void check_plan(const Plan& plan);

}  // namespace understudy::composer

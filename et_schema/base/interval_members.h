#pragma once

#include "et_schema/base/interval.h"
#include "et_schema/base/record.h"

namespace understudy::et_schema {

void members(auto& walk, SameAs<Interval> auto& interval) {
  walk("value", interval.value);
  walk("low", interval.low);
  walk("high", interval.high);
}

}  // namespace understudy::et_schema

#pragma once

#include "et_schema/base/json_record.h"
#include "predictor/fitting/errors.h"

namespace understudy::predictor {

/// JSON members in platform files.
void members(auto& json, et_schema::SameAs<Errors> auto& errors) {
  json("n", errors.n);
  json("mean", errors.mean, et_schema::kNotNegative);
  json("geometric", errors.geometric, et_schema::kNotNegative);
  json("worst", errors.worst, et_schema::kNotNegative);
  json("bias", errors.bias, et_schema::kFinite);
}

}  // namespace understudy::predictor

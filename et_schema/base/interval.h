#pragma once

namespace understudy::et_schema {

/// A value and its interval.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

}  // namespace understudy::et_schema

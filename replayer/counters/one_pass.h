#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "replayer/counters/source.h"

namespace understudy::replayer {

/// A source that counts all its counters in one pass, as differences of two readings.
class OnePassSource : public CounterSource {
 public:
  [[nodiscard]] std::size_t prepare(const std::vector<std::string>& names,
                                    std::size_t ranges) override;
  void begin_pass() override {}
  void begin_range(std::size_t range) override;
  void end_range() override;
  void end_pass() override {}
  [[nodiscard]] std::vector<et_schema::Counters> take() override;

 protected:
  [[nodiscard]] bool is_asked(std::string_view name) const;
  virtual void read_before() = 0;
  /// Returns the counters since read_before(); negative values, and those that are no numbers, are
  /// dropped.
  [[nodiscard]] virtual et_schema::Counters read_after() = 0;

 private:
  std::vector<std::string> asked_;
  std::vector<et_schema::Counters> ranges_;
  std::size_t current_ = 0;
};

}  // namespace understudy::replayer

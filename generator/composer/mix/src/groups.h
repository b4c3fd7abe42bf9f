#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "et_schema/formats/bench/bench.h"

namespace understudy::composer {

/// The process groups of a new job. Group 0 is all of its ranks.
class NewGroups {
 public:
  explicit NewGroups(int ranks);

  /// Finds or makes the new job's group for a group of a source. `ranks` maps the source's ranks to
  /// the new job's.
  [[nodiscard]] et_schema::GroupId find(const std::string& source, const et_schema::Bench& origin,
                                        et_schema::GroupId group, const std::vector<int>& ranks);
  [[nodiscard]] std::vector<et_schema::ProcessGroup> take() { return std::move(groups_); }

 private:
  int ranks_;
  std::vector<et_schema::ProcessGroup> groups_;
  std::map<std::pair<std::string, std::vector<std::int64_t>>, et_schema::GroupId> known_;
};

}  // namespace understudy::composer

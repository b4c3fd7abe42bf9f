#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "fleet/database/connection.h"
#include "testing/temporary_folder.h"

namespace understudy::fleet {

/// "sqlite", and "postgres" where a server can be started.
[[nodiscard]] std::vector<std::string> database_kinds();

/// A new, empty database of the kind that the test is run with.
class DatabaseTest : public ::testing::TestWithParam<std::string> {
 protected:
  DatabaseTest();
  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const testing_files::TemporaryFolder& folder() const { return folder_; }
  /// With the fleet's tables.
  [[nodiscard]] std::unique_ptr<Connection> open() const;

 private:
  testing_files::TemporaryFolder folder_;
  std::string url_;
};

}  // namespace understudy::fleet

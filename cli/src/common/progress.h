#pragma once

#include <string_view>

namespace understudy::cli {

/// One line on standard error that says what goes on, overwritten by the next and wiped at the end.
/// Nothing is written where quiet is asked for, or standard error is no terminal.
class Progress {
 public:
  explicit Progress(bool quiet = false);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view text);
  /// Wipes the line, so that other output can follow.
  void clear();

 private:
  bool is_terminal_ = false;
  bool is_shown_ = false;
};

}  // namespace understudy::cli

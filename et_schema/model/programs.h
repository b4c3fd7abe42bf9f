#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// The programs of a job, by rank. Equal ranks share a program, so that a job of a thousand ranks
/// needs memory for the different programs only. A change applies to one rank, or to all ranks that
/// share the program.
class Programs {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Program;
    using difference_type = std::ptrdiff_t;
    using pointer = const Program*;
    using reference = const Program&;
    Iterator() = default;
    explicit Iterator(const std::shared_ptr<Program>* at) : at_(at) {}
    reference operator*() const { return **at_; }
    pointer operator->() const { return at_->get(); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const std::shared_ptr<Program>* at_ = nullptr;
  };

  Programs() = default;
  Programs(std::initializer_list<Program> programs) : Programs(std::vector(programs)) {}
  Programs(std::vector<Program> programs) {
    for (Program& program : programs) {
      push_back(std::move(program));
    }
  }

  [[nodiscard]] std::size_t size() const { return ranks_.size(); }
  [[nodiscard]] bool empty() const { return ranks_.empty(); }
  [[nodiscard]] const Program& operator[](std::size_t rank) const { return *ranks_[rank]; }
  [[nodiscard]] const Program& front() const { return *ranks_.front(); }
  [[nodiscard]] const Program& back() const { return *ranks_.back(); }
  [[nodiscard]] Iterator begin() const { return Iterator(ranks_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(ranks_.data() + ranks_.size()); }

  void push_back(Program program) {
    ranks_.push_back(std::make_shared<Program>(std::move(program)));
  }
  /// Adds a rank that shares the program of an earlier one.
  void push_same_as(std::size_t rank) { ranks_.push_back(ranks_[rank]); }

  /// Returns the program of one rank for a change to this rank alone.
  [[nodiscard]] Program& edit(std::size_t rank) {
    std::shared_ptr<Program>& program = ranks_[rank];
    if (program.use_count() > 1) {
      program = std::make_shared<Program>(*program);
    }
    return *program;
  }
  /// Calls `change(program, ranks)` once for each program; `ranks` is the number of ranks that
  /// share it. The change applies to all of them.
  void edit_each(const auto& change) {
    std::map<const Program*, std::shared_ptr<Program>> changed;
    for (std::shared_ptr<Program>& program : ranks_) {
      const auto [now, is_new] = changed.try_emplace(program.get(), program);
      if (is_new) {
        const auto ranks = std::ranges::count(ranks_, program);
        if (program.use_count() - 1 > ranks) {  // a copy of this object shares it, too
          now->second = std::make_shared<Program>(*program);
        }
        change(*now->second, static_cast<std::size_t>(ranks));
      }
      program = now->second;
    }
  }

  bool operator==(const Programs& other) const {
    return std::equal(ranks_.begin(), ranks_.end(), other.ranks_.begin(), other.ranks_.end(),
                      [](const auto& a, const auto& b) { return a == b || *a == *b; });
  }

 private:
  std::vector<std::shared_ptr<Program>> ranks_;
};

}  // namespace understudy::et_schema

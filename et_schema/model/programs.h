#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "et_schema/model/bodies.h"
#include "et_schema/model/program.h"

namespace understudy::et_schema {

/// A rank's process group, in place of one that its program names.
struct OwnGroup {
  GroupId named = 0;
  GroupId own = 0;
  auto operator<=>(const OwnGroup&) const = default;
};
using OwnGroups = std::vector<OwnGroup>;

/// Returns the rank's group for one that its program names.
[[nodiscard]] inline GroupId own_group(const OwnGroups& groups, GroupId named) {
  const auto found = std::ranges::find(groups, named, &OwnGroup::named);
  return found == groups.end() ? named : found->own;
}

/// The programs of a job, by rank. Ranks that differ in their process groups alone share a program,
/// so that a job of a thousand ranks needs memory for the different programs only. A change applies
/// to one rank, or to all ranks that share the program.
class Programs {
  struct Rank {
    std::shared_ptr<Program> program;
    OwnGroups groups = {};
  };

 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Program;
    using difference_type = std::ptrdiff_t;
    using pointer = const Program*;
    using reference = const Program&;
    Iterator() = default;
    explicit Iterator(const Rank* at) : at_(at) {}
    reference operator*() const { return *at_->program; }
    pointer operator->() const { return at_->program.get(); }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return Iterator(at_++); }
    bool operator==(const Iterator&) const = default;

   private:
    const Rank* at_ = nullptr;
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
  /// Groups are as the program names them: groups() has the rank's.
  [[nodiscard]] const Program& operator[](std::size_t rank) const { return *ranks_[rank].program; }
  [[nodiscard]] const Program& front() const { return *ranks_.front().program; }
  [[nodiscard]] const Program& back() const { return *ranks_.back().program; }
  [[nodiscard]] const OwnGroups& groups(std::size_t rank) const { return ranks_[rank].groups; }
  /// Returns a rank's program with its own groups.
  [[nodiscard]] Program of(std::size_t rank) const {
    Program program = *ranks_[rank].program;
    for_each_instruction(program.instructions, [&](Instruction& instruction) {
      if (instruction.comm) {
        instruction.comm->group = own_group(ranks_[rank].groups, instruction.comm->group);
      }
    });
    return program;
  }
  [[nodiscard]] Iterator begin() const { return Iterator(ranks_.data()); }
  [[nodiscard]] Iterator end() const { return Iterator(ranks_.data() + ranks_.size()); }

  void push_back(Program program, OwnGroups groups = {}) {
    ranks_.push_back({std::make_shared<Program>(std::move(program)), std::move(groups)});
  }
  /// Adds a rank that shares the program of an earlier one.
  void push_same_as(std::size_t rank, OwnGroups groups = {}) {
    ranks_.push_back({ranks_[rank].program, std::move(groups)});
  }

  /// Returns the program of one rank for a change to this rank alone, with its own groups.
  [[nodiscard]] Program& edit(std::size_t rank) {
    Rank& own = ranks_[rank];
    if (own.program.use_count() > 1 || !own.groups.empty()) {
      own = {std::make_shared<Program>(of(rank))};
    }
    return *own.program;
  }
  /// Gives each rank with groups of its own a program of its own.
  void separate() {
    for (std::size_t rank = 0; rank < size(); ++rank) {
      if (!groups(rank).empty()) {
        static_cast<void>(edit(rank));
      }
    }
  }
  /// Calls `change(program, ranks)` once for each program; `ranks` is the number of ranks that
  /// share it. The change applies to all of them.
  void edit_each(const auto& change) {
    std::map<const Program*, std::shared_ptr<Program>> changed;
    for (auto& [program, groups] : ranks_) {
      const auto [now, is_new] = changed.try_emplace(program.get(), program);
      if (is_new) {
        const auto ranks = std::ranges::count(ranks_, program, &Rank::program);
        if (program.use_count() - 1 > ranks) {  // a copy of this object shares it, too
          now->second = std::make_shared<Program>(*program);
        }
        change(*now->second, static_cast<std::size_t>(ranks));
      }
      program = now->second;
    }
  }

  bool operator==(const Programs& other) const {
    bool is_equal = size() == other.size();
    for (std::size_t rank = 0; is_equal && rank < size(); ++rank) {
      const Rank& a = ranks_[rank];
      const Rank& b = other.ranks_[rank];
      is_equal = (a.program == b.program && a.groups == b.groups) || of(rank) == other.of(rank);
    }
    return is_equal;
  }

 private:
  std::vector<Rank> ranks_;
};

}  // namespace understudy::et_schema

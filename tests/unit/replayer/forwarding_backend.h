#pragma once

#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "replayer/backends/interface/backend.h"

namespace understudy::replayer::testing {

/// One rank alone, for tests to change a part of.
class ForwardingBackend : public backends::Backend {
 public:
  std::string name() const override { return inner_->name(); }
  std::string version() const override { return inner_->version(); }
  int rank() const override { return inner_->rank(); }
  int world_size() const override { return inner_->world_size(); }
  backends::GroupId make_group(const std::string& name, std::span<const int> ranks) override {
    return inner_->make_group(name, ranks);
  }
  std::unique_ptr<backends::Work> start(const backends::Call& call) override {
    return inner_->start(call);
  }
  backends::Ended wait(std::unique_ptr<backends::Work> work) override {
    return inner_->wait(std::move(work));
  }
  void run(const backends::Call& call) override { inner_->run(call); }
  std::vector<std::string> all_gather_text(const std::string& text) override {
    return inner_->all_gather_text(text);
  }
  void barrier() override { inner_->barrier(); }
  [[noreturn]] void abort(int status) override { std::exit(status); }

 private:
  std::unique_ptr<backends::Backend> inner_ = backends::make_single_backend({});
};

}  // namespace understudy::replayer::testing

#include "replayer/backends/interface/check_call.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "et_schema/base/error.h"
#include "et_schema/model/comm_traits.h"

namespace understudy::backends {

using et_schema::CommSizes;
using et_schema::DType;

namespace {

class Checker {
 public:
  Checker(const Call& call, const CallPlace& place)
      : call_(call),
        place_(place),
        size_(static_cast<std::size_t>(place.group_size)),
        self_(static_cast<std::size_t>(place.group_rank)) {}

  void check() const {
    check_buffers(call_.inputs, "inputs");
    check_buffers(call_.outputs, "outputs");
    check_kind();
  }

 private:
  void check_kind() const {
    const et_schema::CommTraits& traits = et_schema::traits(call_.kind);
    check_sizes(traits.sizes);
    if (traits.reduces) {
      check_reduction();
    }
    if (traits.has_root || traits.sizes == CommSizes::kMessage) {
      check_root();
    }
  }

  /// The call's inputs or outputs.
  struct Side {
    const char* name;
    const std::vector<Buffer>& buffers;
  };

  void check_sizes(CommSizes sizes) const {
    const Side in{"inputs", call_.inputs};
    const Side out{"outputs", call_.outputs};
    switch (sizes) {
      case CommSizes::kPairs:
        return check_multiples(out, in, 1);
      case CommSizes::kOutputOfAll:
        return check_multiples(out, in, place_.group_size);
      case CommSizes::kInputOfAll:
        return check_multiples(in, out, place_.group_size);
      case CommSizes::kOutputPerRank:
        return check_parts(out, in);
      case CommSizes::kInputPerRank:
        return check_parts(in, out);
      case CommSizes::kOutputsOfRoot:
        return check_rooted(out, in);
      case CommSizes::kInputsOfRoot:
        return check_rooted(in, out);
      case CommSizes::kEqualParts:
        return check_all_to_all(in, out);
      case CommSizes::kSplits:
        return check_all_to_allv(in, out);
      case CommSizes::kMessage:
      case CommSizes::kNone:
        return;
      case CommSizes::kNoCommunication:
        break;
    }
    fail("kind", "a communication",
         fmt::format("'{}', which is none", et_schema::to_string(call_.kind)));
  }

  void check_buffers(const std::vector<Buffer>& buffers, const char* side) const {
    const DType dtype = dtype_of(call_);
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const Buffer& buffer = buffers[i];
      const std::string field = fmt::format("{}[{}]", side, i);
      if (buffer.count < 0) {
        fail(field, "a size of 0 or more", fmt::format("{} elements", buffer.count));
      }
      if (buffer.dtype != dtype || et_schema::item_size(dtype) == 0) {
        fail(field, "one known dtype in all buffers of the call",
             fmt::format("{} beside {}", et_schema::to_string(buffer.dtype),
                         et_schema::to_string(dtype)));
      }
      if (buffer.count > 0 && buffer.data == nullptr) {
        fail(field, "memory", fmt::format("none for {} elements", buffer.count));
      }
    }
  }

  void check_number(const Side& side, std::size_t expected) const {
    if (side.buffers.size() != expected) {
      fail(side.name, fmt::format("{} buffers", expected), fmt::format("{}", side.buffers.size()));
    }
  }

  void check_size(const Side& side, std::size_t i, std::int64_t expected) const {
    if (side.buffers[i].count != expected) {
      fail(fmt::format("{}[{}]", side.name, i), fmt::format("{} elements", expected),
           fmt::format("{}", side.buffers[i].count));
    }
  }

  void check_root() const {
    if (call_.root_or_peer < 0 || call_.root_or_peer >= place_.group_size) {
      fail("root_or_peer", fmt::format("a rank of the group, 0 to {}", place_.group_size - 1),
           fmt::format("{}", call_.root_or_peer));
    }
  }

  void check_reduction() const {
    const DType dtype = dtype_of(call_);
    if (dtype != DType::kUndefined && !can_reduce(dtype, call_.op)) {
      fail("op", "a reduction that is defined on the dtype",
           fmt::format("{} of {}", et_schema::to_string(call_.op), et_schema::to_string(dtype)));
    }
    if (call_.factor != 1 && (call_.op != ReduceOp::kSum || !et_schema::is_floating(dtype))) {
      fail("factor", "1 of anything but a sum of floating-point numbers",
           fmt::format("{} of {} of {}", call_.factor, et_schema::to_string(call_.op),
                       et_schema::to_string(dtype)));
    }
  }

  /// Checks that `large` has as many buffers as `small`, each `factor` times as large.
  void check_multiples(const Side& large, const Side& small, std::int64_t factor) const {
    check_number(large, small.buffers.size());
    for (std::size_t i = 0; i < large.buffers.size(); ++i) {
      check_size(large, i, small.buffers[i].count * factor);
    }
  }

  /// Checks that `parts` holds one buffer per rank for each of `wholes`, and that this rank's has
  /// the size of the whole.
  void check_parts(const Side& parts, const Side& wholes) const {
    check_number(parts, wholes.buffers.size() * size_);
    for (std::size_t i = 0; i < wholes.buffers.size(); ++i) {
      check_size(parts, i * size_ + self_, wholes.buffers[i].count);
    }
  }

  void check_rooted(const Side& parts, const Side& own) const {
    check_root();
    check_number(own, 1);
    if (place_.group_rank == call_.root_or_peer) {
      check_parts(parts, own);
    }
  }

  void check_all_to_all(const Side& in, const Side& out) const {
    if (in.buffers.size() != 1 || out.buffers.size() != 1) {
      check_number(in, size_);
      check_number(out, size_);
      return check_size(out, self_, in.buffers[self_].count);
    }
    check_size(out, 0, in.buffers[0].count);
    if (in.buffers[0].count % place_.group_size != 0) {
      fail("inputs[0]", fmt::format("a multiple of {} elements", place_.group_size),
           fmt::format("{}", in.buffers[0].count));
    }
  }

  void check_all_to_allv(const Side& in, const Side& out) const {
    check_number(in, 1);
    check_number(out, 1);
    check_splits("in_splits", call_.in_splits, call_.inputs[0].count);
    check_splits("out_splits", call_.out_splits, call_.outputs[0].count);
    if (call_.in_splits[self_] != call_.out_splits[self_]) {
      fail(fmt::format("out_splits[{}]", self_),
           fmt::format("{}, as in in_splits", call_.in_splits[self_]),
           fmt::format("{}", call_.out_splits[self_]));
    }
  }

  void check_splits(const char* field, const std::vector<std::int64_t>& splits,
                    std::int64_t count) const {
    if (splits.size() != size_) {
      fail(field, fmt::format("{} splits", size_), fmt::format("{}", splits.size()),
           fmt::format("the original's group had {} ranks: generate the benchmark again from the "
                       "traces of all of them, or with --allow-missing",
                       splits.size()));
    }
    constexpr std::int64_t kNoSplits = -1;
    std::int64_t left = count;
    for (const std::int64_t split : splits) {
      left = split < 0 || split > left ? kNoSplits : left - split;
    }
    if (left != 0) {
      fail(field, fmt::format("splits that add up to the buffer's {} elements", count),
           fmt::format("[{}]", fmt::join(splits, ", ")));
    }
  }

  [[noreturn]] void fail(const std::string& field, std::string expected, std::string got,
                         std::string hint = {}) const {
    throw et_schema::run_failed(
        fmt::format("the {} in group '{}' does not fit (rank {} of {} in it)",
                    et_schema::to_string(call_.kind), place_.group_name, place_.group_rank,
                    place_.group_size),
        {.rank = place_.world_rank,
         .field = field,
         .expected = std::move(expected),
         .got = std::move(got),
         .hint = std::move(hint)});
  }

  const Call& call_;
  const CallPlace& place_;
  std::size_t size_;
  std::size_t self_;
};

constexpr std::array kOnlyMoved = {
    DType::kQInt8,          DType::kQUInt8,        DType::kQInt32,
    DType::kFloat8E5M2,     DType::kFloat8E4M3Fn,  DType::kFloat8E5M2Fnuz,
    DType::kFloat8E4M3Fnuz, DType::kFloat8E8M0Fnu, DType::kUndefined};

}  // namespace

void check_call(const Call& call, const CallPlace& place) {
  Checker(call, place).check();
}

bool can_reduce(DType dtype, ReduceOp op) {
  if (std::ranges::find(kOnlyMoved, dtype) != kOnlyMoved.end()) {
    return false;
  }
  switch (op) {
    case ReduceOp::kSum:
      return true;
    case ReduceOp::kAvg:
      return dtype != DType::kBool;
    case ReduceOp::kProduct:
      return dtype != DType::kComplexFloat16;
    case ReduceOp::kMin:
    case ReduceOp::kMax:
      return !et_schema::is_complex(dtype);
    case ReduceOp::kBand:
    case ReduceOp::kBor:
    case ReduceOp::kBxor:
      return et_schema::is_integral(dtype) || dtype == DType::kBool;
  }
  return false;
}

ReduceOp of_bools(ReduceOp op) {
  switch (op) {
    case ReduceOp::kProduct:
    case ReduceOp::kMin:
    case ReduceOp::kBand:
      return ReduceOp::kMin;
    case ReduceOp::kBxor:
      return ReduceOp::kBxor;
    default:
      return ReduceOp::kMax;
  }
}

bool goes_in_batch(et_schema::CommKind kind) {
  const CommSizes sizes = et_schema::traits(kind).sizes;
  return sizes == CommSizes::kPairs || sizes == CommSizes::kOutputOfAll ||
         sizes == CommSizes::kInputOfAll || sizes == CommSizes::kEqualParts ||
         sizes == CommSizes::kSplits || sizes == CommSizes::kMessage;
}

DType dtype_of(const Call& call) {
  if (!call.inputs.empty()) {
    return call.inputs.front().dtype;
  }
  return call.outputs.empty() ? DType::kUndefined : call.outputs.front().dtype;
}

std::int64_t size_bytes(const Buffer& buffer) {
  return buffer.count * et_schema::item_size(buffer.dtype);
}

}  // namespace understudy::backends

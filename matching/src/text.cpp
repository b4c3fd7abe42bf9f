#include <fmt/format.h>

#include <charconv>
#include <limits>

#include "et_schema/support/error.h"
#include "matching/matching.h"

namespace understudy::matching {

namespace {

// Each call is a line of numbers with a space after each; lists begin with their length. The
// reduction, a word, comes last.

template <typename Number>
void put_list(std::string& text, const std::vector<Number>& list) {
  text += fmt::format("{} ", list.size());
  for (const Number number : list) {
    text += fmt::format("{} ", number);
  }
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[nodiscard]] bool at_end() const { return at_ == text_.size(); }

  template <typename Number>
  [[nodiscard]] Number number(Number least = std::numeric_limits<Number>::min(),
                              Number most = std::numeric_limits<Number>::max()) {
    Number value{};
    const char* begin = text_.data() + at_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error != std::errc() || value < least || value > most) {
      fail("a number");
    }
    at_ = static_cast<std::size_t>(end - text_.data());
    expect(' ');
    return value;
  }

  template <typename Number>
  [[nodiscard]] std::vector<Number> list() {
    // Each element takes at least two characters, so a greater length cannot be right.
    const auto length = number<std::size_t>(0, text_.size() / 2);
    std::vector<Number> values;
    for (std::size_t i = 0; i < length; ++i) {
      values.push_back(number<Number>());
    }
    return values;
  }

  [[nodiscard]] std::string rest_of_line() {
    const std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) {
      fail("the end of a line");
    }
    std::string word(text_.substr(at_, end - at_));
    at_ = end + 1;
    return word;
  }

 private:
  void expect(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) {
      fail(fmt::format("'{}'", wanted));
    }
    ++at_;
  }

  [[noreturn]] void fail(std::string expected) const {
    et_schema::ErrorContext context;
    context.field = fmt::format("character {}", at_);
    context.expected = std::move(expected);
    constexpr std::size_t kShown = 20;
    context.got = fmt::format("'{}'", text_.substr(std::min(at_, text_.size()), kShown));
    context.hint = "all ranks must run the same version";
    throw et_schema::bad_input("another rank's list of communications cannot be read",
                               std::move(context));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_text(const RankComms& comms) {
  std::string text = fmt::format("{} \n", comms.rank);
  for (const CommRecord& call : comms.calls) {
    text += fmt::format("{} {} {} {} {} ", call.node, static_cast<int>(call.kind), call.group,
                        call.root_or_peer, static_cast<int>(call.dtype));
    put_list(text, call.inputs);
    put_list(text, call.outputs);
    put_list(text, call.in_splits);
    put_list(text, call.out_splits);
    put_list(text, call.joined_before);
    text += call.reduce_op;
    text += '\n';
  }
  return text;
}

RankComms parse_rank_comms(std::string_view text) {
  Reader reader(text);
  RankComms comms;
  comms.rank = reader.number<int>(0);
  (void)reader.rest_of_line();
  while (!reader.at_end()) {
    CommRecord call;
    call.node = reader.number<std::uint64_t>();
    call.kind = static_cast<et_schema::CommKind>(
        reader.number<int>(0, static_cast<int>(et_schema::CommKind::kInit)));
    call.group = reader.number<et_schema::GroupId>();
    call.root_or_peer = reader.number<std::int64_t>();
    call.dtype = static_cast<et_schema::DType>(
        reader.number<int>(0, static_cast<int>(et_schema::DType::kUndefined)));
    call.inputs = reader.list<std::int64_t>();
    call.outputs = reader.list<std::int64_t>();
    call.in_splits = reader.list<std::int64_t>();
    call.out_splits = reader.list<std::int64_t>();
    call.joined_before = reader.list<std::uint32_t>();
    call.reduce_op = reader.rest_of_line();
    comms.calls.push_back(std::move(call));
  }
  return comms;
}

}  // namespace understudy::matching

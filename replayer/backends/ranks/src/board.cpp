#include "board.h"

#include <cstring>
#include <optional>
#include <span>

#include "et_schema/base/assert.h"

namespace understudy::backends {

namespace {

static_assert(sizeof(Answer) <= kLargestLetter && sizeof(Question) < sizeof(Answer));

template <typename Content>
[[nodiscard]] Content read(const Letter& letter) {
  Content content;
  UNDERSTUDY_ASSERT(letter.bytes.size() == sizeof(content));
  std::memcpy(&content, letter.bytes.data(), sizeof(content));
  return content;
}

}  // namespace

void Board::serve() {
  while (const std::optional<Letter> letter = wire_.next_letter()) {
    if (letter->bytes.size() == sizeof(Question)) {
      const Answer answer = answerer_(read<Question>(*letter));
      wire_.post(letter->from, std::as_bytes(std::span(&answer, 1)));
    } else if (letter->bytes.size() == sizeof(Answer)) {
      Heard& heard = of(letter->from);
      heard.under_way = false;
      heard.answered = true;
      heard.answer = read<Answer>(*letter);
      heard.answer.doing.back() = '\0';
    }
  }
}

void Board::ask(const Question& question, int world_rank,
                std::chrono::steady_clock::time_point now) {
  Heard& asked = of(world_rank);
  if (asked.under_way) {
    return;
  }
  asked.answered = asked.answered && asked.question == question;
  asked.question = question;
  asked.asked = now;
  asked.under_way = true;
  wire_.post(world_rank, std::as_bytes(std::span(&question, 1)));
}

Heard& Board::of(int world_rank) {
  Heard& heard = heard_[world_rank];
  heard.world_rank = world_rank;
  return heard;
}

}  // namespace understudy::backends

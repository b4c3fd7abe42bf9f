#include "exchanges.h"

#include <algorithm>
#include <numeric>

namespace understudy::generator {
namespace {

using Matrix = std::vector<std::vector<std::int64_t>>;

/// Whole shares of `part`; which of them are one more differs from row to row, so that columns are
/// as even as rows.
void deal(std::int64_t part, const std::vector<std::size_t>& takers, std::size_t turn,
          std::vector<std::int64_t>& row) {
  const auto count = static_cast<std::int64_t>(takers.size());
  for (std::size_t i = 0; i < takers.size(); ++i) {
    const auto place = static_cast<std::int64_t>((i + turn) % takers.size());
    row[takers[i]] += part / count + (place < part % count ? 1 : 0);
  }
}

std::int64_t sum_of_column(const Matrix& matrix, std::size_t column) {
  std::int64_t sum = 0;
  for (const auto& row : matrix) {
    sum += row[column];
  }
  return sum;
}

/// Moves rows of the matrix from columns with too much to those with too little.
void even_columns(const std::vector<RecordedExchange>& ranks, Matrix& matrix) {
  std::vector<std::int64_t> excess(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    excess[i] = sum_of_column(matrix, i) - ranks[i].received;
  }
  std::size_t to = 0;
  for (std::size_t from = 0; from < ranks.size(); ++from) {
    for (std::size_t row = 0; row < ranks.size() && excess[from] > 0; ++row) {
      while (excess[from] > 0 && matrix[row][from] > 0) {
        while (excess[to] >= 0) {
          ++to;
        }
        const std::int64_t moved = std::min({excess[from], matrix[row][from], -excess[to]});
        matrix[row][from] -= moved;
        matrix[row][to] += moved;
        excess[from] -= moved;
        excess[to] += moved;
      }
    }
  }
}

}  // namespace

std::vector<std::vector<std::int64_t>> dealt_exchange(const std::vector<RecordedExchange>& ranks) {
  const std::size_t count = ranks.size();
  const std::size_t recorded = ranks.front().sent.size();
  std::vector<std::vector<std::size_t>> takers(recorded);
  std::vector<std::size_t> turns(count);
  for (std::size_t i = 0; i < count; ++i) {
    turns[i] = takers[ranks[i].position].size();
    takers[ranks[i].position].push_back(i);
  }
  for (std::size_t position = 0; position < recorded; ++position) {
    if (takers[position].empty()) {
      takers[position].push_back(position % count);
    }
  }
  Matrix matrix(count, std::vector<std::int64_t>(count));
  std::int64_t sent = 0;
  std::int64_t received = 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t position = 0; position < recorded; ++position) {
      deal(ranks[i].sent[position], takers[position], turns[i], matrix[i]);
    }
    sent += std::accumulate(ranks[i].sent.begin(), ranks[i].sent.end(), std::int64_t{0});
    received += ranks[i].received;
  }
  if (sent == received) {
    even_columns(ranks, matrix);
  }
  return matrix;
}

}  // namespace understudy::generator

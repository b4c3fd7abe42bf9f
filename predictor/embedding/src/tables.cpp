#include "predictor/embedding/tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "et_schema/base/json_fields.h"

namespace understudy::predictor {
namespace {

using et_schema::DType;
using et_schema::JsonField;

ReuseShares normalized(ReuseShares shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) {
    share /= sum;
  }
  return shares;
}

ReuseShares read_shares(const JsonField& field) {
  constexpr double kTolerance = 0.01;
  ReuseShares shares{};
  const std::vector<JsonField> items = field.items();
  if (items.size() != kReuseBins) {
    field.fail("17 shares of the rows that a batch meets", std::to_string(items.size()));
  }
  double sum = 0;
  for (std::size_t i = 0; i < kReuseBins; ++i) {
    shares[i] = items[i].as_double();
    if (!(shares[i] >= 0 && shares[i] <= 1)) {
      items[i].fail("a share from 0 to 1");
    }
    sum += shares[i];
  }
  if (std::abs(sum - 1) > kTolerance) {
    field.fail("17 shares that add up to 1", std::to_string(sum));
  }
  return normalized(shares);
}

/// Returns a whole number above 0, which some programs write as "100000.0".
std::int64_t positive(const JsonField& field) {
  constexpr double kExact = 9e15;
  const double number = field.as_double();
  const bool is_whole = number == std::floor(number) && std::abs(number) < kExact;
  const std::int64_t value = is_whole ? static_cast<std::int64_t>(number) : field.as_int();
  if (value < 1) {
    field.fail("1 or more");
  }
  return value;
}

}  // namespace

std::size_t reuse_bin(std::int64_t times) {
  const auto above = static_cast<std::uint64_t>(std::max<std::int64_t>(times, 1)) - 1;
  return std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(above)), kReuseBins - 1);
}

double bin_times(std::size_t bin) {
  if (bin < 2) {
    return static_cast<double>(bin + 1);
  }
  const double high = std::exp2(static_cast<double>(bin));
  return std::sqrt((high / 2 + 1) * high);
}

double mean_reuse(const ReuseShares& shares) {
  double mean = 0;
  for (std::size_t bin = 0; bin < kReuseBins; ++bin) {
    mean += shares[bin] * bin_times(bin);
  }
  return mean;
}

ReuseShares uniform_shares(double lookups, double rows) {
  // Reads per row follow a Poisson distribution. Above kMostMean all rows count as read equally.
  constexpr double kMostMean = 1000;
  constexpr int kWidth = 12;
  const double mean = lookups / rows;
  ReuseShares shares{};
  if (!(mean > 0)) {
    shares[0] = 1;  // no row is read, any shares are valid
    return shares;
  }
  if (mean > kMostMean) {
    shares[reuse_bin(static_cast<std::int64_t>(mean))] = 1;
    return shares;
  }
  const int last = static_cast<int>(mean + kWidth * std::sqrt(mean)) + kWidth;
  for (int times = 1; times <= last; ++times) {
    const double ln = times * std::log(mean) - mean - std::lgamma(times + 1.0);
    shares[reuse_bin(times)] += std::exp(ln);
  }
  return normalized(shares);
}

DType type_of(std::int64_t item_bytes) {
  switch (item_bytes) {
    case 1:
      return DType::kFloat8E5M2;
    case 2:
      return DType::kFloat16;
    case 8:
      return DType::kFloat64;
    case 16:
      return DType::kComplexFloat64;
    default:
      return DType::kFloat32;
  }
}

double table_bytes(const EmbeddingTable& table) {
  return static_cast<double>(table.rows) * static_cast<double>(table.dim) *
         static_cast<double>(table.item_bytes);
}

double held_bytes(const EmbeddingTable& table) {
  const double numbers = static_cast<double>(table.rows) * static_cast<double>(table.dim);
  return table_bytes(table) + numbers * table.state_bytes;
}

ReuseShares shares_of(const EmbeddingTable& table, double batch) {
  return table.reuse ? *table.reuse
                     : uniform_shares(batch * table.pooling, static_cast<double>(table.rows));
}

nlohmann::ordered_json json_value(const EmbeddingTable& table) {
  nlohmann::ordered_json json = {{"rows", table.rows},
                                 {"dim", table.dim},
                                 {"pooling", table.pooling},
                                 {"dtype", to_string(type_of(table.item_bytes))}};
  if (table.state_bytes > 0) {
    json["state_bytes"] = table.state_bytes;
  }
  if (table.reuse) {
    json["reuse"] = *table.reuse;
  }
  return json;
}

void read_value(const JsonField& field, EmbeddingTable& table) {
  constexpr double kMostBytes = 4.6e18;
  table.rows = positive(field.at("rows"));
  table.dim = positive(field.at("dim"));
  const JsonField pooling = field.at("pooling");
  table.pooling = pooling.as_double();
  if (!(table.pooling >= 0) || !std::isfinite(table.pooling)) {
    pooling.fail("lookups a bag, 0 or more");
  }
  if (const auto dtype = field.find("dtype")) {
    const auto type = et_schema::dtype_from_string(dtype->as_text());
    if (!type || et_schema::item_size(*type) == 0) {
      dtype->fail("an element type");
    }
    table.item_bytes = et_schema::item_size(*type);
  }
  if (const auto state = field.find("state_bytes")) {
    table.state_bytes = state->as_double();
    if (!(table.state_bytes >= 0) || !std::isfinite(table.state_bytes)) {
      state->fail("bytes of the optimizer's state for each number, 0 or more");
    }
  }
  if (const auto reuse = field.find("reuse"); reuse && !reuse->is_null()) {
    table.reuse = read_shares(*reuse);
  }
  if (held_bytes(table) >= kMostBytes) {
    field.fail("a table below 2^62 bytes");
  }
}

}  // namespace understudy::predictor

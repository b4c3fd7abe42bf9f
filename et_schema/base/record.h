#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

namespace understudy::et_schema {

/// A record is described once, by a function in its namespace that shows its members to a walker:
///
///     void members(auto& walk, SameAs<MemoryUse> auto& memory) {
///       walk("peak_bytes", memory.peak_bytes, "peak of all tensors", kLargestOfRanks);
///     }
///
/// JSON (json_record.h), merging over ranks, texts, csv and pages walk this description. Behind key
/// and member follow, in any order and each only if it has one: the label in texts and pages (a
/// column's title if records are rows), then its meaning in a few words; CellKind; the ranks' rule;
/// how JSON is read. `unless` and `if_any` describe members that files omit.
template <typename T, typename Record>
concept SameAs = std::same_as<std::remove_const_t<T>, Record>;

/// How a figure is shown. Without one its type tells, and the end of its key.
enum class CellKind : std::uint8_t {
  kText,
  kVerdict,  ///< a text with a colour for its meaning: SLOWER, FASTER, SAME, UNSURE, …
  kFigure,   ///< a number with about four digits: "12.35"
  kChange,   ///< a figure with its sign: "+0.120"
  kRatio,    ///< "1.025"
  kShare,    ///< a share of 1, as "84.2 %"
  kPercent,  ///< a share of 1, as "99.69 %"; "100.00 %" means all
  kCount,    ///< "1,234"; a fraction below 1,000 as a figure
  kId,       ///< "1234", a number that is a name: of a rank, a node, a night
  kBytes,    ///< "1.5 KiB"
};

/// How the ranks' figures are combined into the job's. Without a rule a job has the first rank's.
struct OverRanks {};
/// Known if every rank's is. Rows of equal name are added up.
struct SumOfRanks : OverRanks {};
inline constexpr SumOfRanks kSumOfRanks;
/// The largest known figure; the slowest rank's of each sample.
struct LargestOfRanks : OverRanks {};
inline constexpr LargestOfRanks kLargestOfRanks;
/// The smallest known figure.
struct SmallestOfRanks : OverRanks {};
inline constexpr SmallestOfRanks kSmallestOfRanks;
/// The known figure farthest from zero: a drift may have either sign.
struct FarthestOfRanks : OverRanks {};
inline constexpr FarthestOfRanks kFarthestOfRanks;
/// All ranks' rows, one rank after another.
struct RowsOfRanks : OverRanks {};
inline constexpr RowsOfRanks kRowsOfRanks;
/// With another rule: unknown unless every rank's figure is known.
struct IfAllKnow {};
inline constexpr IfAllKnow kIfAllKnow;

/// Reads null as NaN: a number that is not finite is written as null.
struct NullIsNan {};
inline constexpr NullIsNan kNullIsNan;
/// A text of the user or of a library, which may have control characters.
struct FreeText {};
inline constexpr FreeText kFreeText;

template <typename How>
concept Label = std::convertible_to<const How&, const char*>;
/// Options that do not concern files.
template <typename How>
concept Shown = Label<How> || std::same_as<How, CellKind> || std::same_as<How, IfAllKnow> ||
    std::derived_from<How, OverRanks>;

/// Base of a walker that treats members that files may omit like all others.
template <typename Walker>
struct EachMember {
  void unless(const auto& /*none*/, const char* key, auto& value, const auto&... how) {
    static_cast<Walker&> (*this)(key, value, how...);
  }
  void if_any(const char* key, auto& value, const auto&... how) {
    static_cast<Walker&> (*this)(key, value, how...);
  }
};

}  // namespace understudy::et_schema

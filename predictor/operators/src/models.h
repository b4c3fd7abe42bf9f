#pragma once

#include <array>

#include "predictor/operators/call_model.h"

namespace understudy::predictor {

/// Of a card with less than 10 GB/s of memory bandwidth a processor (SharedModel::narrow).
[[nodiscard]] bool is_narrow(const Point& point);
/// ln of nanoseconds.
[[nodiscard]] double base_ln(const TwoClock& base, const Point& point);
/// What the base is fitted to: what kernels do.
[[nodiscard]] std::vector<BaseSample> base_samples(const Samples& samples);
/// What the roofline is fitted to: FLOPs and bytes alone.
[[nodiscard]] std::vector<BaseSample> roofline_samples(const Samples& samples);
/// Features as trees see them: the operator's code filled in, the card's own left out.
[[nodiscard]] Features tree_features(const Point& point, const OperatorCodes& codes);
[[nodiscard]] Trees grow(const Samples& samples, const std::vector<double>& residuals,
                         const OperatorCodes& codes, TreeOptions options);
/// ln t - ln base.
[[nodiscard]] std::vector<double> residuals_of(const Samples& samples, const CallModel& model);

class RooflineModel final : public CallModel {
 public:
  explicit RooflineModel(const TwoClock& base) : base_(base) {}
  [[nodiscard]] Candidate kind() const override { return Candidate::kRoofline; }
  [[nodiscard]] double ln_ns(const Point& point) const override;
  [[nodiscard]] nlohmann::ordered_json json() const override;

 private:
  TwoClock base_;
};

class TwoClockModel final : public CallModel {
 public:
  explicit TwoClockModel(const TwoClock& base) : base_(base) {}
  [[nodiscard]] Candidate kind() const override { return Candidate::kTwoClock; }
  [[nodiscard]] double ln_ns(const Point& point) const override;
  [[nodiscard]] const TwoClock* base() const override { return &base_; }
  [[nodiscard]] nlohmann::ordered_json json() const override;

 private:
  TwoClock base_;
};

/// The trend of the base's residuals with size: a slope over ln of the bound, from a knee on.
struct Trend {
  double slope = 0;
  double knee = 0;
  /// ln, to be added.
  [[nodiscard]] double operator()(const Point& point) const;
};
/// The slope of the larger half's residuals, least absolute deviations; none of few samples.
[[nodiscard]] Trend trend_of(const Samples& samples, const std::vector<double>& residuals);

/// As fit_model(), for calls above the samples: trees cannot go on, the trend of residuals does.
[[nodiscard]] std::unique_ptr<CallModel> fit_beyond(
    Candidate candidate, const Samples& samples, const std::shared_ptr<const SharedModel>& shared,
    const TreeOptions& options);

class TreesModel final : public CallModel {
 public:
  TreesModel(const TwoClock& base, const Trend& trend, OperatorCodes codes, Trees trees)
      : base_(base), trend_(trend), codes_(std::move(codes)), trees_(std::move(trees)) {}
  [[nodiscard]] Candidate kind() const override { return Candidate::kTrees; }
  [[nodiscard]] double ln_ns(const Point& point) const override;
  [[nodiscard]] const TwoClock* base() const override { return &base_; }
  [[nodiscard]] nlohmann::ordered_json json() const override;

 private:
  TwoClock base_;
  Trend trend_;
  OperatorCodes codes_;
  Trees trees_;
};

/// A shared model's residual on this card's base; with own trees where there are any.
class TransferredModel final : public CallModel {
 public:
  TransferredModel(std::shared_ptr<const SharedModel> shared, const TwoClock& base, double trust,
                   Trees own, OperatorCodes codes)
      : shared_(std::move(shared)),
        base_(base),
        trust_(trust),
        own_(std::move(own)),
        codes_(std::move(codes)) {}
  [[nodiscard]] Candidate kind() const override {
    return own_.size() > 0 ? Candidate::kTransferredTrees : Candidate::kTransferred;
  }
  [[nodiscard]] double ln_ns(const Point& point) const override;
  [[nodiscard]] const TwoClock* base() const override { return &base_; }
  [[nodiscard]] nlohmann::ordered_json json() const override;
  [[nodiscard]] std::unique_ptr<CallModel> with_own_trees(Trees own, OperatorCodes codes) const {
    return std::make_unique<TransferredModel>(shared_, base_, trust_, std::move(own),
                                              std::move(codes));
  }

 private:
  std::shared_ptr<const SharedModel> shared_;
  TwoClock base_;
  double trust_;  ///< of the shared residual that is taken
  Trees own_;
  OperatorCodes codes_;
};

/// The mean of two models' ln t: each errs in its own way.
class MeanModel final : public CallModel {
 public:
  MeanModel(std::unique_ptr<CallModel> first, std::unique_ptr<CallModel> second)
      : first_(std::move(first)), second_(std::move(second)) {}
  [[nodiscard]] Candidate kind() const override { return Candidate::kMean; }
  [[nodiscard]] double ln_ns(const Point& point) const override;
  [[nodiscard]] const TwoClock* base() const override { return first_->base(); }
  [[nodiscard]] nlohmann::ordered_json json() const override;

 private:
  std::unique_ptr<CallModel> first_, second_;
};

/// The five nearest measured sizes, weighed by nearness.
class NearestModel final : public CallModel {
 public:
  struct Entry {
    std::array<float, kSizes + 1> at;  ///< sizes, bytes of an element
    float residual;                    ///< ln t - ln roofline
  };
  NearestModel(const TwoClock& roofline, std::vector<Entry> entries)
      : roofline_(roofline), entries_(std::move(entries)) {}
  [[nodiscard]] Candidate kind() const override { return Candidate::kNearest; }
  [[nodiscard]] double ln_ns(const Point& point) const override;
  [[nodiscard]] nlohmann::ordered_json json() const override;
  [[nodiscard]] static std::array<float, kSizes + 1> place_of(const Point& point);

 private:
  TwoClock roofline_;
  std::vector<Entry> entries_;
};
[[nodiscard]] std::unique_ptr<CallModel> fit_nearest(const Samples& samples);

}  // namespace understudy::predictor

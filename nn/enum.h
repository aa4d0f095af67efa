#pragma once

#include <cstdint>
#include <optional>

#include "halftone/engine/functions.h"

namespace halftone {

// libtorch's names for std::optional, which its programs use.
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;

/// Each option value has a type of its own, so that an option accepts only the values that make sense for it.
namespace enumtype {
struct kNone {};
struct kMean {};
struct kSum {};
struct kBatchMean {};
struct kFanIn {};
struct kFanOut {};
struct kLinear {};
struct kConv1D {};
struct kConv2D {};
struct kConv3D {};
struct kSigmoid {};
struct kTanh {};
struct kReLU {};
struct kLeakyReLU {};
struct kZeros {};
struct kValid {};
struct kSame {};
struct kConstant {};
struct kConvTranspose1D {};
struct kConvTranspose2D {};
struct kConvTranspose3D {};
struct kGELU {};
struct kSiLU {};
struct kMish {};
struct kReflect {};
struct kReplicate {};
struct kCircular {};
struct kNearest {};
struct kBilinear {};
struct kBicubic {};
struct kTrilinear {};
struct kArea {};
struct kNearestExact {};
struct kMax {};
struct kBorder {};
struct kReflection {};
struct kRNN_TANH {};
struct kRNN_RELU {};
struct kLSTM {};
struct kGRU {};
}  // namespace enumtype

/// The values of options, each of its own type.
/// @{
inline constexpr enumtype::kNone kNone{};
inline constexpr enumtype::kMean kMean{};
inline constexpr enumtype::kSum kSum{};
inline constexpr enumtype::kBatchMean kBatchMean{};
inline constexpr enumtype::kFanIn kFanIn{};
inline constexpr enumtype::kFanOut kFanOut{};
inline constexpr enumtype::kLinear kLinear{};
inline constexpr enumtype::kConv1D kConv1D{};
inline constexpr enumtype::kConv2D kConv2D{};
inline constexpr enumtype::kConv3D kConv3D{};
inline constexpr enumtype::kSigmoid kSigmoid{};
inline constexpr enumtype::kTanh kTanh{};
inline constexpr enumtype::kReLU kReLU{};
inline constexpr enumtype::kLeakyReLU kLeakyReLU{};
inline constexpr enumtype::kZeros kZeros{};
inline constexpr enumtype::kValid kValid{};
inline constexpr enumtype::kSame kSame{};
inline constexpr enumtype::kConstant kConstant{};
inline constexpr enumtype::kConvTranspose1D kConvTranspose1D{};
inline constexpr enumtype::kConvTranspose2D kConvTranspose2D{};
inline constexpr enumtype::kConvTranspose3D kConvTranspose3D{};
inline constexpr enumtype::kGELU kGELU{};
inline constexpr enumtype::kSiLU kSiLU{};
inline constexpr enumtype::kMish kMish{};
inline constexpr enumtype::kReflect kReflect{};
inline constexpr enumtype::kReplicate kReplicate{};
inline constexpr enumtype::kCircular kCircular{};
inline constexpr enumtype::kNearest kNearest{};
inline constexpr enumtype::kBilinear kBilinear{};
inline constexpr enumtype::kBicubic kBicubic{};
inline constexpr enumtype::kTrilinear kTrilinear{};
inline constexpr enumtype::kArea kArea{};
inline constexpr enumtype::kNearestExact kNearestExact{};
inline constexpr enumtype::kMax kMax{};
inline constexpr enumtype::kBorder kBorder{};
inline constexpr enumtype::kReflection kReflection{};
inline constexpr enumtype::kRNN_TANH kRNN_TANH{};
inline constexpr enumtype::kRNN_RELU kRNN_RELU{};
inline constexpr enumtype::kLSTM kLSTM{};
inline constexpr enumtype::kGRU kGRU{};
/// @}

namespace nn {

/// How a loss is reduced: kNone, kMean or kSum.
class LossReduction {
 public:
  LossReduction(enumtype::kNone) : value_(Reduction::None) {}
  LossReduction(enumtype::kMean) : value_(Reduction::Mean) {}
  LossReduction(enumtype::kSum) : value_(Reduction::Sum) {}
  /// As the operators take it.
  operator Reduction::Reduction() const { return value_; }

 private:
  Reduction::Reduction value_;
};

/// How kl_div is reduced: also kBatchMean, the sum divided by the number of rows (the mathematical
/// definition).
class KLDivReduction {
 public:
  template <class Tag>
  requires std::is_constructible_v<LossReduction, Tag> KLDivReduction(Tag tag) : value_(LossReduction(tag)) {}
  KLDivReduction(enumtype::kBatchMean) : value_(Reduction::Sum), batch_mean_(true) {}
  /// kBatchMean gives Sum.
  Reduction::Reduction value() const { return value_; }
  /// Whether the sum is to be divided by the number of rows.
  bool is_batch_mean() const { return batch_mean_; }

 private:
  Reduction::Reduction value_;
  bool batch_mean_ = false;
};

}  // namespace nn
}  // namespace halftone

#pragma once

#include <cstdint>
#include <vector>

#include "halftone/engine/arg.h"
#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"

namespace halftone::nn {

/// How values between the input's are found: kNearest, kLinear (N, C, L), kBilinear and kBicubic (N, C, H,
/// W), kTrilinear (N, C, D, H, W), or kArea: means.
class InterpolateMode {
 public:
  enum class Kind : std::uint8_t { kNearest, kLinear, kBilinear, kBicubic, kTrilinear, kArea };

  InterpolateMode(enumtype::kNearest) : kind_(Kind::kNearest) {}
  InterpolateMode(enumtype::kLinear) : kind_(Kind::kLinear) {}
  InterpolateMode(enumtype::kBilinear) : kind_(Kind::kBilinear) {}
  InterpolateMode(enumtype::kBicubic) : kind_(Kind::kBicubic) {}
  InterpolateMode(enumtype::kTrilinear) : kind_(Kind::kTrilinear) {}
  InterpolateMode(enumtype::kArea) : kind_(Kind::kArea) {}

  Kind kind() const { return kind_; }
  /// "kNearest", ...
  const char* name() const;

 private:
  Kind kind_;
};

/// Options of Upsample: either the result's size or the factor by which it grows, one number or one per
/// dimension.
struct UpsampleOptions {
  HALFTONE_ARG(optional<std::vector<std::int64_t>>, size) = nullopt;
  HALFTONE_ARG(optional<std::vector<double>>, scale_factor) = nullopt;
  HALFTONE_ARG(InterpolateMode, mode) = kNearest;
  /// The corners' values are kept: for linear modes.
  HALFTONE_ARG(optional<bool>, align_corners) = nullopt;
};

namespace functional {
/// Options of functional::interpolate. size: of the result's spatial dimensions.
struct InterpolateFuncOptions {
  HALFTONE_ARG(optional<std::vector<std::int64_t>>, size) = nullopt;
  HALFTONE_ARG(optional<std::vector<double>>, scale_factor) = nullopt;
  HALFTONE_ARG(InterpolateMode, mode) = kNearest;
  HALFTONE_ARG(optional<bool>, align_corners) = nullopt;
  /// The places read follow from the rounded sizes, not from scale_factor.
  HALFTONE_ARG(optional<bool>, recompute_scale_factor) = nullopt;
};
}  // namespace functional

}  // namespace halftone::nn

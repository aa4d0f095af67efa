#pragma once

#include "halftone/nn/module_holder.h"
#include "halftone/nn/options/upsampling.h"

namespace halftone::nn {

namespace functional {
/// Resamples (N, C, L), (N, C, H, W) or (N, C, D, H, W). Throws Error unless exactly one of size and
/// scale_factor is given, or the mode does not fit the input.
Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options = {});
}  // namespace functional

/// functional::interpolate as a layer.
class UpsampleImpl : public Cloneable<UpsampleImpl> {
 public:
  explicit UpsampleImpl(const UpsampleOptions& options = {}) : options(options) {}
  void reset() override {}
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);

  UpsampleOptions options;
};
HALFTONE_MODULE(Upsample);

}  // namespace halftone::nn

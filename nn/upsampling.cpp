#include "halftone/nn/upsampling.h"

#include <cmath>
#include <ostream>

#include "halftone/nn/layer_text.h"

namespace halftone::nn {
namespace {

using Kind = InterpolateMode::Kind;
constexpr const char* kOp = "interpolate";

/// One value per spatial dimension of `input`.
template <class T>
std::vector<T> per_dimension(const Tensor& input, const char* name, std::vector<T> values) {
  const auto dims = static_cast<std::size_t>(input.dim() - 2);
  if (values.size() == 1) values.resize(dims, values.front());
  if (values.size() != dims) {
    fail(kOp, name, ": expected 1 or ", dims, " values for ", input, ", got ", values.size());
  }
  for (const T value : values) {
    if (!(value > 0)) fail(kOp, name, " must be positive, got ", value);
  }
  return values;
}

void check_mode(const Tensor& input, const functional::InterpolateFuncOptions& options) {
  const Kind kind = options.mode().kind();
  const std::int64_t dims = input.dim() - 2;
  const bool fits = kind == Kind::kLinear                               ? dims == 1
                    : kind == Kind::kBilinear || kind == Kind::kBicubic ? dims == 2
                    : kind == Kind::kTrilinear                          ? dims == 3
                    : kind == Kind::kArea                               ? dims <= 2
                                                                        : true;
  if (!fits) fail(kOp, "mode ", options.mode().name(), " does not fit ", input);
  if (options.align_corners() && (kind == Kind::kNearest || kind == Kind::kArea)) {
    fail(kOp, "align_corners belongs to the linear modes and kBicubic, not to ", options.mode().name());
  }
}

}  // namespace

const char* InterpolateMode::name() const {
  constexpr const char* kNames[] = {"kNearest", "kLinear", "kBilinear", "kBicubic", "kTrilinear", "kArea"};
  return kNames[static_cast<std::size_t>(kind_)];
}

namespace functional {

Tensor interpolate(const Tensor& input, const InterpolateFuncOptions& options) {
  if (!input.defined() || input.dim() < 3 || input.dim() > 5) {
    fail(kOp, "expected (N, C, L), (N, C, H, W) or (N, C, D, H, W), got ", input);
  }
  if (options.size().has_value() == options.scale_factor().has_value()) {
    fail(kOp, "give either size or scale_factor");
  }
  if (options.size() && options.recompute_scale_factor().value_or(false)) {
    fail(kOp, "recompute_scale_factor has no meaning with size");
  }
  check_mode(input, options);

  std::vector<std::int64_t> size;
  std::vector<optional<double>> scale(static_cast<std::size_t>(input.dim() - 2));
  if (options.size()) {
    size = per_dimension(input, "size", *options.size());
  } else {
    const std::vector<double> factor = per_dimension(input, "scale_factor", *options.scale_factor());
    for (std::size_t i = 0; i < factor.size(); ++i) {
      const double rows =
          std::floor(static_cast<double>(input.size(static_cast<std::int64_t>(i) + 2)) * factor[i]);
      if (!(rows >= 1 && rows < 0x1p62)) fail(kOp, "scale_factor ", factor[i], " leaves nothing of ", input);
      size.push_back(static_cast<std::int64_t>(rows));
      if (!options.recompute_scale_factor().value_or(false)) scale[i] = factor[i];
    }
  }

  const bool corners = options.align_corners().value_or(false);
  switch (options.mode().kind()) {
    case Kind::kNearest:
      return size.size() == 1   ? upsample_nearest1d(input, size, scale[0])
             : size.size() == 2 ? upsample_nearest2d(input, size, scale[0], scale[1])
                                : upsample_nearest3d(input, size, scale[0], scale[1], scale[2]);
    case Kind::kLinear:
      return upsample_linear1d(input, size, corners, scale[0]);
    case Kind::kBilinear:
      return upsample_bilinear2d(input, size, corners, scale[0], scale[1]);
    case Kind::kBicubic:
      return upsample_bicubic2d(input, size, corners, scale[0], scale[1]);
    case Kind::kTrilinear:
      return upsample_trilinear3d(input, size, corners, scale[0], scale[1], scale[2]);
    case Kind::kArea:
      break;
  }
  return size.size() == 1 ? adaptive_avg_pool1d(input, size) : adaptive_avg_pool2d(input, size);
}

}  // namespace functional

Tensor UpsampleImpl::forward(const Tensor& input) {
  return functional::interpolate(input, functional::InterpolateFuncOptions()
                                            .size(options.size())
                                            .scale_factor(options.scale_factor())
                                            .mode(options.mode())
                                            .align_corners(options.align_corners()));
}

void UpsampleImpl::pretty_print(std::ostream& stream) const {
  const auto list = [&](const char* name, const auto& values) {
    stream << name << "=[";
    for (std::size_t i = 0; i < values.size(); ++i) stream << (i ? ", " : "") << values[i];
    stream << "]";
  };
  stream << kLayerPrefix << "Upsample(";
  if (options.scale_factor()) {
    list("scale_factor", *options.scale_factor());
  } else if (options.size()) {
    list("size", *options.size());
  }
  stream << ", mode=" << options.mode().name() << ")";
}

}  // namespace halftone::nn

#include "halftone/nn/functional.h"

namespace halftone::nn::functional {

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose1dFuncOptions& options) {
  return halftone::conv_transpose1d(input, weight, options.bias(), options.stride(), options.padding(),
                                    options.output_padding(), options.groups(), options.dilation());
}

Tensor conv_transpose2d(const Tensor& input, const Tensor& weight,
                        const ConvTranspose2dFuncOptions& options) {
  return halftone::conv_transpose2d(input, weight, options.bias(), options.stride(), options.padding(),
                                    options.output_padding(), options.groups(), options.dilation());
}

std::tuple<Tensor, Tensor> max_pool1d_with_indices(const Tensor& input, const MaxPool1dFuncOptions& options) {
  return halftone::max_pool1d_with_indices(input, options.kernel_size(), options.stride(), options.padding(),
                                           options.dilation(), options.ceil_mode());
}

std::tuple<Tensor, Tensor> max_pool2d_with_indices(const Tensor& input, const MaxPool2dFuncOptions& options) {
  return halftone::max_pool2d_with_indices(input, options.kernel_size(), options.stride(), options.padding(),
                                           options.dilation(), options.ceil_mode());
}

namespace {

/// The sizes asked for, the input's where they are left open.
std::array<std::int64_t, 2> plane_sizes(const char* op, const Tensor& input,
                                        const ExpandingArrayWithOptionalElem<2>& sizes) {
  if (!input.defined() || input.dim() < 3)
    fail(op, "expected an input (N, C, H, W) or (C, H, W), got ", input);
  return {sizes[0].value_or(input.size(-2)), sizes[1].value_or(input.size(-1))};
}

}  // namespace

Tensor adaptive_avg_pool2d(const Tensor& input, const AdaptiveAvgPool2dFuncOptions& options) {
  return halftone::adaptive_avg_pool2d(
      input, ExpandingArray<2>(plane_sizes("adaptive_avg_pool2d", input, options.output_size())));
}

std::tuple<Tensor, Tensor> adaptive_max_pool1d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool1dFuncOptions& options) {
  return halftone::adaptive_max_pool1d(input, options.output_size());
}

std::tuple<Tensor, Tensor> adaptive_max_pool2d_with_indices(const Tensor& input,
                                                            const AdaptiveMaxPool2dFuncOptions& options) {
  return halftone::adaptive_max_pool2d(
      input, ExpandingArray<2>(plane_sizes("adaptive_max_pool2d", input, options.output_size())));
}

Tensor adaptive_max_pool1d(const Tensor& input, const AdaptiveMaxPool1dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool1d_with_indices(input, options));
}

Tensor adaptive_max_pool2d(const Tensor& input, const AdaptiveMaxPool2dFuncOptions& options) {
  return std::get<0>(adaptive_max_pool2d_with_indices(input, options));
}

namespace {

/// The sizes of the planes that were pooled.
template <std::size_t D>
std::array<std::int64_t, D> unpooled(const char* op, const Tensor& input, const MaxUnpoolFuncOptions<D>& o) {
  const auto spatial = static_cast<std::int64_t>(D);
  if (!input.defined() || input.dim() <= spatial) fail(op, "expected an input (N, C, ...), got ", input);
  std::array<std::int64_t, D> usual{}, sizes{};
  for (std::size_t d = 0; d < D; ++d) {
    usual[d] = (input.size(input.dim() - spatial + static_cast<std::int64_t>(d)) - 1) * o.stride()[d] -
               2 * o.padding()[d] + o.kernel_size()[d];
  }
  if (!o.output_size()) return usual;
  const std::vector<std::int64_t>& asked = *o.output_size();
  if (asked.size() < D)
    fail(op, "expected an output_size of ", spatial, " numbers, got ", IntArrayRef(asked));
  for (std::size_t d = 0; d < D; ++d) {
    sizes[d] = asked[asked.size() - D + d];
    if (sizes[d] <= usual[d] - o.stride()[d] || sizes[d] >= usual[d] + o.stride()[d]) {
      fail(op, "output_size ", IntArrayRef(asked), ": dimension ", d, " must be above ",
           usual[d] - o.stride()[d], " and below ", usual[d] + o.stride()[d]);
    }
  }
  return sizes;
}

template <std::size_t D>
LPPoolOptions<D> checked(const char* op, const LPPoolOptions<D>& o) {
  if (!(o.norm_type() > 0)) fail(op, "norm_type must be positive, got ", o.norm_type());
  return o;
}

/// (mean of x^p * size)^(1/p), of the sign-less part as PyTorch does.
Tensor p_norm(const Tensor& means, double size, double p) {
  return pow(sign(means) * halftone::relu(abs(means)) * size, 1 / p);
}

}  // namespace

Tensor max_unpool1d(const Tensor& input, const Tensor& indices, const MaxUnpool1dFuncOptions& options) {
  const std::int64_t length = unpooled("max_unpool1d", input, options)[0];
  return squeeze(halftone::max_unpool2d(unsqueeze(input, -2), unsqueeze(indices, -2), {1, length}), -2);
}

Tensor max_unpool2d(const Tensor& input, const Tensor& indices, const MaxUnpool2dFuncOptions& options) {
  return halftone::max_unpool2d(input, indices, ExpandingArray<2>(unpooled("max_unpool2d", input, options)));
}

Tensor fractional_max_pool2d(const Tensor& input, const FractionalMaxPool2dFuncOptions& options) {
  return std::get<0>(fractional_max_pool2d_with_indices(input, options));
}

std::tuple<Tensor, Tensor> fractional_max_pool2d_with_indices(const Tensor& input,
                                                              const FractionalMaxPool2dFuncOptions& options) {
  const char* const op = "fractional_max_pool2d";
  if (!input.defined() || (input.dim() != 3 && input.dim() != 4)) {
    fail(op, "expected an input (N, C, H, W) or (C, H, W), got ", input);
  }
  if (options.output_size().has_value() == options.output_ratio().has_value()) {
    fail(op, "needs output_size or output_ratio, and just one of them");
  }
  Dims output;
  for (std::size_t i = 0; i < 2; ++i) {
    if (options.output_size()) {
      output.push_back((*options.output_size())[i]);
      continue;
    }
    const double ratio = (*options.output_ratio())[i];
    if (!(ratio > 0 && ratio < 1)) fail(op, "expected an output_ratio between 0 and 1, got ", ratio);
    output.push_back(static_cast<std::int64_t>(
        static_cast<double>(input.size(-2 + static_cast<std::int64_t>(i))) * ratio));
  }
  Tensor samples = options._random_samples();
  if (!samples.defined()) {
    Dims sizes(input.sizes().data(), static_cast<std::size_t>(input.dim() - 2));
    sizes.push_back(2);
    samples = rand(sizes, TensorOptions(accumulate_type(input.scalar_type())).device(input.device()));
  }
  return halftone::fractional_max_pool2d(input, options.kernel_size(), output, samples);
}

Tensor lp_pool1d(const Tensor& input, const LPPool1dFuncOptions& options) {
  const LPPool1dOptions o = checked("lp_pool1d", options);
  const Tensor means =
      halftone::avg_pool1d(pow(input, o.norm_type()), o.kernel_size(), o.stride(), 0, o.ceil_mode());
  return p_norm(means, static_cast<double>(o.kernel_size()[0]), o.norm_type());
}

Tensor lp_pool2d(const Tensor& input, const LPPool2dFuncOptions& options) {
  const LPPool2dOptions o = checked("lp_pool2d", options);
  const Tensor means =
      halftone::avg_pool2d(pow(input, o.norm_type()), o.kernel_size(), o.stride(), 0, o.ceil_mode());
  return p_norm(means, static_cast<double>(o.kernel_size()[0] * o.kernel_size()[1]), o.norm_type());
}

}  // namespace halftone::nn::functional

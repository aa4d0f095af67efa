#include "halftone/nn/functional_layers.h"

#include <algorithm>

#include "halftone/nn/padding_row.h"
#include "halftone/ops/wide.h"

namespace halftone::nn::functional {

Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options) {
  return halftone::instance_norm(input, options.weight(), options.bias(), options.running_mean(),
                                 options.running_var(), options.use_input_stats(), options.momentum(),
                                 options.eps());
}

Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options) {
  const char* const op = "local_response_norm";
  const std::int64_t size = options.size();
  if (!input.defined() || input.dim() < 3) fail(op, "expected an input (N, C, ...), got ", input);
  if (size < 1) fail(op, "expected a positive size, got ", size);
  if (input.numel() == 0) return input;
  // Channels are the rows of one plane per sample; half precision would lose the squares.
  const ops::WideResults wide(is_low_precision(input.scalar_type()));
  const Tensor x = ops::as_wide(input);
  const std::int64_t channels = x.size(1);
  const Tensor squares = reshape(square(x), {x.size(0), 1, channels, -1});
  const std::int64_t before = size / 2, after = (size - 1) / 2;
  const TensorOptions like = squares.options();
  const auto border = [&](std::int64_t rows) { return zeros({x.size(0), 1, rows, squares.size(3)}, like); };
  const Tensor padded = size == 1 ? squares : cat({border(before), squares, border(after)}, 2);
  const Tensor means = reshape(halftone::avg_pool2d(padded, {size, 1}, {1, 1}), x.sizes());
  const Tensor result = x / pow(means * options.alpha() + options.k(), options.beta());
  return to_dtype(result, input.scalar_type());
}

Tensor pixel_shuffle(const Tensor& input, const PixelShuffleFuncOptions& options) {
  return halftone::pixel_shuffle(input, options.upscale_factor());
}

Tensor pixel_unshuffle(const Tensor& input, const PixelUnshuffleFuncOptions& options) {
  return halftone::pixel_unshuffle(input, options.downscale_factor());
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  return halftone::bilinear(input1, input2, weight, bias);
}

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, const CosineSimilarityFuncOptions& options) {
  return halftone::cosine_similarity(x1, x2, options.dim(), options.eps());
}

Tensor pdist(const Tensor& input, double p) { return halftone::pdist(input, p); }

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, const PairwiseDistanceFuncOptions& options) {
  return halftone::pairwise_distance(x1, x2, options.p(), options.eps(), options.keepdim());
}

Tensor embedding_bag(const Tensor& input, const Tensor& weight, const EmbeddingBagFuncOptions& options) {
  const char* const op = "embedding_bag";
  if (!input.defined() || (input.dim() != 1 && input.dim() != 2)) {
    fail(op, "expected indices (bags, length), or of one dimension with offsets, got ", input);
  }
  Tensor offsets = options.offsets(), indices = input, weights = options.per_sample_weights();
  if (input.dim() == 2) {
    if (offsets.defined()) fail(op, "indices of two dimensions are bags of one length: pass no offsets");
    if (weights.defined() && !(weights.sizes() == input.sizes())) {
      fail(op, "expected per_sample_weights shaped like the indices ", input, ", got ", weights);
    }
    const std::int64_t bags = input.size(0), length = input.size(1);
    offsets = arange(bags, TensorOptions(kLong).device(input.device())) * length;
    if (options.include_last_offset()) {
      offsets = cat({offsets, full({1}, bags * length, offsets.options())}, 0);
    }
    indices = flatten(input);
    if (weights.defined()) weights = flatten(weights);
  } else if (!offsets.defined()) {
    fail(op, "indices of one dimension need offsets");
  }
  if (options.max_norm()) {
    Tensor table = weight;
    embedding_renorm_(table, indices, *options.max_norm(), options.norm_type());
  }
  return std::get<0>(halftone::embedding_bag(
      weight, indices, offsets, options.scale_grad_by_freq(), options.mode().value(), options.sparse(),
      weights, options.include_last_offset(), padding_row(op, options.padding_idx(), weight.size(0))));
}

}  // namespace halftone::nn::functional

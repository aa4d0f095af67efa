#include "halftone/nn/functional.h"

#include "halftone/nn/padding_row.h"
#include "halftone/ops/composed.h"

namespace halftone::nn::functional {

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  return halftone::linear(input, weight, bias);
}

Tensor embedding(const Tensor& input, const Tensor& weight, const EmbeddingFuncOptions& options) {
  const std::int64_t padding = padding_row("embedding", options.padding_idx(), weight.size(0));
  if (options.max_norm()) {
    Tensor table = weight;
    embedding_renorm_(table, input, *options.max_norm(), options.norm_type());
  }
  return halftone::embedding(weight, input, padding, options.scale_grad_by_freq(), options.sparse());
}

Tensor dropout(Tensor input, const DropoutFuncOptions& options) {
  if (!(options.p() >= 0 && options.p() <= 1)) fail("dropout", "p must be in [0, 1], got ", options.p());
  if (!options.training()) return input;
  if (options.inplace()) return dropout_(input, options.p(), true);
  return halftone::dropout(input, options.p(), true);
}

Tensor one_hot(const Tensor& tensor, std::int64_t num_classes) {
  return halftone::one_hot(tensor, num_classes);
}

Tensor pad(const Tensor& input, const PadFuncOptions& options) {
  const auto& amounts = options.pad();
  if (amounts.size() % 2 != 0 || static_cast<std::int64_t>(amounts.size()) > 2 * input.dim())
    fail("pad", "expected up to ", input.dim(), " pairs (before, after) for ", input, ", got ",
         amounts.size(), " numbers");
  const std::string_view mode = options.mode().name();
  if (mode != "constant") return halftone::pad(input, amounts, mode);
  Tensor result = input;
  for (std::size_t i = 0; i < amounts.size(); i += 2) {
    const std::int64_t dim = input.dim() - 1 - static_cast<std::int64_t>(i / 2);
    const std::int64_t before = amounts[i], after = amounts[i + 1], size = result.size(dim);
    const std::int64_t start = std::max<std::int64_t>(0, -before);
    const std::int64_t kept = size - start - std::max<std::int64_t>(0, -after);
    if (kept < 0)
      fail("pad", "(", before, ", ", after, ") leaves nothing of dimension ", dim, " of size ", size);
    if (kept != size) result = result.narrow(dim, start, kept);
    std::vector<Tensor> pieces;
    const auto add_border = [&](std::int64_t width) {
      if (width <= 0) return;
      Dims shape = result.sizes().dims();
      shape[static_cast<std::size_t>(dim)] = width;
      pieces.push_back(full(shape, options.value(), result.options()));
    };
    add_border(before);
    pieces.push_back(result);
    add_border(after);
    if (pieces.size() > 1) result = cat(pieces, dim);
  }
  return result;
}

Tensor normalize(const Tensor& input, const NormalizeFuncOptions& options) {
  const ops::WideOperands operands("normalize", {&input});
  const Tensor& x = operands[0];
  return operands.result(x / norm(x, Scalar(options.p()), options.dim(), true).clamp_min(options.eps()));
}

Tensor relu(Tensor input, const ReLUFuncOptions& options) {
  return options.inplace() ? relu_(input) : halftone::relu(input);
}

Tensor leaky_relu(Tensor input, const LeakyReLUFuncOptions& options) {
  if (options.inplace()) return leaky_relu_(input, options.negative_slope());
  return halftone::leaky_relu(input, options.negative_slope());
}

Tensor gelu(const Tensor& input, const GELUFuncOptions& options) {
  return halftone::gelu(input, options.approximate());
}

Tensor silu(const Tensor& input) { return halftone::silu(input); }
Tensor mish(const Tensor& input) { return halftone::mish(input); }
Tensor logsigmoid(const Tensor& input) { return halftone::log_sigmoid(input); }

Tensor softplus(const Tensor& input, const SoftplusFuncOptions& options) {
  return halftone::softplus(input, options.beta(), options.threshold());
}

Tensor softmax(const Tensor& input, const SoftmaxFuncOptions& options) {
  return halftone::softmax(input, options.dim(), options.dtype());
}

Tensor log_softmax(const Tensor& input, const LogSoftmaxFuncOptions& options) {
  return halftone::log_softmax(input, options.dim(), options.dtype());
}

namespace {

/// Resolves padding kSame: what is to be added on both sides is returned, an odd rest is added to `input`'s
/// end here, as PyTorch does.
template <std::size_t D>
ExpandingArray<D> resolve_padding(const char* op, Tensor& input, const Tensor& weight,
                                  const ConvFuncOptions<D>& options) {
  if (!options.padding().is_same()) return options.padding().amounts();
  std::array<std::int64_t, D> both{};
  std::vector<std::int64_t> rest;
  for (std::size_t d = 0; d < D; ++d) {
    if (options.stride()[d] != 1) fail(op, "padding kSame needs stride 1, got ", options.stride()[d]);
    const std::int64_t total = options.dilation()[d] * (weight.size(static_cast<std::int64_t>(d) + 2) - 1);
    both[d] = total / 2;
    rest.insert(rest.begin(), {0, total % 2});
  }
  if (std::any_of(rest.begin(), rest.end(), [](std::int64_t r) { return r != 0; }))
    input = constant_pad_nd(input, rest);
  return both;
}

}  // namespace

Tensor conv1d(const Tensor& input, const Tensor& weight, const Conv1dFuncOptions& options) {
  Tensor padded = input;
  const auto padding = resolve_padding("conv1d", padded, weight, options);
  return halftone::conv1d(padded, weight, options.bias(), options.stride(), padding, options.dilation(),
                          options.groups());
}

Tensor conv2d(const Tensor& input, const Tensor& weight, const Conv2dFuncOptions& options) {
  Tensor padded = input;
  const auto padding = resolve_padding("conv2d", padded, weight, options);
  return halftone::conv2d(padded, weight, options.bias(), options.stride(), padding, options.dilation(),
                          options.groups());
}

Tensor max_pool1d(const Tensor& input, const MaxPool1dFuncOptions& options) {
  return halftone::max_pool1d(input, options.kernel_size(), options.stride(), options.padding(),
                              options.dilation(), options.ceil_mode());
}

Tensor max_pool2d(const Tensor& input, const MaxPool2dFuncOptions& options) {
  return halftone::max_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                              options.dilation(), options.ceil_mode());
}

Tensor avg_pool1d(const Tensor& input, const AvgPool1dFuncOptions& options) {
  if (options.divisor_override()) fail("avg_pool1d", "divisor_override is for avg_pool2d only");
  return halftone::avg_pool1d(input, options.kernel_size(), options.stride(), options.padding(),
                              options.ceil_mode(), options.count_include_pad());
}

Tensor avg_pool2d(const Tensor& input, const AvgPool2dFuncOptions& options) {
  return halftone::avg_pool2d(input, options.kernel_size(), options.stride(), options.padding(),
                              options.ceil_mode(), options.count_include_pad(), options.divisor_override());
}

Tensor adaptive_avg_pool1d(const Tensor& input, const AdaptiveAvgPool1dFuncOptions& options) {
  return halftone::adaptive_avg_pool1d(input, options.output_size());
}

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options) {
  return halftone::batch_norm(input, options.weight(), options.bias(), running_mean, running_var,
                              options.training(), options.momentum(), options.eps());
}

Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options) {
  return halftone::layer_norm(input, options.normalized_shape(), options.weight(), options.bias(),
                              options.eps());
}

Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options) {
  return halftone::group_norm(input, options.num_groups(), options.weight(), options.bias(), options.eps());
}

Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options) {
  return halftone::rms_norm(input, options.normalized_shape(), options.weight(), options.eps());
}

Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyFuncOptions& options) {
  return cross_entropy_loss(input, target, options.weight(), options.reduction(), options.ignore_index(),
                            options.label_smoothing());
}

Tensor nll_loss(const Tensor& input, const Tensor& target, const NLLLossFuncOptions& options) {
  return halftone::nll_loss(input, target, options.weight(), options.reduction(), options.ignore_index());
}

Tensor mse_loss(const Tensor& input, const Tensor& target, const MSELossFuncOptions& options) {
  return halftone::mse_loss(input, target, options.reduction());
}

Tensor l1_loss(const Tensor& input, const Tensor& target, const L1LossFuncOptions& options) {
  return halftone::l1_loss(input, target, options.reduction());
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, const SmoothL1LossFuncOptions& options) {
  return halftone::smooth_l1_loss(input, target, options.reduction(), options.beta());
}

Tensor huber_loss(const Tensor& input, const Tensor& target, const HuberLossFuncOptions& options) {
  return halftone::huber_loss(input, target, options.reduction(), options.delta());
}

Tensor binary_cross_entropy(const Tensor& input, const Tensor& target,
                            const BinaryCrossEntropyFuncOptions& options) {
  return halftone::binary_cross_entropy(input, target, options.weight(), options.reduction());
}

Tensor binary_cross_entropy_with_logits(const Tensor& input, const Tensor& target,
                                        const BinaryCrossEntropyWithLogitsFuncOptions& options) {
  return halftone::binary_cross_entropy_with_logits(input, target, options.weight(), options.pos_weight(),
                                                    options.reduction());
}

Tensor kl_div(const Tensor& input, const Tensor& target, const KLDivFuncOptions& options) {
  const Tensor loss = halftone::kl_div(input, target, options.reduction().value(), options.log_target());
  if (!options.reduction().is_batch_mean() || input.dim() == 0) return loss;
  return loss / static_cast<double>(input.size(0));
}

}  // namespace halftone::nn::functional

// Layers' functions that are a few calls of other operators: nothing of theirs is worth a kernel.

#include "halftone/amp/policy.h"
#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/composed.h"

namespace halftone {

Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias,
                     const Tensor& running_mean, const Tensor& running_var, bool use_input_stats,
                     double momentum, double eps, bool) {
  const char* const op = "instance_norm";
  ops::check_defined(op, "input", input);
  if (input.dim() < 3) fail(op, "expected an input (N, C, ...), got ", input);
  const std::int64_t n = input.size(0), c = input.size(1);
  if (running_mean.defined() != running_var.defined()) {
    fail(op, "expected both running_mean and running_var, or neither");
  }
  if (!use_input_stats) {
    if (!running_mean.defined())
      fail(op, "without the input's statistics running_mean and running_var must be given");
    return batch_norm(input, weight, bias, running_mean, running_var, false, momentum, eps);
  }
  if (input.numel() == n * c && input.numel() != 0) {
    fail(op, "expected more than one value per channel, got ", input);
  }
  if (!running_mean.defined() || n == 0) return group_norm(input, c, weight, bias, eps);

  // Channels of all samples side by side; the running statistics follow the mean over the samples.
  Dims rows{1, n * c};
  for (std::int64_t d = 2; d < input.dim(); ++d) rows.push_back(input.size(d));
  const auto repeated = [n](const Tensor& t) { return t.defined() ? repeat(t, {n}) : t; };
  Tensor mean, var;
  {
    const NoGradGuard no_grad;
    mean = repeated(running_mean);
    var = repeated(running_var);
  }
  const Tensor result =
      batch_norm(reshape(input, rows), repeated(weight), repeated(bias), mean, var, true, momentum, eps);
  {
    const NoGradGuard no_grad;
    const auto update = [&](Tensor running, const Tensor& all) {
      copy_(running, halftone::mean(reshape(all, {n, c}), 0));
    };
    update(running_mean, mean);
    update(running_var, var);
  }
  return reshape(result, input.sizes());
}

Tensor norm_except_dim(const Tensor& v, std::int64_t pow, std::int64_t dim) {
  const char* const op = "norm_except_dim";
  ops::check_defined(op, "v", v);
  const std::int64_t kept = dim == -1 ? -1 : wrap_dim(op, dim, v.dim());
  if (kept == -1) return norm(v, pow);
  Dims others;
  for (std::int64_t d = 0; d < v.dim(); ++d) {
    if (d != kept) others.push_back(d);
  }
  return others.empty() ? abs(v) : norm(v, Scalar(pow), others, /*keepdim=*/true);
}

Tensor _weight_norm(const Tensor& v, const Tensor& g, std::int64_t dim) {
  const ops::WideOperands operands("_weight_norm", {&v, &g});
  return operands.result(operands[0] * (operands[1] / norm_except_dim(operands[0], 2, dim)));
}

Tensor pixel_shuffle(const Tensor& self, std::int64_t upscale_factor) {
  const char* const op = "pixel_shuffle";
  ops::check_defined(op, "self", self);
  const std::int64_t r = upscale_factor;
  if (self.dim() < 3) fail(op, "expected an input (..., C, H, W), got ", self);
  if (r < 1 || self.size(-3) % (r * r) != 0) {
    fail(op, "expected a positive upscale_factor whose square divides the channels of ", self, ", got ", r);
  }
  const std::int64_t c = self.size(-3) / (r * r), h = self.size(-2), w = self.size(-1);
  Dims sizes(self.sizes().data(), static_cast<std::size_t>(self.dim() - 3));
  const std::int64_t batch = count_elements(sizes);
  sizes.push_back(c);
  sizes.push_back(h * r);
  sizes.push_back(w * r);
  return reshape(permute(reshape(self, {batch, c, r, r, h, w}), {0, 1, 4, 2, 5, 3}), sizes);
}

Tensor pixel_unshuffle(const Tensor& self, std::int64_t downscale_factor) {
  const char* const op = "pixel_unshuffle";
  ops::check_defined(op, "self", self);
  const std::int64_t r = downscale_factor;
  if (self.dim() < 3) fail(op, "expected an input (..., C, H, W), got ", self);
  if (r < 1 || self.size(-2) % r != 0 || self.size(-1) % r != 0) {
    fail(op, "expected a positive downscale_factor that divides height and width of ", self, ", got ", r);
  }
  const std::int64_t c = self.size(-3), h = self.size(-2) / r, w = self.size(-1) / r;
  Dims sizes(self.sizes().data(), static_cast<std::size_t>(self.dim() - 3));
  const std::int64_t batch = count_elements(sizes);
  sizes.push_back(c * r * r);
  sizes.push_back(h);
  sizes.push_back(w);
  return reshape(permute(reshape(self, {batch, c, h, r, w, r}), {0, 1, 3, 5, 2, 4}), sizes);
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  const char* const op = "bilinear";
  ops::check_defined(op, "input1", input1);
  ops::check_defined(op, "input2", input2);
  ops::check_defined(op, "weight", weight);
  if (weight.dim() != 3) fail(op, "expected a weight (out, in1, in2), got ", weight);
  if (input1.dim() == 0 || input1.dim() != input2.dim()) {
    fail(op, "expected two inputs of as many dimensions, got ", input1, " and ", input2);
  }
  if (input1.size(-1) != weight.size(1) || input2.size(-1) != weight.size(2)) {
    fail(op, "the weight ", weight, " does not take inputs ", input1, " and ", input2);
  }
  Dims sizes = input1.sizes().dims();
  for (std::size_t d = 0; d + 1 < sizes.size(); ++d) {
    if (sizes[d] != input2.sizes()[d]) fail(op, "inputs ", input1, " and ", input2, " differ in their batch");
  }
  const std::int64_t out = weight.size(0), in1 = weight.size(1), in2 = weight.size(2);
  sizes.back() = out;
  const std::int64_t n = count_elements(IntArrayRef(sizes.data(), sizes.size() - 1));
  const Tensor x1 = reshape(input1, {n, in1});
  const Tensor x2 = reshape(input2, {n, in2, 1});
  // (n, out * in2) as n matrices (out, in2), times x2.
  const Tensor half = reshape(matmul(x1, reshape(transpose(weight, 0, 1), {in1, out * in2})), {n, out, in2});
  const Tensor result = reshape(bmm(half, to_dtype(x2, half.scalar_type())), sizes);
  return bias.defined() ? result + to_dtype(bias, result.scalar_type()) : result;
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  const char* const op = "pairwise_distance";
  ops::check_defined(op, "x1", x1);
  ops::check_defined(op, "x2", x2);
  const ops::WideOperands operands(op, {&x1, &x2});
  return operands.result(norm(operands[0] - operands[1] + eps, Scalar(p), -1, keepdim));
}

}  // namespace halftone

#include "halftone/nn/init.h"

#include <cmath>
#include <vector>

#include "halftone/autograd/grad_mode.h"

namespace halftone::nn::init {

Fan fan_in_and_out(const Tensor& tensor) {
  if (tensor.dim() < 2) fail("init", "fan in and out need at least two dimensions, got ", tensor);
  std::int64_t receptive = 1;
  for (std::int64_t d = 2; d < tensor.dim(); ++d) receptive *= tensor.size(d);
  return {tensor.size(1) * receptive, tensor.size(0) * receptive};
}

double calculate_gain(Nonlinearity nonlinearity, double param) {
  switch (nonlinearity.kind()) {
    case Nonlinearity::Kind::kTanh:
      return 5.0 / 3.0;
    case Nonlinearity::Kind::kReLU:
      return std::sqrt(2.0);
    case Nonlinearity::Kind::kLeakyReLU:
      return std::sqrt(2.0 / (1 + param * param));
    case Nonlinearity::Kind::kLinear:
      break;
  }
  return 1;
}

Tensor uniform_(Tensor tensor, double low, double high) {
  NoGradGuard no_grad;
  return tensor.uniform_(low, high);
}

Tensor normal_(Tensor tensor, double mean, double std) {
  NoGradGuard no_grad;
  return tensor.normal_(mean, std);
}

Tensor constant_(Tensor tensor, const Scalar& value) {
  NoGradGuard no_grad;
  return tensor.fill_(value);
}

Tensor zeros_(Tensor tensor) { return constant_(std::move(tensor), 0); }
Tensor ones_(Tensor tensor) { return constant_(std::move(tensor), 1); }

Tensor eye_(Tensor matrix) {
  if (matrix.dim() != 2) fail("eye_", "expected a matrix, got ", matrix);
  NoGradGuard no_grad;
  return matrix.copy_(eye(matrix.size(0), matrix.size(1)));
}

Tensor dirac_(Tensor tensor) {
  if (tensor.dim() < 3 || tensor.dim() > 5) fail("dirac_", "expected 3 to 5 dimensions, got ", tensor);
  NoGradGuard no_grad;
  tensor.zero_();
  Tensor centre = tensor;
  for (std::int64_t d = 2; d < tensor.dim(); ++d) centre = centre.select(2, tensor.size(d) / 2);
  centre.diagonal().fill_(1);
  return tensor;
}

Tensor sparse_(Tensor tensor, double sparsity, double std) {
  if (tensor.dim() != 2) fail("sparse_", "expected a matrix, got ", tensor);
  if (!(sparsity >= 0 && sparsity <= 1)) fail("sparse_", "expected 0 <= sparsity <= 1, got ", sparsity);
  NoGradGuard no_grad;
  tensor.normal_(0, std);
  const auto zeros = static_cast<std::int64_t>(std::ceil(sparsity * static_cast<double>(tensor.size(0))));
  for (std::int64_t column = 0; column < tensor.size(1); ++column) {
    const Tensor rows = randperm(tensor.size(0), TensorOptions(kLong).device(tensor.device()));
    tensor.select(1, column).index_fill_(0, rows.slice(0, 0, zeros), 0);
  }
  return tensor;
}

Tensor xavier_uniform_(Tensor tensor, double gain) {
  const Fan fan = fan_in_and_out(tensor);
  const double bound = gain * std::sqrt(6.0 / static_cast<double>(fan.in + fan.out));
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor xavier_normal_(Tensor tensor, double gain) {
  const Fan fan = fan_in_and_out(tensor);
  return normal_(std::move(tensor), 0, gain * std::sqrt(2.0 / static_cast<double>(fan.in + fan.out)));
}

namespace {

double kaiming_std(const Tensor& tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  const Fan fan = fan_in_and_out(tensor);
  return calculate_gain(nonlinearity, a) /
         std::sqrt(static_cast<double>(mode.is_fan_out() ? fan.out : fan.in));
}

/// Quantile of the standard normal distribution: a bisection on erfc, to the last bit that matters for a
/// float.
double normal_quantile(double p) {
  double low = -40, high = 40;
  for (int i = 0; i < 80; ++i) {
    const double mid = 0.5 * (low + high);
    (0.5 * std::erfc(-mid / std::sqrt(2.0)) < p ? low : high) = mid;
  }
  return 0.5 * (low + high);
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

/// Makes the `rows` vectors of length `columns` orthonormal: Gram-Schmidt, twice, which is as orthogonal as
/// rounding allows (Giraud, Langou and Rozloznik, 2005).
void orthonormalise(double* data, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t i = 0; i < rows; ++i) {
    double* row = data + i * columns;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::int64_t j = 0; j < i; ++j) {
        const double* other = data + j * columns;
        double product = 0;
        for (std::int64_t k = 0; k < columns; ++k) product += row[k] * other[k];
        for (std::int64_t k = 0; k < columns; ++k) row[k] -= product * other[k];
      }
    }
    double length = 0;
    for (std::int64_t k = 0; k < columns; ++k) length += row[k] * row[k];
    length = std::sqrt(length);
    for (std::int64_t k = 0; k < columns; ++k) row[k] /= length;
  }
}

}  // namespace

Tensor kaiming_uniform_(Tensor tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  const double bound = std::sqrt(3.0) * kaiming_std(tensor, a, mode, nonlinearity);
  return uniform_(std::move(tensor), -bound, bound);
}

Tensor kaiming_normal_(Tensor tensor, double a, FanMode mode, Nonlinearity nonlinearity) {
  if (tensor.numel() == 0) return tensor;
  const double std = kaiming_std(tensor, a, mode, nonlinearity);
  return normal_(std::move(tensor), 0, std);
}

Tensor trunc_normal_(Tensor tensor, double mean, double std, double a, double b) {
  if (!(std > 0) || !(a < b))
    fail("trunc_normal_", "expected std > 0 and a < b, got std ", std, ", a ", a, ", b ", b);
  NoGradGuard no_grad;
  // Beyond the mean's upper side the tail is mirrored, where the distribution function keeps its relative
  // accuracy.
  const bool mirror = (a - mean) / std > 0;
  const double low = mirror ? (mean - b) / std : (a - mean) / std,
               high = mirror ? (mean - a) / std : (b - mean) / std;
  const double from = normal_cdf(low), to = normal_cdf(high);
  Tensor values = empty(tensor.sizes(), TensorOptions(kDouble).device(kCPU)).uniform_(0, 1);
  double* data = values.data_ptr<double>();
  for (std::int64_t i = 0; i < values.numel(); ++i) {
    const double x = std::min(std::max(normal_quantile(from + data[i] * (to - from)), low), high);
    data[i] = mean + std * (mirror ? -x : x);
  }
  return tensor.copy_(values);
}

Tensor orthogonal_(Tensor tensor, double gain) {
  if (tensor.dim() < 2) fail("orthogonal_", "expected at least two dimensions, got ", tensor);
  if (tensor.numel() == 0) return tensor;
  NoGradGuard no_grad;
  const std::int64_t rows = tensor.size(0), columns = tensor.numel() / rows;
  const bool wide = rows <= columns;
  Tensor vectors = randn({wide ? rows : columns, wide ? columns : rows}, TensorOptions(kDouble).device(kCPU));
  orthonormalise(vectors.data_ptr<double>(), vectors.size(0), vectors.size(1));
  if (!wide) vectors = vectors.t();
  return tensor.copy_((vectors * gain).reshape(tensor.sizes()));
}

}  // namespace halftone::nn::init

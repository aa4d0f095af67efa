// Normalisations and their gradients with respect to the input. batch_norm sees the same elements as images
// of 4 channels, 16 pixels wide.

#include "halftone/bench/suite/families/operands.h"

namespace halftone::bench {
namespace {

constexpr double kEps = 1e-5;
using Dims = std::vector<std::int64_t>;

/// What is normalised over `dims`: mean and 1 / deviation there (of the mean square, if not centred).
struct Statistics {
  Tensor mean, rstd;
};
Statistics statistics(const Tensor& x, const Dims& dims, bool centred) {
  const Tensor mean = centred ? x.mean(dims, true) : zeros({}, x.options());
  return {mean, ((x - mean).square().mean(dims, true) + kEps).rsqrt()};
}

/// Sizes of what is added up in (x - mean) * rstd * weight + bias, with statistics that are sums themselves.
Tensor forward_terms(const Tensor& x, const Dims& dims, bool centred, const Tensor& weight,
                     const Tensor& bias) {
  const Statistics s = statistics(x, dims, centred);
  return 2 * (x.abs() + s.mean.abs()) * s.rstd * weight.abs() + bias.abs();
}

/// The same in rstd * (g w - mean(g w) - xhat * mean(g w xhat)).
Tensor gradient_terms(const Tensor& grad, const Tensor& x, const Dims& dims, const Statistics& s,
                      const Tensor& weight) {
  const Tensor normalised = (x.abs() + s.mean.abs()) * s.rstd, g = (grad * weight).abs();
  return 2 * s.rstd * (g + g.mean(dims, true) + normalised * (g * normalised).mean(dims, true));
}

/// A case from its operands: x, a gradient, weight and bias.
struct Operands {
  Tensor x, grad, weight, bias;
};
Operands operands(const Shape& shape, const Setting& setting) {
  manual_seed(1);
  return {uniform(shape, setting, -2, 3), uniform(shape, setting), uniform({shape[1]}, setting),
          uniform({shape[1]}, setting)};
}

Work layer_norm_work(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  const Dims columns{shape[1]};
  return work_of([=] { return layer_norm(o.x, columns, o.weight, o.bias, kEps); },
                 [=] {
                   const Tensor x = exactly(o.x), w = exactly(o.weight), b = exactly(o.bias);
                   return Reference{layer_norm(x, columns, w, b, kEps), forward_terms(x, {-1}, true, w, b),
                                    static_cast<double>(columns[0])};
                 });
}

Work layer_norm_gradient(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  const Dims columns{shape[1]};
  const Statistics s = statistics(o.x.to(kFloat), {-1}, true);
  return work_of(
      [=] { return std::get<0>(layer_norm_backward(o.grad, o.x, columns, o.weight, s.mean, s.rstd, kEps)); },
      [=] {
        const Tensor g = exactly(o.grad), x = exactly(o.x), w = exactly(o.weight);
        const Statistics exact{exactly(s.mean), exactly(s.rstd)};
        return Reference{std::get<0>(layer_norm_backward(g, x, columns, w, exact.mean, exact.rstd, kEps)),
                         gradient_terms(g, x, {-1}, exact, w), static_cast<double>(columns[0])};
      });
}

Work rms_norm_work(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  const Dims columns{shape[1]};
  return work_of([=] { return rms_norm(o.x, columns, o.weight, kEps); },
                 [=] {
                   const Tensor x = exactly(o.x), w = exactly(o.weight);
                   return Reference{rms_norm(x, columns, w, kEps),
                                    forward_terms(x, {-1}, false, w, zeros({}, w.options())),
                                    static_cast<double>(columns[0])};
                 });
}

Work rms_norm_gradient(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  const Dims columns{shape[1]};
  const Statistics s = statistics(o.x.to(kFloat), {-1}, false);
  return work_of([=] { return std::get<0>(rms_norm_backward(o.grad, o.x, columns, o.weight, s.rstd, kEps)); },
                 [=] {
                   const Tensor g = exactly(o.grad), x = exactly(o.x), w = exactly(o.weight);
                   const Statistics exact{zeros({}, x.options()), exactly(s.rstd)};
                   return Reference{std::get<0>(rms_norm_backward(g, x, columns, w, exact.rstd, kEps)),
                                    gradient_terms(g, x, {-1}, exact, w), static_cast<double>(columns[0])};
                 });
}

/// The elements as images of 4 channels, with a weight and a bias for each channel.
Operands images(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  const Dims sizes{shape[0] / 4, 4, shape[1] / 16, 16};
  const Setting fp32{Precision::kFp32, setting.device};
  return {o.x.view(sizes), o.grad.view(sizes), uniform({4}, fp32), uniform({4}, fp32)};
}
Tensor per_channel(const Tensor& t) { return t.view({1, 4, 1, 1}); }

Work batch_norm_work(const Shape& shape, const Setting& setting) {
  const Operands o = images(shape, setting);
  const Dims over{0, 2, 3};
  const double length = static_cast<double>(shape[0] * shape[1] / 4);
  return work_of([=] { return batch_norm(o.x, o.weight, o.bias, {}, {}, true, 0.1, kEps); },
                 [=] {
                   const Tensor x = exactly(o.x), w = exactly(o.weight), b = exactly(o.bias);
                   return Reference{batch_norm(x, w, b, {}, {}, true, 0.1, kEps),
                                    forward_terms(x, over, true, per_channel(w), per_channel(b)), length};
                 });
}

Work batch_norm_gradient(const Shape& shape, const Setting& setting) {
  const Operands o = images(shape, setting);
  const Dims over{0, 2, 3};
  const double length = static_cast<double>(shape[0] * shape[1] / 4);
  const Statistics s = statistics(o.x.to(kFloat), over, true);
  const Tensor mean = s.mean.view({4}), rstd = s.rstd.view({4});
  return work_of(
      [=] { return std::get<0>(batch_norm_backward(o.grad, o.x, o.weight, mean, rstd, true, kEps)); },
      [=] {
        const Tensor g = exactly(o.grad), x = exactly(o.x), w = exactly(o.weight);
        const Tensor exact_mean = exactly(mean), exact_rstd = exactly(rstd);
        return Reference{
            std::get<0>(batch_norm_backward(g, x, w, exact_mean, exact_rstd, true, kEps)),
            gradient_terms(g, x, over, {per_channel(exact_mean), per_channel(exact_rstd)}, per_channel(w)),
            length};
      });
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  const std::int64_t n = bytes_of(shape[0] * shape[1], setting), statistic = 4 * shape[0];
  std::vector<MemoryBoundOperator> operators{
      {"layer_norm", layer_norm_work, {{n}, {}, {n}}},
      {"layer_norm_gradient", layer_norm_gradient, {{n, n, statistic, statistic}, {}, {n}}},
      {"rms_norm", rms_norm_work, {{n}, {}, {n}}},
      {"rms_norm_gradient", rms_norm_gradient, {{n, n, statistic}, {}, {n}}}};
  if (shape[0] % 4 == 0 && shape[1] % 16 == 0) {
    operators.push_back({"batch_norm", batch_norm_work, {{n}, {}, {n}}});
    operators.push_back({"batch_norm_gradient", batch_norm_gradient, {{n, n}, {}, {n}}});
  }
  return cases_of(operators, shape, setting);
}

}  // namespace

Family norm_family() {
  return {"norm",           "layer, rms and batch normalisation and their gradients",
          "rows x columns", {{256, 256}, {1024, 1024}, {8192, 1024}},
          {{256, 256}},     {{1024, 1024}, {65536, 4096}},
          {4, 16},          cases};
}

}  // namespace halftone::bench

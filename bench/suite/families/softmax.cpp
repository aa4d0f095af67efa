// Softmax, its logarithm, cross entropy and their gradients. Sizes: a batch of class scores or attention rows
// that stay in the cache, a large batch, and a language model's vocabulary.

#include "halftone/bench/suite/families/operands.h"

namespace halftone::bench {
namespace {

struct Operands {
  Tensor x, grad, labels;
};
Operands operands(const Shape& shape, const Setting& setting) {
  manual_seed(1);
  return {uniform(shape, setting, -6, 6), uniform(shape, setting), integers(shape[1], {shape[0]}, setting)};
}

/// Roundings on the way: those of the sum, and of the exponential's argument up to 12.
double length_of(const Shape& shape) { return static_cast<double>(shape[1]) + 16; }

Work softmax_work(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  return work_of([=] { return softmax(o.x, -1); },
                 [=] {
                   return Reference{softmax(exactly(o.x), -1), {}, length_of(shape)};
                 });
}

Work column_softmax(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  return work_of([=] { return softmax(o.x, 0); },
                 [=] {
                   return Reference{softmax(exactly(o.x), 0), {}, length_of({shape[1], shape[0]})};
                 });
}

Work softmax_gradient(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  const Tensor y = softmax(o.x, -1);
  return work_of([=] { return softmax_backward(o.grad, y, -1, setting.dtype()); },
                 [=] {
                   const Tensor g = exactly(o.grad), p = exactly(y);
                   return Reference{p * (g - (g * p).sum(-1, true)),
                                    p * (g.abs() + (g * p).abs().sum(-1, true)), length_of(shape)};
                 });
}

Work log_softmax_work(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  return work_of([=] { return log_softmax(o.x, -1); },
                 [=] {
                   const Tensor exact = log_softmax(exactly(o.x), -1);
                   return Reference{exact, exact.abs() + 1, length_of(shape)};
                 });
}

Work log_softmax_gradient(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  const Tensor y = log_softmax(o.x, -1);
  return work_of([=] { return log_softmax_backward(o.grad, y, -1, setting.dtype()); },
                 [=] {
                   const Tensor g = exactly(o.grad), logs = exactly(y), p = exp(logs);
                   return Reference{g - p * g.sum(-1, true),
                                    g.abs() + p * g.abs().sum(-1, true) * (1 + logs.abs()), length_of(shape)};
                 });
}

Work cross_entropy(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  return work_of([=] { return cross_entropy_loss(o.x, o.labels, {}); },
                 [=] {
                   const Tensor x = exactly(o.x);
                   const Tensor terms = logsumexp(x, {-1}).abs().mean() + x.abs().max() + 1;
                   return Reference{cross_entropy_loss(x, o.labels.to(kCPU), {}), terms,
                                    length_of(shape) + static_cast<double>(shape[0])};
                 });
}

Work cross_entropy_gradient(const Shape& shape, const Setting& setting) {
  const Operands o = operands(shape, setting);
  const Tensor one = ones({}, TensorOptions(kFloat).device(setting.device));
  return work_of([=] { return cross_entropy_backward(one, o.x, o.labels, {}, Reduction::Mean, -100, 0); },
                 [=] {
                   const Tensor p = softmax(exactly(o.x), -1);
                   const Tensor hot = one_hot(o.labels.to(kCPU), shape[1]).to(kDouble);
                   const auto rows = static_cast<double>(shape[0]);
                   return Reference{(p - hot) / rows, (p + hot) / rows, length_of(shape)};
                 });
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  const std::int64_t n = bytes_of(shape[0] * shape[1], setting);
  const Traffic one_in{{n}, {}, {n}}, two_in{{n, n}, {}, {n}}, read{{n}, {}, {}};
  const std::vector<MemoryBoundOperator> operators{
      {"softmax", softmax_work, one_in},
      {"softmax_columns", column_softmax, one_in},
      {"softmax_gradient", softmax_gradient, two_in},
      {"log_softmax", log_softmax_work, one_in},
      {"log_softmax_gradient", log_softmax_gradient, two_in},
      {"cross_entropy", cross_entropy, read},
      {"cross_entropy_gradient", cross_entropy_gradient, one_in}};
  return cases_of(operators, shape, setting);
}

}  // namespace

Family softmax_family() {
  return {"softmax",        "softmax, log_softmax, cross entropy and their gradients",
          "rows x columns", {{512, 512}, {8192, 1024}, {64, 50257}},
          {{512, 512}},     {{1024, 1024}, {65536, 4096}},
          {4, 8},           cases};
}

}  // namespace halftone::bench

// 3x3 convolutions without padding, forward and both gradients, and 2x2 pooling of their results.

#include "halftone/bench/suite/families/operands.h"
#include "halftone/bench/support/work.h"

namespace halftone::bench {
namespace {

constexpr std::int64_t kKernel = 3;
using Sizes = std::vector<std::int64_t>;

/// Sizes of input, weight and output.
struct Layer {
  Sizes x, w, y;
};
Layer layer(const ConvLayer& l) {
  return {{l.images, l.from, l.size, l.size},
          {l.to, l.from, kKernel, kKernel},
          {l.images, l.to, l.out(), l.out()}};
}

struct Operands {
  Tensor x, w, bias, y;  // y: a gradient of the output's sizes
};
Operands operands(const Layer& l, const Setting& setting) {
  manual_seed(1);
  return {uniform(l.x, setting), uniform(l.w, setting), uniform({l.w[0]}, setting), uniform(l.y, setting)};
}

Work forward(const Layer& l, const Setting& setting) {
  const Operands o = operands(l, setting);
  return work_of([=] { return conv2d(o.x, o.w, o.bias); },
                 [=] {
                   const Tensor x = exactly(o.x), w = exactly(o.w), b = exactly(o.bias);
                   return Reference{conv2d(x, w, b), conv2d(x.abs(), w.abs(), b.abs()),
                                    static_cast<double>(l.w[1] * kKernel * kKernel)};
                 });
}

Tensor input_gradient(const Tensor& grad, const Tensor& w, const Layer& l, Dtype dtype) {
  return conv2d_backward_input(grad, w, l.x, 1, 0, 1, 1, dtype);
}
Work input_gradient_work(const Layer& l, const Setting& setting) {
  const Operands o = operands(l, setting);
  return work_of([=] { return input_gradient(o.y, o.w, l, setting.dtype()); },
                 [=] {
                   const Tensor g = exactly(o.y), w = exactly(o.w);
                   return Reference{input_gradient(g, w, l, kDouble),
                                    input_gradient(g.abs(), w.abs(), l, kDouble),
                                    static_cast<double>(l.w[0] * kKernel * kKernel)};
                 });
}

Tensor weight_gradient(const Tensor& grad, const Tensor& x, const Layer& l, Dtype dtype) {
  return conv2d_backward_weight(grad, x, l.w, 1, 0, 1, 1, dtype);
}
Work weight_gradient_work(const Layer& l, const Setting& setting) {
  const Operands o = operands(l, setting);
  return work_of([=] { return weight_gradient(o.y, o.x, l, setting.dtype()); },
                 [=] {
                   const Tensor g = exactly(o.y), x = exactly(o.x);
                   return Reference{weight_gradient(g, x, l, kDouble),
                                    weight_gradient(g.abs(), x.abs(), l, kDouble),
                                    static_cast<double>(l.y[0] * l.y[2] * l.y[3])};
                 });
}

Work pooling(const Layer& l, const Setting& setting) {
  const Operands o = operands(l, setting);
  return work_of([=] { return max_pool2d(o.y, 2); },
                 [=] {
                   return Reference{max_pool2d(exactly(o.y), 2), {}};
                 });
}

Work pooling_gradient(const Layer& l, const Setting& setting) {
  const Operands o = operands(l, setting);
  const auto pooled = max_pool2d_with_indices(o.y, 2);
  const Tensor grad = std::get<0>(pooled), places = std::get<1>(pooled);
  const auto call = [=](const Tensor& g, const Tensor& where, Dtype dtype) {
    return max_pool2d_backward(g, where, l.y, 2, {}, 0, 1, false, dtype);
  };
  return work_of([=] { return call(grad, places, setting.dtype()); },
                 [=] {
                   return Reference{call(exactly(grad), places.to(kCPU), kDouble), {}};
                 });
}

std::vector<Case> cases(const Shape& shape, const Setting& setting) {
  if (setting.precision == Precision::kTf32) return {};
  const ConvLayer l{shape[0], shape[1], shape[2], shape[3]};
  if (l.size < 4)
    fail("bench", "a convolution of 3x3 and a pooling of 2x2 need images of 4x4 or more; got ", l.size);
  const Layer sizes = layer(l);
  const std::int64_t x = bytes_of(l.images * l.from * l.size * l.size, setting),
                     w = bytes_of(l.to * l.from * kKernel * kKernel, setting),
                     y = bytes_of(l.images * l.to * l.out() * l.out(), setting),
                     pooled = bytes_of(l.images * l.to * (l.out() / 2) * (l.out() / 2), setting);
  struct Entry {
    const char* name;
    Work (*prepare)(const Layer&, const Setting&);
    Traffic traffic;
    double flops;
  };
  std::vector<Entry> entries{{"forward", forward, {{x, w}, {}, {y}}, l.flops()},
                             {"weight_gradient", weight_gradient_work, {{y, x}, {}, {w}}, l.flops()}};
  if (l.from > 1)  // images want no gradient
    entries.push_back({"input_gradient", input_gradient_work, {{y, w}, {}, {x}}, l.flops()});
  entries.push_back({"max_pool2d", pooling, {{y}, {}, {pooled}}, 0});
  entries.push_back({"max_pool2d_gradient", pooling_gradient, {{pooled}, {}, {y}}, 0});
  std::vector<Case> all;
  for (const Entry& entry : entries) {
    Case c;
    c.name = entry.name;
    c.bound = entry.flops > 0 ? Bound::kArithmetic : Bound::kMemory;
    c.flops = entry.flops;
    c.passes = {entry.traffic};
    c.prepare = [=, prepare = entry.prepare] { return prepare(sizes, setting); };
    all.push_back(std::move(c));
  }
  return all;
}

}  // namespace

Family conv_family() {
  std::vector<Shape> shapes;
  for (const ConvLayer& l : kConvLayers) shapes.push_back({l.images, l.from, l.to, l.size});
  return {"conv",
          "convolutions, their gradients, and pooling",
          "images x channels in x channels out x size",
          shapes,
          {{4, 32, 64, 26}},
          {{64, 32, 64, 26}, {64, 64, 64, 58}},
          {1, 2, 3, 6},
          cases};
}

}  // namespace halftone::bench

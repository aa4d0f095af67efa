// Padding: constant values, and the modes that repeat elements of the input (ops/resample.cpp).

#include <cmath>

#include "halftone/kernels/copy.h"
#include "halftone/ops/alias.h"
#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {

struct ConstantPadNd : Operator {
  static constexpr Schema schema{"constant_pad_nd",
                                 {"self", "pad", "value"},
                                 "self with value around it; negative numbers cut elements off"};
  static constexpr Tensor (*api)(const Tensor&, IntArrayRef, const Scalar&) = &halftone::constant_pad_nd;
  static constexpr auto precision = amp::Precision::kAny;

  /// What a dimension's two numbers are: the last dimension's come first.
  static std::pair<std::int64_t, std::int64_t> around(IntArrayRef pad, std::int64_t rank, std::int64_t d) {
    const auto i = static_cast<std::size_t>(2 * (rank - 1 - d));
    return i < pad.size() ? std::pair{pad[i], pad[i + 1]} : std::pair<std::int64_t, std::int64_t>{0, 0};
  }
  static Meta infer(const Tensor& self, IntArrayRef pad, const Scalar& value) {
    if (pad.size() % 2 != 0 || static_cast<std::int64_t>(pad.size()) > 2 * self.dim())
      fail("constant_pad_nd", "expected two numbers for each of at most ", self.dim(), " dimensions, got ",
           pad);
    if (value.is_floating_point() && !self.is_floating_point() &&
        value.to_double() != std::trunc(value.to_double()))
      fail("constant_pad_nd", "value ", value.to_double(), " is not an integer and self is ", self);
    Dims sizes;
    for (std::int64_t d = 0; d < self.dim(); ++d) {
      const auto [before, after] = around(pad, self.dim(), d);
      std::int64_t size = 0;
      if (__builtin_add_overflow(self.size(d), before, &size) || __builtin_add_overflow(size, after, &size) ||
          size < 0 ||
          self.size(d) + std::min<std::int64_t>(before, 0) + std::min<std::int64_t>(after, 0) < 0) {
        fail("constant_pad_nd", "padding ", pad, " does not fit dimension ", d, " of ", self);
      }
      sizes.push_back(size);
    }
    return like(self, sizes);
  }
  static void run(const Tensor& out, const Tensor& self, IntArrayRef pad, const Scalar& value) {
    const CopyKernels& copies = kernels_for<CopyKernels>(out.device());
    copies.fill(out, value.to_double(), value.to_long());
    Tensor to = out, from = self;
    for (std::int64_t d = 0; d < self.dim(); ++d) {
      const auto [before, after] = around(pad, self.dim(), d);
      const std::int64_t cut = std::max<std::int64_t>(-before, 0);
      const std::int64_t length = self.size(d) - cut - std::max<std::int64_t>(-after, 0);
      to = alias_slice(to, d, std::max<std::int64_t>(before, 0), length);
      from = alias_slice(from, d, cut, length);
    }
    if (from.numel() > 0) copies.copy(to, from);
  }
  static Tensor backward(const Saved&, const Tensor& grad, IntArrayRef pad, const Scalar&) {
    Dims back = pad.dims();
    for (std::int64_t& n : back) n = -n;
    return constant_pad_nd(grad, back, 0);
  }
  static void samples(Samples& s) {
    s(s.rand({2, 3}), Dims{1, 2}, 0);
    s(s.rand({2, 3, 4}), Dims{-1, 2, 0, 1}, 1.5);
    s(s.rand({3}), Dims{-1, -1}, -2);
    s(s.rand({0, 2}), Dims{0, 0, 1, 1}, 0.5);
  }
};
HALFTONE_REGISTER_OPERATOR(ConstantPadNd)

namespace {

/// Padding that repeats elements of one to three trailing dimensions.
Tensor repeating_pad(const char* op, std::string_view mode, const Tensor& self, IntArrayRef pad) {
  const std::size_t spatial = pad.size() / 2, rank = self.sizes().size();
  if (pad.size() % 2 != 0 || spatial < 1 || spatial > 3 || (rank != spatial + 1 && rank != spatial + 2)) {
    fail(op,
         "expected two numbers for each of the last one to three dimensions, with channels and perhaps a "
         "batch before them, got padding ",
         pad, " of ", self);
  }
  Dims input, output, left;
  for (std::size_t i = 0; i < spatial; ++i) {
    const std::size_t last = spatial - 1 - i;  // pad begins with the last dimension
    input.push_back(self.sizes()[rank - spatial + i]);
    left.push_back(pad[2 * last]);
    output.push_back(input.back() + pad[2 * last] + pad[2 * last + 1]);
    const std::int64_t cut =
        std::max<std::int64_t>(-pad[2 * last], 0) + std::max<std::int64_t>(-pad[2 * last + 1], 0);
    if (input.back() <= cut) fail(op, "padding ", pad, " leaves nothing of ", self);
  }
  return resample(self, mode, input, output, left, 0, 0, 0, false, false, self.scalar_type());
}

void check_count(const char* op, IntArrayRef padding, std::size_t spatial) {
  if (padding.size() != 2 * spatial) fail(op, "expected ", 2 * spatial, " numbers of padding, got ", padding);
}

}  // namespace
}  // namespace ops

Tensor constant_pad_nd(const Tensor& self, IntArrayRef pad, const Scalar& value) {
  return ops::dispatch<ops::ConstantPadNd>(self, pad, value);
}

Tensor pad(const Tensor& self, IntArrayRef pad, std::string_view mode, std::optional<double> value) {
  if (mode == "constant") return constant_pad_nd(self, pad, value.value_or(0));
  if (value && *value != 0) fail("pad", "mode \"", mode, "\" takes no value, got ", *value);
  if (mode != "reflect" && mode != "replicate" && mode != "circular")
    fail("pad", "mode must be constant, reflect, replicate or circular, got \"", mode, "\"");
  return ops::repeating_pad("pad", mode, self, pad);
}

Tensor reflection_pad1d(const Tensor& self, IntArrayRef padding) {
  ops::check_count("reflection_pad1d", padding, 1);
  return ops::repeating_pad("reflection_pad1d", "reflect", self, padding);
}
Tensor reflection_pad2d(const Tensor& self, IntArrayRef padding) {
  ops::check_count("reflection_pad2d", padding, 2);
  return ops::repeating_pad("reflection_pad2d", "reflect", self, padding);
}
Tensor reflection_pad3d(const Tensor& self, IntArrayRef padding) {
  ops::check_count("reflection_pad3d", padding, 3);
  return ops::repeating_pad("reflection_pad3d", "reflect", self, padding);
}
Tensor replication_pad1d(const Tensor& self, IntArrayRef padding) {
  ops::check_count("replication_pad1d", padding, 1);
  return ops::repeating_pad("replication_pad1d", "replicate", self, padding);
}
Tensor replication_pad2d(const Tensor& self, IntArrayRef padding) {
  ops::check_count("replication_pad2d", padding, 2);
  return ops::repeating_pad("replication_pad2d", "replicate", self, padding);
}
Tensor replication_pad3d(const Tensor& self, IntArrayRef padding) {
  ops::check_count("replication_pad3d", padding, 3);
  return ops::repeating_pad("replication_pad3d", "replicate", self, padding);
}

}  // namespace halftone

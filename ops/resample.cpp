// Resampling and the paddings that read elements: every result is a weighted sum of a few elements, dimension
// by dimension. One operator; its gradient is its adjoint, itself the same operator.

#include "halftone/kernels/resample.h"

#include "halftone/ops/operator.h"

namespace halftone {
namespace ops {
namespace {

using Sizes = std::vector<std::int64_t>;

ResampleMode mode_of(const char* op, std::string_view mode) {
  constexpr std::pair<std::string_view, ResampleMode> kModes[] = {
      {"nearest", ResampleMode::kNearest},   {"nearest-exact", ResampleMode::kNearestExact},
      {"linear", ResampleMode::kLinear},     {"cubic", ResampleMode::kCubic},
      {"reflect", ResampleMode::kReflect},   {"replicate", ResampleMode::kReplicate},
      {"circular", ResampleMode::kCircular},
  };
  for (const auto& [name, value] : kModes) {
    if (name == mode) return value;
  }
  fail(op, "mode must be nearest, nearest-exact, linear, cubic, reflect, replicate or circular, got \"", mode,
       "\"");
}

double step_of(const char* op, std::int64_t in, std::int64_t out, double scale, bool align_corners) {
  if (!(scale >= 0) || scale > 1e9) fail(op, "scales must be positive numbers, got ", scale);
  if (align_corners) return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  // In float where PyTorch computes so, see ResampleDim::source.
  return scale > 0 ? 1 / scale : static_cast<double>(in) / static_cast<double>(out);
}

ResampleShape resample_shape(const char* op, std::string_view mode, IntArrayRef input, IntArrayRef output,
                             IntArrayRef left, const std::array<double, 3>& scales, bool align_corners) {
  if (input.empty() || input.size() > 3 || output.size() != input.size() || left.size() != input.size()) {
    fail(op, "expected one to three sizes, and as many in and out, got ", input, " and ", output);
  }
  ResampleShape shape;
  const ResampleMode chosen = mode_of(op, mode);
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::size_t place = 3 - input.size() + i;
    ResampleDim& dim = shape.dims[place];
    dim.mode = chosen;
    dim.in = input[i];
    dim.out = output[i];
    if (dim.in <= 0 || dim.out <= 0) {
      fail(op, "sizes must be positive, got ", input, " in and ", output, " out");
    }
    if (chosen >= ResampleMode::kReflect) {
      dim.left = left[i];
      const std::int64_t widest = std::max(left[i], dim.out - dim.in - left[i]);
      if ((chosen == ResampleMode::kReflect && widest >= dim.in) ||
          (chosen == ResampleMode::kCircular && widest > dim.in)) {
        fail(op, mode, " padding of ", widest, " is too wide for size ", dim.in);
      }
    } else {
      dim.align_corners = align_corners && chosen >= ResampleMode::kLinear;
      dim.step = step_of(op, dim.in, dim.out, scales[place], dim.align_corners);
    }
  }
  return shape;
}

}  // namespace

struct Resample : Operator {
  static constexpr Schema schema{"resample",
                                 {"self", "mode", "input_size", "output_size", "left", "scale_d", "scale_h",
                                  "scale_w", "align_corners", "adjoint", "dtype"},
                                 "weighted sums of a few elements along the last dimensions: interpolation, "
                                 "and reflecting, replicating and circular padding"};
  static constexpr Tensor (*api)(const Tensor&, std::string_view, IntArrayRef, IntArrayRef, IntArrayRef,
                                 double, double, double, bool, bool, ScalarType) = &halftone::resample;
  static constexpr auto precision = amp::Precision::kFp32Inside;

  static Meta infer(const Tensor& self, std::string_view mode, IntArrayRef input, IntArrayRef output,
                    IntArrayRef left, double scale_d, double scale_h, double scale_w, bool align_corners,
                    bool adjoint, ScalarType dtype) {
    resample_shape("resample", mode, input, output, left, {scale_d, scale_h, scale_w}, align_corners);
    const IntArrayRef from = adjoint ? output : input, to = adjoint ? input : output;
    if (!self.is_floating_point() || !is_floating_point(dtype))
      fail("resample", "expected floating tensors, got ", self, " and dtype ", dtype);
    const std::size_t leading = self.sizes().size() - std::min(self.sizes().size(), from.size());
    if (self.sizes().slice(leading) != from)
      fail("resample", "the last dimensions of ", self, " must have the sizes ", from);
    Dims sizes(self.sizes().data(), leading);
    for (std::int64_t size : to) sizes.push_back(size);
    Meta meta = like(self, sizes, dtype);
    meta.explicit_dtype = true;
    return meta;
  }
  static void run(const Tensor& out, const Tensor& self, std::string_view mode, IntArrayRef input,
                  IntArrayRef output, IntArrayRef left, double scale_d, double scale_h, double scale_w,
                  bool align_corners, bool adjoint, ScalarType) {
    if (out.numel() == 0) return;
    const NoGradGuard no_grad;
    ResampleShape shape =
        resample_shape("resample", mode, input, output, left, {scale_d, scale_h, scale_w}, align_corners);
    shape.planes = out.numel() / count_elements(adjoint ? input : output);
    kernels_for<ResampleKernels>(out.device()).run(out, self.contiguous(), shape, adjoint);
  }
  static Tensor backward(const Saved& s, const Tensor& grad, std::string_view mode, IntArrayRef input,
                         IntArrayRef output, IntArrayRef left, double scale_d, double scale_h, double scale_w,
                         bool align_corners, bool adjoint, ScalarType) {
    return resample(grad, mode, input, output, left, scale_d, scale_h, scale_w, align_corners, !adjoint,
                    s.dtype(0));
  }
  static void samples(Samples& s) {
    const auto both = [&](const char* mode, const Sizes& input, const Sizes& output, const Sizes& left,
                          double d, double h, double w, bool align) {
      Sizes in{2}, out{2};
      in.insert(in.end(), input.begin(), input.end());
      out.insert(out.end(), output.begin(), output.end());
      s(s.rand(in), mode, input, output, left, d, h, w, align, false, kDouble);
      s(s.rand(out), mode, input, output, left, d, h, w, align, true, kDouble);
    };
    both("nearest", {3}, {5}, {0}, 0, 0, 0, false);
    both("nearest", {4, 3}, {2, 7}, {0, 0}, 0, 0.5, 2.4, false);
    both("nearest-exact", {5}, {3}, {0}, 0, 0, 0, false);
    both("linear", {4}, {7}, {0}, 0, 0, 0, false);
    both("linear", {3, 5}, {6, 3}, {0, 0}, 0, 0, 0, true);
    both("linear", {2, 3, 2}, {3, 2, 4}, {0, 0, 0}, 1.6, 0, 2, false);
    both("cubic", {5, 4}, {3, 6}, {0, 0}, 0, 0, 0, false);
    both("cubic", {4, 4}, {7, 2}, {0, 0}, 0, 0, 0, true);
    both("reflect", {4, 3}, {8, 4}, {2, -1}, 0, 0, 0, false);
    both("replicate", {3}, {9}, {4}, 0, 0, 0, false);
    both("circular", {3, 2}, {7, 4}, {2, 0}, 0, 0, 0, false);
    s(s.rand({3}), "linear", Sizes{3}, Sizes{4}, Sizes{0}, 0.0, 0.0, 0.0, false, false, kFloat).smooth =
        false;  // rounds to float32
    s(s.rand({0, 3}), "linear", Sizes{3}, Sizes{4}, Sizes{0}, 0.0, 0.0, 0.0, false, false, kDouble);
  }
};
HALFTONE_REGISTER_OPERATOR(Resample)

namespace {

/// An upsampling function of libtorch: (N, C, ...) with `spatial` further dimensions.
Tensor upsample(const char* op, std::string_view mode, std::size_t spatial, const Tensor& self,
                IntArrayRef output_size, bool align_corners,
                const std::array<std::optional<double>, 3>& scales) {
  if (self.sizes().size() != spatial + 2 || output_size.size() != spatial) {
    fail(op, "expected a tensor with batch, channels and ", spatial, " further dimensions, and ", spatial,
         " output sizes, got ", self, " and ", output_size);
  }
  if (self.size(1) == 0) fail(op, "expected at least one channel, got ", self);
  std::array<double, 3> factors{};
  for (std::size_t i = 0; i < 3; ++i) {
    factors[i] = scales[i].value_or(0);
    if (scales[i] && !(*scales[i] > 0)) fail(op, "scales must be positive, got ", *scales[i]);
  }
  const Dims none(spatial, 0);
  return resample(self, mode, self.sizes().slice(2), output_size, none, factors[0], factors[1], factors[2],
                  align_corners, false, self.scalar_type());
}

}  // namespace
}  // namespace ops

Tensor resample(const Tensor& self, std::string_view mode, IntArrayRef input_size, IntArrayRef output_size,
                IntArrayRef left, double scale_d, double scale_h, double scale_w, bool align_corners,
                bool adjoint, ScalarType dtype) {
  return ops::dispatch<ops::Resample>(self, mode, input_size, output_size, left, scale_d, scale_h, scale_w,
                                      align_corners, adjoint, dtype);
}

Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size, std::optional<double> scales) {
  return ops::upsample("upsample_nearest1d", "nearest", 1, self, output_size, false, {{{}, {}, scales}});
}
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_h,
                          std::optional<double> scales_w) {
  return ops::upsample("upsample_nearest2d", "nearest", 2, self, output_size, false,
                       {{{}, scales_h, scales_w}});
}
Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size, std::optional<double> scales_d,
                          std::optional<double> scales_h, std::optional<double> scales_w) {
  return ops::upsample("upsample_nearest3d", "nearest", 3, self, output_size, false,
                       {{scales_d, scales_h, scales_w}});
}
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                         std::optional<double> scales) {
  return ops::upsample("upsample_linear1d", "linear", 1, self, output_size, align_corners,
                       {{{}, {}, scales}});
}
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                           std::optional<double> scales_h, std::optional<double> scales_w) {
  return ops::upsample("upsample_bilinear2d", "linear", 2, self, output_size, align_corners,
                       {{{}, scales_h, scales_w}});
}
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                            std::optional<double> scales_d, std::optional<double> scales_h,
                            std::optional<double> scales_w) {
  return ops::upsample("upsample_trilinear3d", "linear", 3, self, output_size, align_corners,
                       {{scales_d, scales_h, scales_w}});
}
Tensor upsample_bicubic2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                          std::optional<double> scales_h, std::optional<double> scales_w) {
  return ops::upsample("upsample_bicubic2d", "cubic", 2, self, output_size, align_corners,
                       {{{}, scales_h, scales_w}});
}

}  // namespace halftone

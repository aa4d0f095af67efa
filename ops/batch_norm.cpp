// Normalisation of channels over the batch. Training takes the batch's own statistics and moves the running
// ones; evaluation takes the running ones as constants.

#include "halftone/kernels/copy.h"
#include "halftone/ops/norm_rule.h"

namespace halftone {
namespace ops {
namespace {

const NormKernels& kernels(const Tensor& x) { return kernels_for<NormKernels>(x.device()); }

void copy_into(const Tensor& out, const Tensor& src) {
  kernels_for<CopyKernels>(out.device()).copy(out, src);
}

std::int64_t plane_size(IntArrayRef input) {
  return count_elements(IntArrayRef(input.data() + 2, input.size() - 2));
}

/// A batch of vectors (N, C), whose channels are columns, is worked on as its transpose.
bool is_transposed(const Tensor& input) { return plane_size(input.sizes()) == 1; }

Tensor channel_major(const Tensor& x, bool transposed) {
  return transposed ? reshape(x, {x.size(0), x.size(1)}).t().contiguous() : x.contiguous();
}

/// Rows are channels: one segment per sample, or a whole row of the transpose.
NormShape channel_shape(const Tensor& input, double eps, bool frozen) {
  NormShape s;
  const std::int64_t n = input.size(0), c = input.size(1), plane = plane_size(input.sizes());
  const bool transposed = is_transposed(input);
  s.affine = NormShape::Affine::kRow;
  s.rows = c;
  s.segments = transposed ? 1 : n;
  s.length = transposed ? n : plane;
  s.row_step = s.length;
  s.segment_step = c * plane;
  s.eps = eps;
  s.frozen = frozen;
  return s;
}

/// Calls write(target): `out` itself, or memory for its transpose that is then copied over.
template <class Write>
void write_channel_major(const Tensor& out, bool transposed, Write write) {
  if (!transposed) return write(out);
  const Tensor columns = allocate(like(out, {out.size(1), out.size(0)}));
  write(columns);
  copy_into(reshape(out, {out.size(0), out.size(1)}), columns.t());
}

/// A statistic per channel; two-dimensional, so that it is never mistaken for an input.
Meta channel_statistic(const Tensor& input) { return norm_statistic(input, {1, input.size(1)}); }

void check_channels(const char* op, const Tensor& input, const Tensor& weight, const Tensor& bias,
                    double eps) {
  if (input.dim() < 2) fail(op, "expected an input (N, C, ...), got ", input);
  check_norm_operands(op, input, weight, bias, {input.size(1)});
  check_norm_eps(op, eps);
}

/// running += momentum * (batch - running), rounded once.
void update_running(const Tensor& running, const Tensor& batch, double momentum) {
  const Tensor before = to_dtype(running, kDouble);
  copy_into(running, lerp(before, to_dtype(batch, kDouble), momentum));
  running.storage().bump_version("batch_norm");
}

}  // namespace

struct BatchNormBackward : Operator {
  static constexpr Schema schema{"batch_norm_backward",
                                 {"grad", "input", "weight", "mean", "rstd", "training", "eps"},
                                 "gradients of batch_norm with respect to input, weight and bias"};
  static constexpr std::tuple<Tensor, Tensor, Tensor> (*api)(const Tensor&, const Tensor&, const Tensor&,
                                                             const Tensor&, const Tensor&, bool,
                                                             double) = &halftone::batch_norm_backward;
  static constexpr auto precision = amp::Precision::kAny;
  static constexpr bool mixed_inputs = true;
  static constexpr Keep saves = keep_input(0) | keep_input(1) | keep_input(2) | keep_input(3) | keep_input(4);

  static std::array<Meta, 3> infer(const Tensor& grad, const Tensor& input, const Tensor& weight,
                                   const Tensor& mean, const Tensor& rstd, bool training, double eps) {
    check_channels(schema.name, input, weight, {}, eps);
    const std::int64_t c = input.size(1);
    if (mean.defined() != rstd.defined() || (mean.defined() && (mean.numel() != c || rstd.numel() != c))) {
      fail(schema.name, "expected mean and rstd of ", c, " channels each, or neither");
    }
    if (!training && !mean.defined()) fail(schema.name, "outside of training mean and rstd must be given");
    return norm_gradient_metas(schema.name, grad, input, weight);
  }
  static void run(const std::array<Tensor, 3>& out, const Tensor& grad, const Tensor& input,
                  const Tensor& weight, const Tensor& mean, const Tensor& rstd, bool training, double eps) {
    const NoGradGuard no_grad;
    const bool transposed = is_transposed(input);
    write_channel_major(out[0], transposed, [&](const Tensor& gx) {
      kernels(input).backward(gx, wanted_gradient(out[1], weight), wanted_gradient(out[2], weight),
                              channel_major(grad, transposed), channel_major(input, transposed), weight,
                              mean.defined() ? mean.contiguous() : mean,
                              rstd.defined() ? rstd.contiguous() : rstd,
                              channel_shape(input, eps, !training));
    });
  }
  static Gradients backward(const Saved& s, const Gradients& g, bool training, double eps) {
    const Dims& sizes = s.sizes(1);
    const std::int64_t plane = plane_size(sizes);
    const auto rows = [&](const Tensor& t) {
      return t.defined() ? reshape(wide(t), {sizes[0], sizes[1], plane}) : t;
    };
    const auto factors = [&](const Tensor& t) { return t.defined() ? reshape(wide(t), {sizes[1], 1}) : t; };
    const bool affine = s.input(2).defined();
    const NormOperands operands{rows(s.input(0)),
                                rows(s.input(1)),
                                factors(s.input(2)),
                                rows(g[0]),
                                factors(affine ? g[1] : Tensor()),
                                factors(affine ? g[2] : Tensor()),
                                Dims{0, 2}};
    const NormDerivative d =
        training ? differentiate_norm_backward(operands, eps, true)
                 : differentiate_frozen_backward(operands, factors(s.input(3)), factors(s.input(4)));
    Gradients grads(5, Tensor());
    if (d.g.defined()) grads[0] = reshape(d.g, sizes);
    if (d.x.defined()) grads[1] = reshape(d.x, sizes);
    if (d.w.defined()) grads[2] = sum(d.w, {0, 2});
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({3, 2, 2}), s.rand({3, 2, 2}), s.rand({2}), std::nullopt, std::nullopt, true, 1e-5);
    s(s.rand({4, 2}), s.rand({4, 2}), std::nullopt, std::nullopt, std::nullopt, true, 0.1);
    s(s.rand({3, 2, 2}), s.rand({3, 2, 2}), s.rand({2}), s.rand({2}), s.rand({2}, 0.5, 2), false, 0.1)
        .smooth = false;  // not a function of its statistics
    s(s.rand({0, 2, 2}), s.rand({0, 2, 2}), s.rand({2}), std::nullopt, std::nullopt, true, 1e-5);
  }
};
HALFTONE_REGISTER_OPERATOR(BatchNormBackward)

struct BatchNorm : Operator {
  static constexpr Schema schema{"batch_norm",
                                 {"input", "weight", "bias", "running_mean", "running_var", "training",
                                  "momentum", "eps", "cudnn_enabled"},
                                 "(x - mean) / sqrt(var + eps) * weight + bias per channel of (N, C, ...)"};
  static constexpr Tensor (*api)(const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&,
                                 bool, double, double, bool) = &halftone::batch_norm;
  static constexpr auto precision = amp::Precision::kFp32Inside;
  static constexpr bool mixed_inputs = true;
  // The statistics used are results, so that later updates of the running ones do not matter.
  static constexpr Keep saves = keep_input(0, {0, 1}) | keep_input(1) | keep_result(1) | keep_result(2);

  /// Result, mean and rstd; in training the biased variance too.
  static std::array<Meta, 4> infer(const Tensor& input, const Tensor& weight, const Tensor& bias,
                                   const Tensor& running_mean, const Tensor& running_var, bool training,
                                   double, double eps, bool) {
    check_channels(schema.name, input, weight, bias, eps);
    const auto check = [&](const char* name, const Tensor& t) {
      if (t.defined() && (!(t.sizes() == IntArrayRef({input.size(1)})) || !t.is_floating_point())) {
        fail(schema.name, "expected a floating ", name, " (", input.size(1), "), got ", t);
      }
    };
    check("running_mean", running_mean);
    check("running_var", running_var);
    if (running_mean.defined() != running_var.defined()) {
      fail(schema.name, "expected both running_mean and running_var, or neither");
    }
    if (!training && !running_mean.defined()) {
      fail(schema.name, "outside of training running_mean and running_var must be given");
    }
    if (training && input.numel() == input.size(1) && input.numel() != 0) {
      fail(schema.name, "training needs more than one value per channel, got ", input);
    }
    const Meta statistic = channel_statistic(input);
    return {like(input), statistic, statistic, training ? statistic : norm_statistic(input, {0})};
  }
  static void run(const std::array<Tensor, 4>& out, const Tensor& input, const Tensor& weight,
                  const Tensor& bias, const Tensor& running_mean, const Tensor& running_var, bool training,
                  double momentum, double eps, bool) {
    const NoGradGuard no_grad;
    if (!training) {
      copy_into(out[1], running_mean);
      copy_into(out[2], rsqrt(to_dtype(running_var, kDouble) + eps));
    }
    const bool transposed = is_transposed(input);
    write_channel_major(out[0], transposed, [&](const Tensor& y) {
      kernels(input).forward(y, out[1], out[2], training ? out[3] : Tensor(),
                             channel_major(input, transposed), weight, bias,
                             channel_shape(input, eps, !training));
    });
    if (!training || !running_mean.defined() || input.numel() == 0) return;
    const double n = static_cast<double>(input.numel()) / static_cast<double>(input.size(1));
    update_running(running_mean, reshape(out[1], {input.size(1)}), momentum);
    update_running(running_var, reshape(out[3], {input.size(1)}) * (n / (n - 1)), momentum);
  }
  static Gradients backward(const Saved& s, const Gradients& g, bool training, double, double eps, bool) {
    Gradients grads(5, Tensor());
    const Tensor weight = s.input(1);
    if (s.needs(0) || s.needs(1)) {
      const auto [gx, gw, gb] = batch_norm_backward(g[0], s.input(0), weight, s.result(1).detach(),
                                                    s.result(2).detach(), training, eps);
      grads[0] = gx;
      if (weight.defined()) {
        grads[1] = gw;
        grads[2] = gb;
      }
    }
    if (s.needs(2) && !grads[2].defined())
      grads[2] = sum(flatten(transpose(g[0], 0, 1), 1), 1, false, s.dtype(2));
    return grads;
  }
  static void samples(Samples& s) {
    s(s.rand({3, 2, 2}), s.rand({2}), s.rand({2}), s.rand({2}), s.rand({2}, 0.5, 2), true, 0.1, 1e-5, true);
    s(s.rand({4, 2}), std::nullopt, s.rand({2}), std::nullopt, std::nullopt, true, 0.3, 0.1, false);
    s(s.rand({2, 3, 2, 1}), s.rand({3}), std::nullopt, std::nullopt, std::nullopt, true, 0.1, 1e-5, true);
    s(s.rand({3, 2, 2}), s.rand({2}), s.rand({2}), s.rand({2}), s.rand({2}, 0.5, 2), false, 0.1, 1e-5, true)
        .smooth = false;  // the running statistics have no gradient
    s(s.rand({0, 2, 2}), s.rand({2}), s.rand({2}), s.rand({2}), s.rand({2}, 0.5, 2), true, 0.1, 1e-5, true);
  }
};
HALFTONE_REGISTER_OPERATOR(BatchNorm)

}  // namespace ops

Tensor batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps, bool cudnn_enabled) {
  return ops::dispatch<ops::BatchNorm>(input, weight, bias, running_mean, running_var, training, momentum,
                                       eps, cudnn_enabled)[0];
}

std::tuple<Tensor, Tensor, Tensor> batch_norm_backward(const Tensor& grad, const Tensor& input,
                                                       const Tensor& weight, const Tensor& mean,
                                                       const Tensor& rstd, bool training, double eps) {
  const auto out = ops::dispatch<ops::BatchNormBackward>(grad, input, weight, mean, rstd, training, eps);
  return {out[0], out[1], out[2]};
}

}  // namespace halftone

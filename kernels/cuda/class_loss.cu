// Classification losses: what is computed for rows by the other class_loss files, put together. The host
// never waits: labels are checked by the kernels, and what a mean divides by is a scalar on the device.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/class_loss.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/softmax_teams.h"

namespace halftone::cuda {

std::int64_t class_dim(const Tensor& x) { return x.dim() == 1 ? 0 : 1; }

ClassProblem class_problem(const Tensor& x, const Tensor& target, const Tensor& weight, const Tensor& result,
                           const Tensor& grad, const ClassLossOptions& options) {
  const std::int64_t dim = class_dim(x);
  const auto at = static_cast<std::size_t>(dim);
  ClassProblem p{};
  p.has_shares = target.is_floating_point();
  // A tensor with one element per row has the stride 0 along the classes, one number for all rows 0
  // everywhere.
  const auto of_rows = [&](const Tensor& t) {
    Dims strides = t.strides().dims();
    strides.insert(at, 0);
    return strides;
  };
  const Dims none(x.sizes().size(), 0);
  p.geometry = make_row_geometry<kClassOperands>(
      x.sizes(), dim,
      {x.strides().dims(), p.has_shares ? target.strides().dims() : of_rows(target),
       result.defined() ? result.strides().dims() : none,
       grad.defined() && options.reduction == Reduction::None ? of_rows(grad) : none});
  const auto dtype = [](const Tensor& t) { return t.defined() ? t.scalar_type() : kFloat; };
  p.scores = x.scalar_type();
  p.target = target.scalar_type();
  p.weight = dtype(weight);
  p.result = dtype(result);
  p.grad = dtype(grad);
  p.weight_stride = weight.defined() ? weight.stride(0) : 0;
  p.ignore_index = options.ignore_index;
  p.label_smoothing = options.label_smoothing;
  p.smoothing = options.label_smoothing / static_cast<double>(p.classes());
  const bool by_rows = options.reduction == Reduction::Mean && p.has_shares;
  p.divisor = by_rows ? static_cast<double>(p.rows()) : 1.0;
  return p;
}

namespace {

/// The operands of one call. Scratch memory lives as long as it.
struct Call {
  Call(const Tensor& x, const Tensor& target, const Tensor& weight, const Tensor& result, const Tensor& grad,
       const ClassLossOptions& options, bool in_double)
      : wide(in_double),
        problem(class_problem(x, target, weight, result, grad, options)),
        data{x.data_ptr(), target.data_ptr(), weight.defined() ? weight.data_ptr() : nullptr, nullptr},
        sink(fault_sink(options.op)) {
    if (weight.defined() && options.label_smoothing != 0 && !problem.has_shares) {
      total_weight = sum_class_weights(weight, wide);
      data.total_weight = total_weight.data_ptr<double>();
    }
  }

  bool wide;
  ClassProblem problem;
  ClassData data;
  FaultSink sink;
  Tensor total_weight;
};

void forward(const Tensor& out, const Tensor& x, const Tensor& target, const Tensor& weight,
             const ClassLossOptions& options) {
  const DeviceScope scope(out.device());
  const Call call(x, target, weight, {}, {}, options, any_double({&out, &x, &target, &weight}));
  const bool reduced = options.reduction != Reduction::None;
  const ScalarType dtype = call.wide ? kDouble : kFloat;
  const Tensor losses =
      reduced ? empty({call.problem.rows()}, TensorOptions(dtype).device(out.device())) : out;
  (options.log_probabilities ? nll_losses : class_losses)(losses, call.problem, call.data, call.sink,
                                                          call.wide);
  if (!reduced) return;
  reduce_class_losses(out, losses, call.problem, call.data, options.reduction == Reduction::Mean, call.wide);
}

void backward(const Tensor& out, const Tensor& grad, const Tensor& x, const Tensor& target,
              const Tensor& weight, const ClassLossOptions& options) {
  const DeviceScope scope(out.device());
  const Call call(x, target, weight, out, grad, options, any_double({&out, &grad, &x, &target, &weight}));
  if (call.problem.rows() == 0) return;
  Tensor divisor;
  if (options.reduction == Reduction::Mean && !call.problem.has_shares) {
    divisor = sum_label_weights(out, call.problem, call.data, call.wide);
  }
  const double* by = divisor.defined() ? divisor.data_ptr<double>() : nullptr;
  if (options.log_probabilities) {
    return nll_gradients(out, grad, target, by, call.problem, call.data, call.sink, call.wide);
  }
  class_gradients(out, grad, by, call.problem, call.data, call.sink, call.wide);
}

}  // namespace
}  // namespace halftone::cuda

namespace halftone {

template <>
const ClassLossKernels& cuda_kernels<ClassLossKernels>() {
  static const ClassLossKernels kernels{cuda::forward, cuda::backward, cuda::class_one_hot};
  return kernels;
}

}  // namespace halftone

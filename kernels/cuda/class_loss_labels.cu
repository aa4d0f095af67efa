// What depends on labels alone: nll_loss, its gradient, one-hot tensors.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/class_loss.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

template <class C>
__global__ void nll_kernel(void* losses, ScalarType losses_dtype, const void* x, const void* target,
                           const void* weight, ClassProblem p, FaultSink sink) {
  for (std::int64_t row = global_id(); row < p.rows(); row += global_size()) {
    const auto offsets = p.geometry.rows.offsets(row);
    const Label label =
        read_label(target, p.target, offsets.at[kTarget], p.classes(), p.ignore_index, sink, true);
    double loss = label.wrong ? std::numeric_limits<double>::quiet_NaN() : 0.0;
    if (label.counts) {
      const C score = read<C>(x, p.scores, offsets.at[kScores] + label.value * p.geometry.stride[kScores]);
      loss = -class_weight<C>(weight, p.weight, p.weight_stride, label.value) * static_cast<double>(score);
    }
    write(losses, losses_dtype, row, static_cast<C>(loss));
  }
}

/// Element i of the walk over the result belongs to class (i / inner) % classes.
struct ClassWalk {
  enum { kResult, kTarget, kGrad, kOperands };
  Geometry<kOperands> geometry;
  std::int64_t inner, classes, ignore_index;
  ScalarType result, target, grad, weight;
  std::int64_t weight_stride;

  HALFTONE_HD std::int64_t class_of(std::int64_t i) const { return i / inner % classes; }
};

template <class C>
__global__ void nll_backward_kernel(void* out, const void* grad, const double* divisor, const void* target,
                                    const void* weight, ClassWalk walk, FaultSink sink) {
  for (std::int64_t i = global_id(); i < walk.geometry.numel; i += global_size()) {
    const auto offsets = walk.geometry.offsets(i);
    const std::int64_t c = walk.class_of(i);
    const Label label = read_label(target, walk.target, offsets.at[ClassWalk::kTarget], walk.classes,
                                   walk.ignore_index, sink, c == 0);
    double value = 0;
    if (label.counts && c == label.value) {
      value = -static_cast<double>(read<C>(grad, walk.grad, offsets.at[ClassWalk::kGrad])) *
              class_weight<C>(weight, walk.weight, walk.weight_stride, c);
      if (divisor) value /= *divisor;
    }
    write(out, walk.result, offsets.at[ClassWalk::kResult], static_cast<C>(value));
  }
}

__global__ void one_hot_kernel(void* out, const void* target, ClassWalk walk, FaultSink sink) {
  for (std::int64_t i = global_id(); i < walk.geometry.numel; i += global_size()) {
    const auto offsets = walk.geometry.offsets(i);
    const std::int64_t c = walk.class_of(i);
    const Label label = read_label(target, walk.target, offsets.at[ClassWalk::kTarget], walk.classes,
                                   walk.ignore_index, sink, c == 0);
    write(out, walk.result, offsets.at[ClassWalk::kResult], std::int64_t{label.counts && c == label.value});
  }
}

// ---------------------------------------------------------------------------------------------------------------

/// `grad` has a row's stride per row where it has rows, else one element for all.
ClassWalk class_walk(const Tensor& out, const Tensor& target, const Tensor& grad, std::int64_t ignore_index) {
  const auto dim = static_cast<std::size_t>(class_dim(out));
  Dims target_strides = target.strides().dims(), grad_strides(out.sizes().size(), 0);
  target_strides.insert(dim, 0);
  if (grad.defined() && grad.dim() > 0) {
    grad_strides = grad.strides().dims();
    grad_strides.insert(dim, 0);
  }
  ClassWalk walk{};
  walk.inner = 1;
  for (std::size_t d = 0; d < out.sizes().size(); ++d) {
    walk.geometry.add(out.sizes()[d], {out.strides()[d], target_strides[d], grad_strides[d]});
    if (d > dim) walk.inner *= out.sizes()[d];
  }
  walk.classes = out.sizes()[dim];
  walk.ignore_index = ignore_index;
  walk.result = out.scalar_type();
  walk.target = target.scalar_type();
  walk.grad = grad.defined() ? grad.scalar_type() : kFloat;
  return walk;
}

template <class C>
void nll_losses_in(const Tensor& losses, const ClassProblem& p, const ClassData& data, FaultSink sink) {
  launch<nll_kernel<C>>(blocks_for(p.rows()), kThreads, 0, losses.data_ptr(), losses.scalar_type(),
                        data.scores, data.target, data.weight, p, sink);
}

template <class C>
void nll_gradients_in(const Tensor& out, const Tensor& grad, const double* divisor, const ClassData& data,
                      const ClassWalk& walk, FaultSink sink) {
  launch<nll_backward_kernel<C>>(blocks_for(walk.geometry.numel), kThreads, 0, out.data_ptr(),
                                 grad.data_ptr(), divisor, data.target, data.weight, walk, sink);
}

}  // namespace

void nll_losses(const Tensor& losses, const ClassProblem& problem, const ClassData& data, FaultSink sink,
                bool wide) {
  (wide ? nll_losses_in<double> : nll_losses_in<float>)(losses, problem, data, sink);
}

void nll_gradients(const Tensor& out, const Tensor& grad, const Tensor& target, const double* divisor,
                   const ClassProblem& problem, const ClassData& data, FaultSink sink, bool wide) {
  ClassWalk walk = class_walk(out, target, grad, problem.ignore_index);
  walk.weight = problem.weight;
  walk.weight_stride = problem.weight_stride;
  (wide ? nll_gradients_in<double> : nll_gradients_in<float>)(out, grad, divisor, data, walk, sink);
}

void class_one_hot(const Tensor& out, const Tensor& target, const ClassLossOptions& options) {
  const DeviceScope scope(out.device());
  const ClassWalk walk = class_walk(out, target, {}, options.ignore_index);
  launch<one_hot_kernel>(blocks_for(walk.geometry.numel), kThreads, 0, out.data_ptr(), target.data_ptr(),
                         walk, fault_sink(options.op));
}

}  // namespace halftone::cuda

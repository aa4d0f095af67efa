#include "halftone/ops/class_loss.h"

#include "halftone/ops/check_defined.h"

namespace halftone::ops {
namespace {

Dims without(IntArrayRef sizes, std::int64_t dim) {
  Dims kept = sizes.dims();
  kept.erase(static_cast<std::size_t>(dim));
  return kept;
}

void check_reduction(const ClassLossOptions& options) {
  if (options.reduction != Reduction::None && options.reduction != Reduction::Mean &&
      options.reduction != Reduction::Sum) {
    fail(options.op, "expected the reduction None, Mean or Sum, got ", static_cast<int>(options.reduction));
  }
}

}  // namespace

std::int64_t class_dim(std::int64_t rank) { return rank == 1 ? 0 : 1; }

Meta class_loss_meta(const Tensor& x, const Tensor& target, const Tensor& weight,
                     const ClassLossOptions& options) {
  const char* const op = options.op;
  check_reduction(options);
  check_defined(op, "self", x);
  check_defined(op, "target", target);
  if (x.dim() == 0 || !x.is_floating_point()) {
    fail(op, "expected floating scores (N, C, ...) or (C), got ", x);
  }
  const std::int64_t dim = class_dim(x.dim()), classes = x.size(dim);
  if (classes == 0) fail(op, "expected at least one class, got scores ", x);
  const Dims rows = without(x.sizes(), dim);
  if (target.is_floating_point() && !options.log_probabilities) {
    if (!(target.sizes() == x.sizes())) {
      fail(op, "expected a target of probabilities shaped like the scores ", x, ", got ", target);
    }
    if (options.ignore_index >= 0) fail(op, "ignore_index has no meaning for a target of probabilities");
  } else {
    if (target.is_floating_point() || target.scalar_type() == kBool) {
      fail(op, "expected a target of integer class indices, got ", target);
    }
    if (!(target.sizes() == IntArrayRef(rows))) {
      fail(op, "expected a target with shape ", rows, " for scores ", x, ", got ", target);
    }
  }
  if (weight.defined() && (!weight.is_floating_point() || !(weight.sizes() == IntArrayRef({classes})))) {
    fail(op, "expected a floating weight for each of the ", classes, " classes, got ", weight);
  }
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1)) {
    fail(op, "expected label_smoothing in [0, 1], got ", options.label_smoothing);
  }
  for (const Tensor* other : {&target, &weight}) {
    if (other->defined() && other->device() != x.device()) {
      fail(op, "expected all tensors on one device, got ", x.device(), " and ", other->device());
    }
  }
  return options.reduction == Reduction::None ? like(x, rows) : like(x, {});
}

Meta class_loss_backward_meta(const Tensor& grad, const Tensor& x, const Tensor& target, const Tensor& weight,
                              const ClassLossOptions& options) {
  const Meta loss = class_loss_meta(x, target, weight, options);
  if (!(grad.sizes().dims() == loss.sizes)) {
    fail(options.op, "expected a gradient with the loss's shape ", loss.sizes, ", got ", grad);
  }
  return like(x);
}

ClassLossParts::ClassLossParts(const Tensor& x, const Tensor& target, const Tensor& weight,
                               const ClassLossOptions& options)
    : options_(options),
      dim_(class_dim(x.dim())),
      rank_(x.dim()),
      rows_(count_elements(without(x.sizes(), dim_))) {
  const ScalarType dtype = accumulate_type(x.scalar_type());
  const double smoothing = options.label_smoothing / static_cast<double>(x.size(dim_));
  if (target.is_floating_point()) {
    share_ = to_dtype(target, dtype) * (1 - options.label_smoothing) + smoothing;
  } else {
    hot_ = allocate(like(x, x.sizes(), dtype));
    kernels_for<ClassLossKernels>(x.device()).one_hot(hot_, target, options);
    share_ = smoothing == 0 ? hot_ : hot_ * (1 - options.label_smoothing) + sum_classes(hot_) * smoothing;
  }
  q_ = share_;
  if (weight.defined()) {
    Dims sizes(static_cast<std::size_t>(rank_), 1);
    sizes[static_cast<std::size_t>(dim_)] = weight.size(0);
    weight_ = reshape(to_dtype(weight, dtype), sizes);
    q_ = share_ * weight_;
  }
  if (divides_by_weights()) divisor_ = weight_.defined() ? sum(hot_ * weight_) : sum(hot_);
}

Tensor ClassLossParts::row_grad(const Tensor& grad) const {
  if (options_.reduction == Reduction::None) return unsqueeze(wide(grad), dim_);
  if (options_.reduction == Reduction::Sum) return wide(grad);
  return divisor_.defined() ? wide(grad) / divisor_ : wide(grad) / static_cast<double>(rows_);
}

Tensor ClassLossParts::grad_of_grad(const Tensor& rows) const {
  if (options_.reduction == Reduction::None) return squeeze(rows, dim_);
  if (options_.reduction == Reduction::Sum) return sum(rows);
  return divisor_.defined() ? sum(rows) / divisor_ : sum(rows) / static_cast<double>(rows_);
}

Tensor ClassLossParts::sum_rows(const Tensor& values) const {
  Dims sizes(static_cast<std::size_t>(rank_), 1);
  sizes[static_cast<std::size_t>(dim_)] = values.size(dim_);
  return reshape(sum_to_size(values, sizes), {values.size(dim_)});
}

Tensor ClassLossParts::target_grad(const Tensor& dq) const {
  const Tensor share = dq * (1 - options_.label_smoothing);
  return weight_.defined() ? share * weight_ : share;
}

Tensor ClassLossParts::weight_grad(const Tensor& dq, const Tensor& rows, const Tensor& grad) const {
  const Tensor direct = sum_rows(dq * share_);
  if (!divides_by_weights()) return direct;
  return direct - sum_rows(hot_) * (wide(grad) * sum(rows) / (divisor_ * divisor_));
}

}  // namespace halftone::ops

#include "halftone/autograd/node.h"

namespace halftone::autograd {
namespace {

/// True when nobody else can see this tensor, so that its memory may become the gradient itself.
bool is_exclusive(const Tensor& tensor) {
  return tensor.impl_ptr()->use_count() == 1 && tensor.storage().use_count() == 1 && tensor.is_contiguous();
}

/// Gradients of one scaled loss must not be added to others: their sum could not be unscaled.
void check_stamp(const TensorMeta& meta, const std::optional<GradientStamp>& arriving) {
  const bool same = meta.stamp.has_value() == arriving.has_value() &&
                    (!arriving || (meta.stamp->scaler == arriving->scaler && meta.stamp->scale == arriving->scale));
  if (same) return;
  const std::string who = meta.name.empty() ? std::string("a parameter") : "parameter '" + meta.name + "'";
  if (meta.stamp && arriving && meta.stamp->scaler != arriving->scaler) {
    fail("backward", who, " holds a gradient scaled by another scaler; use one scaler per optimizer");
  }
  if (meta.stamp && arriving) {
    fail("backward", who, " holds a gradient scaled by ", meta.stamp->scale, ", this loss was scaled by ",
         arriving->scale, "; call zero_grad() after update(), or accumulate before update()");
  }
  fail("backward", who, meta.stamp ? " holds a scaled gradient and this loss is not scaled"
                                   : " holds a true gradient and this loss is scaled",
       "; scale every loss that accumulates into it with scale(loss), or call zero_grad() between");
}

}  // namespace

Gradients TensorMeta::apply(Gradients output_gradients) {
  Tensor arriving = std::move(output_gradients[0]);
  if (!arriving.defined()) return {};
  const ScalarType dtype = grad_dtype.value_or(leaf.dtype);
  const std::optional<GradientStamp>* current = current_stamp();
  const std::optional<GradientStamp> arriving_stamp = current ? *current : std::nullopt;
  const bool differentiable = GradMode::is_enabled() && wants_grad(arriving);

  if (!grad.defined()) {
    arriving = arriving.to(dtype);
    const MemoryCategoryGuard category(MemoryCategory::kGradient);
    grad = differentiable || is_exclusive(arriving) ? std::move(arriving) : arriving.detach().clone();
    grad.storage().set_category(MemoryCategory::kGradient);
  } else {
    check_stamp(*this, arriving_stamp);
    if (differentiable) {
      grad = grad + arriving;
    } else {
      NoGradGuard no_grad;
      grad.add_(arriving);
    }
  }
  stamp = arriving_stamp;
  for (const auto& hook : post_accumulate_hooks) hook();
  return {};
}

}  // namespace halftone::autograd

#include "halftone/autograd/node.h"

#include <array>
#include <mutex>

namespace halftone::autograd {
namespace {

/// True when nobody else can see this tensor, so that its memory may become the gradient itself.
bool is_exclusive(const Tensor& tensor) {
  return tensor.impl_ptr()->use_count() == 1 && tensor.storage().use_count() == 1 && tensor.is_contiguous();
}

/// Backward passes on several threads may reach one leaf at the same time. Leaves share a few locks rather
/// than carry one each.
std::mutex& lock_of(const TensorMeta& meta) {
  static std::array<std::mutex, 64> locks;
  return locks[reinterpret_cast<std::uintptr_t>(&meta) / 64 % locks.size()];
}

/// Waits for the device unless the zeros are those of clear_gradient, or the gradient is on the CPU.
bool is_all_zero(const TensorMeta& meta) {
  if (meta.grad.unsafe_impl()->is_zeroed_gradient && meta.zero_version == meta.grad._version()) return true;
  NoGradGuard no_grad;
  return count_nonzero(meta.grad).item<std::int64_t>() == 0;
}

void rescale(TensorMeta& meta, const GradientStamp& held, const GradientStamp& arriving) {
  const auto multiply = [&](const auto& ratio) {
    if (GradMode::is_enabled()) {
      meta.grad = meta.grad * ratio;
    } else {
      meta.grad.mul_(ratio);
    }
  };
  if (!held.device_scale.defined() && !arriving.device_scale.defined()) {
    return multiply(arriving.scale / held.scale);
  }
  NoGradGuard no_grad;
  const auto on_device = [&](const GradientStamp& stamp) {
    return stamp.device_scale.defined() ? stamp.device_scale.to(kDouble)
                                        : full({}, stamp.scale, meta.grad.options().dtype(kDouble));
  };
  multiply(on_device(arriving) / on_device(held));
}

/// Brings the gradient that is there to the units of the one that arrives. Gradients of a scaled loss cannot
/// be added to others: their sum could not be unscaled. Those of the same scaler at another scale are
/// rescaled.
void match_units(TensorMeta& meta, const std::optional<GradientStamp>& arriving) {
  const GradientStamp* held = gradient_stamp(meta);
  if (!held && !arriving) return;
  if (held && arriving && held->scaler == arriving->scaler) {
    if (!held->has_scale_of(*arriving)) rescale(meta, *held, *arriving);
    return;
  }
  if (is_all_zero(meta)) return;  // zero in any units
  const std::string who = meta.name.empty() ? concat("a parameter ", meta.leaf.dtype, meta.leaf.sizes)
                                            : "parameter '" + meta.name + "'";
  if (held && arriving) {
    fail("backward", who, " holds a gradient scaled by another scaler; use one scaler per optimizer");
  }
  fail("backward", who,
       held ? " holds a scaled gradient and this loss is not scaled"
            : " holds a true gradient and this loss is scaled",
       "; scale every loss that accumulates into it with scale(loss), or call zero_grad() between");
}

}  // namespace

double GradientStamp::read_scale() const {
  return device_scale.defined() ? device_scale.item<double>() : scale;
}

bool GradientStamp::has_scale_of(const GradientStamp& other) const {
  if (device_scale.defined() || other.device_scale.defined()) {
    return device_scale.unsafe_impl() == other.device_scale.unsafe_impl();
  }
  return scale == other.scale;
}

const GradientStamp* gradient_stamp(const TensorMeta& meta) {
  const bool is_scaled = meta.stamp && meta.grad.defined() && meta.grad.unsafe_impl()->is_scaled_gradient;
  return is_scaled ? &*meta.stamp : nullptr;
}

void clear_stamp(TensorMeta& meta) {
  meta.stamp.reset();
  if (!meta.grad.defined()) return;
  meta.grad.unsafe_impl()->is_scaled_gradient = false;
  meta.grad.unsafe_impl()->is_true_gradient = false;
}

void clear_gradient(const Tensor& leaf, bool set_to_none) {
  TensorMeta* meta = find_meta(leaf);
  if (!meta || !meta->grad.defined()) return;
  clear_stamp(*meta);
  if (set_to_none) {
    meta->grad.reset();
  } else {
    NoGradGuard no_grad;
    meta->grad = meta->grad.detach();
    meta->grad.zero_();
    meta->grad.unsafe_impl()->is_zeroed_gradient = true;
    meta->zero_version = meta->grad._version();
  }
}

Gradients TensorMeta::apply(Gradients output_gradients) {
  Tensor arriving = std::move(output_gradients[0]);
  if (!arriving.defined()) return {};
  const ScalarType dtype = grad_dtype.value_or(leaf.dtype);
  const std::optional<GradientStamp>* current = current_stamp();
  const std::optional<GradientStamp> arriving_stamp = current ? *current : std::nullopt;
  const bool differentiable = GradMode::is_enabled() && wants_grad(arriving);

  std::unique_lock lock(lock_of(*this));
  if (!grad.defined()) {
    arriving = arriving.to(dtype);
    const MemoryCategoryGuard category(MemoryCategory::kGradient);
    grad = differentiable || is_exclusive(arriving) ? std::move(arriving) : arriving.detach().clone();
    grad.storage().set_category(MemoryCategory::kGradient);
  } else {
    match_units(*this, arriving_stamp);
    if (differentiable) {
      grad = grad + arriving;
    } else {
      NoGradGuard no_grad;
      grad.add_(arriving);
    }
  }
  stamp = arriving_stamp;
  grad.unsafe_impl()->is_scaled_gradient = stamp.has_value();
  grad.unsafe_impl()->is_true_gradient = !stamp.has_value();
  lock.unlock();
  for (const auto& hook : post_accumulate_hooks) hook();
  return {};
}

}  // namespace halftone::autograd

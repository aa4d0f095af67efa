#include "halftone/ops/autocast.h"

#include <vector>

#include "halftone/autograd/node.h"
#include "halftone/ops/observer.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/to_dtype.h"

namespace halftone::ops {
namespace {

bool is_castable(const Tensor& tensor) {
  return tensor.defined() && tensor.is_floating_point() && tensor.scalar_type() != kDouble;
}

/// Whether WideResults makes operators of this policy give fp32.
bool rounds(amp::Precision policy) {
  return policy == amp::Precision::kFp32 || policy == amp::Precision::kFp32Inside ||
         policy == amp::Precision::kPromote;
}

struct CommonDtype {
  std::optional<ScalarType> widest;
  bool differ = false;
};

CommonDtype common_dtype(const TensorRefs& inputs) {
  CommonDtype common;
  for (const Tensor* input : inputs) {
    if (!is_castable(*input)) continue;
    common.differ = common.differ || (common.widest && *common.widest != input->scalar_type());
    common.widest = promote_types(common.widest.value_or(input->scalar_type()), input->scalar_type());
  }
  return common;
}

// Cast weights of this thread's outermost region. The meta is held so that its address stays taken.
struct CastEntry {
  IntrusivePtr<RefCounted> leaf;
  const Storage* source;
  std::uint32_t version;
  ScalarType dtype;
  Tensor cast;
};
thread_local std::vector<CastEntry> cast_cache;

// Weights are what is cast again and again: fp32 leaves that want a gradient.
bool is_cacheable(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.unsafe_impl();
  return impl.requires_grad && !impl.grad_fn && !impl.view_base;
}

/// Counts as a copy of the parameter, not as an activation.
Tensor cast_weight(const Tensor& tensor, ScalarType dtype) {
  Tensor cast = to_dtype(tensor, dtype);
  cast.storage().set_category(MemoryCategory::kParameter);
  return cast;
}

Tensor cached_value(const Tensor& tensor, ScalarType dtype, Cast::Source& source) {
  autograd::TensorMeta& meta = autograd::meta_of(tensor);
  const std::uint32_t version = tensor._version();
  if (meta.shadow.defined() && meta.shadow.scalar_type() == dtype && meta.shadow_version == version &&
      meta.shadow.sizes() == tensor.sizes()) {
    source = Cast::Source::kShadow;
    return meta.shadow;
  }
  for (CastEntry& entry : cast_cache) {
    if (entry.leaf.get() != &meta || entry.dtype != dtype) continue;
    if (entry.version != version || entry.source != &tensor.storage()) {
      entry.cast = cast_weight(tensor, dtype);
      entry.version = version;
      entry.source = &tensor.storage();
    } else {
      source = Cast::Source::kCached;
    }
    return entry.cast;
  }
  cast_cache.push_back(
      {tensor.unsafe_impl()->meta, &tensor.storage(), version, dtype, cast_weight(tensor, dtype)});
  return cast_cache.back().cast;
}

}  // namespace

CastPlan plan_casts(const char* op, amp::Precision declared, bool mixed_inputs, const char* instead_of_banned,
                    const TensorRefs& inputs) {
  CastPlan plan;
  // The region in force is that of the device the tensors live on.
  const Tensor* first = nullptr;
  for (const Tensor* input : inputs) {
    if (!input->defined() || !input->is_floating_point()) continue;
    if (!first || first->unsafe_impl()->is_wrapped_number) first = input;
  }
  if (!first) return plan;
  const bool wide = amp::detail::thread_state.wide_results;
  if (!amp::is_autocast_enabled(first->device().type())) {
    if (wide && rounds(declared)) plan.output = kFloat;
    return plan;
  }
  const ScalarType low = amp::get_autocast_dtype(first->device().type());

  const amp::Precision policy = amp::effective_policy(op, declared);
  switch (wide && rounds(policy) ? amp::Precision::kFp32 : policy) {
    case amp::Precision::kLow: {
      for (const Tensor* input : inputs) {
        if (is_castable(*input) && input->scalar_type() != low) plan.cast_to = low;
      }
      break;
    }
    case amp::Precision::kFp32: {
      plan.output = kFloat;
      if (!mixed_inputs && common_dtype(inputs).differ) plan.cast_to = kFloat;
      break;
    }
    case amp::Precision::kPromote: {
      const CommonDtype common = common_dtype(inputs);
      if (!mixed_inputs && common.differ) plan.cast_to = common.widest;
      break;
    }
    case amp::Precision::kBanned: {
      for (const Tensor* input : inputs) {
        if (input->defined() && is_low_precision(input->scalar_type())) {
          fail(op, "is unsafe on ", input->scalar_type(), " inputs inside an autocast region",
               instead_of_banned);
        }
      }
      break;
    }
    case amp::Precision::kAny:
    case amp::Precision::kFp32Inside:
      break;
  }
  return plan;
}

Tensor autocast_cast(const Tensor& tensor, ScalarType dtype) {
  if (!is_castable(tensor) || tensor.scalar_type() == dtype) return tensor;
  Cast::Source source = Cast::Source::kFresh;
  Tensor cast;
  if (is_cacheable(tensor)) {
    Tensor value;
    {
      NoGradGuard no_grad;
      value = cached_value(tensor, dtype, source);
    }
    cast = record_cast(tensor, value);
  } else {
    cast = to_dtype(tensor, dtype);
  }
  if (Observer* watching = observer()) watching->on_cast({tensor, cast, source});
  return cast;
}

CastCacheStats cast_cache_stats() {
  CastCacheStats stats;
  for (const CastEntry& entry : cast_cache) {
    ++stats.entries;
    stats.bytes += entry.cast.nbytes();
  }
  return stats;
}

void clear_cast_cache() { cast_cache.clear(); }

AutocastSettings AutocastSettings::current() {
  return {amp::detail::thread_state.enabled, amp::detail::thread_state.dtype};
}

AutocastSettings AutocastSettings::off() { return {{}, amp::detail::thread_state.dtype}; }

void enter_autocast_scope() { ++amp::detail::thread_state.depth; }

void leave_autocast_scope() {
  if (--amp::detail::thread_state.depth == 0) clear_cast_cache();
}

AutocastScope::AutocastScope(const AutocastSettings& settings) : previous_(AutocastSettings::current()) {
  enter_autocast_scope();
  amp::detail::thread_state.enabled = settings.enabled;
  amp::detail::thread_state.dtype = settings.dtype;
}

AutocastScope::~AutocastScope() {
  amp::detail::thread_state.enabled = previous_.enabled;
  amp::detail::thread_state.dtype = previous_.dtype;
  leave_autocast_scope();
}

}  // namespace halftone::ops

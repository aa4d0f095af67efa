#pragma once

#include <optional>

#include "halftone/amp/policy.h"
#include "halftone/engine/inline_vector.h"
#include "halftone/engine/tensor.h"

namespace halftone::ops {

using TensorRefs = InlineVector<const Tensor*, 6>;

/// What autocast does to one call: cast the floating inputs to `cast_to`, give half results as `output`.
struct CastPlan {
  std::optional<ScalarType> cast_to;
  std::optional<ScalarType> output;
};

/// Applies the operator's policy to these inputs. `mixed_inputs`: the kernel reads operands of different
/// dtypes, so promotion needs no casts. Throws Error for a banned operator on half inputs, naming the
/// alternative.
CastPlan plan_casts(const char* op, amp::Precision declared, bool mixed_inputs, const char* instead_of_banned,
                    const TensorRefs& inputs);

/// `tensor` in `dtype` if it is a floating tensor other than fp64, else itself. The cast is recorded; a leaf
/// weight's cast storage is shared by all its uses in the region, and a parameter's half shadow is used
/// without any cast.
Tensor autocast_cast(const Tensor& tensor, ScalarType dtype);

/// Which devices have autocast on, and in which dtype.
struct AutocastSettings {
  decltype(amp::detail::ThreadState::enabled) enabled{};
  decltype(amp::detail::ThreadState::dtype) dtype{};

  /// This thread's, now.
  static AutocastSettings current();
  /// The same dtypes with autocast off everywhere.
  static AutocastSettings off();
};

/// Every change of this thread's autocast state stands between these two; the cast cache ends with the
/// outermost.
void enter_autocast_scope();
void leave_autocast_scope();

/// Puts settings in force while alive: those of a forward while its backward runs, or none.
class AutocastScope {
 public:
  explicit AutocastScope(const AutocastSettings& settings);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  AutocastSettings previous_;
};

/// Casts held by this thread's region: entries and bytes; empty outside every region.
struct CastCacheStats {
  std::size_t entries = 0;
  std::size_t bytes = 0;
};
CastCacheStats cast_cache_stats();
void clear_cast_cache();

}  // namespace halftone::ops

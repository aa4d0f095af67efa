// Sums, means and maxima of bags of rows of a table, and the bound on their norms: composed.

#include <limits>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/nn_functions.h"
#include "halftone/ops/check_defined.h"
#include "halftone/ops/wide.h"

namespace halftone {
namespace {

enum Mode : std::int64_t { kSumMode = 0, kMeanMode = 1, kMaxMode = 2 };

/// Where each position's bag is, and how many positions each bag has; int64.
struct Bags {
  Tensor of, sizes;
  std::int64_t count;
};

Bags bags_of(const char* op, const Tensor& indices, const Tensor& offsets, bool include_last_offset) {
  ops::check_defined(op, "offsets", offsets);
  if (offsets.dim() != 1 || offsets.is_floating_point() || offsets.scalar_type() == kBool) {
    fail(op, "expected integer offsets (bags), got ", offsets);
  }
  const std::int64_t n = indices.numel(), listed = offsets.numel();
  if (include_last_offset && listed == 0) fail(op, "include_last_offset needs at least one offset");
  const std::int64_t count = include_last_offset ? listed - 1 : listed;
  const Tensor at = offsets.to(kCPU, kLong).contiguous();
  const auto* offset = at.data_ptr<std::int64_t>();
  const TensorOptions integers = TensorOptions(kLong).device(kCPU);
  const Tensor of = empty({n}, integers), sizes = empty({count}, integers);
  if (count > 0 && offset[0] != 0) fail(op, "the first of offsets must be 0, got ", offset[0]);
  if (count == 0 && n > 0) fail(op, "there are ", n, " indices and no bags");
  for (std::int64_t bag = 0; bag < count; ++bag) {
    const std::int64_t begin = offset[bag], end = bag + 1 < listed ? offset[bag + 1] : n;
    if (begin > end || end > n)
      fail(op, "offsets must rise from 0 to at most ", n, ", got ", begin, " before ", end);
    sizes.data_ptr<std::int64_t>()[bag] = end - begin;
    for (std::int64_t i = begin; i < end; ++i) of.data_ptr<std::int64_t>()[i] = bag;
  }
  if (include_last_offset && offset[count] != n) {
    fail(op, "the last of offsets must be the number of indices ", n, ", got ", offset[count]);
  }
  return {of.to(indices.device()), sizes.to(indices.device()), count};
}

}  // namespace

Tensor& embedding_renorm_(Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  const char* const op = "embedding_renorm_";
  ops::check_defined(op, "self", self);
  if (self.dim() != 2) fail(op, "expected a table (rows, features), got ", self);
  if (!(max_norm >= 0)) fail(op, "expected max_norm >= 0, got ", max_norm);
  if (indices.numel() == 0) return self;
  const NoGradGuard no_grad;
  const Tensor places = flatten(indices).to(kLong);
  const ops::WideResults wide;
  const Tensor rows = index_select(self, 0, places);
  const Tensor length = norm(rows, Scalar(norm_type), 1, true);
  // A row that is named twice is written twice with the same values.
  const Tensor bounded = where(length > max_norm, rows * (max_norm / (length + 1e-7)), rows);
  return index_put_(self, {places}, to_dtype(bounded, self.scalar_type()));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> embedding_bag(const Tensor& weight, const Tensor& indices,
                                                         const Tensor& offsets, bool scale_grad_by_freq,
                                                         std::int64_t mode, bool sparse,
                                                         const Tensor& per_sample_weights,
                                                         bool include_last_offset, std::int64_t padding_idx) {
  const char* const op = "embedding_bag";
  ops::check_defined(op, "weight", weight);
  ops::check_defined(op, "indices", indices);
  if (sparse) fail(op, "sparse gradients are not supported: pass sparse = false");
  if (mode < kSumMode || mode > kMaxMode) fail(op, "mode must be 0 (sum), 1 (mean) or 2 (max), got ", mode);
  if (weight.dim() != 2) fail(op, "expected a table (rows, features), got ", weight);
  if (indices.dim() != 1) fail(op, "expected indices of one dimension, got ", indices);
  if (per_sample_weights.defined() && mode != kSumMode) fail(op, "per_sample_weights need the mode sum");
  if (per_sample_weights.defined() && !(per_sample_weights.sizes() == indices.sizes())) {
    fail(op, "expected per_sample_weights shaped like the indices ", indices, ", got ", per_sample_weights);
  }
  if (scale_grad_by_freq && mode == kMaxMode) fail(op, "scale_grad_by_freq does not go with the mode max");
  if (padding_idx < -1) padding_idx += weight.size(0);

  const Bags bags = bags_of(op, indices, offsets, include_last_offset);
  const std::int64_t features = weight.size(1);
  const ops::WideResults wide(is_low_precision(weight.scalar_type()));
  const Tensor rows = embedding(weight, indices, padding_idx, scale_grad_by_freq);
  const Tensor empty_bags =
      zeros({bags.count, features}, rows.options().dtype(accumulate_type(rows.scalar_type())));
  const Tensor counts_here = padding_idx >= 0 ? ne(indices, padding_idx) : Tensor();
  Tensor result, sizes = bags.sizes, places;
  if (counts_here.defined()) {
    sizes = index_add(zeros({bags.count}, bags.of.options()), 0, bags.of, to_dtype(counts_here, kLong));
  }
  if (mode == kMaxMode) {
    // The bags side by side, filled up with places of their own: bag, position in it, feature.
    const std::int64_t n = indices.numel();
    const std::int64_t longest = n == 0 || bags.count == 0 ? 0 : max(bags.sizes).item<std::int64_t>();
    places = full({bags.count, features}, -1, bags.of.options());
    result = empty_bags;
    if (longest > 0) {
      const Tensor starts = cumsum(bags.sizes, 0) - bags.sizes;
      const Tensor step = arange(longest, bags.of.options());
      const Tensor position = clamp(unsqueeze(starts, 1) + step, Scalar(0), Scalar(n - 1));
      Tensor inside = lt(step, unsqueeze(bags.sizes, 1));
      if (counts_here.defined())
        inside = logical_and(inside, index_select(counts_here, 0, flatten(position)).view(position.sizes()));
      const Tensor read = unflatten(index_select(rows, 0, flatten(position)), 0, {bags.count, longest});
      const Tensor masked =
          masked_fill(read, unsqueeze(logical_not(inside), 2), -std::numeric_limits<double>::infinity());
      const auto [values, at] = max(masked, 1);
      const Tensor none = unsqueeze(eq(sizes, 0), 1);
      result = masked_fill(values, none, 0);
      const NoGradGuard no_grad;
      places = masked_fill(
          gather(index_select(indices.to(kLong), 0, flatten(position)).view(position.sizes()), 1, at), none,
          -1);
    }
  } else {
    Tensor counted = rows;
    if (per_sample_weights.defined()) {
      counted = counted * unsqueeze(per_sample_weights, 1);
    }
    if (counts_here.defined()) counted = masked_fill(counted, unsqueeze(logical_not(counts_here), 1), 0);
    result = index_add(empty_bags, 0, bags.of, ops::wide(counted));
    if (mode == kMeanMode)
      result = result / unsqueeze(clamp_min(to_dtype(sizes, result.scalar_type()), 1), 1);
  }
  if (!places.defined()) places = empty({0}, bags.of.options());
  return {to_dtype(result, weight.scalar_type()), bags.of, sizes, places};
}

}  // namespace halftone

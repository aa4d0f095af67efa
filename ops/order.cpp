// What sorting gives: medians, quantiles, modes, distinct values. Values are gathered where the sorted order
// says, so gradients go back to the elements chosen.

#include <limits>

#include "halftone/autograd/grad_mode.h"
#include "halftone/engine/tensor.h"

namespace halftone {
namespace {

/// Where the elements along `dim` of a tensor with dimensions stand in ascending order.
Tensor order_of(const Tensor& self, std::int64_t dim) {
  const NoGradGuard no_grad;
  return argsort(self.detach(), dim);
}

void check_not_empty(const char* op, const Tensor& self, std::int64_t dim) {
  wrap_dim(op, dim, self.dim());
  if (self.dim() > 0 && self.size(dim) == 0) fail(op, "dimension ", dim, " of ", self, " is empty");
}

/// Elements of self at `place` (one per line along `dim`), and their places.
std::tuple<Tensor, Tensor> chosen(const Tensor& self, std::int64_t dim, const Tensor& place, bool keepdim) {
  const Tensor values = gather(self, dim, place);
  return keepdim ? std::tuple{values, place} : std::tuple{squeeze(values, dim), squeeze(place, dim)};
}

/// A 0-d tensor is a line of one element.
template <class F>
std::tuple<Tensor, Tensor> with_a_dim(const Tensor& self, F f) {
  if (self.dim() > 0) return f(self);
  const auto [values, indices] = f(reshape(self, {1}));
  return {reshape(values, {}), reshape(indices, {})};
}

std::tuple<Tensor, Tensor> median_along(const char* op, const Tensor& self, std::int64_t dim, bool keepdim,
                                        bool skip_nan) {
  check_not_empty(op, self, dim);
  return with_a_dim(self, [&](const Tensor& x) {
    const Tensor order = order_of(x, dim);
    const std::int64_t n = x.size(dim);
    if (!x.is_floating_point()) return chosen(x, dim, narrow(order, dim, (n - 1) / 2, 1), keepdim);
    // All of this is integers: nothing is recorded.
    const Tensor numbers = sum(logical_not(isnan(x)), dim, true);  // NaN are sorted behind them
    // The middle of the numbers, or the first NaN.
    Tensor middle = clamp_min(floor_divide(numbers - 1, 2), 0);
    if (!skip_nan) middle = where(eq(numbers, n), middle, numbers);
    return chosen(x, dim, gather(order, dim, middle), keepdim);
  });
}

/// Runs of equal neighbours.
struct Runs {
  Tensor begins;   // bool: differs from the element before
  Tensor numbers;  // int64: the run each element lies in, counted from 0

  explicit Runs(const Tensor& differs_from_last)
      : begins(cat({ones({1}, differs_from_last.options()), differs_from_last}, 0)),
        numbers(cumsum(begins, 0) - 1) {}
  Tensor places() const { return select(nonzero(begins), 1, 0); }
  /// How long each run is.
  Tensor lengths() const {
    const Tensor starts = places();
    const Tensor end = full({1}, begins.numel(), starts.options());
    return diff(cat({starts, end}, 0));
  }
};

using Distinct = std::tuple<Tensor, Tensor, Tensor>;

Tensor no_indices(const Tensor& self) { return empty({0}, TensorOptions(kLong).device(self.device())); }

/// Distinct slices along dimension 0 of `rows`; `order` is where they were before sorting, undefined if they
/// were not sorted.
Distinct distinct(const Tensor& rows, const Tensor& order, const Dims& inverse_sizes, bool return_inverse,
                  bool return_counts) {
  const std::int64_t n = rows.size(0);
  if (n == 0) {
    return {rows, return_inverse ? empty(inverse_sizes, no_indices(rows).options()) : no_indices(rows),
            no_indices(rows)};
  }
  Tensor changed = ne(narrow(rows, 0, 1, n - 1), narrow(rows, 0, 0, n - 1));
  if (changed.dim() > 1) changed = any(reshape(changed, {n - 1, -1}), 1);
  const Runs runs(changed);
  Tensor inverse = no_indices(rows);
  if (return_inverse) {
    inverse = order.defined() ? scatter(zeros_like(runs.numbers), 0, order, runs.numbers) : runs.numbers;
    inverse = view(inverse, inverse_sizes);
  }
  return {index_select(rows, 0, runs.places()), inverse, return_counts ? runs.lengths() : no_indices(rows)};
}

/// The order of slices along dimension 0, compared element by element: by the last element first, each sort
/// keeping the order of the ones before.
Tensor order_of_rows(const Tensor& rows) {
  const Tensor flat = reshape(rows, {rows.size(0), -1});
  Tensor order = arange(flat.size(0), TensorOptions(kLong).device(flat.device()));
  for (std::int64_t column = flat.size(1) - 1; column >= 0; --column) {
    order = index_select(order, 0, argsort(index_select(select(flat, 1, column), 0, order), 0));
  }
  return order;
}

// --- Quantiles
// --------------------------------------------------------------------------------------------------

Tensor quantile_of(const char* op, const Tensor& self, const Tensor& q, std::optional<std::int64_t> dim,
                   bool keepdim, std::string_view interpolation, bool skip_nan) {
  if (self.scalar_type() != kFloat && self.scalar_type() != kDouble)
    fail(op, "expected a float32 or float64 tensor, got ", self);
  if (q.dim() > 1 || q.scalar_type() != self.scalar_type() || q.device() != self.device())
    fail(op, "q must be a number, or a 0-d or 1-d tensor like ", self, ", got ", q);
  if (self.numel() == 0) fail(op, "expected elements, got ", self);
  const bool linear = interpolation == "linear", midpoint = interpolation == "midpoint";
  if (!linear && !midpoint && interpolation != "lower" && interpolation != "higher" &&
      interpolation != "nearest")
    fail(op, "interpolation must be linear, lower, higher, midpoint or nearest, got \"", interpolation, "\"");
  if (q.is_cpu() && !all((q >= 0) & (q <= 1)).item<bool>()) fail(op, "q must lie in [0, 1], got ", q);

  const std::int64_t d = dim ? wrap_dim(op, *dim, self.dim()) : 0;
  // Lines last; one line if no dimension is named.
  const Tensor lines = !dim || self.dim() == 0 ? reshape(self, {-1}) : movedim(self, d, -1);
  const std::int64_t n = lines.size(-1);
  const Tensor sorted = std::get<0>(sort(lines, -1));

  const Tensor levels = q.dim() == 0 ? reshape(q, {1}) : q;
  Tensor rank, has_nan;
  {
    const NoGradGuard no_grad;
    const Tensor nan = isnan(lines);
    const Tensor last = skip_nan ? clamp_min(sum(logical_not(nan), -1, true) - 1, 0).to(self.scalar_type())
                                 : full({1}, n - 1, self.options());
    rank = levels * last;
    has_nan = skip_nan ? all(nan, -1, true) : any(nan, -1, true);
    if (interpolation == "lower") rank = floor(rank);
    if (interpolation == "higher") rank = ceil(rank);
    if (interpolation == "nearest") rank = round(rank);
  }
  Dims sizes = lines.sizes().dims();
  sizes.back() = levels.numel();
  rank = expand(rank, sizes);
  const Tensor below = floor(rank);
  Tensor result = gather(sorted, -1, below.to(kLong));
  if (linear || midpoint) {
    const Tensor above = gather(sorted, -1, ceil(rank).to(kLong));
    result = lerp(result, above, midpoint ? full_like(rank, 0.5) : rank - below);
  }
  result = masked_fill(result, has_nan, std::numeric_limits<double>::quiet_NaN());

  // (lines..., q) to (q, kept dimensions), or without q.
  if (keepdim) {
    Dims kept;
    if (!dim) {
      kept = Dims(self.sizes().size(), 1);
    } else {
      kept = self.sizes().dims();
      if (!kept.empty()) kept[static_cast<std::size_t>(d)] = 1;
    }
    result = movedim(result, -1, 0);
    kept.insert(0, levels.numel());
    result = reshape(result, kept);
  } else {
    result = movedim(result, -1, 0);
  }
  return q.dim() == 0 ? squeeze(result, 0) : result;
}

Tensor number_like(const Tensor& self, double q) { return full({}, q, self.options()); }

void check_q(const char* op, double q) {
  if (!(q >= 0 && q <= 1)) fail(op, "q must lie in [0, 1], got ", q);
}

}  // namespace

std::tuple<Tensor, Tensor> sort(const Tensor& self, std::optional<bool>, std::int64_t dim, bool descending) {
  return sort(self, dim, descending);  // always stable
}
Tensor argsort(const Tensor& self, bool, std::int64_t dim, bool descending) {
  return argsort(self, dim, descending);
}

Tensor msort(const Tensor& self) { return std::get<0>(sort(self, 0)); }

std::tuple<Tensor, Tensor> median(const Tensor& self, std::int64_t dim, bool keepdim) {
  return median_along("median", self, dim, keepdim, false);
}
std::tuple<Tensor, Tensor> nanmedian(const Tensor& self, std::int64_t dim, bool keepdim) {
  return median_along("nanmedian", self, dim, keepdim, true);
}
Tensor median(const Tensor& self) {
  return self.numel() == 0 ? full({}, std::numeric_limits<double>::quiet_NaN(), self.options())
                           : std::get<0>(median(reshape(self, {-1}), 0));
}
Tensor nanmedian(const Tensor& self) {
  return self.numel() == 0 ? full({}, std::numeric_limits<double>::quiet_NaN(), self.options())
                           : std::get<0>(nanmedian(reshape(self, {-1}), 0));
}

std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, std::int64_t k, std::int64_t dim, bool keepdim) {
  check_not_empty("kthvalue", self, dim);
  const std::int64_t n = self.dim() == 0 ? 1 : self.size(dim);
  if (k < 1 || k > n)
    fail("kthvalue", "k must lie in 1 .. ", n, " for dimension ", dim, " of ", self, ", got ", k);
  return with_a_dim(self, [&](const Tensor& x) {
    return chosen(x, dim, narrow(order_of(x, dim), dim, k - 1, 1), keepdim);
  });
}

std::tuple<Tensor, Tensor> mode(const Tensor& self, std::int64_t dim, bool keepdim) {
  check_not_empty("mode", self, dim);
  return with_a_dim(self, [&](const Tensor& x) {
    Tensor place;
    {
      const NoGradGuard no_grad;
      const auto [sorted, order] = sort(x.detach(), dim);
      const std::int64_t n = x.size(dim), d = wrap_dim("mode", dim, x.dim());
      // How often each value has occurred up to a place: the distance to where its run begins.
      const Tensor number = arange(n, TensorOptions(kLong).device(x.device()));
      Dims shape(static_cast<std::size_t>(x.dim()), 1);
      shape[static_cast<std::size_t>(d)] = n;
      const Tensor along = expand(view(number, shape), x.sizes());
      const Tensor changed = ne(narrow(sorted, d, 1, n - 1), narrow(sorted, d, 0, n - 1));
      const Tensor starts =
          cat({zeros_like(narrow(along, d, 0, 1)), where(changed, narrow(along, d, 1, n - 1), 0)}, d);
      const Tensor length = along - std::get<0>(cummax(starts, d));
      place = gather(order, d, argmax(length, d, true));  // the first longest run's last element
    }
    return chosen(x, dim, place, keepdim);
  });
}

Tensor quantile(const Tensor& self, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  return quantile_of("quantile", self, q, dim, keepdim, interpolation, false);
}
Tensor quantile(const Tensor& self, double q, std::optional<std::int64_t> dim, bool keepdim,
                std::string_view interpolation) {
  check_q("quantile", q);
  return quantile(self, number_like(self, q), dim, keepdim, interpolation);
}
Tensor nanquantile(const Tensor& self, const Tensor& q, std::optional<std::int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  return quantile_of("nanquantile", self, q, dim, keepdim, interpolation, true);
}
Tensor nanquantile(const Tensor& self, double q, std::optional<std::int64_t> dim, bool keepdim,
                   std::string_view interpolation) {
  check_q("nanquantile", q);
  return nanquantile(self, number_like(self, q), dim, keepdim, interpolation);
}

Distinct _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  const NoGradGuard no_grad;
  const auto [sorted, order] = sort(reshape(self, {-1}), 0);
  return distinct(sorted, order, self.sizes().dims(), return_inverse, return_counts);
}

std::tuple<Tensor, Tensor> _unique(const Tensor& self, bool sorted, bool return_inverse) {
  const auto [values, inverse, counts] = _unique2(self, sorted, return_inverse);
  return {values, inverse};
}

Distinct unique_dim(const Tensor& self, std::int64_t dim, bool, bool return_inverse, bool return_counts) {
  const NoGradGuard no_grad;
  if (self.dim() == 0) fail("unique_dim", "expected at least 1 dimension, got ", self);
  const Tensor rows = movedim(self, dim, 0);
  if (rows.numel() == 0 && rows.size(0) > 0)
    fail("unique_dim", "slices of ", self, " along ", dim, " are empty");
  const Tensor order = order_of_rows(rows);
  const auto [values, inverse, counts] =
      distinct(index_select(rows, 0, order), order, {rows.size(0)}, return_inverse, return_counts);
  return {movedim(values, 0, dim), inverse, counts};
}

Distinct unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts,
                            std::optional<std::int64_t> dim) {
  const NoGradGuard no_grad;
  if (dim) return unique_dim_consecutive(self, *dim, return_inverse, return_counts);
  return distinct(reshape(self, {-1}), Tensor(), self.sizes().dims(), return_inverse, return_counts);
}

Distinct unique_dim_consecutive(const Tensor& self, std::int64_t dim, bool return_inverse,
                                bool return_counts) {
  const NoGradGuard no_grad;
  if (self.dim() == 0) fail("unique_dim_consecutive", "expected at least 1 dimension, got ", self);
  const Tensor rows = movedim(self, dim, 0);
  if (rows.numel() == 0 && rows.size(0) > 0)
    fail("unique_dim_consecutive", "slices of ", self, " along ", dim, " are empty");
  const auto [values, inverse, counts] =
      distinct(rows, Tensor(), {rows.size(0)}, return_inverse, return_counts);
  return {movedim(values, 0, dim), inverse, counts};
}

}  // namespace halftone

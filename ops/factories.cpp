// Functions that make tensors.

#include <cmath>

#include "halftone/kernels/copy.h"
#include "halftone/kernels/sequence.h"
#include "halftone/ops/operator.h"
#include "halftone/ops/random.h"

namespace halftone {
namespace {

Tensor allocate(IntArrayRef size, const TensorOptions& options) {
  return ops::allocate({size.dims(), options.dtype(), options.device()});
}

/// requires_grad comes last: filling a tensor is no part of its history.
Tensor finish(Tensor tensor, const TensorOptions& options) {
  if (options.requires_grad()) tensor.requires_grad_();
  return tensor;
}

void fill_new(const Tensor& out, const Scalar& value) {
  kernels_for<CopyKernels>(out.device()).fill(out, value.to_double(), value.to_long());
}

/// What the caller named, and the rest from `self`.
TensorOptions like(const Tensor& self, const TensorOptions& options) {
  return options.dtype(options.dtype_opt().value_or(self.scalar_type()))
      .device(options.device_opt().value_or(self.device()));
}

TensorOptions with_default_dtype(const TensorOptions& options, ScalarType dtype) {
  return options.dtype(options.dtype_opt().value_or(dtype));
}

/// The dtype a number has by itself.
ScalarType natural_dtype(const Scalar& value) {
  return value.is_floating_point() ? get_default_dtype() : value.type();
}

void check_floating(const char* op, const TensorOptions& options) {
  if (!is_floating_point(options.dtype())) fail(op, "expected a floating dtype, got ", options.dtype());
}

/// Elements of memory that a tensor with these strides spans.
std::int64_t strided_length(const char* op, IntArrayRef sizes, IntArrayRef strides) {
  if (sizes.size() != strides.size()) {
    fail(op, "expected one stride per size, got sizes ", sizes, " and strides ", strides);
  }
  std::int64_t length = count_elements(sizes) == 0 ? 0 : 1;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (strides[i] < 0) fail(op, "strides must not be negative, got ", strides);
    std::int64_t reach = 0;
    if (length > 0 && (__builtin_mul_overflow(sizes[i] - 1, strides[i], &reach) ||
                       __builtin_add_overflow(length, reach, &length))) {
      fail(op, "sizes ", sizes, " with strides ", strides, " reach beyond 64 bits");
    }
  }
  return length;
}

Tensor wrap(void* data, IntArrayRef sizes, IntArrayRef strides, std::function<void(void*)> deleter,
            const TensorOptions& options) {
  const std::int64_t length = strided_length("from_blob", sizes, strides);
  if (data == nullptr && length > 0) fail("from_blob", "data is null but the sizes are ", sizes);
  const std::size_t bytes = static_cast<std::size_t>(length) * element_size(options.dtype());
  // Memory the caller has is the host's unless he says otherwise.
  auto storage =
      make_intrusive<Storage>(data, bytes, options.device_opt().value_or(kCPU), std::move(deleter));
  return finish(Tensor(make_intrusive<TensorImpl>(std::move(storage), options.dtype(), sizes, strides, 0)),
                options);
}

std::int64_t arange_length(const Scalar& start, const Scalar& end, const Scalar& step) {
  const bool integers = !start.is_floating_point() && !end.is_floating_point() && !step.is_floating_point();
  const double span = end.to_double() - start.to_double(), by = step.to_double();
  if (!std::isfinite(span) || !std::isfinite(by)) {
    fail("arange", "start, end and step must be finite, got ", start.to_double(), ", ", end.to_double(), ", ",
         by);
  }
  if (by == 0 || span * by < 0) {
    fail("arange", "step ", by, " does not lead from ", start.to_double(), " to ", end.to_double());
  }
  if (integers) {
    const std::int64_t first = start.to_long(), last = end.to_long(), stride = step.to_long();
    std::int64_t distance = 0;
    if (__builtin_sub_overflow(last, first, &distance))
      fail("arange", "the range ", first, " to ", last, " is too long");
    return distance / stride + (distance % stride != 0 ? 1 : 0);
  }
  const double length = std::ceil(span / by);
  if (length > 0x1p46) fail("arange", "the range has too many elements: ", length);
  return static_cast<std::int64_t>(length);
}

}  // namespace

Tensor empty(IntArrayRef size, const TensorOptions& options) {
  return finish(allocate(size, options), options);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  const Tensor memory = allocate(strided_length("empty_strided", size, stride), options);
  return finish(
      Tensor(make_intrusive<TensorImpl>(memory.unsafe_impl()->storage, options.dtype(), size, stride, 0)),
      options);
}

Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& options) {
  const TensorOptions chosen = with_default_dtype(options, natural_dtype(value));
  Tensor out = allocate(size, chosen);
  fill_new(out, value);
  return finish(std::move(out), chosen);
}

Tensor zeros(IntArrayRef size, const TensorOptions& options) {
  return full(size, 0, options.dtype(options.dtype()));
}
Tensor ones(IntArrayRef size, const TensorOptions& options) {
  return full(size, 1, options.dtype(options.dtype()));
}
Tensor scalar_tensor(const Scalar& value, const TensorOptions& options) {
  return full({}, value, options.dtype(options.dtype()));
}

Tensor empty_like(const Tensor& self, const TensorOptions& options) {
  return empty(self.sizes(), like(self, options));
}
Tensor zeros_like(const Tensor& self, const TensorOptions& options) {
  return zeros(self.sizes(), like(self, options));
}
Tensor ones_like(const Tensor& self, const TensorOptions& options) {
  return ones(self.sizes(), like(self, options));
}
Tensor full_like(const Tensor& self, const Scalar& value, const TensorOptions& options) {
  return full(self.sizes(), value, like(self, options));
}

Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const bool integers = !start.is_floating_point() && !end.is_floating_point() && !step.is_floating_point();
  const TensorOptions chosen = with_default_dtype(options, integers ? kLong : get_default_dtype());
  Tensor out = allocate(arange_length(start, end, step), chosen);
  kernels_for<SequenceKernels>(out.device()).arange(out, start, step);
  return finish(std::move(out), chosen);
}
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return arange(start, end, 1, options);
}
Tensor arange(const Scalar& end, const TensorOptions& options) { return arange(0, end, 1, options); }

Tensor linspace(const Scalar& start, const Scalar& end, std::int64_t steps, const TensorOptions& options) {
  if (steps < 0) fail("linspace", "steps must not be negative, got ", steps);
  Tensor out = allocate(steps, options);
  kernels_for<SequenceKernels>(out.device()).linspace(out, start.to_double(), end.to_double());
  return finish(std::move(out), options);
}

Tensor logspace(const Scalar& start, const Scalar& end, std::int64_t steps, double base,
                const TensorOptions& options) {
  if (steps < 0) fail("logspace", "steps must not be negative, got ", steps);
  const NoGradGuard no_grad;
  const Tensor exponents = linspace(start, end, steps, options.dtype(kDouble).requires_grad(false));
  return finish(pow(base, exponents).to(options.dtype()), options);
}

Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const TensorOptions chosen = options.dtype(options.dtype());
  const double by = step.to_double(), span = end.to_double() - start.to_double();
  if (!(std::isfinite(span) && std::isfinite(by)) || by == 0 || span * by < 0)
    fail("range", "step ", by, " does not lead from ", start.to_double(), " to ", end.to_double());
  const double length = std::floor(span / by) + 1;
  if (length > 0x1p46) fail("range", "the range has too many elements: ", length);
  Tensor out = allocate(static_cast<std::int64_t>(length), chosen);
  kernels_for<SequenceKernels>(out.device()).arange(out, start, step);
  return finish(std::move(out), chosen);
}
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return range(start, end, 1, options);
}

Tensor eye(std::int64_t n, std::int64_t m, const TensorOptions& options) {
  Tensor out = zeros({n, m}, options.requires_grad(false));
  const Dims diagonal{std::min(n, m)}, stride{m + 1};
  fill_new(
      Tensor(make_intrusive<TensorImpl>(out.unsafe_impl()->storage, out.scalar_type(), diagonal, stride, 0)),
      1);
  return finish(std::move(out), options);
}
Tensor eye(std::int64_t n, const TensorOptions& options) { return eye(n, n, options); }

Tensor rand(IntArrayRef size, std::optional<Generator> generator, const TensorOptions& options) {
  check_floating("rand", options);
  Tensor out = allocate(size, options);
  ops::fill_uniform(out, 0, 1, generator);
  return finish(std::move(out), options);
}
Tensor rand(IntArrayRef size, const TensorOptions& options) { return rand(size, std::nullopt, options); }
Tensor rand_like(const Tensor& self, const TensorOptions& options) {
  return rand(self.sizes(), like(self, options));
}

Tensor randn(IntArrayRef size, std::optional<Generator> generator, const TensorOptions& options) {
  check_floating("randn", options);
  Tensor out = allocate(size, options);
  ops::fill_normal(out, 0, 1, generator);
  return finish(std::move(out), options);
}
Tensor randn(IntArrayRef size, const TensorOptions& options) { return randn(size, std::nullopt, options); }
Tensor randn_like(const Tensor& self, const TensorOptions& options) {
  return randn(self.sizes(), like(self, options));
}

Tensor randint(std::int64_t low, std::int64_t high, IntArrayRef size, std::optional<Generator> generator,
               const TensorOptions& options) {
  const TensorOptions chosen = with_default_dtype(options, kLong);
  Tensor out = allocate(size, chosen.requires_grad(false));
  random_(out, low, high, generator);
  return finish(std::move(out), chosen);
}
Tensor randint(std::int64_t high, IntArrayRef size, std::optional<Generator> generator,
               const TensorOptions& options) {
  return randint(0, high, size, generator, options);
}
Tensor randint(std::int64_t low, std::int64_t high, IntArrayRef size, const TensorOptions& options) {
  return randint(low, high, size, std::nullopt, options);
}
Tensor randint(std::int64_t high, IntArrayRef size, const TensorOptions& options) {
  return randint(0, high, size, options);
}

Tensor randint_like(const Tensor& self, std::int64_t low, std::int64_t high, const TensorOptions& options) {
  return randint(low, high, self.sizes(), like(self, options));
}
Tensor randint_like(const Tensor& self, std::int64_t high, const TensorOptions& options) {
  return randint_like(self, 0, high, options);
}

Tensor randperm(std::int64_t n, std::optional<Generator> generator, const TensorOptions& options) {
  if (n < 0) fail("randperm", "n must not be negative, got ", n);
  const TensorOptions chosen = with_default_dtype(options, kLong);
  Tensor out = allocate(n, chosen.dtype(kLong));
  ops::fill_permutation(out, generator);
  return finish(out.to(chosen.dtype()), chosen);
}
Tensor randperm(std::int64_t n, const TensorOptions& options) { return randperm(n, std::nullopt, options); }

Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options) {
  return wrap(data, sizes, contiguous_strides(sizes), nullptr, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options) {
  return wrap(data, sizes, strides, nullptr, options);
}
Tensor from_blob(void* data, IntArrayRef sizes, std::function<void(void*)> deleter,
                 const TensorOptions& options) {
  return wrap(data, sizes, contiguous_strides(sizes), std::move(deleter), options);
}

}  // namespace halftone

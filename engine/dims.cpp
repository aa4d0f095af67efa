#include "halftone/engine/dims.h"

namespace halftone {

std::int64_t IntArrayRef::at(std::size_t i) const {
  if (i >= size_) fail("IntArrayRef", "there is no element ", i, " of ", *this);
  return data_[i];
}

IntArrayRef IntArrayRef::slice(std::size_t start, std::size_t length) const {
  if (start > size_ || length > size_ - start)
    fail("IntArrayRef", "elements ", start, " to ", start + length, " lie outside ", *this);
  return {data_ + start, length};
}

std::int64_t count_elements(IntArrayRef sizes) {
  std::int64_t count = 1;
  bool empty = false;
  for (std::int64_t size : sizes) {
    if (size < 0) fail("shape", "sizes must not be negative, got ", sizes.dims());
    if (size == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(count, size, &count)) {
      fail("shape", "the number of elements of ", sizes.dims(), " does not fit into 64 bits");
    }
  }
  return empty ? 0 : count;
}

Dims contiguous_strides(IntArrayRef sizes) {
  Dims strides(sizes.size(), 1);
  std::int64_t stride = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

bool strides_are_contiguous(IntArrayRef sizes, IntArrayRef strides) {
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) return true;
    if (sizes[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

std::int64_t wrap_dim(std::string_view op, std::int64_t dim, std::int64_t rank) {
  const std::int64_t limit = std::max<std::int64_t>(rank, 1);
  if (dim < -limit || dim >= limit) {
    fail(op, "dimension ", dim, " is out of range, expected ", -limit, " to ", limit - 1);
  }
  return dim < 0 ? dim + limit : dim;
}

Dims broadcast_shapes(std::string_view op, IntArrayRef a, IntArrayRef b) {
  const std::size_t rank = std::max(a.size(), b.size());
  Dims out(rank, 1);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      fail(op, "shapes ", a.dims(), " and ", b.dims(), " do not broadcast: sizes ", x, " and ", y,
           " at dimension ", -static_cast<std::int64_t>(i) - 1, " differ and neither is 1");
    }
    out[rank - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

}  // namespace halftone

#pragma once

#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// Another window on `tensor`'s storage; `offset` counts from the start of the storage, in elements. Below
/// autograd: nothing is recorded or checked. `sizes` and `strides` must have the same length.
inline Tensor alias(const Tensor& tensor, IntArrayRef sizes, IntArrayRef strides, std::int64_t offset) {
  const TensorImpl& impl = *tensor.unsafe_impl();
  return Tensor(make_intrusive<TensorImpl>(impl.storage, impl.dtype, sizes, strides, offset));
}

/// Elements `start`, `start + step`, ... (`length` of them) along dimension `dim`, a window on `tensor`.
inline Tensor alias_slice(const Tensor& tensor, std::int64_t dim, std::int64_t start, std::int64_t length,
                          std::int64_t step = 1) {
  const TensorImpl& impl = *tensor.unsafe_impl();
  Dims sizes = impl.sizes, strides = impl.strides;
  const auto d = static_cast<std::size_t>(dim);
  sizes[d] = length;
  strides[d] *= step;
  return alias(tensor, sizes, strides, impl.offset + (length > 0 ? start * impl.strides[d] : 0));
}

/// The slice at `index` along dimension `dim`, without that dimension.
inline Tensor alias_select(const Tensor& tensor, std::int64_t dim, std::int64_t index) {
  const TensorImpl& impl = *tensor.unsafe_impl();
  Dims sizes = impl.sizes, strides = impl.strides;
  sizes.erase(static_cast<std::size_t>(dim));
  strides.erase(static_cast<std::size_t>(dim));
  return alias(tensor, sizes, strides, impl.offset + index * impl.strides[static_cast<std::size_t>(dim)]);
}

/// The diagonal between two dimensions, `offset` above the main one; it becomes the last dimension.
Tensor alias_diagonal(const Tensor& tensor, std::int64_t offset, std::int64_t dim1, std::int64_t dim2);

/// `tensor` with sizes of 1 stretched to `sizes` by strides of 0. Throws Error naming `op` when the shapes do
/// not fit.
Tensor alias_expand(const char* op, const Tensor& tensor, IntArrayRef sizes);

}  // namespace halftone::ops

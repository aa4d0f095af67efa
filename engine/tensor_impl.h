#pragma once

#include "halftone/engine/dims.h"
#include "halftone/engine/dtype.h"
#include "halftone/engine/storage.h"

namespace halftone {

/// What a Tensor handle points to: a typed, strided window on a storage, and its place in the autograd graph.
/// The graph's own types stand above the engine, so they are held through their base class here.
struct TensorImpl final : RefCounted {
  TensorImpl(IntrusivePtr<Storage> storage, ScalarType dtype, IntArrayRef sizes, IntArrayRef strides,
             std::int64_t offset)
      : storage(std::move(storage)),
        sizes(sizes.dims()),
        strides(strides.dims()),
        offset(offset),
        numel(count_elements(sizes)),
        dtype(dtype),
        is_contiguous(strides_are_contiguous(sizes, strides)) {}

  /// Row-major from the storage's start; `numel` is the product of `sizes`.
  TensorImpl(IntrusivePtr<Storage> storage, ScalarType dtype, const Dims& sizes, std::int64_t numel)
      : storage(std::move(storage)),
        sizes(sizes),
        strides(contiguous_strides(sizes)),
        offset(0),
        numel(numel),
        dtype(dtype),
        is_contiguous(true) {}

  /// Null for a tensor without elements.
  std::byte* data() const {
    if (numel == 0) return nullptr;
    return static_cast<std::byte*>(storage->data()) + offset * static_cast<std::int64_t>(element_size(dtype));
  }

  IntrusivePtr<Storage> storage;
  Dims sizes;
  Dims strides;         // in elements
  std::int64_t offset;  // in elements
  std::int64_t numel;
  ScalarType dtype;
  bool is_contiguous;
  bool is_wrapped_number = false;  // made from a C++ number: does not widen its partner's dtype
  bool requires_grad = false;      // leaves only
  // A leaf's gradient that a scaled loss made (the leaf's stamp says by what), or one without a scale.
  bool is_scaled_gradient = false, is_true_gradient = false;
  bool is_zeroed_gradient = false;  // filled with zeros by zero_grad, in TensorMeta::zero_version

  std::uint32_t output_nr = 0;         // which output of grad_fn this is
  std::uint32_t view_version = 0;      // storage version for which a view's grad_fn holds
  IntrusivePtr<RefCounted> grad_fn;    // autograd::Node that made this tensor
  IntrusivePtr<RefCounted> meta;       // autograd::TensorMeta: gradient, hooks, accumulator
  IntrusivePtr<TensorImpl> view_base;  // the tensor this is a differentiable view of
};

}  // namespace halftone

#pragma once

#include <cstdint>

#include "halftone/engine/tensor.h"
#include "halftone/kernels/kernels.h"

namespace halftone {

/// Reading and writing at places given by index tensors. Indices are int64; those handed to a writing kernel
/// were checked before. Tensors may have any strides. Where several sources go to one place, they are taken
/// in row-major order of the index, whatever the number of threads: the last write wins, sums are
/// reproducible.
struct IndexKernels {
  /// Throws Error naming `op`, the index, `size` and `dim` unless every index lies in 0 .. size - 1 (or in
  /// -size .. size - 1 if negative ones count from the end).
  void (*check_range)(const char* op, const Tensor& index, std::int64_t size, std::int64_t dim,
                      bool negative);
  /// positions = positions * size + index, index broadcast and negative ones wrapped. `positions` is
  /// contiguous.
  void (*combine)(const Tensor& positions, const Tensor& index, std::int64_t size);

  // Rows: `dims` of `self` are read as one (row-major), in which `positions` (P) are counted. The other
  // tensor has P's dimensions in place of `dims` where those are adjacent, else in front.
  void (*take)(const Tensor& out, const Tensor& self, const Tensor& positions, const Dims& dims);
  void (*put)(const Tensor& self, const Tensor& positions, const Dims& dims, const Tensor& values);
  /// self += alpha * values; self has the dtype sums are accumulated in (`accumulate_type` of values' dtype,
  /// or values' own for integers).
  void (*add)(const Tensor& self, const Tensor& positions, const Dims& dims, const Tensor& values,
              const Scalar& alpha);

  // Elements: index has the shape of `out` and `src`; element i goes to (or comes from) i with coordinate
  // `dim` replaced by index[i].
  void (*gather)(const Tensor& out, const Tensor& self, std::int64_t dim, const Tensor& index);
  void (*scatter)(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src);
  /// As `add`, in the accumulation dtype.
  void (*scatter_add)(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src);

  /// self[i] += src[i] in row-major order, self in the accumulation dtype; several elements of self may be
  /// one in memory.
  void (*accumulate)(const Tensor& self, const Tensor& src);

  std::int64_t (*count_nonzero)(const Tensor& self);
  /// Coordinates of the elements that are not zero, in row-major order: out (count, dim), int64.
  void (*nonzero)(const Tensor& out, const Tensor& self);
};

template <>
const IndexKernels& cpu_kernels<IndexKernels>();

/// Moving elements around by rule.
struct ArrangeKernels {
  /// Along `dim`, the values.size(dim) first of the sorted order (stable; NaN counts as the largest) and
  /// where they were.
  void (*sort)(const Tensor& values, const Tensor& indices, const Tensor& self, std::int64_t dim,
               bool descending);
  /// out[i] = how many elements of a row of `sorted` (ascending, NaN last) are smaller than values[i], or not
  /// larger if `right`. `sorted` is contiguous, and 1-d or with a row for each row of `values`; so are the
  /// others. out: int64 or int32.
  void (*search)(const Tensor& out, const Tensor& sorted, const Tensor& values, bool right);
  /// out = self with `dims` reversed. `out` is contiguous.
  void (*flip)(const Tensor& out, const Tensor& self, const Dims& dims);
  /// Of every matrix (last two dimensions), what lies on and above the diagonal (`upper`) or on and below it;
  /// else 0.
  void (*triangle)(const Tensor& out, const Tensor& self, std::int64_t diagonal, bool upper);
};

template <>
const ArrangeKernels& cpu_kernels<ArrangeKernels>();

}  // namespace halftone

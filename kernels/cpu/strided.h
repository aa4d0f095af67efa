#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "halftone/engine/tensor.h"

namespace halftone::cpu {

/// Walks the elements of an output and of inputs broadcast to it in one common order, in runs along the
/// innermost dimension. Dimensions are ordered by the output's strides and merged where every tensor allows
/// it, so the common case is one dimension. Tensor 0 is the output. Does not allocate.
template <int kTensors>
class StridedLoop {
 public:
  /// Throws Error naming `op` if an input does not broadcast to `out`, or if `out` itself repeats elements.
  void start(std::string_view op, const Tensor& out, std::span<const Tensor* const> in) {
    size_ = out.numel();
    count_ = static_cast<int>(in.size()) + 1;
    if (start_flat(out, in)) return;
    for (const Tensor* tensor : in) {
      if (tensor->dim() > out.dim()) fail(op, "cannot broadcast ", *tensor, " to ", out);
    }
    const Dims& sizes = out.unsafe_impl()->sizes;
    dims_ = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      sizes_[dims_] = sizes[d];
      strides_[dims_][0] = out.unsafe_impl()->strides[d];
      for (int k = 1; k < count_; ++k) {
        strides_[dims_][k] = broadcast_stride(op, *in[static_cast<std::size_t>(k - 1)], out, d);
      }
      if (sizes[d] == 1) continue;  // the next dimension takes its place
      if (strides_[dims_][0] == 0) {
        fail(op, "cannot write to ", out, ": it is expanded, its elements share memory");
      }
      ++dims_;
    }
    sort();
    merge();
  }

  /// The same from single dimensions: `clear`, `add` for each, `finish`.
  void clear(int tensors) {
    size_ = 1;
    count_ = tensors;
    dims_ = 0;
  }
  void add(std::int64_t size, const std::array<std::int64_t, kTensors>& strides) {
    size_ *= size;
    if (size == 1) return;
    sizes_[dims_] = size;
    std::copy_n(strides.begin(), count_, strides_[dims_++]);
  }
  void finish() {
    sort();
    merge();
  }

  std::int64_t size() const { return size_; }

  /// Length and stride of the innermost dimension.
  std::int64_t inner_size() const { return sizes_[last()]; }
  std::int64_t inner_stride(int k) const { return strides_[last()][k]; }

  /// One element stands for all.
  bool is_constant(int k) const { return flat(k) && strides_[last()][k] == 0; }

  /// Element i of the walk is element i in memory.
  bool is_dense(int k) const { return flat(k) && strides_[last()][k] == 1; }

  /// Calls f(offset, stride, length), in elements, for the pieces of tensor k that hold elements begin ..
  /// begin + n.
  template <class F>
  void for_each_run(int k, std::int64_t begin, std::int64_t n, F f) const {
    if (flat(k)) {
      const std::int64_t stride = strides_[last()][k];
      f(begin * stride, stride, n);
      return;
    }
    walk(k, k + 1, begin, n,
         [&](const std::int64_t* offsets, const std::int64_t* strides, std::int64_t length) {
           f(offsets[k], strides[k], length);
         });
  }

  /// The same for all tensors at once: f(offsets, strides, length) with one offset and one stride per tensor.
  template <class F>
  void for_each_pair(std::int64_t begin, std::int64_t n, F f) const {
    walk(0, count_, begin, n, f);
  }

  /// batches x rows x columns, element (b, i, j) at b batch_strides[0] + i dst_stride + j of tensor 0 and at
  /// b batch_strides[1] + j src_stride + i of tensor 1.
  struct TransposedMatrix {
    std::int64_t batches, batch_strides[2];
    std::int64_t rows, columns, dst_stride, src_stride;
  };
  /// Whether the walk over two tensors is such a transposition, too large for a plain loop to do well.
  std::optional<TransposedMatrix> transposed_matrix() const {
    if (count_ != 2 || dims_ < 2 || dims_ > 3) return {};
    const int i = dims_ - 2, j = dims_ - 1;
    if (strides_[j][0] != 1 || strides_[i][1] != 1 || sizes_[i] < 8 || sizes_[j] < 8) return {};
    TransposedMatrix matrix{1, {0, 0}, sizes_[i], sizes_[j], strides_[i][0], strides_[j][1]};
    if (dims_ == 3) {
      matrix.batches = sizes_[0];
      matrix.batch_strides[0] = strides_[0][0];
      matrix.batch_strides[1] = strides_[0][1];
    }
    return matrix;
  }

 private:
  int last() const { return dims_ - 1; }

  /// Visits the runs of tensors first .. end - 1.
  template <class F>
  void walk(int first, int end, std::int64_t begin, std::int64_t n, F f) const {
    std::int64_t index[kMaxDims];
    std::int64_t offsets[kTensors] = {};
    std::int64_t rest = begin;
    for (int d = last(); d >= 0; --d) {
      index[d] = rest % sizes_[d];
      rest /= sizes_[d];
      for (int k = first; k < end; ++k) offsets[k] += index[d] * strides_[d][k];
    }
    const std::int64_t* const inner = strides_[last()];
    while (n > 0) {
      const std::int64_t length = std::min(n, sizes_[last()] - index[last()]);
      f(static_cast<const std::int64_t*>(offsets), inner, length);
      n -= length;
      if (n == 0) return;
      for (int k = first; k < end; ++k) offsets[k] -= index[last()] * inner[k];
      index[last()] = 0;
      for (int d = last() - 1;; --d) {
        for (int k = first; k < end; ++k) offsets[k] += strides_[d][k];
        if (++index[d] < sizes_[d]) break;
        for (int k = first; k < end; ++k) offsets[k] -= sizes_[d] * strides_[d][k];
        index[d] = 0;
      }
    }
  }

  /// The stride of tensor k is the same from any element to the next.
  bool flat(int k) const { return flat_[k]; }

  /// The usual case without looking at dimensions: all contiguous of one shape, or single elements.
  bool start_flat(const Tensor& out, std::span<const Tensor* const> in) {
    if (!out.is_contiguous()) return false;
    strides_[0][0] = 1;
    for (int k = 1; k < count_; ++k) {
      const Tensor& tensor = *in[static_cast<std::size_t>(k - 1)];
      if (tensor.numel() == 1 && tensor.dim() <= out.dim()) {
        strides_[0][k] = 0;
      } else if (tensor.is_contiguous() && tensor.sizes() == out.sizes()) {
        strides_[0][k] = 1;
      } else {
        return false;
      }
    }
    std::fill_n(flat_, count_, true);
    sizes_[0] = size_;
    dims_ = 1;
    return true;
  }

  static std::int64_t broadcast_stride(std::string_view op, const Tensor& tensor, const Tensor& out,
                                       std::size_t d) {
    const TensorImpl& impl = *tensor.unsafe_impl();
    const Dims& wanted = out.unsafe_impl()->sizes;
    const std::size_t missing = wanted.size() - impl.sizes.size();
    if (d < missing) return 0;
    const std::int64_t size = impl.sizes[d - missing];
    if (size == 1) return 0;
    if (size != wanted[d]) fail(op, "cannot broadcast ", tensor, " to ", out);
    return impl.strides[d - missing];
  }

  /// Largest output stride first (insertion sort, stable: at most eight).
  void sort() {
    for (int d = 1; d < dims_; ++d) {
      for (int i = d; i > 0 && strides_[i - 1][0] < strides_[i][0]; --i) {
        std::swap(sizes_[i - 1], sizes_[i]);
        for (int k = 0; k < count_; ++k) std::swap(strides_[i - 1][k], strides_[i][k]);
      }
    }
  }

  bool mergeable(int outer, int k) const {
    return strides_[outer][k] == strides_[outer + 1][k] * sizes_[outer + 1];
  }

  void merge() {
    if (dims_ == 0) {  // a single element
      sizes_[0] = 1;
      std::fill_n(strides_[0], count_, 0);
      strides_[0][0] = 1;
      dims_ = 1;
    }
    int kept = dims_ - 1;  // merged dimensions gather at the end
    for (int d = dims_ - 2; d >= 0; --d) {
      bool all = true;
      for (int k = 0; k < count_; ++k) all &= strides_[d][k] == strides_[kept][k] * sizes_[kept];
      if (all) {
        sizes_[kept] *= sizes_[d];
        continue;
      }
      --kept;
      sizes_[kept] = sizes_[d];
      std::copy_n(strides_[d], count_, strides_[kept]);
    }
    for (int d = kept; kept > 0 && d < dims_; ++d) {
      sizes_[d - kept] = sizes_[d];
      std::copy_n(strides_[d], count_, strides_[d - kept]);
    }
    dims_ -= kept;
    for (int k = 0; k < count_; ++k) {
      flat_[k] = true;
      for (int d = 0; d + 1 < dims_; ++d) flat_[k] &= mergeable(d, k);
    }
  }

  std::int64_t size_;
  int dims_;
  int count_;
  std::int64_t sizes_[kMaxDims];
  std::int64_t strides_[kMaxDims][kTensors];
  bool flat_[kTensors];
};

}  // namespace halftone::cpu

#pragma once

#include <tuple>

#include "halftone/engine/tensor.h"
#include "halftone/nn/enum.h"

namespace halftone::nn::utils::rnn {

/// Sequences of different lengths, step after step: batch_sizes()[t] rows of data() belong to step t. Made by
/// pack_padded_sequence or pack_sequence; the recurrent layers take it in forward_with_packed_input.
class PackedSequence {
 public:
  PackedSequence() = default;
  /// batch_sizes: int64 on the CPU, not increasing, adding up to the rows of `data`. The indices say which
  /// sequence of the caller each column is (and back); undefined where the caller's were sorted already.
  explicit PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices = {},
                          Tensor unsorted_indices = {});

  const Tensor& data() const { return data_; }
  const Tensor& batch_sizes() const { return batch_sizes_; }
  /// Which of the caller's sequences stands in each column, longest first: int64 (N), or undefined.
  const Tensor& sorted_indices() const { return sorted_indices_; }
  /// In which column each of the caller's sequences stands: int64 (N), or undefined.
  const Tensor& unsorted_indices() const { return unsorted_indices_; }

  /// Where the data is; batch_sizes() stay on the CPU.
  bool is_cuda() const { return data_.is_cuda(); }
  /// Whether the data is in page-locked host memory.
  bool is_pinned() const { return data_.is_pinned(); }
  /// A copy in page-locked host memory.
  PackedSequence pin_memory() const;
  /// The same with data and indices on another device or in another dtype.
  PackedSequence to(const TensorOptions& options) const;
  /// The same on the current CUDA device.
  PackedSequence cuda() const { return to(TensorOptions().device(kCUDA)); }
  /// The same on the host.
  PackedSequence cpu() const { return to(TensorOptions().device(kCPU)); }

 private:
  Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

/// The permutation that undoes `permutation`; undefined for an undefined one.
Tensor invert_permutation(const Tensor& permutation);

/// Packs (T, N, ...), or (N, T, ...) if batch_first. lengths: int64 on the CPU, one per sequence, at least 1;
/// longest first unless enforce_sorted is false. Throws Error otherwise.
PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first = false,
                                    bool enforce_sorted = true);

/// The sequences side by side, filled up with padding_value to the longest (or to total_length), and their
/// lengths.
std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                               double padding_value = 0.0,
                                               optional<std::int64_t> total_length = nullopt);

/// Sequences (T_i, ...) side by side, (T, N, ...) or (N, T, ...), filled up with padding_value.
Tensor pad_sequence(const TensorList& sequences, bool batch_first = false, double padding_value = 0);

/// pad_sequence and pack_padded_sequence.
PackedSequence pack_sequence(const TensorList& sequences, bool enforce_sorted = true);

}  // namespace halftone::nn::utils::rnn

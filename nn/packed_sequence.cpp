#include <algorithm>

#include "halftone/nn/utils/rnn.h"

namespace halftone::nn::utils::rnn {
namespace {

using Integers = std::vector<std::int64_t>;

Integers integers(const Tensor& tensor) {
  const Tensor flat = tensor.to(kCPU, kLong).contiguous();
  return {flat.data_ptr<std::int64_t>(), flat.data_ptr<std::int64_t>() + flat.numel()};
}

Tensor index_tensor(const Integers& values, Device device) {
  const Tensor out = empty({static_cast<std::int64_t>(values.size())}, TensorOptions(kLong).device(kCPU));
  std::copy(values.begin(), values.end(), out.data_ptr<std::int64_t>());
  return out.to(device);
}

}  // namespace

PackedSequence::PackedSequence(Tensor data, Tensor batch_sizes, Tensor sorted_indices,
                               Tensor unsorted_indices)
    : data_(std::move(data)),
      batch_sizes_(std::move(batch_sizes)),
      sorted_indices_(std::move(sorted_indices)),
      unsorted_indices_(std::move(unsorted_indices)) {
  if (!unsorted_indices_.defined()) unsorted_indices_ = invert_permutation(sorted_indices_);
  if (!data_.defined() || !batch_sizes_.defined() || !batch_sizes_.is_cpu() || batch_sizes_.dim() != 1 ||
      batch_sizes_.scalar_type() != kLong) {
    fail("PackedSequence", "expected data and one-dimensional int64 batch_sizes on the CPU");
  }
}

PackedSequence PackedSequence::pin_memory() const {
  const auto pin = [](const Tensor& t) { return t.defined() ? t.pin_memory() : t; };
  return PackedSequence(pin(data_), batch_sizes_, pin(sorted_indices_), pin(unsorted_indices_));
}

PackedSequence PackedSequence::to(const TensorOptions& options) const {
  const Tensor data = data_.to(options);
  const auto move = [&](const Tensor& t) { return t.defined() ? t.to(data.device()) : t; };
  return PackedSequence(data, batch_sizes_, move(sorted_indices_), move(unsorted_indices_));
}

Tensor invert_permutation(const Tensor& permutation) {
  if (!permutation.defined()) return {};
  const Tensor places = arange(permutation.numel(), permutation.options());
  return scatter(empty_like(permutation), 0, permutation, places);
}

PackedSequence pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first, bool enforce_sorted) {
  const char* const op = "pack_padded_sequence";
  if (!input.defined() || input.dim() < 2) fail(op, "expected an input (T, N, ...), got ", input);
  Tensor sorted;
  if (!enforce_sorted) {
    sorted = argsort(lengths, -1, /*descending=*/true);
    lengths = index_select(lengths, 0, sorted);
    sorted = sorted.to(input.device());
    input = index_select(input, batch_first ? 0 : 1, sorted);
  }
  if (batch_first) input = transpose(input, 0, 1);
  const std::int64_t steps = input.size(0), batch = input.size(1);
  if (!lengths.defined() || lengths.dim() != 1 || lengths.numel() != batch || lengths.is_floating_point()) {
    fail(op, "expected ", batch, " integer lengths for ", input, ", got ", lengths);
  }
  const Integers length = integers(lengths);
  if (batch == 0) fail(op, "cannot pack an empty batch");
  for (std::size_t n = 0; n < length.size(); ++n) {
    if (n > 0 && length[n] > length[n - 1]) {
      fail(op, "lengths must not increase, got ", length[n - 1], " before ", length[n],
           "; sort the sequences, or pass enforce_sorted = false");
    }
    if (length[n] < 1 || length[n] > steps) {
      fail(op, "expected lengths of 1 to ", steps, ", got ", length[n]);
    }
  }
  Integers rows, batch_sizes;
  for (std::int64_t t = 0; t < length[0]; ++t) {
    std::int64_t alive = 0;
    for (; alive < batch && length[static_cast<std::size_t>(alive)] > t; ++alive)
      rows.push_back(t * batch + alive);
    batch_sizes.push_back(alive);
  }
  const Tensor data = index_select(flatten(input, 0, 1), 0, index_tensor(rows, input.device()));
  return PackedSequence(data, index_tensor(batch_sizes, kCPU), sorted);
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first,
                                               double padding_value, optional<std::int64_t> total_length) {
  const char* const op = "pad_packed_sequence";
  const Integers batches = integers(sequence.batch_sizes());
  const Tensor& data = sequence.data();
  if (batches.empty()) fail(op, "the packed sequence is empty");
  const auto longest = static_cast<std::int64_t>(batches.size());
  const std::int64_t steps = total_length.value_or(longest), batch = batches[0], rows = data.size(0);
  if (steps < longest) fail(op, "total_length ", steps, " is shorter than the longest sequence, ", longest);
  // Place t, n reads its row, or the row of padding after them all.
  Integers places(static_cast<std::size_t>(steps * batch), rows), lengths(static_cast<std::size_t>(batch), 0);
  std::int64_t row = 0;
  for (std::size_t t = 0; t < batches.size(); ++t) {
    for (std::int64_t n = 0; n < batches[t]; ++n, ++row) {
      places[t * static_cast<std::size_t>(batch) + static_cast<std::size_t>(n)] = row;
      ++lengths[static_cast<std::size_t>(n)];
    }
  }
  if (row != rows) fail(op, "batch_sizes add up to ", row, ", the data has ", rows, " rows");
  Dims padding = data.sizes().dims();
  padding[0] = 1;
  const Tensor all = cat({data, full(padding, padding_value, data.options())}, 0);
  Tensor padded = unflatten(index_select(all, 0, index_tensor(places, data.device())), 0, {steps, batch});
  Tensor length = index_tensor(lengths, kCPU);
  if (sequence.unsorted_indices().defined()) {
    padded = index_select(padded, 1, sequence.unsorted_indices());
    length = index_select(length, 0, sequence.unsorted_indices().to(kCPU));
  }
  return {batch_first ? transpose(padded, 0, 1) : padded, length};
}

Tensor pad_sequence(const TensorList& sequences, bool batch_first, double padding_value) {
  if (sequences.empty()) fail("pad_sequence", "expected at least one sequence");
  std::int64_t longest = 0;
  for (const Tensor& sequence : sequences) {
    if (sequence.dim() == 0 || sequence.dim() != sequences[0].dim()) {
      fail("pad_sequence", "expected sequences (T, ...) of as many dimensions, got ", sequences[0], " and ",
           sequence);
    }
    longest = std::max(longest, sequence.size(0));
  }
  std::vector<Tensor> padded;
  for (const Tensor& sequence : sequences) {
    Dims rest = sequence.sizes().dims();
    rest[0] = longest - sequence.size(0);
    padded.push_back(rest[0] == 0 ? sequence
                                  : cat({sequence, full(rest, padding_value, sequence.options())}, 0));
  }
  return stack(padded, batch_first ? 0 : 1);
}

PackedSequence pack_sequence(const TensorList& sequences, bool enforce_sorted) {
  Integers lengths;
  for (const Tensor& sequence : sequences) lengths.push_back(sequence.dim() > 0 ? sequence.size(0) : 0);
  return pack_padded_sequence(pad_sequence(sequences), index_tensor(lengths, kCPU), false, enforce_sorted);
}

}  // namespace halftone::nn::utils::rnn

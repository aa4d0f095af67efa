// Sorting along a dimension. Elements become unsigned keys in the order of their values. A short line is
// sorted by one block in shared memory; long lines are sorted all at once by radix, with the number of the
// line above the key.

#include "halftone/kernels/cuda/arrange_sort.h"

#include "halftone/kernels/cuda/geometry.h"
#include "halftone/kernels/cuda/index_move.h"
#include "halftone/kernels/cuda/launch.h"
#include "halftone/kernels/cuda/sort.h"
#include "halftone/kernels/cuda/sort_block.h"

namespace halftone::cuda {
namespace {

/// Floating bits to a key of the same size: NaN is the largest whatever its sign and payload, both zeros are
/// one.
template <class Bits>
__device__ inline Bits floating_key(Bits bits, Bits infinity) {
  const Bits sign = static_cast<Bits>(Bits(1) << (8 * sizeof(Bits) - 1));
  const Bits magnitude = static_cast<Bits>(bits & ~sign);
  if (magnitude > infinity) return static_cast<Bits>(~Bits(0));
  if (magnitude == 0) return sign;
  return static_cast<Bits>(bits & sign ? ~bits : bits | sign);
}

template <class T>
__device__ inline T element(const void* data, std::int64_t i) {
  return static_cast<const T*>(data)[i];
}

__device__ inline std::uint64_t ascending_key(const void* data, ScalarType dtype, std::int64_t i) {
  switch (dtype) {
    case kFloat:
      return floating_key<std::uint32_t>(element<std::uint32_t>(data, i), 0x7f800000u);
    case kHalf:
      return floating_key<std::uint16_t>(element<std::uint16_t>(data, i), 0x7c00u);
    case kBFloat16:
      return floating_key<std::uint16_t>(element<std::uint16_t>(data, i), 0x7f80u);
    case kDouble:
      return floating_key<std::uint64_t>(element<std::uint64_t>(data, i), 0x7ff0000000000000u);
    case kLong:
      return element<std::uint64_t>(data, i) ^ (std::uint64_t{1} << 63);
    case kInt:
      return element<std::uint32_t>(data, i) ^ (std::uint32_t{1} << 31);
    default:
      return element<std::uint8_t>(data, i);
  }
}

/// What is sorted: lines of n elements, their keys as `bits` bits.
struct Lines {
  Geometry<3> lines;  // where they begin: values, indices, self
  std::int64_t value_step, index_step, self_step;
  std::int64_t n, wanted;
  ScalarType dtype;
  int bits;
  bool descending;

  __device__ std::uint64_t key(const void* self, std::int64_t line, std::int64_t i) const {
    const std::uint64_t key = ascending_key(self, dtype, lines.offsets(line).at[2] + i * self_step);
    return descending ? ~key & (~std::uint64_t{0} >> (64 - bits)) : key;
  }
  /// Place i of the result is element `from` of the line.
  __device__ void put(void* values, std::int64_t* indices, const void* self, std::int64_t line,
                      std::int64_t i, std::int64_t from) const {
    const auto at = lines.offsets(line);
    move_element(values, at.at[0] + i * value_step, self, at.at[2] + from * self_step, bits / 8);
    indices[at.at[1] + i * index_step] = from;
  }
};

/// One block per line of at most kBlockSort elements, `size` with padding.
__global__ void sort_short_kernel(void* values, std::int64_t* indices, const void* self, Lines lines,
                                  int size) {
  HT_SHARED(std::uint64_t, keys, [kBlockSort]);
  HT_SHARED(std::uint32_t, places, [kBlockSort]);
  for (std::int64_t line = block_id(); line < lines.lines.numel; line += grid_size()) {
    __syncthreads();
    for (int i = thread_id(); i < size; i += block_size()) {
      keys[i] = i < lines.n ? lines.key(self, line, i) : ~std::uint64_t{0};
      places[i] = static_cast<std::uint32_t>(i);
    }
    sort_in_block({keys, places}, size);
    for (int i = thread_id(); i < lines.wanted; i += block_size())
      lines.put(values, indices, self, line, i, places[i]);
  }
}

/// Sources count elements line by line. `line_above`: keys with the line's number above.
__global__ void line_keys_kernel(PairView pairs, const void* self, Lines lines, bool line_above) {
  for (std::int64_t i = global_id(); i < lines.lines.numel * lines.n; i += global_size()) {
    const std::int64_t line = i / lines.n;
    const std::uint64_t above = line_above ? static_cast<std::uint64_t>(line) << lines.bits : 0;
    pairs.set(i, above | lines.key(self, line, i % lines.n), i);
  }
}

/// Keys become the numbers of the lines.
__global__ void line_numbers_kernel(PairView pairs, std::int64_t count, std::int64_t n) {
  for (std::int64_t i = global_id(); i < count; i += global_size()) {
    const std::int64_t source = pairs.source(i);
    pairs.set(i, static_cast<std::uint64_t>(source / n), source);
  }
}

__global__ void put_lines_kernel(void* values, std::int64_t* indices, const void* self, PairView pairs,
                                 Lines lines) {
  for (std::int64_t i = global_id(); i < lines.lines.numel * lines.wanted; i += global_size()) {
    const std::int64_t line = i / lines.wanted, place = i % lines.wanted;
    lines.put(values, indices, self, line, place, pairs.source(line * lines.n + place) - line * lines.n);
  }
}

// --------------------------------------------------------------------------------------------------------

Lines lines_of(const Tensor& values, const Tensor& indices, const Tensor& self, std::int64_t dim,
               bool descending) {
  Lines lines{};
  lines.lines.numel = 1;
  for (std::int64_t d = 0; d < self.dim(); ++d) {
    if (d != dim) lines.lines.add(self.size(d), {values.stride(d), indices.stride(d), self.stride(d)});
  }
  const bool scalar = self.dim() == 0;
  const auto step = [&](const Tensor& tensor) { return scalar ? 1 : tensor.stride(dim); };
  lines.value_step = step(values);
  lines.index_step = step(indices);
  lines.self_step = step(self);
  lines.n = scalar ? 1 : self.size(dim);
  lines.wanted = scalar ? 1 : values.size(dim);
  lines.dtype = self.scalar_type();
  lines.bits = static_cast<int>(8 * self.element_size());
  lines.descending = descending;
  return lines;
}

void sort_long(const Tensor& values, const Tensor& indices, const Tensor& self, const Lines& lines) {
  const std::int64_t count = lines.lines.numel * lines.n;
  const int line_bits = bits_for(lines.lines.numel - 1);
  const bool line_above = line_bits > 0 && lines.bits + line_bits <= 64;
  const int key_bits = line_above ? lines.bits + line_bits : lines.bits;
  Pairs pairs(count, key_bits, self.device());
  launch<line_keys_kernel>(blocks_for(count), kThreads, 0, pairs.view(), self.data_ptr(), lines, line_above);
  pairs.sort(key_bits);
  if (line_bits > 0 && !line_above) {
    launch<line_numbers_kernel>(blocks_for(count), kThreads, 0, pairs.view(), count, lines.n);
    pairs.sort(line_bits);
  }
  launch<put_lines_kernel>(blocks_for(values.numel()), kThreads, 0, values.data_ptr(),
                           indices.data_ptr<std::int64_t>(), self.data_ptr(), pairs.view(), lines);
}

}  // namespace

void sort(const Tensor& values, const Tensor& indices, const Tensor& self, std::int64_t dim,
          bool descending) {
  if (values.numel() == 0) return;
  const DeviceScope scope(self.device());
  const Lines lines = lines_of(values, indices, self, dim, descending);
  if (lines.n > kBlockSort) {
    sort_long(values, indices, self, lines);
    return;
  }
  const int size = block_sort_size(lines.n);
  const unsigned threads = block_sort_threads(size);
  // As many blocks as blocks_for gives for a block of one thread: one line each.
  launch<sort_short_kernel>(blocks_for(lines.lines.numel, 1), threads, 0, values.data_ptr(),
                            indices.data_ptr<std::int64_t>(), self.data_ptr(), lines, size);
}

}  // namespace halftone::cuda

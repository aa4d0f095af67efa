#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "halftone/engine/philox.h"
#include "halftone/kernels/attention.h"
#include "halftone/kernels/cuda/block.h"
#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/geometry.h"

// What the attention kernels share: sizes and strides of one call, and the rules that make a weight of a
// score.
namespace halftone::cuda::attention {

/// Rows of queries, and of keys, that a block works on together. The same as the CPU's: a row whose weights
/// are NaN has NaN for every key that its tile of queries may see.
inline constexpr int kTile = 64;

/// How the matrices of one operand lie in memory.
struct Layout {
  std::int64_t row = 0, col = 0;  ///< strides
  ScalarType dtype = kFloat;
  bool packs = false;  ///< elements at a unit stride can be read four at a time
};

/// Batch offsets of the operands, as numbers of Geometry.
enum Operand { kQuery, kKey, kValue, kMask, kGrad, kOperands };

struct Problem {
  Geometry<kOperands> batch;
  std::int64_t batches = 1, length = 0, keys = 0, features = 0, value_features = 0;
  Layout query, key, value, mask, grad;
  bool has_mask = false, causal = false, drops = false;
  double scale = 1, drop_scale = 1;
  std::uint32_t drop_threshold = 0;
  PhiloxState state = {};

  HALFTONE_HD std::int64_t query_tiles() const { return (length + kTile - 1) / kTile; }
  HALFTONE_HD std::int64_t key_tiles() const { return (keys + kTile - 1) / kTile; }
  /// Keys that some row of the tile of queries from row `first` on may see; the others' weights are zero.
  HALFTONE_HD std::int64_t visible(std::int64_t first) const {
    const std::int64_t end = first + kTile < length ? first + kTile : length;
    return causal && end < keys ? end : keys;
  }
  /// Keys that any query may see. The gradients of the others are zero, whatever the queries are.
  HALFTONE_HD std::int64_t seen_keys() const { return causal && length < keys ? length : keys; }
};

/// `mask` is undefined where there is none, `g` in forward.
struct Inputs {
  const Tensor &q, &k, &v, &mask, &g;
};

Problem make_problem(const Inputs& x, const AttentionOptions& options);

/// What is known of a row of weights once all its scores were seen: weight = exp(score - top) * inverse, and
/// the gradient of the score is weight * (gradient of the weight - dot). In scratch memory there are three
/// planes of them.
template <class C>
struct RowStatistics {
  C top = 0, inverse = 0, dot = 0;
};

template <class C>
__device__ inline RowStatistics<C> load_statistics(const C* planes, std::int64_t rows, std::int64_t row) {
  return {planes[row], planes[rows + row], planes[2 * rows + row]};
}

template <class C>
__device__ inline void store_statistics(C* planes, std::int64_t rows, std::int64_t row,
                                        const RowStatistics<C>& s) {
  planes[row] = s.top;
  planes[rows + row] = s.inverse;
  planes[2 * rows + row] = s.dot;
}

/// Softmax over a row that comes in pieces: the greatest score so far, and the sum of e^(score - top). The
/// part sums that the caller keeps are to be multiplied by what `meet` returns.
template <class C>
struct OnlineRow {
  C top = -std::numeric_limits<C>::infinity(), sum = 0;

  /// `greatest` of the next piece of scores.
  __device__ C meet(C greatest) {
    const C before = top;
    top = Max()(top, greatest);
    const C factor = std::exp(before - base());
    sum *= factor;
    return factor;
  }
  /// What to subtract from scores: no infinity minus itself in a row that has seen no key yet.
  __device__ C base() const { return top == -std::numeric_limits<C>::infinity() ? C(0) : top; }
  /// Of a row that sees no key: 0. If a score is infinite or NaN, so are all weights NaN.
  __device__ C inverse() const { return sum == 0 ? C(0) : C(1) / sum; }
  __device__ RowStatistics<C> statistics(C dot) const { return {base(), inverse(), dot * inverse()}; }
};

/// Which weights of a tile of 64 queries and 64 keys count. Rows are queries, columns keys, both from the
/// tile's first.
struct TileBounds {
  int rows, columns, diagonal;

  __device__ TileBounds(const Problem& p, std::int64_t query, std::int64_t key)
      : rows(clamp(p.length - query)),
        columns(clamp(p.visible(query) - key)),
        diagonal(p.causal ? clamp(query - key) : kTile) {}

  /// Has a weight at all. Others count as zero, whatever their row is.
  __device__ bool contains(int r, int c) const { return r < rows && c < columns; }
  /// Has a score.
  __device__ bool sees(int r, int c) const { return contains(r, c) && c <= r + diagonal; }

 private:
  __device__ static int clamp(std::int64_t n) {
    return static_cast<int>(n < -kTile ? -kTile : n > kTile ? kTile : n);
  }
};

inline constexpr int kMaskStride = kTile + 4;
inline constexpr int kMaskElements = kTile * kMaskStride;
inline constexpr int kKeepBytes = kTile * kTile;

/// Mask and dropout of tiles of one matrix of the batch. Both lie in shared memory while a tile is worked on,
/// so they are read in the order of memory, and four weights share the words of one random block.
/// `kKeysOutside`: the mask of (query r, key c) has place c kMaskStride + r, otherwise r kMaskStride + c.
template <class C, bool kKeysOutside>
class TileRule {
 public:
  /// `shared_mask` holds kMaskElements, if there is a mask; `shared_keep` kKeepBytes, if there is dropout.
  __device__ TileRule(const Problem& problem, const void* mask, std::int64_t b, C* shared_mask,
                      unsigned char* shared_keep)
      : problem_(problem),
        b_(b),
        scale_(static_cast<C>(problem.scale)),
        mask_(mask),
        shared_mask_(shared_mask),
        keep_(shared_keep) {}

  /// Reads mask and random words of a tile. The caller synchronises before and after.
  __device__ void stage(std::int64_t query, std::int64_t key) const {
    if (problem_.has_mask) stage_mask(query, key);
    if (problem_.drops) stage_keep(query, key);
  }

  /// The score of row r and column c, `product` being query . key.
  __device__ C score(C product, int r, int c, const TileBounds& bounds) const {
    constexpr C hidden = -std::numeric_limits<C>::infinity();
    C s = product * scale_;
    if (problem_.has_mask) {
      const C m = shared_mask_[kKeysOutside ? c * kMaskStride + r : r * kMaskStride + c];
      s = problem_.mask.dtype != kBool ? s + m : m != 0 ? s : hidden;
    }
    return bounds.sees(r, c) ? s : hidden;
  }

  __device__ C weight(C product, int r, int c, const TileBounds& bounds, const RowStatistics<C>& row) const {
    const C w = std::exp(score(product, r, c, bounds) - row.top) * row.inverse;
    return bounds.contains(r, c) ? w : C(0);
  }

  /// Dropout of a weight, or of its gradient.
  __device__ C drop(C x, int r, int c) const {
    if (!problem_.drops) return x;
    return keep_[r * kTile + c] ? x * static_cast<C>(problem_.drop_scale) : C(0);
  }

 private:
  __device__ void stage_mask(std::int64_t query, std::int64_t key) const {
    const Layout& m = problem_.mask;
    const std::int64_t offset = problem_.batch.offsets(b_).at[kMask];
    for (int item = thread_id(); item < kTile * kTile; item += block_size()) {
      const int r = m.row == 1 ? item % kTile : item / kTile, c = m.row == 1 ? item / kTile : item % kTile;
      const std::int64_t i = query + r, j = key + c;
      shared_mask_[kKeysOutside ? c * kMaskStride + r : r * kMaskStride + c] =
          i < problem_.length && j < problem_.keys ? read<C>(mask_, m.dtype, offset + i * m.row + j * m.col)
                                                   : C(0);
    }
  }
  __device__ void stage_keep(std::int64_t query, std::int64_t key) const {
    constexpr int kBlocks = kTile / 4 + 1;  // of words that a row of the tile may touch
    const std::uint64_t moved = problem_.state.base ? *problem_.state.base : 0;
    for (int item = thread_id(); item < kTile * kBlocks; item += block_size()) {
      const int r = item / kBlocks;
      const std::int64_t first = (b_ * problem_.length + query + r) * problem_.keys + key;
      const std::int64_t block = first / 4 + item % kBlocks;
      const philox::Block words = philox::block(
          problem_.state.seed, problem_.state.offset + moved + static_cast<std::uint64_t>(block));
      HT_UNROLL
      for (int w = 0; w < 4; ++w) {
        const std::int64_t c = block * 4 + w - first;
        if (c >= 0 && c < kTile) keep_[r * kTile + c] = (words.word[w] >> 8) >= problem_.drop_threshold;
      }
    }
  }

  const Problem& problem_;
  std::int64_t b_;
  C scale_;
  const void* mask_;
  C* shared_mask_;
  unsigned char* keep_;
};

/// Combined over groups of `kLanes` neighbouring lanes.
template <int kLanes, class Combine, class T>
__device__ inline T group_reduce(T value, Combine combine) {
  HT_UNROLL
  for (int step = kLanes / 2; step > 0; step /= 2)
    value = combine(value, __shfl_xor_sync(kFullWarp, value, step));
  return value;
}

inline void* data_of(const Tensor& x) { return x.defined() ? x.data_ptr() : nullptr; }
inline ScalarType dtype_or_float(const Tensor& x) { return x.defined() ? x.scalar_type() : kFloat; }

// Each pass for any operands, and on tensor cores. `planes`: statistics of the rows, written by the gradient
// of queries, read by that of keys and values; their dtype is what is computed in.

void query_gradient(const Problem& problem, const Inputs& x, const Tensor& planes, const Tensor& gq,
                    const Tensor& gmask);
void key_value_gradients(const Problem& problem, const Inputs& x, const Tensor& planes, const Tensor& gk,
                         const Tensor& gv);

/// Whether all operands are fp16 or all bf16, in rows of whole 16-byte packs of at most 128 elements.
bool fits_tensor_cores(const Problem& problem, std::initializer_list<const Tensor*> operands);
void mma_forward(const Problem& problem, const Inputs& x, const Tensor& out);
void mma_query_gradient(const Problem& problem, const Inputs& x, const Tensor& planes, const Tensor& gq,
                        const Tensor& gmask);
void mma_key_value_gradients(const Problem& problem, const Inputs& x, const Tensor& planes, const Tensor& gk,
                             const Tensor& gv);

}  // namespace halftone::cuda::attention

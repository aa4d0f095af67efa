#include "halftone/kernels/pointwise.h"

#include <algorithm>
#include <cmath>

#include "halftone/engine/threads.h"
#include "halftone/kernels/cpu/convert.h"
#include "halftone/kernels/cpu/strided.h"

#define HALFTONE_ISA_BODY "halftone/kernels/cpu/pointwise.inc"
#include "halftone/kernels/cpu/foreach_isa.h"

namespace halftone::cpu {

// Double and integers: plain loops, compiled once for the baseline. -----------------------------------

namespace baseline {

/// `V` is double, or I64 over int64 memory.
template <class F, class V, class T>
void scalar_block(T* out, const T* const* in, std::int64_t n, const Params& params) {
  const F f = make_functor<F>(params);
  for (std::int64_t i = 0; i < n; ++i) {
    V y(0.0);
    if constexpr (requires(V v) { f(v); }) {
      y = f(V(in[0][i]));
    } else if constexpr (requires(V v) { f(v, v); }) {
      y = f(V(in[0][i]), V(in[1][i]));
    } else if constexpr (requires(V v) { f(v, v, v); }) {
      y = f(V(in[0][i]), V(in[1][i]), V(in[2][i]));
    } else {
      y = f(V(in[0][i]), V(in[1][i]), V(in[2][i]), V(in[3][i]));
    }
    if constexpr (kIsInteger<V>) {
      out[i] = y.v;
    } else {
      out[i] = y;
    }
  }
}

template <class F, class V>
constexpr int operand_count() {
  if constexpr (requires(F f, V v) { f(v); }) {
    return 1;
  } else if constexpr (requires(F f, V v) { f(v, v); }) {
    return 2;
  } else if constexpr (requires(F f, V v) { f(v, v, v); }) {
    return 3;
  } else if constexpr (requires(F f, V v) { f(v, v, v, v); }) {
    return 4;
  } else {
    return 0;
  }
}

}  // namespace baseline

namespace {

using baseline::I64;

template <class T>
using Block = void (*)(T* out, const T* const* in, std::int64_t n, const Params& params);

struct Entry {
  int operands;
  Block<double> in_double;
  Block<std::int64_t> in_integers;
};

template <class F>
constexpr Entry entry_of() {
  Entry entry{baseline::operand_count<F, I64>(), nullptr, nullptr};
  if constexpr (baseline::operand_count<F, double>() != 0) {
    entry.operands = baseline::operand_count<F, double>();
    entry.in_double = &baseline::scalar_block<F, double, double>;
  }
  if constexpr (requires { F::kIntegers; }) entry.in_integers = &baseline::scalar_block<F, I64, std::int64_t>;
  return entry;
}

constexpr Entry kEntries[] = {
#define HALFTONE_ENTRY(name) entry_of<baseline::name>(),
    HALFTONE_POINTWISE_FUNCTORS(HALFTONE_ENTRY)
#undef HALFTONE_ENTRY
};

template <class T>
Block<T> block_of(Fn fn) {
  const int i = static_cast<int>(fn);
  if constexpr (std::is_same_v<T, double>) return kEntries[i].in_double;
  if constexpr (std::is_same_v<T, std::int64_t>) return kEntries[i].in_integers;
  if constexpr (std::is_same_v<T, float>) {
    return pick(baseline::float_blocks, avx2::float_blocks, avx512::float_blocks)[i];
  }
}

// The driver: written once, for any layout and dtype. -------------------------------------------------

constexpr std::int64_t kBlock = 512;  // elements of one call of a block function; its arrays stay in L1
constexpr std::int64_t kPad = 16;     // block functions take multiples of the widest vector
constexpr std::int64_t kGrain = 64 * kBlock;  // elements one thread takes at least
constexpr int kTensors = kMaxFnOperands + 1;  // the output is number 0

/// An operand as the loop over one compute type T sees it.
template <class T>
struct Stream {
  std::byte* data;
  std::int64_t bytes;  // of one element
  Loader<T> load;      // of inputs
  bool direct;         // can be read or written in place
  bool constant;       // one element for all
};

template <class T>
struct Job {
  StridedLoop<kTensors> loop;
  Stream<T> streams[kTensors];
  int inputs;
  Block<T> block;
  Storer<T> store;
  const Params* params;

  void run(std::int64_t begin, std::int64_t end) const;
};

template <class T>
void Job<T>::run(std::int64_t begin, std::int64_t end) const {
  alignas(64) T scratch[kTensors][kBlock];
  const T* in[kMaxFnOperands] = {};
  for (int k = 1; k <= inputs; ++k) {
    if (!streams[k].constant) continue;
    streams[k].load(scratch[k], streams[k].data, 0, std::min(kBlock, (end - begin + kPad - 1) / kPad * kPad));
    in[k - 1] = scratch[k];
  }
  for (std::int64_t at = begin; at < end; at += kBlock) {
    const std::int64_t n = std::min(kBlock, end - at);
    const std::int64_t padded = (n + kPad - 1) / kPad * kPad;
    for (int k = 1; k <= inputs; ++k) {
      const Stream<T>& stream = streams[k];
      if (stream.constant) continue;
      if (stream.direct && n == padded) {
        in[k - 1] = reinterpret_cast<const T*>(stream.data) + at;
        continue;
      }
      T* fill = scratch[k];
      loop.for_each_run(k, at, n, [&](std::int64_t offset, std::int64_t stride, std::int64_t length) {
        stream.load(fill, stream.data + offset * stream.bytes, stride, length);
        fill += length;
      });
      std::fill(fill, scratch[k] + padded, T(1));
      in[k - 1] = scratch[k];
    }
    if (streams[0].direct && n == padded) {
      block(reinterpret_cast<T*>(streams[0].data) + at, in, n, *params);
      continue;
    }
    block(scratch[0], in, padded, *params);
    const T* result = scratch[0];
    loop.for_each_run(0, at, n, [&](std::int64_t offset, std::int64_t stride, std::int64_t length) {
      store(streams[0].data + offset * streams[0].bytes, stride, result, length);
      result += length;
    });
  }
}

/// Where the plan of a loop would cost more than the work: up to kPad elements, all of type T, contiguous or
/// one for all. False if the tensors are others.
template <class T>
bool run_small(Block<T> block, const Tensor& out, std::span<const Tensor* const> in, const Params& params) {
  const TensorImpl& to = *out.unsafe_impl();
  if (to.numel > kPad || !to.is_contiguous || to.dtype != dtype_of<T>) return false;
  alignas(64) T lanes[kTensors][kPad];
  const T* operands[kMaxFnOperands];
  for (std::size_t k = 0; k < in.size(); ++k) {
    const TensorImpl& from = *in[k]->unsafe_impl();
    if (from.dtype != dtype_of<T>) return false;
    const T* const values = reinterpret_cast<const T*>(from.data());
    if (from.numel == 1 && from.sizes.size() <= to.sizes.size())
      std::fill_n(lanes[k], kPad, *values);
    else if (from.is_contiguous && from.sizes == to.sizes)
      std::fill_n(std::copy_n(values, to.numel, lanes[k]), kPad - to.numel, T(1));
    else
      return false;
    operands[k] = lanes[k];
  }
  block(lanes[kTensors - 1], operands, kPad, params);
  std::copy_n(lanes[kTensors - 1], to.numel, reinterpret_cast<T*>(to.data()));
  return true;
}

template <class T>
void run_as(Fn fn, const Tensor& out, std::span<const Tensor* const> in, const Params& params) {
  const Block<T> block = block_of<T>(fn);
  if (block == nullptr) fail(fn_name(fn), "takes integers and bool only, got ", *in[0]);
  if (run_small(block, out, in, params)) return;
  Job<T> job;
  job.block = block;
  job.inputs = static_cast<int>(in.size());
  job.params = &params;
  job.store = storer<T>(out.scalar_type());
  job.loop.start(fn_name(fn), out, in);
  for (int k = 0; k <= job.inputs; ++k) {
    const Tensor& tensor = k == 0 ? out : *in[static_cast<std::size_t>(k - 1)];
    const ScalarType dtype = tensor.scalar_type();
    Stream<T>& stream = job.streams[k];
    stream.data = tensor.unsafe_impl()->data();
    stream.bytes = static_cast<std::int64_t>(element_size(dtype));
    stream.load = k == 0 ? nullptr : loader<T>(dtype);
    stream.constant = k != 0 && job.loop.is_constant(k);
    stream.direct = dtype == dtype_of<T> && job.loop.is_dense(k);
  }
  parallel_for(job.loop.size(), kGrain, [&](std::int64_t begin, std::int64_t end) { job.run(begin, end); });
}

void run(Fn fn, const Tensor& out, std::span<const Tensor* const> in, const Params& params) {
  const Entry& entry = kEntries[static_cast<int>(fn)];
  if (static_cast<int>(in.size()) != entry.operands) {
    fail(fn_name(fn), "takes ", entry.operands, " tensors, got ", in.size());
  }
  bool any_double = out.scalar_type() == kDouble;
  bool all_integers = !is_floating_point(out.scalar_type());
  for (const Tensor* tensor : in) {
    any_double |= tensor->scalar_type() == kDouble && !tensor->unsafe_impl()->is_wrapped_number;
    all_integers &= !is_floating_point(tensor->scalar_type());
  }
  if (out.numel() == 0) return;
  if (any_double) {
    run_as<double>(fn, out, in, params);
  } else if (all_integers && entry.in_integers != nullptr) {
    run_as<std::int64_t>(fn, out, in, params);
  } else {
    run_as<float>(fn, out, in, params);
  }
}

int operands(Fn fn) { return kEntries[static_cast<int>(fn)].operands; }

}  // namespace

}  // namespace halftone::cpu

namespace halftone {

template <>
const PointwiseKernels& cpu_kernels<PointwiseKernels>() {
  static constexpr PointwiseKernels kernels{&cpu::run, &cpu::operands};
  return kernels;
}

}  // namespace halftone

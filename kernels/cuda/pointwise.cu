#include "halftone/kernels/pointwise.h"

#include <array>

#include "halftone/kernels/cuda/pointwise_kernel.h"

namespace halftone::cuda {

namespace {

/// The formulas in the order of Fn, which is the order of the lists of functors.
const PointwiseEntry& entry_of(Fn fn) {
  static const std::array<PointwiseEntry, kFnCount> entries = [] {
    std::array<PointwiseEntry, kFnCount> all{};
    auto next = all.begin();
    for (const std::span<const PointwiseEntry> list :
         {arith_kernels(), unary_kernels(), unary_backward_kernels(), activation_kernels(), compare_kernels(),
          loss_kernels(), special_kernels(), recurrent_kernels()}) {
      next = std::copy(list.begin(), list.end(), next);
    }
    return all;
  }();
  return entries[static_cast<std::size_t>(fn)];
}

/// A number on the host, which a kernel that computes in C gets as an argument.
template <class C>
C number_on_host(const Tensor& tensor) {
  return dispatch_all(tensor.scalar_type(),
                      [&]<class T>() { return convert_value<C>(*static_cast<const T*>(tensor.data_ptr())); });
}

void place_operand(PointwiseCall& call, int k, const Tensor& tensor, Device device, ScalarType compute,
                   Fn fn) {
  call.dtype[k] = tensor.scalar_type();
  if (!tensor.is_cpu()) {
    if (tensor.device() != device) {
      fail(fn_name(fn), "tensors are on different devices: ", device, " and ", tensor.device());
    }
    call.data[k] = tensor.data_ptr();
    return;
  }
  if (tensor.numel() != 1) fail(fn_name(fn), "expected tensors on ", device, ", got ", tensor, " on the CPU");
  if (compute == kLong) {
    call.integer[k] = number_on_host<std::int64_t>(tensor);
  } else {
    call.real[k] = compute == kFloat ? static_cast<double>(number_on_host<float>(tensor))
                                     : number_on_host<double>(tensor);
  }
}

/// Whether every tensor moves in packs of W elements, or is one element for each pack.
template <int W>
bool moves_in_packs(const PointwiseCall& call, int tensors) {
  const Geometry<kMaxFnOperands + 1>& walk = call.walk;
  if (walk.numel < W || !walks_in_packs(walk, 0, W)) return false;
  for (int k = 0; k < tensors; ++k) {
    if (call.data[k] == nullptr) continue;
    if (walk.strides[walk.rank - 1][k] == 0) continue;
    if (!walks_in_packs(walk, k, W) || !has_packs<W>(call.dtype[k])) return false;
    if (!is_pack_aligned(call.data[k], call.dtype[k], W)) return false;
  }
  return true;
}

void run(Fn fn, const Tensor& out, std::span<const Tensor* const> in, const Params& params) {
  const PointwiseEntry& entry = entry_of(fn);
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
  const bool integers = !any_double && all_integers && entry.in_integers != nullptr;
  const ScalarType compute = any_double ? kDouble : integers ? kLong : kFloat;
  const PointwiseLaunch launch_kernel = any_double ? entry.in_double
                                        : integers ? entry.in_integers
                                                   : entry.in_float;
  if (launch_kernel == nullptr) fail(fn_name(fn), "takes integers and bool only, got ", *in[0]);

  PointwiseCall call;
  call.walk = memory_walk<kMaxFnOperands + 1>(fn_name(fn), out, in);
  call.params = params;
  const Device device = out.device();
  call.data[0] = out.data_ptr();
  call.dtype[0] = out.scalar_type();
  for (std::size_t k = 0; k < in.size(); ++k) {
    place_operand(call, static_cast<int>(k) + 1, *in[k], device, compute, fn);
  }
  if (compute == kFloat) {
    const int tensors = static_cast<int>(in.size()) + 1;
    call.pack = moves_in_packs<8>(call, tensors) ? 8 : moves_in_packs<4>(call, tensors) ? 4 : 1;
  }
  const DeviceScope scope(device);
  launch_kernel(call);
}

int operands(Fn fn) { return entry_of(fn).operands; }

}  // namespace

}  // namespace halftone::cuda

namespace halftone {

template <>
const PointwiseKernels& cuda_kernels<PointwiseKernels>() {
  static constexpr PointwiseKernels kernels{&cuda::run, &cuda::operands};
  return kernels;
}

}  // namespace halftone

// Sums at places given by index tensors: one thread per place and element adds the sources in their order, so
// results are those of the CPU.

#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/index_destinations.h"
#include "halftone/kernels/cuda/index_functions.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

/// What sums of T are accumulated in.
template <class T>
using SumOf = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>, float, T>;

template <class T>
__device__ inline SumOf<T> sum_of(SumOf<T> a, SumOf<T> b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else if constexpr (std::is_integral_v<T>) {  // wraps around
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  } else {
    return a + b;
  }
}

template <class T>
__device__ inline SumOf<T> scaled(T value, SumOf<T> alpha) {
  if constexpr (std::is_same_v<T, bool>) {
    return value && alpha;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
    return static_cast<T>(static_cast<U>(value) * static_cast<U>(alpha));
  } else {
    return rounded_product(to_compute<SumOf<T>>(value), alpha);
  }
}

template <class T>
__global__ void add_groups_kernel(SumOf<T>* self, const T* values, PairView pairs, std::int64_t count,
                                  Places places, Geometry<1> sources, Geometry<2> inner, SumOf<T> alpha) {
  for (std::int64_t i = global_id(); i < count * inner.numel; i += global_size()) {
    const std::int64_t first = i / inner.numel;
    const auto position = static_cast<std::int64_t>(pairs.key(first));
    if (!places.contains(position) || !begins_group(pairs, first)) continue;
    const auto offsets = inner.offsets(i % inner.numel);
    const T* from = values + offsets.at[1];
    SumOf<T>& place = self[places.offset(position) + offsets.at[0]];
    const std::int64_t end = group_end(pairs, first, count);
    SumOf<T> sum = place;
    for (std::int64_t pair = first; pair < end; ++pair) {
      sum = sum_of<T>(sum, scaled<T>(from[sources.offsets(pairs.source(pair)).at[0]], alpha));
    }
    place = sum;
  }
}

void add_groups(const Tensor& self, const Tensor& values, const Destinations& to, const Scalar& alpha) {
  const std::int64_t count = to.pairs.count();
  dispatch_all(values.scalar_type(), [&]<class T>() {
    launch<add_groups_kernel<T>>(blocks_for(count * to.inner.numel), kThreads, 0, self.data_ptr<SumOf<T>>(),
                                 values.data_ptr<T>(), to.pairs.view(), count, to.places, to.sources,
                                 to.inner, alpha.to<SumOf<T>>());
  });
}

}  // namespace

void add(const Tensor& self, const Tensor& positions, const Dims& dims, const Tensor& values,
         const Scalar& alpha) {
  if (values.numel() == 0) return;
  const DeviceScope scope(self.device());
  add_groups(self, values, row_destinations(self, positions, dims, values), alpha);
}

void scatter_add(const Tensor& self, std::int64_t dim, const Tensor& index, const Tensor& src) {
  if (index.numel() == 0) return;
  const DeviceScope scope(self.device());
  add_groups(self, src, element_destinations(self, dim, index, src), 1);
}

void accumulate(const Tensor& self, const Tensor& src) {
  if (src.numel() == 0) return;
  const DeviceScope scope(self.device());
  add_groups(self, src, overlapping_destinations(self, src), 1);
}

}  // namespace halftone::cuda

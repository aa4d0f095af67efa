// Sums over the rows of a classification loss, and over its classes. Two passes in a fixed order: blocks of
// 4096 rows, then the blocks' sums, all in fp64. What a mean divides by stays on the device.

#include "halftone/kernels/cuda/device.h"

#include "halftone/kernels/cuda/class_loss.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

constexpr std::int64_t kRowsPerBlock = 4096;

/// Element 2b of `partial` becomes the sum of block b's losses (0 without losses), element 2b + 1 that of its
/// labels' weights.
template <class C>
__global__ void class_loss_partial_kernel(double* partial, const C* losses, const void* target,
                                          const void* weight, ClassProblem p) {
  for (std::int64_t b = block_id(); b * kRowsPerBlock < p.rows(); b += grid_size()) {
    double loss = 0, mass = 0;
    for (std::int64_t i = thread_id(); i < kRowsPerBlock; i += block_size()) {
      const std::int64_t row = b * kRowsPerBlock + i;
      if (row >= p.rows()) break;
      if (losses) loss += static_cast<double>(losses[row]);
      if (p.has_shares) continue;
      const Label label = read_label(target, p.target, p.geometry.rows.offsets(row).at[kTarget], p.classes(),
                                     p.ignore_index, FaultSink{}, false);
      if (label.counts) mass += class_weight<C>(weight, p.weight, p.weight_stride, label.value);
    }
    loss = block_sum(loss);
    mass = block_sum(mass);
    if (thread_id() != 0) continue;
    partial[2 * b] = loss;
    partial[2 * b + 1] = mass;
  }
}

/// One block. `out` becomes the losses' sum, divided by the weights' sum if `by_weights`, else by `divisor`;
/// `total` the weights' sum. Each may be null.
template <class C>
__global__ void class_loss_total_kernel(void* out, ScalarType out_dtype, double* total, const double* partial,
                                        std::int64_t blocks, bool by_weights, double divisor) {
  double loss = 0, mass = 0;
  for (std::int64_t b = thread_id(); b < blocks; b += block_size()) {
    loss += partial[2 * b];
    mass += partial[2 * b + 1];
  }
  loss = block_sum(loss);
  mass = block_sum(mass);
  if (thread_id() != 0) return;
  if (total) *total = mass;
  if (out) write(out, out_dtype, 0, static_cast<C>(loss / (by_weights ? mass : divisor)));
}

/// One block.
template <class C>
__global__ void class_weight_sum_kernel(double* total, const void* weight, ScalarType dtype,
                                        std::int64_t stride, std::int64_t classes) {
  double sum = 0;
  for (std::int64_t c = thread_id(); c < classes; c += block_size()) {
    sum += class_weight<C>(weight, dtype, stride, c);
  }
  sum = block_sum(sum);
  if (thread_id() == 0) *total = sum;
}

// ---------------------------------------------------------------------------------------------------------------

Tensor doubles(const Tensor& like, std::int64_t count) {
  return empty({count}, TensorOptions(kDouble).device(like.device()));
}

std::int64_t block_count(const ClassProblem& p) { return (p.rows() + kRowsPerBlock - 1) / kRowsPerBlock; }

template <class C>
Tensor partial_sums(const Tensor& like, const Tensor& losses, const ClassProblem& p, const ClassData& data) {
  const Tensor partial = doubles(like, 2 * block_count(p));
  const void* values = losses.defined() ? losses.data_ptr() : nullptr;
  launch<class_loss_partial_kernel<C>>(blocks_for(block_count(p), 1), kThreads, 0, partial.data_ptr(), values,
                                       data.target, data.weight, p);
  return partial;
}

template <class C>
void reduce_in(const Tensor& out, const Tensor& losses, const ClassProblem& p, const ClassData& data,
               bool mean) {
  const Tensor partial = partial_sums<C>(out, losses, p, data);
  launch<class_loss_total_kernel<C>>(1, kThreads, 0, out.data_ptr(), out.scalar_type(), nullptr,
                                     partial.data_ptr(), block_count(p), mean && !p.has_shares, p.divisor);
}

template <class C>
Tensor label_weights_in(const Tensor& like, const ClassProblem& p, const ClassData& data) {
  const Tensor partial = partial_sums<C>(like, {}, p, data), total = doubles(like, 1);
  launch<class_loss_total_kernel<C>>(1, kThreads, 0, nullptr, kFloat, total.data_ptr(), partial.data_ptr(),
                                     block_count(p), false, 1.0);
  return total;
}

template <class C>
Tensor class_weights_in(const Tensor& weight) {
  const Tensor total = doubles(weight, 1);
  launch<class_weight_sum_kernel<C>>(1, kThreads, 0, total.data_ptr(), weight.data_ptr(),
                                     weight.scalar_type(), weight.stride(0), weight.size(0));
  return total;
}

}  // namespace

void reduce_class_losses(const Tensor& out, const Tensor& losses, const ClassProblem& problem,
                         const ClassData& data, bool mean, bool wide) {
  (wide ? reduce_in<double> : reduce_in<float>)(out, losses, problem, data, mean);
}

Tensor sum_label_weights(const Tensor& like, const ClassProblem& problem, const ClassData& data, bool wide) {
  return (wide ? label_weights_in<double> : label_weights_in<float>)(like, problem, data);
}

Tensor sum_class_weights(const Tensor& weight, bool wide) {
  return (wide ? class_weights_in<double> : class_weights_in<float>)(weight);
}

}  // namespace halftone::cuda

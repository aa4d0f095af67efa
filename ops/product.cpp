#include "halftone/ops/product.h"

#include <algorithm>
#include <array>

#include "halftone/kernels/kernels.h"
#include "halftone/ops/operator.h"

namespace halftone::ops {
namespace {

enum Operand { kOut, kA, kB, kAddend, kOperands };
using Offsets = std::array<std::int64_t, kOperands>;

/// One batch dimension: how many matrices, and how far apart in each operand.
struct Loop {
  std::int64_t size = 1;
  Offsets strides{};
};

/// Nested batch dimensions, outermost first; neighbours that step evenly are one.
class LoopNest {
 public:
  void push(const Loop& inner) {
    if (count_ > 0) {
      Loop& outer = loops_[count_ - 1];
      bool even = true;
      for (int i = 0; i < kOperands; ++i) even = even && outer.strides[i] == inner.strides[i] * inner.size;
      if (even) {
        outer.size *= inner.size;
        outer.strides = inner.strides;
        return;
      }
    }
    loops_[count_++] = inner;
  }
  /// The innermost dimension, taken off; one matrix when there is none.
  Loop pop() { return count_ > 0 ? loops_[--count_] : Loop{}; }
  const Loop& innermost() const { return loops_[count_ - 1]; }
  bool empty() const { return count_ == 0; }
  void clear() { count_ = 0; }

  std::int64_t count() const {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < count_; ++i) product *= loops_[i].size;
    return product;
  }
  Offsets offsets(std::int64_t index) const {
    Offsets result{};
    for (std::size_t i = count_; i-- > 0;) {
      const std::int64_t position = index % loops_[i].size;
      index /= loops_[i].size;
      for (int j = 0; j < kOperands; ++j) result[j] += position * loops_[i].strides[j];
    }
    return result;
  }

 private:
  std::array<Loop, kMaxDims> loops_;
  std::size_t count_ = 0;
};

void* advance(void* data, ScalarType dtype, std::int64_t elements) {
  if (data == nullptr) return nullptr;
  return static_cast<std::byte*>(data) + elements * static_cast<std::int64_t>(element_size(dtype));
}

MatrixRef operand(const MatrixStack& x, std::int64_t offset, std::int64_t batch_stride) {
  return {advance(x.data, x.dtype, offset), x.dtype, x.row_stride, x.col_stride, batch_stride};
}

struct Product {
  const GemmKernels& kernels;
  Device device;
  MatrixStack out, a, b;
  const MatrixStack* addend;
  Epilogue epilogue;
  std::int64_t k;

  /// `inner.size` products, the results in their places.
  void run(const Offsets& at, const Loop& inner) const {
    const auto& step = inner.strides;
    Epilogue e = epilogue;
    if (addend) e.addend = operand(*addend, at[kAddend], step[kAddend]);
    e.before_activation = advance(e.before_activation, out.dtype, at[kOut]);
    kernels.run(
        inner.size, out.rows, out.cols, k, operand(a, at[kA], step[kA]), operand(b, at[kB], step[kB]),
        {advance(out.data, out.dtype, at[kOut]), out.dtype, out.row_stride, out.col_stride, step[kOut]}, e);
  }

  /// The sum of the products over `summed`, in fp32, as one result. The order is that of the batch.
  void run_sum(const Offsets& at, const LoopNest& summed) const {
    const ScalarType wide = accumulate_type(out.dtype);
    const Tensor sum = allocate({{out.rows, out.cols}, wide, device});
    const MatrixRef partial{sum.data_ptr(), wide, out.cols, 1, 0};
    const std::int64_t terms = summed.count();
    Epilogue e = epilogue;
    for (std::int64_t i = 0; i < terms; ++i) {
      const Offsets offset = summed.offsets(i);
      const bool last = i + 1 == terms;
      e.addend = partial;
      e.beta = i > 0 ? 1 : 0;
      MutableMatrixRef target{sum.data_ptr(), wide, out.cols, 1, 0};
      if (last) {
        target = {advance(out.data, out.dtype, at[kOut]), out.dtype, out.row_stride, out.col_stride, 0};
      }
      kernels.run(1, out.rows, out.cols, k, operand(a, at[kA] + offset[kA], 0),
                  operand(b, at[kB] + offset[kB], 0), target, e);
    }
  }
};

std::int64_t batch_at(const Dims& values, std::size_t rank, std::size_t d, std::int64_t otherwise) {
  const std::size_t missing = rank - values.size();
  return d < missing ? otherwise : values[d - missing];
}

/// Sum over a batch dimension whose matrices stand side by side in a and below each other in b: a longer k.
bool extend_k(Product& product, const Loop& loop) {
  if (product.k == 1) {
    product.a.col_stride = loop.strides[kA];
    product.b.row_stride = loop.strides[kB];
  } else if (loop.size != 0 && (loop.strides[kA] != product.k * product.a.col_stride ||
                                loop.strides[kB] != product.k * product.b.row_stride)) {
    return false;
  }
  product.k *= loop.size;
  return true;
}

}  // namespace

MatrixStack matrices(const Tensor& x) {
  const auto rank = static_cast<std::size_t>(x.dim());
  const IntArrayRef sizes = x.sizes(), strides = x.strides();
  return {x.data_ptr(),
          x.scalar_type(),
          Dims(sizes.data(), rank - 2),
          Dims(strides.data(), rank - 2),
          sizes[rank - 2],
          sizes[rank - 1],
          strides[rank - 2],
          strides[rank - 1]};
}

MatrixStack row_or_matrices(const Tensor& x) {
  if (x.dim() != 1) return matrices(x);
  return {x.data_ptr(), x.scalar_type(), {}, {}, 1, x.size(0), 0, x.stride(0)};
}

MatrixStack column_or_matrices(const Tensor& x) {
  return x.dim() == 1 ? transposed(row_or_matrices(x)) : matrices(x);
}

MatrixStack broadcast_matrices(const Tensor& x, IntArrayRef sizes) {
  const std::size_t rank = sizes.size(), missing = rank - static_cast<std::size_t>(x.dim());
  Dims strides(rank, 0);
  for (std::size_t d = missing; d < rank; ++d) {
    if (x.sizes()[d - missing] != 1) strides[d] = x.strides()[d - missing];
  }
  return {x.data_ptr(),
          x.scalar_type(),
          Dims(sizes.data(), rank - 2),
          Dims(strides.data(), rank - 2),
          sizes[rank - 2],
          sizes[rank - 1],
          strides[rank - 2],
          strides[rank - 1]};
}

MatrixStack transposed(MatrixStack x) {
  std::swap(x.rows, x.cols);
  std::swap(x.row_stride, x.col_stride);
  return x;
}

void run_product(Device device, const MatrixStack& out, const MatrixStack& a, const MatrixStack& b,
                 Epilogue epilogue, const MatrixStack* addend) {
  Product product{kernels_for<GemmKernels>(device), device, out, a, b, addend, epilogue, a.cols};
  const MatrixStack* const operands[kOperands] = {&out, &a, &b, addend};
  const std::size_t rank = std::max({out.batch.size(), a.batch.size(), b.batch.size()});
  LoopNest kept, summed;
  for (std::size_t d = 0; d < rank; ++d) {
    Loop loop;
    for (int i = kOut; i <= kB; ++i) {
      const std::int64_t size = batch_at(operands[i]->batch, rank, d, 1);
      if (size != 1) loop.size = size;
    }
    if (loop.size == 1) continue;
    for (int i = 0; i < kOperands; ++i) {
      if (operands[i] && batch_at(operands[i]->batch, rank, d, 1) != 1) {
        loop.strides[i] = batch_at(operands[i]->batch_strides, rank, d, 0);
      }
    }
    (batch_at(out.batch, rank, d, 1) == loop.size ? kept : summed).push(loop);
  }
  if (addend && !summed.empty()) fail("product", "an addend and a sum over the batch do not go together");

  while (!summed.empty() && extend_k(product, summed.innermost())) summed.pop();
  if (summed.count() == 0) {  // a sum of nothing
    product.k = 0;
    summed.clear();
  }
  if (!summed.empty()) {
    const std::int64_t results = kept.count();
    for (std::int64_t i = 0; i < results; ++i) product.run_sum(kept.offsets(i), summed);
    return;
  }
  const Loop inner = kept.pop();
  const std::int64_t outer = kept.count();
  for (std::int64_t i = 0; i < outer; ++i) product.run(kept.offsets(i), inner);
}

void check_product_operands(const char* op, std::initializer_list<const Tensor*> operands) {
  const Tensor* first = nullptr;
  for (const Tensor* tensor : operands) {
    if (!tensor->defined()) continue;
    if (tensor->scalar_type() == kBool) fail(op, "has no product of bool; convert with .to(), got ", *tensor);
    if (!first) first = tensor;
    if (tensor->device() != first->device()) {
      fail(op, "expected all tensors on one device, got ", first->device(), " and ", tensor->device());
    }
    if (tensor->scalar_type() != first->scalar_type()) {
      fail(op, "expected all operands in one dtype, got ", *first, " and ", *tensor,
           "; convert one with .to(), or run inside an amp::Autocast region");
    }
  }
}

}  // namespace halftone::ops

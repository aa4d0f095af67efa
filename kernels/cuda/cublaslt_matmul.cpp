#include "halftone/kernels/cuda/cublaslt_matmul.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "halftone/engine/cuda_math.h"
#include "halftone/engine/functions.h"
#include "halftone/engine/tensor.h"
#include "halftone/kernels/cuda/cublaslt.h"
#include "halftone/kernels/cuda/runtime.h"

namespace halftone::cuda {
namespace {

using i64 = std::int64_t;

/// Algorithms that want more are not considered. The size NVIDIA recommends for its newer devices.
constexpr std::uint64_t kLargestWorkspace = std::uint64_t{32} << 20;
/// Beyond this the choices made so far are forgotten: shapes that never come back must not pile up.
constexpr std::size_t kMostChoices = 4096;

cudaDataType_t data_type(Dtype dtype) {
  switch (dtype) {
    case kHalf:
      return CUDA_R_16F;
    case kBFloat16:
      return CUDA_R_16BF;
    case kFloat:
      return CUDA_R_32F;
    default:
      return CUDA_R_64F;
  }
}

cublasComputeType_t compute_type(const LtProduct& p) {
  if (p.a.dtype == kDouble) return CUBLAS_COMPUTE_64F;
  return p.a.dtype == kFloat && allow_tf32() ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

cublasLtEpilogue_t epilogue(const LtProduct& p) {
  if (p.sums) return p.sums_of_b ? CUBLASLT_EPILOGUE_BGRADB : CUBLASLT_EPILOGUE_BGRADA;
  switch (p.activation) {
    case Activation::kNone:
      return p.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    case Activation::kRelu:
      return p.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
    case Activation::kGeluTanh:
      break;
  }
  if (p.before_activation) return p.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
  return p.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
}

/// What the epilogue reads or writes as a vector: a bias, or the gradient of one.
const void* bias_vector(const LtProduct& p) { return p.sums ? p.sums : p.bias; }

/// The power of two that divides an address, up to 256, beyond which no algorithm asks for more.
std::uint32_t alignment(const void* data) {
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  return static_cast<std::uint32_t>(std::min(address & (~address + 1), std::uintptr_t{256}));
}

template <class Opaque>
using Descriptor = std::unique_ptr<Opaque, cublasStatus_t (*)(Opaque*)>;

template <class Set, class Owner, class Attribute, class Value>
void set(Set function, const Owner& descriptor, Attribute attribute, Value value) {
  check(function(descriptor.get(), attribute, &value, sizeof value), "a cuBLASLt attribute");
}

/// What cuBLASLt is told about a product.
struct Description {
  Descriptor<cublasLtMatmulDescOpaque_t> matmul;
  Descriptor<cublasLtMatrixLayoutOpaque_t> a, b, c, d;
};

Descriptor<cublasLtMatrixLayoutOpaque_t> describe(const LtMatrix& x, i64 rows, i64 cols, i64 batch) {
  const CublasLt& lt = cublaslt();
  if (x.transposed) std::swap(rows, cols);
  cublasLtMatrixLayout_t layout = nullptr;
  check(lt.layout_create(&layout, data_type(x.dtype), static_cast<std::uint64_t>(rows),
                         static_cast<std::uint64_t>(cols), x.ld),
        "cublasLtMatrixLayoutCreate");
  Descriptor<cublasLtMatrixLayoutOpaque_t> owner(layout, lt.layout_destroy);
  if (batch > 1) {
    set(lt.layout_set, owner, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    set(lt.layout_set, owner, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, x.batch_stride);
  }
  return owner;
}

Description describe(const LtProduct& p, cublasComputeType_t compute) {
  const CublasLt& lt = cublaslt();
  cublasLtMatmulDesc_t matmul = nullptr;
  check(lt.desc_create(&matmul, compute, compute == CUBLAS_COMPUTE_64F ? CUDA_R_64F : CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  Description all{{matmul, lt.desc_destroy},
                  describe(p.a, p.m, p.k, p.batch),
                  describe(p.b, p.k, p.n, p.batch),
                  describe(p.c, p.m, p.n, p.batch),
                  describe(p.d, p.m, p.n, p.batch)};
  const auto op = [](const LtMatrix& x) { return x.transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  set(lt.desc_set, all.matmul, CUBLASLT_MATMUL_DESC_TRANSA, static_cast<std::int32_t>(op(p.a)));
  set(lt.desc_set, all.matmul, CUBLASLT_MATMUL_DESC_TRANSB, static_cast<std::int32_t>(op(p.b)));
  set(lt.desc_set, all.matmul, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(epilogue(p)));
  if (const void* const bias = bias_vector(p))
    set(lt.desc_set, all.matmul, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  if (p.before_activation) {
    set(lt.desc_set, all.matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p.before_activation);
    set(lt.desc_set, all.matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, p.d.ld);
    if (p.batch > 1)
      set(lt.desc_set, all.matmul, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, p.d.batch_stride);
  }
  return all;
}

/// An algorithm for a product, if there is one.
struct Choice {
  bool found = false;
  cublasLtMatmulAlgo_t algo{};
  std::size_t workspace = 0;
};

Choice ask(const LtProduct& p, const Description& description) {
  const CublasLt& lt = cublaslt();
  cublasLtMatmulPreference_t created = nullptr;
  check(lt.preference_create(&created), "cublasLtMatmulPreferenceCreate");
  const Descriptor<cublasLtMatmulPreferenceOpaque_t> preference(created, lt.preference_destroy);
  set(lt.preference_set, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kLargestWorkspace);
  // Partial sums stay in the type of the computation: a result is rounded to its own type once.
  set(lt.preference_set, preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  set(lt.preference_set, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(p.a.data));
  set(lt.preference_set, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(p.b.data));
  set(lt.preference_set, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(p.c.data));
  set(lt.preference_set, preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(p.d.data));

  cublasLtMatmulHeuristicResult_t result{};
  int results = 0;
  const cublasStatus_t status =
      lt.heuristic(cublaslt_handle(), description.matmul.get(), description.a.get(), description.b.get(),
                   description.c.get(), description.d.get(), preference.get(), 1, &result, &results);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check(status, "cublasLtMatmulAlgoGetHeuristic");
  if (results == 0 || result.state != CUBLAS_STATUS_SUCCESS) return {};
  return {true, result.algo, result.workspaceSize};
}

/// Everything that a choice depends on.
using Key = std::array<i64, 32>;

Key key_of(const LtProduct& p, cublasComputeType_t compute) {
  Key key{};
  std::size_t size = 0;
  const auto add = [&](auto value) { key[size++] = static_cast<i64>(value); };
  for (const LtMatrix* x : {&p.a, &p.b, &p.c, &p.d}) {
    add(x->dtype), add(x->ld), add(x->batch_stride), add(x->transposed), add(alignment(x->data));
  }
  add(p.batch), add(p.m), add(p.n), add(p.k);
  add(compute), add(epilogue(p)), add(bias_vector(p) ? alignment(bias_vector(p)) : 0);
  add(current_device_index());
  return key;
}

Choice choose(const LtProduct& p, cublasComputeType_t compute, const Description& description) {
  static std::mutex mutex;
  static std::map<Key, Choice> choices;
  const Key key = key_of(p, compute);
  const std::lock_guard lock(mutex);
  if (const auto known = choices.find(key); known != choices.end()) return known->second;
  if (choices.size() >= kMostChoices) choices.clear();
  return choices[key] = ask(p, description);
}

/// cuBLASLt counts in 32 bits.
bool fits(const LtProduct& p) {
  const i64 largest = std::max({p.batch, p.m, p.n, p.k, p.a.ld, p.b.ld, p.c.ld, p.d.ld});
  return largest <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace

bool takes_before_activation(const LtProduct& p) {
  constexpr i64 kMultiple = 8;  // of the leading dimension and of a batch's stride
  return reinterpret_cast<std::uintptr_t>(p.before_activation) % 16 == 0 && p.d.ld % kMultiple == 0 &&
         (p.batch == 1 || p.d.batch_stride % kMultiple == 0);
}

bool enqueue(const LtProduct& product) {
  LtProduct p = product;
  if (p.beta == 0) p.c = p.d;
  if (!fits(p)) return false;

  const cublasComputeType_t compute = compute_type(p);
  const Description description = describe(p, compute);
  const Choice choice = choose(p, compute, description);
  if (!choice.found) return false;

  Tensor workspace;
  if (choice.workspace > 0) {
    const auto device = static_cast<std::int8_t>(current_device_index());
    workspace = empty({static_cast<i64>(choice.workspace)}, TensorOptions(kByte).device(kCUDA, device));
  }
  const float alpha = static_cast<float>(p.alpha), beta = static_cast<float>(p.beta);
  const bool wide = compute == CUBLAS_COMPUTE_64F;
  check(cublaslt().matmul(cublaslt_handle(), description.matmul.get(),
                          wide ? static_cast<const void*>(&p.alpha) : &alpha, p.a.data, description.a.get(),
                          p.b.data, description.b.get(), wide ? static_cast<const void*>(&p.beta) : &beta,
                          p.c.data, description.c.get(), const_cast<void*>(p.d.data), description.d.get(),
                          &choice.algo, workspace.defined() ? workspace.data_ptr() : nullptr,
                          choice.workspace, current_stream()),
        "cublasLtMatmul");
  return true;
}

}  // namespace halftone::cuda

// The subset of cuBLASLt that the backend calls, for the emulated device. Strict where the library is
// lenient: what is not implemented here is refused, and so are an algorithm of another product, operands that
// are aligned less than the algorithm was chosen for, and memory that is not the device's.

#include "halftone/kernels/cuda/cublaslt.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "halftone/engine/half.h"
#include "halftone/tests/simt/runtime.h"

namespace {

using i64 = std::int64_t;
using halftone::BFloat16;
using halftone::Half;

struct MatmulDesc {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  std::int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;  // or where its gradient goes
  void* aux = nullptr;         // where GELU's argument goes
  i64 aux_ld = 0, aux_batch_stride = 0;
};

struct Layout {
  cudaDataType_t type;
  i64 rows, cols, ld;
  std::int32_t batch = 1;
  i64 batch_stride = 0;

  /// From the first element to behind the last.
  i64 extent() const {
    return rows == 0 || cols == 0 ? 0 : (batch - 1) * batch_stride + (cols - 1) * ld + rows;
  }
  friend bool operator==(const Layout&, const Layout&) = default;
};

struct Preference {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t alignment[4] = {256, 256, 256, 256};  // of A, B, C and D
};

/// What an algorithm was chosen for; stands in the eight words of a cublasLtMatmulAlgo_t.
struct Algorithm {
  std::uint64_t magic, product, workspace;
  std::uint32_t alignment[4];
  std::uint64_t unused[3];
};
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
constexpr std::uint64_t kMagic = 0x6d75'6c65'7469'6b61;

/// Objects behind the handles of one kind: a handle that was destroyed or never made is refused.
template <class T>
class Objects {
 public:
  static void* add(T object) {
    auto owner = std::make_unique<T>(object);
    void* const handle = owner.get();
    all().emplace(handle, std::move(owner));
    return handle;
  }
  static T* find(const void* handle) {
    const auto found = all().find(handle);
    return found == all().end() ? nullptr : found->second.get();
  }
  static cublasStatus_t remove(const void* handle) {
    return all().erase(handle) == 1 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
  }

 private:
  static std::map<const void*, std::unique_ptr<T>>& all() {
    static std::map<const void*, std::unique_ptr<T>> objects;
    return objects;
  }
};

struct Context {
  int device;
};

cublasStatus_t refuse(cublasStatus_t status, const std::string& why) {
  simt::note("cuBLASLt: " + why);
  return status;
}

i64 element_bytes(cudaDataType_t type) { return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2; }

template <class Value, class Target>
cublasStatus_t store(const void* buffer, std::size_t bytes, Target& target) {
  if (!buffer || bytes != sizeof(Value))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "an attribute of the wrong size");
  Value value;
  std::memcpy(&value, buffer, bytes);
  target = value;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t create(cublasLtHandle_t* handle) {
  const std::lock_guard lock(simt::runtime_lock());
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  if (simt::device_status() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (simt::breaks_capture()) return CUBLAS_STATUS_ALLOC_FAILED;
  *handle = static_cast<cublasLtHandle_t>(Objects<Context>::add({simt::current_device()}));
  return CUBLAS_STATUS_SUCCESS;
}

const char* status_string(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "success";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "the library was not initialized";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "the resource allocation failed";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "an unsupported value or parameter was passed to the function";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "the functionality is not supported";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "the function failed to launch on the GPU";
    default:
      return "an internal operation failed";
  }
}

cublasStatus_t desc_create(cublasLtMatmulDesc_t* desc, cublasComputeType_t compute, cudaDataType_t scale) {
  const std::lock_guard lock(simt::runtime_lock());
  if (!desc) return CUBLAS_STATUS_INVALID_VALUE;
  *desc = static_cast<cublasLtMatmulDesc_t>(Objects<MatmulDesc>::add({compute, scale}));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t desc_destroy(cublasLtMatmulDesc_t desc) {
  const std::lock_guard lock(simt::runtime_lock());
  return Objects<MatmulDesc>::remove(desc);
}

cublasStatus_t desc_set(cublasLtMatmulDesc_t handle, cublasLtMatmulDescAttributes_t attribute,
                        const void* buffer, std::size_t bytes) {
  const std::lock_guard lock(simt::runtime_lock());
  MatmulDesc* const desc = Objects<MatmulDesc>::find(handle);
  if (!desc) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no such matmul descriptor");
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return store<std::int32_t>(buffer, bytes, desc->transpose_a);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return store<std::int32_t>(buffer, bytes, desc->transpose_b);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return store<std::uint32_t>(buffer, bytes, desc->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return store<const void*>(buffer, bytes, desc->bias);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER:
      return store<void*>(buffer, bytes, desc->aux);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD:
      return store<i64>(buffer, bytes, desc->aux_ld);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE:
      return store<i64>(buffer, bytes, desc->aux_batch_stride);
    default:
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "this attribute of a matmul descriptor is not emulated");
  }
}

cublasStatus_t layout_create(cublasLtMatrixLayout_t* layout, cudaDataType_t type, std::uint64_t rows,
                             std::uint64_t cols, i64 ld) {
  const std::lock_guard lock(simt::runtime_lock());
  if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
  const Layout made{type, static_cast<i64>(rows), static_cast<i64>(cols), ld};
  *layout = static_cast<cublasLtMatrixLayout_t>(Objects<Layout>::add(made));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t layout_destroy(cublasLtMatrixLayout_t layout) {
  const std::lock_guard lock(simt::runtime_lock());
  return Objects<Layout>::remove(layout);
}

cublasStatus_t layout_set(cublasLtMatrixLayout_t handle, cublasLtMatrixLayoutAttribute_t attribute,
                          const void* buffer, std::size_t bytes) {
  const std::lock_guard lock(simt::runtime_lock());
  Layout* const layout = Objects<Layout>::find(handle);
  if (!layout) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no such matrix layout");
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return store<std::int32_t>(buffer, bytes, layout->batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return store<i64>(buffer, bytes, layout->batch_stride);
    default:
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "this attribute of a matrix layout is not emulated");
  }
}

cublasStatus_t preference_create(cublasLtMatmulPreference_t* preference) {
  const std::lock_guard lock(simt::runtime_lock());
  if (!preference) return CUBLAS_STATUS_INVALID_VALUE;
  *preference = static_cast<cublasLtMatmulPreference_t>(Objects<Preference>::add({}));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t preference_destroy(cublasLtMatmulPreference_t preference) {
  const std::lock_guard lock(simt::runtime_lock());
  return Objects<Preference>::remove(preference);
}

cublasStatus_t preference_set(cublasLtMatmulPreference_t handle,
                              cublasLtMatmulPreferenceAttributes_t attribute, const void* buffer,
                              std::size_t bytes) {
  const std::lock_guard lock(simt::runtime_lock());
  Preference* const preference = Objects<Preference>::find(handle);
  if (!preference) return refuse(CUBLAS_STATUS_INVALID_VALUE, "no such preference");
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return store<std::uint64_t>(buffer, bytes, preference->workspace);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return store<std::uint32_t>(buffer, bytes, preference->reductions);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return store<std::uint32_t>(buffer, bytes, preference->alignment[0]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return store<std::uint32_t>(buffer, bytes, preference->alignment[1]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return store<std::uint32_t>(buffer, bytes, preference->alignment[2]);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return store<std::uint32_t>(buffer, bytes, preference->alignment[3]);
    default:
      return refuse(CUBLAS_STATUS_NOT_SUPPORTED, "this preference is not emulated");
  }
}

/// A product as its descriptors say.
struct Product {
  MatmulDesc desc;
  Layout a, b, c, d;

  i64 depth() const { return desc.transpose_a == CUBLAS_OP_T ? a.rows : a.cols; }
  bool is(std::initializer_list<cublasLtEpilogue_t> epilogues) const {
    return std::ranges::find(epilogues, static_cast<cublasLtEpilogue_t>(desc.epilogue)) != epilogues.end();
  }
  bool has_bias() const {
    return is({CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS,
               CUBLASLT_EPILOGUE_GELU_AUX_BIAS});
  }
  bool has_relu() const { return is({CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS}); }
  bool has_gelu() const { return has_aux() || is({CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS}); }
  bool has_aux() const { return is({CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}); }
  /// The gradient of a bias: sums over k of A's rows or of B's columns.
  bool sums_a() const { return is({CUBLASLT_EPILOGUE_BGRADA}); }
  bool sums_b() const { return is({CUBLASLT_EPILOGUE_BGRADB}); }
  bool is_epilogue_supported() const {
    return is({CUBLASLT_EPILOGUE_DEFAULT}) || has_bias() || has_relu() || has_gelu() || sums_a() || sums_b();
  }
  /// Elements of the bias, or of its gradient.
  i64 bias_size() const { return sums_b() ? d.cols : d.rows; }

  /// Of everything an algorithm depends on, pointers left out.
  std::uint64_t hash() const {
    std::uint64_t result = 0xcbf29ce484222325;
    const auto add = [&](auto value) {
      result = (result ^ static_cast<std::uint64_t>(value)) * 0x100000001b3;
    };
    add(desc.compute), add(desc.scale), add(desc.transpose_a), add(desc.transpose_b), add(desc.epilogue);
    add(desc.aux_ld), add(desc.aux_batch_stride);
    for (const Layout* x : {&a, &b, &c, &d}) {
      add(x->type), add(x->rows), add(x->cols), add(x->ld), add(x->batch), add(x->batch_stride);
    }
    return result;
  }
};

bool are_types_supported(const Product& p) {
  const cudaDataType_t in = p.a.type, out = p.d.type;
  if (p.b.type != in || p.c.type != out) return false;
  switch (p.desc.compute) {
    case CUBLAS_COMPUTE_32F:
      return p.desc.scale == CUDA_R_32F && (in == CUDA_R_16F || in == CUDA_R_16BF || in == CUDA_R_32F) &&
             (out == in || out == CUDA_R_32F);
    case CUBLAS_COMPUTE_32F_FAST_TF32:
      return p.desc.scale == CUDA_R_32F && in == CUDA_R_32F && out == CUDA_R_32F;
    case CUBLAS_COMPUTE_64F:
      return p.desc.scale == CUDA_R_64F && in == CUDA_R_64F && out == CUDA_R_64F &&
             p.desc.epilogue == CUBLASLT_EPILOGUE_DEFAULT;
    default:
      return false;
  }
}

/// Success for a product that is consistent and emulated.
cublasStatus_t examine(const Product& p) {
  for (const std::int32_t op : {p.desc.transpose_a, p.desc.transpose_b}) {
    if (op != CUBLAS_OP_N && op != CUBLAS_OP_T) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!are_types_supported(p) || !p.is_epilogue_supported()) return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool has_vector = p.has_bias() || p.sums_a() || p.sums_b();
  if (has_vector && p.d.batch > 1) return CUBLAS_STATUS_NOT_SUPPORTED;  // so that callers do without
  if (p.has_aux() && (p.desc.aux_ld < p.d.rows || p.desc.aux_ld % 8 != 0))
    return refuse(CUBLAS_STATUS_INVALID_VALUE,
                  "a leading dimension of the auxiliary matrix that is too small or no multiple of 8");
  for (const Layout* x : {&p.a, &p.b, &p.c, &p.d}) {
    if (x->rows < 1 || x->cols < 1 || x->ld < x->rows || x->batch_stride < 0)
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "a matrix without elements, or with overlapping columns");
    if (x->batch != p.d.batch || x->batch < 1)
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "the batch counts differ");
  }
  const bool ta = p.desc.transpose_a == CUBLAS_OP_T, tb = p.desc.transpose_b == CUBLAS_OP_T;
  const i64 rows = ta ? p.a.cols : p.a.rows, cols = tb ? p.b.rows : p.b.cols,
            depth = tb ? p.b.cols : p.b.rows;
  if (depth != p.depth() || p.d.rows != rows || p.d.cols != cols || p.c.rows != rows || p.c.cols != cols)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "the shapes do not go together");
  return CUBLAS_STATUS_SUCCESS;
}

bool find_product(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                  cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, Product& product) {
  const MatmulDesc* const found = Objects<MatmulDesc>::find(desc);
  const Layout* const layouts[] = {Objects<Layout>::find(a), Objects<Layout>::find(b),
                                   Objects<Layout>::find(c), Objects<Layout>::find(d)};
  if (!found || std::ranges::find(layouts, nullptr) != std::end(layouts)) return false;
  product = {*found, *layouts[0], *layouts[1], *layouts[2], *layouts[3]};
  return true;
}

cublasStatus_t heuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                         cublasLtMatmulPreference_t preference_handle, int wanted,
                         cublasLtMatmulHeuristicResult_t results[], int* count) {
  const std::lock_guard lock(simt::runtime_lock());
  Product product;
  const Preference* const preference = Objects<Preference>::find(preference_handle);
  if (!Objects<Context>::find(handle) || !preference || wanted < 1 || !results || !count ||
      !find_product(desc, a, b, c, d, product))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "an invalid argument of cublasLtMatmulAlgoGetHeuristic");
  *count = 0;
  if (const cublasStatus_t status = examine(product); status != CUBLAS_STATUS_SUCCESS) return status;
  if (preference->reductions & ~std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE})
    return refuse(CUBLAS_STATUS_NOT_SUPPORTED,
                  "sums in another type than the computation's are not emulated");
  for (const std::uint32_t alignment : preference->alignment) {
    if (!std::has_single_bit(alignment))
      return refuse(CUBLAS_STATUS_INVALID_VALUE, "an alignment that is no power of two");
  }

  // As if long sums were split, so that the workspace is used where it may be.
  const auto split = static_cast<std::uint64_t>(product.d.rows * product.d.cols * product.d.batch) * 4;
  const bool splits = product.depth() >= 32 && split <= preference->workspace;
  Algorithm algorithm{kMagic, product.hash(), splits ? split : 0, {}, {}};
  std::ranges::copy(preference->alignment, algorithm.alignment);
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof algorithm);
  results[0].workspaceSize = algorithm.workspace;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

/// What the queued work needs.
struct Pointers {
  const void *a, *b, *c;
  void *d, *workspace;
  std::size_t workspace_bytes;
};

template <class Sum>
Sum load(const void* data, cudaDataType_t type, i64 i) {
  switch (type) {
    case CUDA_R_16F:
      return static_cast<Sum>(static_cast<float>(static_cast<const Half*>(data)[i]));
    case CUDA_R_16BF:
      return static_cast<Sum>(static_cast<float>(static_cast<const BFloat16*>(data)[i]));
    case CUDA_R_32F:
      return static_cast<Sum>(static_cast<const float*>(data)[i]);
    default:
      return static_cast<Sum>(static_cast<const double*>(data)[i]);
  }
}

template <class Sum>
void save(void* data, cudaDataType_t type, i64 i, Sum value) {
  switch (type) {
    case CUDA_R_16F:
      static_cast<Half*>(data)[i] = Half(static_cast<float>(value));
      return;
    case CUDA_R_16BF:
      static_cast<BFloat16*>(data)[i] = BFloat16(static_cast<float>(value));
      return;
    case CUDA_R_32F:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      return;
    default:
      static_cast<double*>(data)[i] = static_cast<double>(value);
  }
}

/// To 10 bits of mantissa, ties away from zero.
float to_tf32(float value) {
  if (!std::isfinite(value)) return value;
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(value) + 0x1000u) & ~0x1fffu);
}

/// Matrix `index` of an operand (rows, cols), its columns one after the other.
template <class Sum>
std::vector<Sum> unpack(const void* data, const Layout& x, std::int32_t op, int index, bool tf32) {
  const bool transposed = op == CUBLAS_OP_T;
  const i64 rows = transposed ? x.cols : x.rows, cols = transposed ? x.rows : x.cols;
  std::vector<Sum> result(static_cast<std::size_t>(rows * cols));
  for (i64 j = 0; j < cols; ++j) {
    for (i64 i = 0; i < rows; ++i) {
      const i64 at = index * x.batch_stride + (transposed ? i * x.ld + j : j * x.ld + i);
      Sum value = load<Sum>(data, x.type, at);
      if (tf32) value = static_cast<Sum>(to_tf32(static_cast<float>(value)));
      result[static_cast<std::size_t>(j * rows + i)] = value;
    }
  }
  return result;
}

/// The tanh form.
template <class Sum>
Sum gelu(Sum x) {
  const Sum inner = Sum(0.79788456080286535588) * (x + Sum(0.044715) * x * x * x);
  return Sum(0.5) * x * (Sum(1) + std::tanh(inner));
}

/// The gradient of a bias: `count` sums of `depth` elements, element k of sum i standing at i * step + k *
/// stride.
template <class Sum>
void sum_lines(const std::vector<Sum>& x, void* to, cudaDataType_t type, i64 count, i64 depth, i64 step,
               i64 stride) {
  for (i64 i = 0; i < count; ++i) {
    Sum sum = 0;
    for (i64 k = 0; k < depth; ++k) sum += x[static_cast<std::size_t>(i * step + k * stride)];
    save<Sum>(to, type, i, sum);
  }
}

/// One chain of sums per element, over ascending k.
template <class Sum>
void multiply(const Product& p, const Pointers& at, Sum alpha, Sum beta) {
  // An algorithm may leave anything in its workspace.
  if (at.workspace_bytes > 0) std::memset(at.workspace, 0xff, at.workspace_bytes);
  const bool tf32 = p.desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  const i64 m = p.d.rows, n = p.d.cols, depth = p.depth();
  std::vector<Sum> column(static_cast<std::size_t>(m));
  for (int matrix = 0; matrix < p.d.batch; ++matrix) {
    const std::vector<Sum> a = unpack<Sum>(at.a, p.a, p.desc.transpose_a, matrix, tf32);
    const std::vector<Sum> b = unpack<Sum>(at.b, p.b, p.desc.transpose_b, matrix, tf32);
    void* const sums = const_cast<void*>(p.desc.bias);
    if (p.sums_a()) sum_lines<Sum>(a, sums, p.d.type, m, depth, 1, m);
    if (p.sums_b()) sum_lines<Sum>(b, sums, p.d.type, n, depth, depth, 1);
    for (i64 j = 0; j < n; ++j) {
      std::ranges::fill(column, Sum(0));
      for (i64 k = 0; k < depth; ++k) {
        const Sum factor = b[static_cast<std::size_t>(j * depth + k)];
        const Sum* const left = &a[static_cast<std::size_t>(k * m)];
        for (i64 i = 0; i < m; ++i) column[static_cast<std::size_t>(i)] += left[i] * factor;
      }
      for (i64 i = 0; i < m; ++i) {
        Sum value = alpha * column[static_cast<std::size_t>(i)];
        if (beta != Sum(0))
          value += beta * load<Sum>(at.c, p.c.type, matrix * p.c.batch_stride + j * p.c.ld + i);
        if (p.has_bias()) value += load<Sum>(p.desc.bias, p.d.type, i);
        if (p.has_aux())
          save<Sum>(p.desc.aux, p.d.type, matrix * p.desc.aux_batch_stride + j * p.desc.aux_ld + i, value);
        if (p.has_relu() && value < Sum(0)) value = Sum(0);
        if (p.has_gelu()) value = gelu(value);
        save<Sum>(at.d, p.d.type, matrix * p.d.batch_stride + j * p.d.ld + i, value);
      }
    }
  }
}

bool is_in_device(const void* data, const Layout& x) {
  return data && simt::is_device_range(data, static_cast<std::size_t>(x.extent() * element_bytes(x.type)));
}

cublasStatus_t matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                      cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                      const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                      cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                      std::size_t workspace_bytes, cudaStream_t stream) {
  const std::lock_guard lock(simt::runtime_lock());
  Product p;
  const Context* const context = Objects<Context>::find(handle);
  if (!context || !alpha || !beta || !algo || !find_product(desc, a_layout, b_layout, c_layout, d_layout, p))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "an invalid argument of cublasLtMatmul");
  if (context->device != simt::current_device())
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a handle of another device than the current one");
  if (const cublasStatus_t status = examine(p); status != CUBLAS_STATUS_SUCCESS)
    return refuse(status, "a product that is not emulated");

  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof algorithm);
  if (algorithm.magic != kMagic || algorithm.product != p.hash())
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "an algorithm chosen for another product");
  const void* const pointers[] = {a, b, c, d};
  for (int i = 0; i < 4; ++i) {
    if (reinterpret_cast<std::uintptr_t>(pointers[i]) % algorithm.alignment[i] != 0)
      return refuse(CUBLAS_STATUS_INVALID_VALUE,
                    simt::format("operand %c is not aligned to %u bytes, for which the algorithm was chosen",
                                 "ABCD"[i], algorithm.alignment[i]));
  }
  if (workspace_bytes < algorithm.workspace || (algorithm.workspace > 0 && !workspace) ||
      reinterpret_cast<std::uintptr_t>(workspace) % 16 != 0)
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a workspace that is too small or not aligned");
  if (algorithm.workspace > 0 && !simt::is_device_range(workspace, algorithm.workspace))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a workspace that is not device memory");

  const bool wide = p.desc.compute == CUBLAS_COMPUTE_64F;
  const double factor = wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  const double share = wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  if (!is_in_device(a, p.a) || !is_in_device(b, p.b) || !is_in_device(d, p.d) ||
      (share != 0 && !is_in_device(c, p.c)))
    return refuse(CUBLAS_STATUS_INVALID_VALUE,
                  "a matrix that reaches outside of an allocation of the device");
  if (share != 0 && c == d && !(p.c == p.d))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "C in D's place with another layout");
  const auto bias_bytes = static_cast<std::size_t>(p.bias_size() * element_bytes(p.d.type));
  const bool has_vector = p.has_bias() || p.sums_a() || p.sums_b();
  if (has_vector && (!p.desc.bias || !simt::is_device_range(p.desc.bias, bias_bytes)))
    return refuse(CUBLAS_STATUS_INVALID_VALUE, "a bias, or the gradient of one, that is not device memory");
  Layout aux = p.d;
  aux.ld = p.desc.aux_ld;
  aux.batch_stride = p.desc.aux_batch_stride;
  if (p.has_aux() &&
      (!is_in_device(p.desc.aux, aux) || reinterpret_cast<std::uintptr_t>(p.desc.aux) % 16 != 0))
    return refuse(CUBLAS_STATUS_INVALID_VALUE,
                  "an auxiliary matrix that is not device memory or not aligned to 16 bytes");

  const Pointers at{a, b, c, d, workspace, algorithm.workspace};
  ++simt::counters().launches;
  const cudaError_t queued = simt::enqueue(stream, [p, at, factor, share, wide] {
    if (wide)
      multiply<double>(p, at, factor, share);
    else
      multiply<float>(p, at, static_cast<float>(factor), static_cast<float>(share));
  });
  return queued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace

halftone::cuda::CublasLt halftone::cuda::load_cublaslt() {
  return {create,         status_string,  desc_create, desc_destroy,      desc_set,
          layout_create,  layout_destroy, layout_set,  preference_create, preference_destroy,
          preference_set, heuristic,      matmul};
}

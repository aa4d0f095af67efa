// The emulated cuBLASLt refuses what the real one would get wrong or crash on: one deliberate mistake per
// check.

#include <catch2/catch.hpp>
#include <memory>
#include <utility>
#include <vector>

#include "halftone/kernels/cuda/cublaslt.h"
#include "halftone/tests/simt/control.h"

using halftone::cuda::cublaslt;

namespace {

/// D (m, n) = A (m, k) * B (k, n) in fp32, column by column, with everything as it should be.
struct Call {
  static constexpr int kM = 8, kN = 4, kK = 40;

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  cublasLtMatmulHeuristicResult_t result{};
  float *a_data = nullptr, *b_data = nullptr, *d_data = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 1024;

  Call() {
    const auto& lt = cublaslt();
    REQUIRE(lt.create(&handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(lt.desc_create(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(lt.layout_create(&a, CUDA_R_32F, kM, kK, kM) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(lt.layout_create(&b, CUDA_R_32F, kK, kN, kK) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(lt.layout_create(&d, CUDA_R_32F, kM, kN, kM) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(lt.preference_create(&preference) == CUBLAS_STATUS_SUCCESS);
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{1024});
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    for (const auto operand :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(operand, std::uint32_t{16});
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&a_data), kM * kK * sizeof(float)) == cudaSuccess);
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&b_data), kK * kN * sizeof(float)) == cudaSuccess);
    REQUIRE(cudaMalloc(reinterpret_cast<void**>(&d_data), kM * kN * sizeof(float)) == cudaSuccess);
    REQUIRE(cudaMalloc(&workspace, workspace_bytes) == cudaSuccess);
    REQUIRE(cudaMemset(a_data, 0, kM * kK * sizeof(float)) == cudaSuccess);
    REQUIRE(cudaMemset(b_data, 0, kK * kN * sizeof(float)) == cudaSuccess);
  }
  ~Call() {
    const auto& lt = cublaslt();
    lt.desc_destroy(desc);
    lt.layout_destroy(a), lt.layout_destroy(b), lt.layout_destroy(d);
    lt.preference_destroy(preference);
    cudaFree(a_data), cudaFree(b_data), cudaFree(d_data), cudaFree(workspace);
    simt::control::take_reports();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  template <class Value>
  void prefer(cublasLtMatmulPreferenceAttributes_t attribute, Value value) {
    REQUIRE(cublaslt().preference_set(preference, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
  }
  template <class Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    REQUIRE(cublaslt().desc_set(desc, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
  }
  cublasStatus_t choose() {
    int count = 0;
    return cublaslt().heuristic(handle, desc, a, b, d, d, preference, 1, &result, &count);
  }
  cublasStatus_t run() {
    const float alpha = 1, beta = 0;
    return cublaslt().matmul(handle, desc, &alpha, a_data, a, b_data, b, &beta, d_data, d, d_data, d,
                             &result.algo, workspace, workspace_bytes, nullptr);
  }
};

}  // namespace

TEST_CASE("a product as it should be is done") {
  Call call;
  REQUIRE(call.choose() == CUBLAS_STATUS_SUCCESS);
  CHECK(call.result.workspaceSize == Call::kM * Call::kN * sizeof(float));
  REQUIRE(call.run() == CUBLAS_STATUS_SUCCESS);
  std::vector<float> d(Call::kM * Call::kN, 1);
  REQUIRE(cudaMemcpy(d.data(), call.d_data, d.size() * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(d == std::vector<float>(d.size(), 0));
}

TEST_CASE("an algorithm chosen for another product is refused") {
  Call call;
  REQUIRE(call.choose() == CUBLAS_STATUS_SUCCESS);
  const std::int32_t transposed = CUBLAS_OP_T;
  cublasLtMatrixLayout_t other = nullptr;
  REQUIRE(cublaslt().layout_create(&other, CUDA_R_32F, Call::kK, Call::kM, Call::kK) ==
          CUBLAS_STATUS_SUCCESS);
  REQUIRE(cublaslt().desc_set(call.desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed) ==
          CUBLAS_STATUS_SUCCESS);
  std::swap(call.a, other);
  CHECK(call.run() == CUBLAS_STATUS_INVALID_VALUE);
  cublaslt().layout_destroy(other);

  Call never_chosen;
  CHECK(never_chosen.run() == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE("operands aligned less than promised are refused") {
  Call call;
  call.prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, std::uint32_t{256});
  REQUIRE(call.choose() == CUBLAS_STATUS_SUCCESS);
  REQUIRE(reinterpret_cast<std::uintptr_t>(call.b_data) % 256 !=
          0);  // allocations end, not begin, at a page's border
  CHECK(call.run() == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE("memory that is not the device's, and matrices that reach out of it, are refused") {
  std::vector<float> host(Call::kM * Call::kK + 4);
  void* aligned = host.data();
  std::size_t room = host.size() * sizeof(float);
  std::align(16, Call::kM * Call::kK * sizeof(float), aligned, room);
  {
    Call call;
    REQUIRE(call.choose() == CUBLAS_STATUS_SUCCESS);
    std::swap(call.a_data, reinterpret_cast<float*&>(aligned));
    CHECK(call.run() == CUBLAS_STATUS_INVALID_VALUE);
    std::swap(call.a_data, reinterpret_cast<float*&>(aligned));
  }
  {
    Call call;
    REQUIRE(call.choose() == CUBLAS_STATUS_SUCCESS);
    std::swap(call.b_data, call.d_data);  // D is smaller than B
    CHECK(call.run() == CUBLAS_STATUS_INVALID_VALUE);
  }
  {
    Call call;
    REQUIRE(call.choose() == CUBLAS_STATUS_SUCCESS);
    call.workspace_bytes = 16;
    CHECK(call.run() == CUBLAS_STATUS_INVALID_VALUE);
  }
}

TEST_CASE("what is not emulated is refused") {
  Call call;
  const std::int32_t order = CUBLASLT_ORDER_ROW;
  const std::int8_t fast = 1;
  CHECK(cublaslt().layout_set(call.a, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order) ==
        CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublaslt().desc_set(call.desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast) ==
        CUBLAS_STATUS_NOT_SUPPORTED);
  for (const cublasLtEpilogue_t epilogue :
       {CUBLASLT_EPILOGUE_RELU_AUX, CUBLASLT_EPILOGUE_RELU_AUX_BIAS, CUBLASLT_EPILOGUE_DRELU,
        CUBLASLT_EPILOGUE_DRELU_BGRAD, CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU_BGRAD}) {
    call.set(CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(epilogue));
    CHECK(call.choose() == CUBLAS_STATUS_NOT_SUPPORTED);
  }
}

TEST_CASE("an epilogue's vector and its auxiliary matrix are checked") {
  Call call;
  float* memory = nullptr;
  REQUIRE(cudaMalloc(reinterpret_cast<void**>(&memory), Call::kM * Call::kN * sizeof(float)) == cudaSuccess);
  call.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_GELU_AUX});
  for (const std::int64_t ld : {0, 4, 12}) {
    call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld);
    CHECK(call.choose() == CUBLAS_STATUS_INVALID_VALUE);
  }
  call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{8});
  REQUIRE(call.choose() == CUBLAS_STATUS_SUCCESS);
  CHECK(call.run() == CUBLAS_STATUS_INVALID_VALUE);  // no address
  call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(memory + 1));
  CHECK(call.run() == CUBLAS_STATUS_INVALID_VALUE);
  call.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(memory));
  CHECK(call.run() == CUBLAS_STATUS_SUCCESS);

  call.set(CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{CUBLASLT_EPILOGUE_BGRADB});
  REQUIRE(call.choose() == CUBLAS_STATUS_SUCCESS);
  CHECK(call.run() == CUBLAS_STATUS_INVALID_VALUE);
  call.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(memory));
  CHECK(call.run() == CUBLAS_STATUS_SUCCESS);
  cudaFree(memory);
  CHECK(call.run() == CUBLAS_STATUS_INVALID_VALUE);
}

TEST_CASE("partial sums in the type of the result are refused") {
  Call call;
  call.prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_MASK});
  CHECK(call.choose() == CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_CASE("shapes that do not go together and handles that do not exist are refused") {
  Call call;
  std::swap(call.a, call.b);
  CHECK(call.choose() == CUBLAS_STATUS_INVALID_VALUE);
  std::swap(call.a, call.b);
  cublaslt().layout_destroy(call.a);
  CHECK(call.choose() == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublaslt().layout_create(&call.a, CUDA_R_32F, 1, 1, 1) == CUBLAS_STATUS_SUCCESS);
}

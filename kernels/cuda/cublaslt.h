#pragma once

#include <cublasLt.h>

namespace halftone::cuda {

/// The functions of cuBLASLt that halftone calls, with the types of their declarations. The library is half a
/// gigabyte: it is not linked, but loaded when the first product on a device asks for it.
struct CublasLt {
  decltype(&cublasLtCreate) create;
  decltype(&cublasLtGetStatusString) status_string;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmul) matmul;
};

/// Finds the functions. Throws Error when the library cannot be loaded. The emulated device has its own
/// definition.
CublasLt load_cublaslt();

/// The functions, found at the first call.
const CublasLt& cublaslt();

/// The library's handle for the current device, made at the first call.
cublasLtHandle_t cublaslt_handle();

/// Throws Error naming `call` and cuBLASLt's reason unless `status` is success.
void check(cublasStatus_t status, const char* call);

}  // namespace halftone::cuda

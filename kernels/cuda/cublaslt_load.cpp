// cuBLASLt from the system's libraries. The emulated device has functions of its own instead of this file.

#include <dlfcn.h>

#include "halftone/engine/error.h"
#include "halftone/kernels/cuda/cublaslt.h"

namespace halftone::cuda {
namespace {

void* open_library() {
  // What is loaded stays until the program ends: kernels of the library may be running at any time.
  for (const char* name : {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  const char* const reason = dlerror();
  fail("cuda", "matrix products need cuBLASLt of CUDA 12 or 13, which cannot be loaded: ",
       reason ? reason : "no reason given", "; install it, or add its folder to LD_LIBRARY_PATH");
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* const symbol = dlsym(library, name);
  if (!symbol) fail("cuda", "the cuBLASLt that was loaded has no ", name);
  function = reinterpret_cast<Function>(symbol);
}

}  // namespace

CublasLt load_cublaslt() {
  void* const library = open_library();
  CublasLt lt{};
  find(library, "cublasLtCreate", lt.create);
  find(library, "cublasLtGetStatusString", lt.status_string);
  find(library, "cublasLtMatmulDescCreate", lt.desc_create);
  find(library, "cublasLtMatmulDescDestroy", lt.desc_destroy);
  find(library, "cublasLtMatmulDescSetAttribute", lt.desc_set);
  find(library, "cublasLtMatrixLayoutCreate", lt.layout_create);
  find(library, "cublasLtMatrixLayoutDestroy", lt.layout_destroy);
  find(library, "cublasLtMatrixLayoutSetAttribute", lt.layout_set);
  find(library, "cublasLtMatmulPreferenceCreate", lt.preference_create);
  find(library, "cublasLtMatmulPreferenceDestroy", lt.preference_destroy);
  find(library, "cublasLtMatmulPreferenceSetAttribute", lt.preference_set);
  find(library, "cublasLtMatmulAlgoGetHeuristic", lt.heuristic);
  find(library, "cublasLtMatmul", lt.matmul);
  return lt;
}

}  // namespace halftone::cuda

#pragma once

#include <array>
#include <cstdlib>

namespace halftone {

/// An environment variable that the library reads.
struct EnvironmentVariable {
  const char* name;    ///< as the shell has it
  const char* effect;  ///< one line for people

  /// What it is set to, or null.
  const char* value() const { return std::getenv(name); }
};

/// The variables.
/// @{
inline constexpr EnvironmentVariable kThreadsVariable{
    "OMP_NUM_THREADS", "threads that kernels use; otherwise the processors this process may run on"};
inline constexpr EnvironmentVariable kIsaVariable{
    "HALFTONE_ISA", "level that CPU kernels run at, such as avx2; otherwise the highest the processor has"};
inline constexpr EnvironmentVariable kCudaCachingVariable{
    "HALFTONE_CUDA_CACHING", "0: memory of CUDA devices is given back at once instead of being kept"};
/// @}

/// All of them: nothing else in the library looks at the environment.
inline constexpr std::array kEnvironmentVariables = {kThreadsVariable, kIsaVariable, kCudaCachingVariable};

}  // namespace halftone

#pragma once

/// Marks a function that nvcc compiles for the host and for the device; empty for other compilers.
#if defined(__CUDACC__)
#define HALFTONE_HD __host__ __device__
#else
#define HALFTONE_HD
#endif

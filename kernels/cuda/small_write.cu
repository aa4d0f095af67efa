#include "halftone/kernels/cuda/small_write.h"

#include <cstring>

#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

struct Bytes {
  unsigned char value[kSmallWrite];
};

__global__ void write_small_kernel(unsigned char* data, int count, Bytes bytes) {
  for (int i = thread_id(); i < count; i += block_size()) data[i] = bytes.value[i];
}

}  // namespace

void write_small(void* data, const void* host, std::size_t bytes) {
  Bytes copy{};
  std::memcpy(copy.value, host, bytes);
  launch<write_small_kernel>(1, static_cast<int>(kSmallWrite), 0, data, static_cast<int>(bytes), copy);
}

}  // namespace halftone::cuda

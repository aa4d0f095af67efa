#include "halftone/kernels/cuda/index_places.h"

#include <algorithm>

namespace halftone::cuda {
namespace {

bool adjacent(const Dims& dims) {
  for (std::size_t i = 1; i < dims.size(); ++i) {
    if (dims[i] != dims[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

RowGeometry::RowGeometry(const Tensor& whole, const Tensor& part, const Tensor& positions, const Dims& dims) {
  const std::int64_t front = adjacent(dims) ? dims[0] : 0;
  std::int64_t of_part = 0;
  for (std::int64_t d = 0; d < whole.dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) != dims.end()) {
      places.add(whole.size(d), whole.stride(d));
      continue;
    }
    if (of_part == front) of_part += positions.dim();
    (of_part < front ? before : after).add(whole.size(d), {whole.stride(d), part.stride(of_part)});
    ++of_part;
  }
  for (std::int64_t d = 0; d < positions.dim(); ++d) {
    rows.add(positions.size(d), {positions.stride(d), part.stride(front + d)});
  }
}

}  // namespace halftone::cuda

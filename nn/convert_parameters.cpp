#include "halftone/nn/utils/convert_parameters.h"

#include "halftone/autograd/grad_mode.h"

namespace halftone::nn::utils {

Tensor parameters_to_vector(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> flat;
  for (const Tensor& p : parameters) flat.push_back(p.reshape({-1}));
  return flat.empty() ? empty({0}) : cat(flat);
}

void vector_to_parameters(const Tensor& vector, const std::vector<Tensor>& parameters) {
  std::int64_t total = 0;
  for (const Tensor& p : parameters) total += p.numel();
  if (vector.dim() != 1 || vector.numel() != total)
    fail("vector_to_parameters", "the parameters have ", total, " elements, got ", vector);
  NoGradGuard no_grad;
  std::int64_t at = 0;
  for (const Tensor& p : parameters) {
    p.copy_(vector.narrow(0, at, p.numel()).reshape(p.sizes()));
    at += p.numel();
  }
}

}  // namespace halftone::nn::utils

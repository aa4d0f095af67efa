#pragma once

// The work that is measured here and beside other libraries: products, convolutions and training steps.

#include <cstdint>
#include <string_view>

namespace halftone::bench {

/// C (m, n) = A (m, k) B (k, n).
struct Product {
  std::int64_t m, k, n;
  double flops() const { return 2.0 * static_cast<double>(m * k) * static_cast<double>(n); }
};

/// Square ones, a layer of an MLP and of a transformer, and small and skinny ones.
inline constexpr Product kProducts[] = {
    {64, 64, 64},       {128, 128, 128},    {256, 256, 256}, {512, 512, 512},
    {1024, 1024, 1024}, {2048, 2048, 2048}, {128, 784, 512}, {128, 512, 10},
    {4096, 128, 512},   {8, 8, 8},          {16, 16, 16},    {32, 16, 32},
    {32, 32, 32},       {32, 32, 1},        {1, 512, 512},   {16, 512, 512}};

/// A 3x3 convolution without padding of `images` square pictures.
struct ConvLayer {
  std::int64_t images, from, to, size;
  std::int64_t out() const { return size - 2; }
  double flops() const { return 2.0 * 9 * static_cast<double>(images * from * to * out() * out()); }
};

/// Those of the CNN.
inline constexpr ConvLayer kConvLayers[] = {{64, 1, 32, 28}, {64, 32, 64, 26}};

/// A model of bench/peers/models.h: the batch it is measured with, and the useful multiplications and
/// additions of one training step per sample.
struct StepModel {
  std::string_view name;
  std::int64_t batch;
  double flops_per_sample;
  double flops() const { return flops_per_sample * static_cast<double>(batch); }
};
inline constexpr StepModel kStepModels[] = {{"mlp", 128, 0.411e9 / 128},
                                            {"tiny", 32, 0.000104e9 / 32},
                                            {"cnn", 64, 4.58e9 / 64},
                                            {"gpt", 16, 11.4e9 / 16}};

/// The one of that name, or null.
inline const StepModel* step_model(std::string_view name) {
  for (const StepModel& model : kStepModels) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

}  // namespace halftone::bench

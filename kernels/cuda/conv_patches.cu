// Patches of images as a matrix, and back. Threads follow the positions, which lie together in memory on both
// sides; a thread handles all taps of its channel and position.

#include "halftone/kernels/cuda/device.h"
//
#include "halftone/kernels/cuda/conv_geometry.h"
#include "halftone/kernels/cuda/conv_kernels.h"
#include "halftone/kernels/cuda/element.h"
#include "halftone/kernels/cuda/launch.h"

namespace halftone::cuda {
namespace {

using i64 = std::int64_t;

/// T: the patches' elements, or an unsigned integer of their size where they are copied as they are.
template <class T, bool kConvert>
__global__ void copy_patches_kernel(T* to, const void* x, Dtype x_dtype, i64 image_stride, i64 row_stride,
                                    ConvGeometry g, PatchColumns part) {
  const i64 plane = g.h * g.w, count = part.images * g.c * part.positions;
  for (i64 i = global_id(); i < count; i += global_size()) {
    const i64 column = i % part.positions, line = i / part.positions;
    const i64 channel = line % g.c, image = line / g.c;
    const i64 position = part.position + column, oy = position / g.ow, ox = position % g.ow;
    const i64 from = ((part.image + image) * g.c + channel) * plane;
    T* target = to + image * image_stride + channel * g.kh * g.kw * row_stride + column;
    for (i64 ky = 0; ky < g.kh; ++ky) {
      for (i64 kx = 0; kx < g.kw; ++kx, target += row_stride) {
        const i64 at = g.input_at(oy, ox, ky, kx);
        T value(0);
        if constexpr (kConvert) {
          if (at >= 0) value = read<T>(x, x_dtype, from + at);
        } else {
          if (at >= 0) value = static_cast<const T*>(x)[from + at];
        }
        *target = value;
      }
    }
  }
}

/// A range of the input's gradient.
struct InputPart {
  i64 image, images, channel, channels;
};

template <class C>
__global__ void sum_patches_kernel(void* gx, Dtype gx_dtype, const C* patches, i64 image_stride,
                                   ConvGeometry g, InputPart part) {
  const i64 plane = g.h * g.w, positions = g.oh * g.ow, count = part.images * part.channels * plane;
  for (i64 i = global_id(); i < count; i += global_size()) {
    const i64 pixel = i % plane, line = i / plane;
    const i64 channel = line % part.channels, image = line / part.channels;
    const i64 y = pixel / g.w, x = pixel % g.w;
    const C* from = patches + image * image_stride + channel * g.kh * g.kw * positions;
    C sum(0);
    for (i64 ky = 0; ky < g.kh; ++ky) {
      for (i64 kx = 0; kx < g.kw; ++kx, from += positions) {
        const i64 at = g.output_at(y, x, ky, kx);
        if (at >= 0) sum += from[at];
      }
    }
    const i64 target = ((part.image + image) * g.c + part.channel + channel) * plane + pixel;
    write<C>(gx, gx_dtype, target, sum);
  }
}

template <class T, bool kConvert>
void launch_patches(void* to, i64 image_stride, i64 row_stride, const Tensor& x, const ConvShape& shape,
                    const PatchColumns& part) {
  launch<copy_patches_kernel<T, kConvert>>(blocks_for(part.images * shape.c * part.positions), kThreads, 0,
                                           static_cast<T*>(to), x.data_ptr(), x.scalar_type(), image_stride,
                                           row_stride, ConvGeometry(shape), part);
}

}  // namespace

void copy_patches(void* to, Dtype dtype, i64 image_stride, i64 row_stride, const Tensor& x,
                  const ConvShape& shape, const PatchColumns& part) {
  if (dtype != x.scalar_type()) {
    if (dtype == kDouble) return launch_patches<double, true>(to, image_stride, row_stride, x, shape, part);
    return launch_patches<float, true>(to, image_stride, row_stride, x, shape, part);
  }
  switch (element_size(dtype)) {
    case 2:
      return launch_patches<std::uint16_t, false>(to, image_stride, row_stride, x, shape, part);
    case 4:
      return launch_patches<std::uint32_t, false>(to, image_stride, row_stride, x, shape, part);
    default:
      return launch_patches<std::uint64_t, false>(to, image_stride, row_stride, x, shape, part);
  }
}

void sum_patches(const Tensor& gx, const void* patches, Dtype dtype, i64 image_stride, const ConvShape& shape,
                 i64 image, i64 images, i64 channel, i64 channels) {
  const unsigned blocks = blocks_for(images * channels * shape.h * shape.w);
  const InputPart part{image, images, channel, channels};
  const auto go = [&]<class C>(const C* from) {
    launch<sum_patches_kernel<C>>(blocks, kThreads, 0, gx.data_ptr(), gx.scalar_type(), from, image_stride,
                                  ConvGeometry(shape), part);
  };
  dtype == kDouble ? go(static_cast<const double*>(patches)) : go(static_cast<const float*>(patches));
}

}  // namespace halftone::cuda

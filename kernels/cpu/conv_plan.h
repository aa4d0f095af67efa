#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/kernels/conv.h"
#include "halftone/kernels/cpu/gemm_plan.h"

/// What conv.cpp and its per-ISA body agree on; not part of the interface.
namespace halftone::cpu {

/// A kernel element ("tap") of a convolution: the output at (y, x) reads the source at
/// (y * step_h + dy, x * step_w + dx).
struct ConvTap {
  std::int64_t dy, dx;
};

/// The patches of a batch of images as a matrix that is never formed: element ((channel, tap), (image, y, x))
/// is source[image][channel][y * step_h + dy][x * step_w + dx], or zero outside the source.
///
/// Patches are cut from *planes*: the few channels and rows that a tile needs, widened, with the zeros around
/// them, and columns sorted by x mod step_w. There the values of one tap along x are contiguous.
struct PatchPlan {
  const void* source;  // at the group's first channel
  Dtype dtype;
  std::int64_t images, image_stride;  // in elements
  std::int64_t channels, h, w;
  std::int64_t grid_h, grid_w;  // output positions per image
  std::int64_t step_h, step_w;
  std::int64_t taps;
  const std::int64_t* tap_offsets;  // into a plane, see plane_tap_offset
  std::int64_t dy_min, dx_min;      // the plane's first row and column, for position (0, 0)
  std::int64_t span_h;              // rows one position reaches over
  std::int64_t phase_cols;          // columns of one phase; a plane's row has step_w of them

  std::int64_t positions() const { return grid_h * grid_w; }
  std::int64_t row_size() const { return step_w * phase_cols; }
  /// True where positions are read from the planes themselves: without strides, and if not too much is
  /// computed for nothing.
  bool is_direct() const;
  /// Then vectors run along `rows` output channels (conv_channels.inc) or along positions (conv_direct.inc),
  /// whichever leaves fewer lanes unused.
  bool is_along_channels(std::int64_t rows) const;
  /// Positions of one image, counted by slots: along whole rows of the plane, so that neighbouring slots are
  /// neighbours there. Or along rows of whole vectors, more of which are computed for nothing but stored as
  /// they are: better where a sum takes few terms (set_slots decides).
  std::int64_t slot_row;
  std::int64_t slots() const { return (grid_h - 1) * slot_row + grid_w; }
  void set_slots();
};

/// Positions of an image in groups of at most `most` neighbours of a row, all rows cut alike and evenly.
struct PositionGroups {
  std::int64_t grid_w, most_in_group, per_row, count;

  PositionGroups(const PatchPlan& plan, std::int64_t most)
      : grid_w(plan.grid_w), per_row((plan.grid_w + most - 1) / most), count(plan.grid_h * per_row) {
    most_in_group = (grid_w + per_row - 1) / per_row;
  }
  std::int64_t row(std::int64_t group) const { return group / per_row; }
  std::int64_t column(std::int64_t group) const { return group % per_row * most_in_group; }
  std::int64_t size(std::int64_t group) const {
    const std::int64_t left = grid_w - column(group);
    return left < most_in_group ? left : most_in_group;
  }
};

/// A convolution seen as C (rows, positions) = A (rows, channels * taps) * patches. The columns of C are the
/// positions: column (image, y, x) of row i stands at i * c.row_stride + image * image_stride + y * row_step
/// + x * c.col_stride.
struct PatchProduct {
  GemmProblem gemm;  // A, C, bias and the activation; its B is the patches
  PatchPlan patches;
  std::int64_t image_stride, row_step;
};

/// gw^T (channels * taps, oc) = patches (channels * taps, images * positions) * gy^T.
struct PatchGradient {
  GemmProblem
      gemm;  // C; its B is gy: element (image, o, position) at image * gy_image_stride + o * positions
  PatchPlan patches;
  std::int64_t gy_image_stride;
};

/// Memory for weights in another order, at least `bytes`, kept by the thread for the next call.
void* conv_weights(std::size_t bytes);
/// Memory for planes, at least `bytes`, kept by the thread for the next call.
void* conv_planes(std::size_t bytes);

/// Any dtypes with a float64 among them: plain loops in fp64 (conv_reference.cpp).
void conv_forward_float64(const Tensor& out, const Tensor& x, const Tensor& w, const Tensor& bias,
                          const ConvShape& shape);
void conv_grad_input_float64(const Tensor& gx, const Tensor& gy, const Tensor& w, const ConvShape& shape);
void conv_grad_weight_float64(const Tensor& gw, const Tensor& gy, const Tensor& x, const ConvShape& shape);

}  // namespace halftone::cpu

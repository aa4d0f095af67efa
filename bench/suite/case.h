#pragma once

// What the benchmarks are made of: families of cases, each with its work declared and its result checkable.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/bench/support/traffic.h"
#include "halftone/engine/tensor.h"

namespace halftone::bench {

/// Number formats that are compared side by side. kTf32: float32 products on a CUDA device's tensor cores.
enum class Precision { kFp32, kTf32, kBf16, kFp16 };

/// "fp32", "tf32", "bf16", "fp16".
const char* precision_name(Precision precision);
/// The one of that name. Throws Error for any other.
Precision precision_from(std::string_view name);
/// What tensors hold: float32 under TF32 too.
Dtype dtype_of(Precision precision);

/// The sizes of a case; what they mean is the family's `axes`.
using Shape = std::vector<std::int64_t>;
/// "128x784x512"; "-" for a family without sizes.
std::string shape_text(const Shape& shape);
/// From "128x784x512". Throws Error unless all are positive integers.
Shape shape_from(std::string_view text);

/// Where and in what a case runs.
struct Setting {
  Precision precision = Precision::kFp32;
  Device device = kCPU;

  Dtype dtype() const { return dtype_of(precision); }
};

/// What a correct result is, and how far a result computed in fp32 and rounded once may be from it:
///   ((length + 2) * 2^-24 + input_roundoff) * terms + roundings * u(result's dtype) * |exact| + smallest
///   step
struct Reference {
  Tensor exact;               ///< float64 on the CPU, of the result's sizes
  Tensor terms;               ///< float64: sizes of what is added up for each element; undefined: |exact|
  double length = 0;          ///< roundings in fp32 on the way, such as the length of the sum
  double input_roundoff = 0;  ///< of inputs that the kernel itself rounds: TF32, autocast
  double roundings = 1.01;    ///< to the result's dtype; the excess over 1 is for the last digit of `exact`
};

/// The largest error of `result`, in units of what is allowed: more than 1 is wrong, infinite where a NaN or
/// another shape stands.
double worst_error(const Tensor& result, const Reference& reference);

/// A case that is ready to run: its operands are made and kept by these functions.
struct Work {
  std::function<void()> run;  ///< one call, as it is timed
  /// What one call gives, or the rows of it that are checked. Called before `run`.
  std::function<std::vector<Tensor>()> results;
  std::function<std::vector<Reference>()> references;  ///< one per result

  /// The largest error of all results.
  double check() const;
};

/// What holds a case back at best: the multiply-add units (bfloat16: the dot product units), the memory, or
/// nothing that is measured here.
enum class Bound { kArithmetic, kMemory, kNone };

/// Something to be timed.
struct Case {
  std::string family, name, shape;
  Setting setting;
  double flops = 0;             ///< multiplications and additions of one call; 0 where they are not the point
  std::vector<Traffic> passes;  ///< arguments and results, each moved once in every pass
  Bound bound = Bound::kNone;
  std::function<Work()> prepare;

  /// Bytes of all passes.
  double bytes() const;
  /// "gemm/NN/512x512x512": the same for all precisions.
  std::string group() const;
  /// "gemm/NN/512x512x512/bf16".
  std::string id() const;
};

/// Cases of one kind: one file in bench/suite/families each.
struct Family {
  const char* name;
  const char* doc;
  const char* axes;           ///< "m x k x n": what the sizes are; empty for a family that has none
  std::vector<Shape> shapes;  ///< measured by default on a CPU
  std::vector<Shape> quick;   ///< in quick mode
  std::vector<Shape> device;  ///< on a CUDA device
  Shape smallest;             ///< for tests
  /// The cases of one shape. Makes no tensors. Throws Error for sizes that fit none.
  std::vector<Case> (*cases)(const Shape& shape, const Setting& setting);
};

/// All families, in the order in which they are run.
const std::vector<Family>& families();
/// The one of that name. Throws Error for any other.
const Family& find_family(std::string_view name);
/// The family's cases of one shape. Throws Error when the shape has not as many sizes as the family's axes.
std::vector<Case> cases_of(const Family& family, const Shape& shape, const Setting& setting);

Family gemm_family();
Family elementwise_family();
Family reduce_family();
Family norm_family();
Family softmax_family();
Family attention_family();
Family conv_family();
Family optimizer_family();
Family cast_family();
Family scaler_family();
Family step_family();
Family overhead_family();

}  // namespace halftone::bench

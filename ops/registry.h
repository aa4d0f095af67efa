#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "halftone/amp/policy.h"
#include "halftone/engine/tensor.h"

namespace halftone::ops {

/// Name, argument names and one line of documentation.
struct Schema {
  const char* name;                  ///< the function's
  std::array<const char*, 12> args;  ///< in order; null behind the last
  const char* doc;                   ///< what it computes
};

/// Accuracy in units in the last place of the result, per output dtype; reductions add a term of their own.
struct Ulp {
  double f32 = 4;   ///< for float32
  double f16 = 1;   ///< for float16
  double bf16 = 1;  ///< for bfloat16
};

/// Any argument of any operator, for callers that know it only by name.
using Value = std::variant<std::monostate, Tensor, std::vector<Tensor>, Scalar, std::int64_t, double, bool,
                           std::vector<std::int64_t>, ScalarType, std::string>;

/// One set of arguments that the tests, benchmarks and docs call the operator with.
struct Sample {
  std::vector<Value> args;  ///< in the order of the schema
  /// Gradients are compared with finite differences, unless the sample sits on a kink.
  bool smooth = true;
};

/// A row of the registry: everything a tool needs to know about an operator.
struct OpInfo {
  const char* name;               ///< the function's
  const char* doc;                ///< what it computes, in one line
  std::vector<std::string> args;  ///< their names, in order
  amp::Precision precision;       ///< what autocast does to its inputs
  bool differentiable;            ///< has a gradient
  bool twice;                     ///< its gradient has one too
  bool is_view;                   ///< the result shares the input's memory
  bool mixed_inputs;              ///< its kernel reads operands of different floating dtypes
  Ulp ulp;                        ///< what its tests allow
  std::string family;             ///< the source file that declares it: "softmax" of ops/softmax.cpp
  /// Calls the public function. Throws Error when the arguments do not fit its signature.
  std::function<std::vector<Tensor>(const std::vector<Value>&)> call;
  /// What tests, benchmarks and docs call it with.
  std::function<std::vector<Sample>()> samples;

  /// "softmax(self, dim, dtype)".
  std::string signature() const;
  /// "none", "once" or "yes, twice": how often the result can be differentiated.
  const char* gradient() const;
  /// One that gradient rules call, not users: autocast is off while it runs.
  bool is_backward() const;
};

/// Every operator: the built-in ones in the order of ops/all_ops.h, then those registered by the program.
std::vector<const OpInfo*> registry();
/// The operator of that name, or null.
const OpInfo* find_operator(std::string_view name);
/// Adds a row. Throws Error when the name is taken.
void add_operator(const OpInfo& info);

}  // namespace halftone::ops

namespace halftone {
using ops::registry;
}  // namespace halftone

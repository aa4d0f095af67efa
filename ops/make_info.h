#pragma once

// From a declaration to its row in the registry: samples, and calling by name.

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "halftone/ops/registry.h"

namespace halftone::ops {

/// Collects an operator's samples. Random inputs are float64 and the same in every run.
class Samples {
 public:
  Samples();
  ~Samples();
  /// Uniform on [low, high).
  Tensor rand(IntArrayRef sizes, double low = -2, double high = 2);
  /// Integers in [low, high), int64.
  Tensor randint(IntArrayRef sizes, std::int64_t low, std::int64_t high);
  /// Distinct values at least 0.1 apart in random order: no ties for max, sort and pooling.
  Tensor distinct(IntArrayRef sizes);
  /// Zeros and ones, bool.
  Tensor mask(IntArrayRef sizes);

  /// Adds one call: every argument of the public function, in order; std::nullopt for an absent optional.
  template <class... Args>
  Sample& operator()(const Args&... args) {
    return add({box(args)...});
  }
  std::vector<Sample> take();

 private:
  Sample& add(std::vector<Value> args);
  template <class T>
  static Value box(const T& value) {
    if constexpr (std::is_same_v<T, std::nullopt_t>) {
      return std::monostate{};
    } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
      return std::string(value);
    } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, ScalarType> ||
                         std::is_same_v<T, double> || std::is_same_v<T, Tensor> ||
                         std::is_same_v<T, Scalar> || std::is_same_v<T, std::vector<Tensor>>) {
      return value;
    } else if constexpr (std::is_same_v<T, Reduction::Reduction>) {
      return static_cast<std::int64_t>(value);
    } else if constexpr (std::is_integral_v<T>) {
      return static_cast<std::int64_t>(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      return static_cast<double>(value);
    } else {
      return IntArrayRef(value).vec();
    }
  }

  std::vector<Sample> samples_;
  std::uint64_t drawn_ = 0;
};

// --- Unboxing: Value -> parameter of the public function
// ---------------------------------------------------------
namespace detail {

[[noreturn]] void wrong_argument(const char* op, const char* arg, const char* expected, const Value& got);

template <class T>
struct OptionalTraits {
  static constexpr bool value = false;
};
template <class T>
struct OptionalTraits<std::optional<T>> {
  static constexpr bool value = true;
  using type = T;
};

/// Owns what a view parameter (IntArrayRef, TensorList, string_view) refers to during the call.
template <class T>
T unbox(const char* op, const char* arg, const Value& value) {
  if constexpr (OptionalTraits<T>::value) {
    if (std::holds_alternative<std::monostate>(value)) return std::nullopt;
    return unbox<typename OptionalTraits<T>::type>(op, arg, value);
  } else if constexpr (std::is_same_v<T, Tensor>) {
    if (std::holds_alternative<std::monostate>(value)) return Tensor();
    if (auto* tensor = std::get_if<Tensor>(&value)) return *tensor;
    wrong_argument(op, arg, "a tensor", value);
  } else if constexpr (std::is_same_v<T, TensorList>) {
    if (auto* list = std::get_if<std::vector<Tensor>>(&value)) return TensorList(*list);
    wrong_argument(op, arg, "a list of tensors", value);
  } else if constexpr (std::is_same_v<T, IntArrayRef>) {
    if (auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return IntArrayRef(*list);
    if (auto* one = std::get_if<std::int64_t>(&value)) return IntArrayRef(*one);
    wrong_argument(op, arg, "a list of integers", value);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    if (auto* scalar = std::get_if<Scalar>(&value)) return *scalar;
    if (auto* integer = std::get_if<std::int64_t>(&value)) return Scalar(*integer);
    if (auto* number = std::get_if<double>(&value)) return Scalar(*number);
    if (auto* boolean = std::get_if<bool>(&value)) return Scalar(*boolean);
    wrong_argument(op, arg, "a number", value);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (auto* boolean = std::get_if<bool>(&value)) return *boolean;
    wrong_argument(op, arg, "a bool", value);
  } else if constexpr (std::is_same_v<T, Reduction::Reduction>) {
    if (auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<T>(*integer);
    wrong_argument(op, arg, "a reduction", value);
  } else if constexpr (std::is_same_v<T, ScalarType>) {
    if (auto* dtype = std::get_if<ScalarType>(&value)) return *dtype;
    wrong_argument(op, arg, "a dtype", value);
  } else if constexpr (std::is_integral_v<T>) {
    if (auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<T>(*integer);
    wrong_argument(op, arg, "an integer", value);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (auto* number = std::get_if<double>(&value)) return static_cast<T>(*number);
    if (auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<T>(*integer);
    wrong_argument(op, arg, "a number", value);
  } else if constexpr (std::is_same_v<T, std::string_view>) {
    if (auto* text = std::get_if<std::string>(&value)) return std::string_view(*text);
    wrong_argument(op, arg, "a text", value);
  } else {
    static_assert(sizeof(T) == 0, "this parameter type cannot be called by name");
  }
}

inline std::vector<Tensor> as_vector(Tensor result) { return {std::move(result)}; }
inline std::vector<Tensor> as_vector(std::vector<Tensor> result) { return result; }
inline std::vector<Tensor> as_vector(std::tuple<Tensor, Tensor> result) {
  return {std::get<0>(result), std::get<1>(result)};
}
inline std::vector<Tensor> as_vector(std::tuple<Tensor, Tensor, Tensor> result) {
  return {std::get<0>(result), std::get<1>(result), std::get<2>(result)};
}

[[noreturn]] void wrong_argument_count(const char* op, std::size_t expected, std::size_t got);

template <class R, class... Params, std::size_t... I>
std::vector<Tensor> call_boxed(const Schema& schema, R (*api)(Params...), const std::vector<Value>& args,
                               std::index_sequence<I...>) {
  if (args.size() != sizeof...(Params)) wrong_argument_count(schema.name, sizeof...(Params), args.size());
  return as_vector(api(unbox<std::remove_cvref_t<Params>>(schema.name, schema.args[I], args[I])...));
}

template <class R, class... Params>
constexpr std::size_t parameter_count(R (*)(Params...)) {
  return sizeof...(Params);
}

constexpr std::size_t argument_count(const Schema& schema) {
  std::size_t count = 0;
  while (count < schema.args.size() && schema.args[count]) ++count;
  return count;
}

}  // namespace detail

/// "softmax" of ".../ops/softmax.cpp".
std::string file_stem(const char* path);

/// The registry row of a declaration. `declared_in`: the file it stands in, that of the caller.
template <class Op>
OpInfo make_info(const char* declared_in = __builtin_FILE()) {
  constexpr auto api = Op::api;
  constexpr std::size_t count = detail::argument_count(Op::schema);
  static_assert(count == detail::parameter_count(api),
                "the schema names every argument of the public function");
  OpInfo info;
  info.name = Op::schema.name;
  info.doc = Op::schema.doc;
  info.args.assign(Op::schema.args.begin(), Op::schema.args.begin() + count);
  info.precision = Op::precision;
  info.differentiable = Op::differentiable;
  info.twice = Op::differentiable && Op::twice;
  info.is_view = requires { &Op::view; };
  info.mixed_inputs = Op::mixed_inputs;
  info.ulp = Op::ulp;
  info.family = file_stem(declared_in);
  info.call = [](const std::vector<Value>& args) {
    return detail::call_boxed(Op::schema, Op::api, args, std::make_index_sequence<count>());
  };
  info.samples = [] {
    Samples samples;
    Op::samples(samples);
    return samples.take();
  };
  return info;
}

/// Specialised for each built-in operator by HALFTONE_REGISTER_OPERATOR.
template <class Op>
const OpInfo& operator_info();

/// Registers an operator declared outside the library: it gets dispatch, autocast, recording and the tests
/// too.
template <class Op>
void register_operator(const char* declared_in = __builtin_FILE()) {
  add_operator(make_info<Op>(declared_in));
}

}  // namespace halftone::ops

namespace halftone {
using ops::register_operator;
}  // namespace halftone

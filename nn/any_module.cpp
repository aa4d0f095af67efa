#include "halftone/nn/any_module.h"

#include "halftone/nn/type_name.h"

namespace halftone::nn {

namespace detail {

void wrong_value_type(const std::type_info* has, const std::type_info& asked) {
  fail("AnyValue", "the value is ", has ? type_name(*has) : "empty", ", asked for was ", type_name(asked));
}

void wrong_argument_type(const Module& module, std::size_t index, const std::type_info& expected,
                         const std::type_info& got) {
  fail("AnyModule", "argument ", index, " of ", module.name(), "::forward() must be ", type_name(expected),
       ", got ", type_name(got));
}

void complete_arguments(const Module& module, std::size_t expected, std::vector<AnyValue>& args,
                        std::vector<std::pair<std::size_t, AnyValue>> defaults) {
  const std::size_t given = args.size();
  for (auto& [index, value] : defaults) {
    if (index == args.size() && index < expected) args.push_back(std::move(value));
  }
  if (args.size() == expected) return;
  fail("AnyModule", module.name(), "::forward() takes ", expected, " arguments, got ", given,
       "; defaults are declared in the module with FORWARD_HAS_DEFAULT_ARGS");
}

}  // namespace detail

AnyValue AnyModule::forward_values(std::vector<AnyValue> args) const {
  Module& module = *ptr();
  if (tensor_call_ && args.size() == 1) {
    if (const Tensor* input = args[0].try_get<Tensor>()) return AnyValue(tensor_call_(module, *input));
  }
  if (!value_call_) {
    fail("AnyModule", module.name(), "::forward() must have one signature to be called with ", args.size(),
         " arguments here");
  }
  return value_call_(module, std::move(args));
}

const std::type_info& AnyModule::type_info() const {
  const Module& module = *ptr();
  return typeid(module);
}

}  // namespace halftone::nn

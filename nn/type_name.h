#pragma once

#include <string>
#include <typeinfo>

namespace halftone::nn {

/// The name of a type as it stands in a program; layers have libtorch's, "torch::nn::LinearImpl".
std::string type_name(const std::type_info& type);

}  // namespace halftone::nn

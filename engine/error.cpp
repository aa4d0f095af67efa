// How the parts of an error message are written.

#include "halftone/engine/error.h"

#include <charconv>

#include "halftone/engine/tensor.h"

namespace halftone::detail {

void append(std::string& out, std::string_view text) { out += text; }

void append(std::string& out, std::int64_t value) { out += std::to_string(value); }

void append(std::string& out, double value) {
  char text[32];
  const auto end =
      std::to_chars(text, text + sizeof text, value).ptr;  // shortest form that reads back the same
  out.append(text, end);
}

void append(std::string& out, ScalarType dtype) { out += dtype_name(dtype); }

void append(std::string& out, IntArrayRef sizes) {
  out += '[';
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (i > 0) out += ", ";
    append(out, sizes[i]);
  }
  out += ']';
}

void append(std::string& out, const Dims& sizes) { append(out, IntArrayRef(sizes)); }

void append(std::string& out, const Device& device) { out += device.str(); }

void append(std::string& out, const Tensor& tensor) {
  if (!tensor.defined()) {
    out += "undefined tensor";
    return;
  }
  append(out, tensor.scalar_type());
  append(out, tensor.sizes());
  if (!tensor.device().is_cpu()) {
    out += " on ";
    append(out, tensor.device());
  }
}

}  // namespace halftone::detail

// The layout is that of libtorch's Formatting.cpp (width, number of digits and common factor from the
// smallest and largest finite magnitude). Numbers are formatted here and not by the stream, whose flags are
// the user's; a 0-d tensor keeps to its precision.

#include "halftone/engine/print.h"

#include <cmath>
#include <cstdio>
#include <ostream>

#include "halftone/engine/libtorch_names.h"

namespace halftone {
namespace {

constexpr const char* kTypeNames[kDtypeCount] = {"Byte", "Bool",     "Int",   "Long",
                                                 "Half", "BFloat16", "Float", "Double"};

const char* type_name(ScalarType dtype) { return kTypeNames[static_cast<int>(dtype)]; }

/// The C++ type's name, as libtorch prints a TypeMeta.
const char* meta_name(ScalarType dtype) {
  constexpr const char* kNames[kDtypeCount] = {"unsigned char", "bool",          "int",   "long int",
                                               "c10::Half",     "c10::BFloat16", "float", "double"};
  return kNames[static_cast<int>(dtype)];
}

/// A matrix or vector of values read as double, by strides.
struct Block {
  const Tensor& tensor;
  std::int64_t offset;  // of its first element, in elements
  std::int64_t rows, columns, row_stride, column_stride;

  double at(std::int64_t row, std::int64_t column) const {
    const std::int64_t place = offset + row * row_stride + column * column_stride;
    return dispatch_all(tensor.scalar_type(), [&]<class T>() {
      return static_cast<double>(static_cast<const T*>(tensor.data_ptr())[place]);
    });
  }
};

struct Format {
  enum class Style : std::uint8_t { kInteger, kFixed, kScientific } style = Style::kInteger;
  double factor = 1;
  int width = 0;

  std::string of(double value) const {
    char text[400];
    switch (style) {
      case Style::kInteger:
        std::snprintf(text, sizeof text, "%*.0f", width, value / factor);
        break;
      case Style::kFixed:
        std::snprintf(text, sizeof text, "%*.4f", width, value / factor);
        break;
      case Style::kScientific:
        std::snprintf(text, sizeof text, "%*.4e", width, value / factor);
        break;
    }
    return text;
  }
};

int digits_before_point(double magnitude) {
  return magnitude == 0 ? 1 : static_cast<int>(std::floor(std::log10(magnitude))) + 1;
}

Format format_of(const Block& block) {
  bool integers = true, any = false;
  double low = 1, high = 1;
  for (std::int64_t r = 0; r < block.rows; ++r) {
    for (std::int64_t c = 0; c < block.columns; ++c) {
      const double value = block.at(r, c);
      if (!std::isfinite(value)) continue;
      const double magnitude = std::fabs(value);
      integers = integers && std::ceil(value) == value;
      low = any ? std::min(low, magnitude) : magnitude;
      if (!any || value > high)
        high = magnitude;  // libtorch's: of the negative numbers only the first counts
      any = true;
    }
  }
  const int least = digits_before_point(low), most = digits_before_point(high);
  Format format;
  if (integers) {
    format.width = most > 9 ? 11 : most + 1;
    if (most > 9) format.style = Format::Style::kScientific;
  } else if (most - least > 4) {
    format.style = Format::Style::kScientific;
    format.width = std::abs(most) > 99 || std::abs(least) > 99 ? 12 : 11;
  } else {
    format.style = Format::Style::kFixed;
    if (most > 5 || most < 0) {
      format.factor = std::pow(10.0, most - 1);
      format.width = 7;
    } else {
      format.width = most == 0 ? 7 : most + 6;
    }
  }
  return format;
}

void print_factor(std::ostream& out, double factor) {
  char text[64];
  std::snprintf(text, sizeof text, "%.4g *\n", factor);
  out << text;
}

void print_matrix(std::ostream& out, const Block& block, std::int64_t linesize, int indent) {
  const Format format = format_of(block);
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  const std::int64_t per_line = std::max<std::int64_t>(1, (linesize - indent) / (format.width + 1));
  out << margin;
  for (std::int64_t first = 0; first < block.columns; first += per_line) {
    const std::int64_t last = std::min(first + per_line, block.columns);
    if (per_line < block.columns) {
      if (first > 0) out << "\n";
      out << "Columns " << first + 1 << " to " << last << margin;
    }
    if (format.factor != 1) {
      print_factor(out, format.factor);
      out << margin;
    }
    for (std::int64_t r = 0; r < block.rows; ++r) {
      if (r > 0) out << margin << (format.factor != 1 ? " " : "");
      for (std::int64_t c = first; c < last; ++c)
        out << format.of(block.at(r, c)) << (c + 1 < last ? " " : "\n");
    }
  }
}

void print_vector(std::ostream& out, const Block& block) {
  const Format format = format_of(block);
  if (format.factor != 1) print_factor(out, format.factor);
  for (std::int64_t r = 0; r < block.rows; ++r) out << format.of(block.at(r, 0)) << "\n";
}

/// Matrix after matrix over the leading dimensions, each under "(1,2,.,.) = ".
void print_matrices(std::ostream& out, const Tensor& tensor, std::int64_t linesize) {
  const std::int64_t leading = tensor.dim() - 2;
  std::int64_t count = 1;
  for (std::int64_t d = 0; d < leading; ++d) count *= tensor.size(d);
  for (std::int64_t m = 0; m < count; ++m) {
    if (m > 0) out << "\n";
    // The first index runs fastest, as in libtorch.
    std::int64_t rest = m, offset = 0;
    out << "(";
    for (std::int64_t d = 0; d < leading; ++d) {
      const std::int64_t i = rest % tensor.size(d);
      rest /= tensor.size(d);
      offset += i * tensor.stride(d);
      out << i + 1 << ",";
    }
    out << ".,.) = \n";
    print_matrix(out,
                 {tensor, offset, tensor.size(-2), tensor.size(-1), tensor.stride(-2), tensor.stride(-1)},
                 linesize, 1);
  }
}

void print_number(std::ostream& out, const Tensor& tensor) {
  char text[64];
  if (tensor.is_floating_point()) {
    std::snprintf(text, sizeof text, "%.*g\n", static_cast<int>(out.precision()), tensor.item<double>());
  } else {
    std::snprintf(text, sizeof text, "%lld\n", static_cast<long long>(tensor.item<std::int64_t>()));
  }
  out << text;
}

void print_values(std::ostream& out, const Tensor& tensor, std::int64_t linesize) {
  if (tensor.numel() == 0) return;
  if (tensor.dim() == 0) {
    print_number(out, tensor);
  } else if (tensor.dim() == 1) {
    print_vector(out, {tensor, 0, tensor.size(0), 1, tensor.stride(0), 0});
  } else if (tensor.dim() == 2) {
    print_matrix(out, {tensor, 0, tensor.size(0), tensor.size(1), tensor.stride(0), tensor.stride(1)},
                 linesize, 0);
  } else {
    print_matrices(out, tensor, linesize);
  }
}

}  // namespace

void print(std::ostream& out, const Tensor& tensor, std::int64_t linesize) {
  if (!tensor.defined()) {
    out << "[ Tensor (undefined) ]";
    return;
  }
  print_values(out, tensor.device().is_cpu() ? tensor : tensor.detach().cpu(), linesize);
  out << "[ " << tensor.toString() << "{";
  for (std::int64_t d = 0; d < tensor.dim(); ++d) out << (d > 0 ? "," : "") << tensor.size(d);
  out << "} ]";
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  print(out, tensor, 80);
  return out;
}

std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }

std::ostream& operator<<(std::ostream& out, DeviceType device) {
  return out << (device == kCPU ? "cpu" : "cuda");
}

const char* toString(ScalarType dtype) { return type_name(dtype); }

std::ostream& operator<<(std::ostream& out, ScalarType dtype) { return out << type_name(dtype); }

std::ostream& operator<<(std::ostream& out, const Scalar& number) {
  if (number.is_floating_point()) return out << number.to_double();
  if (number.is_boolean()) return out << (number.to<bool>() ? "true" : "false");
  return out << number.to_long();
}

std::ostream& operator<<(std::ostream& out, Layout layout) {
  return out << (layout == kStrided ? "Strided" : "Sparse");
}

std::ostream& operator<<(std::ostream& out, const TensorOptions& options) {
  const auto origin = [](bool given) { return given ? "" : " (default)"; };
  return out << "TensorOptions(dtype=" << meta_name(options.dtype()) << origin(options.has_dtype())
             << ", device=" << options.device() << origin(options.has_device())
             << ", layout=" << options.layout()
             << " (default), requires_grad=" << (options.requires_grad() ? "true" : "false (default)")
             << ", pinned_memory=false (default), memory_format=(nullopt))";
}

std::ostream& operator<<(std::ostream& out, IntArrayRef sizes) {
  out << "[";
  for (std::size_t i = 0; i < sizes.size(); ++i) out << (i > 0 ? ", " : "") << sizes[i];
  return out << "]";
}

std::ostream& operator<<(std::ostream& out, const Dims& sizes) { return out << IntArrayRef(sizes); }

std::ostream& operator<<(std::ostream& out, const TensorList& tensors) {
  out << "[";
  for (std::size_t i = 0; i < tensors.size(); ++i) out << (i > 0 ? ", " : "") << tensors[i];
  return out << "]";
}

std::string Tensor::toString() const {
  return concat(is_cuda() ? "CUDA" : "CPU", type_name(scalar_type()), "Type");
}

void Tensor::print() const {
  const std::string line = defined() ? concat("[", toString(), " ", sizes(), "]\n") : "[UndefinedTensor]\n";
  std::fputs(line.c_str(), stderr);
}

}  // namespace halftone

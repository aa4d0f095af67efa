// halftone inspect: what the tensors of a file are like, and what 16-bit types would make of them.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "halftone/amp/half_range.h"
#include "halftone/amp/trace_log.h"
#include "halftone/amp/trace_text.h"
#include "halftone/io/npy.h"
#include "halftone/io/npz.h"
#include "halftone/io/safetensors.h"
#include "halftone/tools/commands.h"
#include "halftone/tools/tensor_stats.h"

namespace halftone::tool {
namespace {

struct Options {
  std::string file, histogram;
  bool json = false;
};

struct Contents {
  const char* format;
  io::SafeTensors data;
};

/// By the first bytes, whatever the file is called.
Contents read_file(const std::string& path) {
  char magic[6] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
  if (std::memcmp(magic, "\x93NUMPY", 6) == 0) {
    Contents contents{"npy", {}};
    contents.data.tensors.insert("array", io::load_npy(path));
    return contents;
  }
  if (std::memcmp(magic, "PK", 2) == 0) return {"npz", {io::load_npz(path), {}}};
  return {"safetensors", io::load_safetensors(path)};
}

nlohmann::json as_json(const HalfLosses& losses) {
  return {{"flushed", losses.flushed}, {"subnormal", losses.subnormal}, {"overflow", losses.overflow}};
}

nlohmann::json as_json(const std::string& name, const Tensor& tensor) {
  const TensorStats stats = tensor_stats(tensor);
  nlohmann::json row = {{"name", name},
                        {"dtype", dtype_name(tensor.scalar_type())},
                        {"shape", tensor.sizes().vec()},
                        {"elements", stats.elements},
                        {"bytes", tensor.nbytes()},
                        {"zeros", stats.zeros},
                        {"nan", stats.nan},
                        {"infinite", stats.infinite}};
  if (stats.finite > 0) {
    row["min"] = stats.min;
    row["max"] = stats.max;
    row["mean_magnitude"] = stats.mean_magnitude;
  }
  if (tensor.is_floating_point()) {
    row["as_float16"] = as_json(stats.float16);
    row["as_bfloat16"] = as_json(stats.bfloat16);
  }
  return row;
}

std::string share(std::int64_t part, std::int64_t whole) {
  if (part == 0) return "0";
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return percent < 0.01 ? "< 0.01 %" : amp::format_number("%.2f %%", percent);
}

std::vector<std::string> as_row(const std::string& name, const Tensor& tensor) {
  const TensorStats stats = tensor_stats(tensor);
  std::vector<std::string> row = {name, dtype_name(tensor.scalar_type()), concat(tensor.sizes())};
  for (const double value : {stats.min, stats.max, stats.mean_magnitude}) {
    row.push_back(stats.finite > 0 ? amp::format_number("%.4g", value) : "-");
  }
  for (const std::int64_t count : {stats.zeros, stats.nan, stats.infinite})
    row.push_back(share(count, stats.elements));
  for (const HalfLosses& losses : {stats.float16, stats.bfloat16}) {
    for (const std::int64_t count : {losses.flushed, losses.subnormal, losses.overflow}) {
      row.push_back(tensor.is_floating_point() ? share(count, stats.elements) : "-");
    }
  }
  return row;
}

void print_table(const Options& options, const Contents& contents) {
  std::int64_t elements = 0;
  std::size_t bytes = 0;
  std::vector<std::vector<std::string>> rows = {{"tensor", "dtype", "shape", "min", "max", "mean |x|", "zero",
                                                 "NaN", "inf", "fp16: to zero", "subnormal", "overflow",
                                                 "bf16: to zero", "subnormal", "overflow"}};
  for (const auto& item : contents.data.tensors) {
    rows.push_back(as_row(item.key(), item.value()));
    elements += item.value().numel();
    bytes += item.value().nbytes();
  }
  std::printf("%s: %s, %zu tensors, %lld elements, %s\n", options.file.c_str(), contents.format,
              contents.data.tensors.size(), static_cast<long long>(elements),
              amp::format_bytes(static_cast<std::int64_t>(bytes)).c_str());
  for (const auto& [key, value] : contents.data.metadata)
    std::printf("  %s = %s\n", key.c_str(), value.c_str());
  std::fputs(amp::aligned(rows, 3).c_str(), stdout);
}

// --- One tensor's exponents
const Tensor& named(const Contents& contents, const std::string& name) {
  if (const Tensor* tensor = contents.data.tensors.find(name)) return *tensor;
  fail("inspect", "there is no tensor '", name, "' in the file");
}

/// Of the magnitudes from 2^exponent up to 2^(exponent + 1), all of them or nearly all.
const char* fate_in_float16(int exponent) {
  const amp::HalfRange<Half> range;
  const double low = std::ldexp(1.0, exponent), high = 2 * low;
  if (high <= range.zero_up_to) return "zero";
  if (high <= range.normal_from) return "subnormal";
  return range.overflows(low) ? "infinite" : "";
}

void print_histogram(const std::string& name, const Tensor& tensor) {
  const amp::ExponentHistogram h = amp::exponent_histogram(tensor);
  std::printf("%s: magnitudes from 2^e up to 2^(e + 1); 0: %lld, infinite: %lld, NaN: %lld\n", name.c_str(),
              static_cast<long long>(h.zeros), static_cast<long long>(h.infinite),
              static_cast<long long>(h.nan));
  const std::int64_t most = h.counts.empty() ? 1 : *std::max_element(h.counts.begin(), h.counts.end());
  std::vector<std::vector<std::string>> rows = {{"e", "count", "as float16", ""}};
  for (std::size_t i = 0; i < h.counts.size(); ++i) {
    const int exponent = h.first_exponent + static_cast<int>(i);
    const double share_of_most = static_cast<double>(h.counts[i]) / static_cast<double>(most);
    rows.push_back({std::to_string(exponent), std::to_string(h.counts[i]), fate_in_float16(exponent),
                    std::string(static_cast<std::size_t>(std::ceil(50 * share_of_most)), '#')});
  }
  std::fputs(amp::aligned(rows).c_str(), stdout);
}

nlohmann::json histogram_json(const Tensor& tensor) {
  const amp::ExponentHistogram h = amp::exponent_histogram(tensor);
  return {{"first_exponent", h.first_exponent},
          {"counts", h.counts},
          {"zeros", h.zeros},
          {"infinite", h.infinite},
          {"nan", h.nan}};
}

void run(const Options& options) {
  const Contents contents = read_file(options.file);
  if (!options.json) {
    print_table(options, contents);
    if (options.histogram.empty()) return;
    std::puts("");
    print_histogram(options.histogram, named(contents, options.histogram));
    return;
  }
  nlohmann::json all = {{"file", options.file},
                        {"format", contents.format},
                        {"metadata", contents.data.metadata},
                        {"tensors", nlohmann::json::array()}};
  for (const auto& item : contents.data.tensors) {
    all["tensors"].push_back(as_json(item.key(), item.value()));
    if (item.key() == options.histogram) all["tensors"].back()["exponents"] = histogram_json(item.value());
  }
  if (!options.histogram.empty()) named(contents, options.histogram);
  std::puts(all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace

void add_inspect(CLI::App& app) {
  CLI::App& command = *app.add_subcommand(
      "inspect",
      "Tensors of a safetensors, .npy or .npz file, checkpoints included, and what float16 and bfloat16 "
      "would lose of them.");
  const auto options = std::make_shared<Options>();
  command.add_option("file", options->file, "The file; its format is told by its content")->required();
  command.add_flag("--json", options->json, "A JSON object");
  command.add_option("--histogram", options->histogram, "Also the exponents of this tensor");
  command.callback([options] { run(*options); });
}

}  // namespace halftone::tool

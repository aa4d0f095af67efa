// halftone ops: the registry as a table or as JSON.

#include <fnmatch.h>

#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "halftone/amp/policy.h"
#include "halftone/amp/trace_text.h"
#include "halftone/ops/registry.h"
#include "halftone/tools/commands.h"

namespace halftone::tool {
namespace {

struct Options {
  std::string pattern, policy, family;
  bool json = false;
};

bool fits(const ops::OpInfo& op, const Options& options) {
  const std::string pattern = options.pattern.find_first_of("*?[") == std::string::npos
                                  ? "*" + options.pattern + "*"
                                  : options.pattern;
  return fnmatch(pattern.c_str(), op.name, 0) == 0 &&
         (options.policy.empty() || options.policy == amp::precision_name(op.precision)) &&
         (options.family.empty() || options.family == op.family);
}

nlohmann::json as_json(const ops::OpInfo& op) {
  return {{"name", op.name},
          {"family", op.family},
          {"args", op.args},
          {"policy", amp::precision_name(op.precision)},
          {"differentiable", op.differentiable},
          {"twice", op.twice},
          {"view", op.is_view},
          {"mixed_inputs", op.mixed_inputs},
          {"used_by_gradients_only", op.is_backward()},
          {"ulp", {{"float32", op.ulp.f32}, {"float16", op.ulp.f16}, {"bfloat16", op.ulp.bf16}}},
          {"doc", op.doc}};
}

void print_rows(const std::vector<const ops::OpInfo*>& found) {
  std::vector<std::vector<std::string>> rows = {
      {"operator", "family", "policy", "gradient", "what it computes"}};
  for (const ops::OpInfo* op : found) {
    rows.push_back({op->signature(), op->family, amp::precision_name(op->precision), op->gradient(),
                    concat(op->doc, op->is_view ? " (view)" : "")});
  }
  std::printf("%s%zu operators\n", amp::aligned(rows).c_str(), found.size());
}

void run(const Options& options) {
  std::vector<const ops::OpInfo*> found;
  for (const ops::OpInfo* op : registry()) {
    if (fits(*op, options)) found.push_back(op);
  }
  if (options.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const ops::OpInfo* op : found) list.push_back(as_json(*op));
    std::puts(list.dump(2).c_str());
  } else if (found.empty()) {
    fail("ops", "no operator fits");
  } else {
    print_rows(found);
  }
}

std::vector<std::string> policies() {
  std::vector<std::string> names;
  for (int i = 0; i < amp::kPrecisionCount; ++i)
    names.push_back(precision_name(static_cast<amp::Precision>(i)));
  return names;
}

std::vector<std::string> families() {
  std::set<std::string> names;
  for (const ops::OpInfo* op : registry()) names.insert(op->family);
  return {names.begin(), names.end()};
}

}  // namespace

void add_ops(CLI::App& app) {
  CLI::App& command = *app.add_subcommand("ops", "Operators, their precision policies and gradients.");
  const auto options = std::make_shared<Options>();
  command.add_option("pattern", options->pattern,
                     "Only operators whose name contains this, or fits it (* ? [])");
  command.add_option("--policy", options->policy, "Only those of one policy")
      ->check(CLI::IsMember(policies()));
  command.add_option("--family", options->family, "Only those declared in ops/FAMILY.cpp")
      ->check(CLI::IsMember(families()));
  command.add_flag("--json", options->json, "A JSON array, with accuracy and arguments");
  command.callback([options] { run(*options); });
}

}  // namespace halftone::tool

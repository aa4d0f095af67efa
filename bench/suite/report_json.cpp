// A report in the schema that Google Benchmark prints with --benchmark_format=json, which its tools read.

#include <cmath>
#include <nlohmann/json.hpp>

#include "halftone/bench/suite/report.h"

namespace halftone::bench {
namespace {

using Json = nlohmann::ordered_json;

Json context_of(const Report& report) {
  const Context& c = report.context;
  Json caches = Json::array();
  for (const Context::Cache& cache : c.caches)
    caches.push_back({{"type", cache.type},
                      {"level", cache.level},
                      {"size", cache.bytes},
                      {"num_sharing", cache.sharing}});
  Json json{{"date", c.date},           {"host_name", c.host},  {"executable", c.executable},
            {"num_cpus", c.processors}, {"mhz_per_cpu", c.mhz}, {"cpu_scaling_enabled", c.scaling},
            {"caches", caches},         {"load_avg", c.load},   {"library_build_type", c.build},
            {"processor", c.processor}, {"isa", c.isa},         {"device", c.device},
            {"threads", c.threads},     {"pinned", c.pinned},   {"cold", c.cold}};
  const Ceilings& ceilings = report.ceilings;
  for (const Precision p : {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16}) {
    if (ceilings.flops(p) > 0) json[concat("ceiling_flops_", precision_name(p))] = ceilings.flops(p);
  }
  for (const MemoryLevel& level : ceilings.levels) {
    json["ceiling_bytes_" + level.name] = {
        {"read", level.read}, {"copy", level.copy}, {"update", level.update}, {"size", level.bytes}};
  }
  return json;
}

Json entry_of(const Result& r, int threads, std::size_t index) {
  Json json{{"name", r.id()},        {"family_index", index},   {"per_family_instance_index", 0},
            {"run_name", r.id()},    {"run_type", "iteration"}, {"repetitions", r.samples},
            {"repetition_index", 0}, {"threads", threads}};
  if (!r.is_right()) {
    json["error_occurred"] = true;
    json["error_message"] = concat("the error is ", r.error, " times what is allowed; not timed");
  }
  json["iterations"] = r.iterations;
  json["real_time"] = 1e9 * r.seconds;
  json["cpu_time"] = 1e9 * r.cpu_seconds;
  json["time_unit"] = "ns";
  // Counters.
  json["real_time_q1"] = 1e9 * r.first_quartile;
  json["real_time_q3"] = 1e9 * r.third_quartile;
  json["error"] = std::isfinite(r.error) ? r.error : 1e300;  // JSON has no infinity
  if (r.seconds <= 0) return json;
  if (r.flops > 0) json["flops_per_second"] = r.flops / r.seconds;
  if (r.bytes > 0) json["bytes_per_second"] = r.bytes / r.seconds;
  if (r.limit > 0) json["ceiling_%"] = 100 * r.share();
  return json;
}

}  // namespace

std::string to_json(const Report& report) {
  Json benchmarks = Json::array();
  for (const Result& result : report.results)
    benchmarks.push_back(entry_of(result, report.context.threads, benchmarks.size()));
  return Json{{"context", context_of(report)}, {"benchmarks", benchmarks}}.dump(2) + "\n";
}

}  // namespace halftone::bench

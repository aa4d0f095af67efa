// A report as an aligned table and as CSV.

#include <cstdio>

#include "halftone/bench/suite/format.h"
#include "halftone/bench/suite/report.h"

namespace halftone::bench {

std::string format_number(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string format_time(double seconds) {
  if (seconds < 1e-6) return format_number("%.1f ns", 1e9 * seconds);
  if (seconds < 1e-3) return format_number("%.2f us", 1e6 * seconds);
  return seconds < 1 ? format_number("%.2f ms", 1e3 * seconds) : format_number("%.2f s", seconds);
}

bool counts_flops(const Result& result) { return result.bound == Bound::kArithmetic; }

std::string format_rate(const Result& result) {
  if (result.seconds <= 0) return "-";
  if (counts_flops(result)) return format_number("%.1f GFLOP/s", 1e-9 * result.flops / result.seconds);
  return result.bytes > 0 ? format_number("%.1f GB/s", 1e-9 * result.bytes / result.seconds) : "-";
}

std::string format_share(const Result& result) {
  return result.limit > 0 && result.seconds > 0 ? format_number("%.0f %%", 100 * result.share()) : "-";
}

std::vector<std::string> ceiling_lines(const Ceilings& c) {
  std::vector<std::string> lines;
  std::string products = "arithmetic:";
  for (const Precision p : {Precision::kFp32, Precision::kTf32, Precision::kBf16, Precision::kFp16}) {
    if (c.flops(p) > 0)
      products += concat(" ", precision_name(p), format_number(" %.1f GFLOP/s", 1e-9 * c.flops(p)));
  }
  lines.push_back(products);
  for (const MemoryLevel& level : c.levels) {
    std::string line =
        concat(level.name, format_number(", %.4g MiB:", static_cast<double>(level.bytes) / 1048576));
    if (level.read > 0) line += format_number(" read %.1f", 1e-9 * level.read);
    line += format_number(" copy %.1f", 1e-9 * level.copy) +
            format_number(" update %.1f GB/s", 1e-9 * level.update);
    lines.push_back(line);
  }
  return lines;
}

std::string table_head(const Report& report) {
  const Context& c = report.context;
  std::string text = concat(c.processor, "\n", c.device, ", ", c.isa, ", ", c.threads, " thread(s)",
                            c.pinned ? ", pinned" : "", c.cold ? ", cold caches" : ", warm caches", "; load");
  for (const double load : c.load) text += format_number(" %.2f", load);
  text += "\nceilings of this machine, measured now\n";
  for (const std::string& line : ceiling_lines(report.ceilings)) text += "  " + line + "\n";
  char head[160];
  std::snprintf(head, sizeof head, "%-54s %-5s %11s %9s %16s %9s %7s\n", "case", "", "median", "quartiles",
                "rate", "ceiling", "error");
  return text + head;
}

std::string table_line(const Result& r) {
  char line[256];
  if (!r.is_right()) {
    std::snprintf(line, sizeof line, "%-54s %-5s WRONG: the error is %.3g times what is allowed; not timed\n",
                  r.group().c_str(), r.precision.c_str(), r.error);
    return line;
  }
  const double spread = r.seconds > 0 ? 100 * (r.third_quartile - r.first_quartile) / r.seconds : 0;
  std::snprintf(line, sizeof line, "%-54s %-5s %11s %7.1f %% %16s %9s %7.2g%s\n", r.group().c_str(),
                r.precision.c_str(), format_time(r.seconds).c_str(), spread, format_rate(r).c_str(),
                format_share(r).c_str(), r.error, r.quiet ? "" : "  (machine busy)");
  return line;
}

std::string to_csv(const Report& report) {
  std::string text =
      "family,name,shape,precision,threads,cold,iterations,samples,seconds,first_quartile,third_quartile,"
      "cpu_seconds,flops,bytes,ceiling_seconds,error\n";
  for (const Result& r : report.results) {
    text += concat(r.family, ",", r.name, ",", r.shape, ",", r.precision, ",", report.context.threads, ",",
                   report.context.cold ? 1 : 0, ",", r.iterations, ",", r.samples);
    for (const double number :
         {r.seconds, r.first_quartile, r.third_quartile, r.cpu_seconds, r.flops, r.bytes, r.limit, r.error})
      text += format_number(",%.9g", number);
    text += "\n";
  }
  return text;
}

}  // namespace halftone::bench

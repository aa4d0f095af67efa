// Halftone beside OpenBLAS, oneDNN, Eigen and libtorch, as far as they are installed: the same work in turns
// within one run, beside what the machine gives at most in that run.
//
//   bench_peers [--threads 1,2] [--only gemm,conv,steps,overhead] [--json FILE]
//
// Prints Markdown; scripts/bench puts it on a page.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "halftone/bench/peers/report.h"

namespace peers {
namespace {

std::string format(const nlohmann::ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  if (!value.is_number_float()) return value.dump();
  const double number = value.get<double>();
  const double size = std::fabs(number);
  char text[32];
  std::snprintf(text, sizeof text,
                size >= 99.95    ? "%.0f"
                : size >= 9.995  ? "%.1f"
                : size >= 0.9995 ? "%.2f"
                                 : "%.3g",
                number);
  return text;
}

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

}  // namespace

std::string Table::markdown() const {
  std::string text = "## " + title + "\n\n" + (note.empty() ? "" : note + "\n\n");
  if (rows.empty()) return text;
  std::string names = "|", line = "|";
  for (const auto& [name, value] : rows.front().items()) {
    names += " " + name + " |";
    line += value.is_string() ? " --- |" : " ---: |";
  }
  text += names + "\n" + line + "\n";
  for (const Row& row : rows) {
    text += "|";
    for (const auto& [name, value] : row.items()) text += " " + format(value) + " |";
    text += "\n";
  }
  return text + "\n";
}

}  // namespace peers

int main(int argc, char** argv) {
  using Part = std::vector<peers::Table> (*)(const peers::Request&);
  const std::vector<std::pair<std::string, Part>> parts = {{"gemm", peers::gemm_tables},
                                                           {"conv", peers::conv_tables},
                                                           {"overhead", peers::overhead_tables},
                                                           {"steps", peers::step_tables}};
  peers::Request request{{1, 2}, std::filesystem::path(argv[0]).parent_path().string()};
  std::string only, json;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 == argc || (option != "--threads" && option != "--only" && option != "--json")) {
      std::fprintf(stderr, "usage: %s [--threads 1,2] [--only gemm,conv,overhead,steps] [--json FILE]\n",
                   argv[0]);
      return 2;
    }
    const std::string value = argv[++i];
    if (option == "--only") only = value;
    if (option == "--json") json = value;
    if (option == "--threads") {
      request.threads.clear();
      for (const std::string& count : peers::split(value)) request.threads.push_back(std::stoi(count));
    }
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const auto& [name, part] : parts) {
    const std::vector<std::string> chosen = peers::split(only);
    if (!only.empty() && std::find(chosen.begin(), chosen.end(), name) == chosen.end()) continue;
    for (const peers::Table& table : part(request)) {
      std::fputs(table.markdown().c_str(), stdout);
      std::fflush(stdout);
      all.push_back({{"title", table.title}, {"note", table.note}, {"rows", table.rows}});
    }
  }
  if (!json.empty()) std::ofstream(json) << all.dump(1) << "\n";
}

// docs/comparison.md: its column about halftone is what the registry and the options say.

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "halftone/halftone.h"

using namespace halftone;

namespace {

using Row = std::vector<std::string>;

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(' ') - first + 1);
}

/// The rows of the table under a comment that contains `marker`, without heading and rule.
std::vector<Row> table(const std::string& marker) {
  std::ifstream page(HALFTONE_DOCS "/comparison.md");
  REQUIRE(page);
  std::vector<Row> rows;
  std::string line;
  while (std::getline(page, line) && line.find("<!-- " + marker) == std::string::npos) {
  }
  while (std::getline(page, line) && line.rfind("|", 0) == 0) {
    std::istringstream cells(line.substr(1));
    Row row;
    for (std::string cell; std::getline(cells, cell, '|');) row.push_back(trimmed(cell));
    rows.push_back(row);
  }
  REQUIRE(rows.size() > 2);
  rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

/// "`a` `b`" -> a, b.
std::vector<std::string> names(const std::string& cell) {
  std::istringstream words(cell);
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word.substr(1, word.size() - 2));
  return result;
}

double number_of(const std::vector<Row>& rows, const std::string& property) {
  for (const Row& row : rows) {
    if (row.at(0) == property) return std::stod(row.at(1));
  }
  FAIL("no row " << property);
  throw;
}

}  // namespace

TEST_CASE("the comparison's policies are the registry's") {
  std::size_t operators = 0;
  for (const Row& row : table("policies")) {
    REQUIRE(row.size() == 6);
    for (const std::string& name : names(row[0])) {
      INFO(name);
      const ops::OpInfo* op = ops::find_operator(name);
      REQUIRE(op);
      CHECK(row[1] == concat("`", amp::precision_name(op->precision), "`"));
      ++operators;
    }
  }
  CHECK(operators > 50);
}

TEST_CASE("the comparison's scaler is the default one") {
  const std::vector<Row> rows = table("scaling");
  const amp::LossScalingOptions options;
  CHECK(number_of(rows, "first scale") == options.init_scale());
  CHECK(number_of(rows, "growth") == options.growth_factor());
  CHECK(number_of(rows, "backoff") == options.backoff_factor());
  CHECK(number_of(rows, "clean steps before growth") == static_cast<double>(options.growth_interval()));
  CHECK(number_of(rows, "least scale") == options.min_scale());
  CHECK(number_of(rows, "largest scale") == options.max_scale());
}

#pragma once

#include <string>
#include <utility>
#include <vector>

// Pictures as SVG elements for a page with the style of amp/html_page.h.
namespace halftone::bench {

/// Points of one colour. Empty `caption`: not in the key.
struct Series {
  std::string caption, colour;  ///< colour: a variable of the page's style, such as "--blue"
  std::vector<std::pair<double, double>> points;
  std::vector<std::string> labels = {};  ///< of the points, shown when pointed at; may be empty
  bool line = true, dots = true;
};

/// Values along two axes.
struct Plot {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<Series> series;
};

/// Bars in groups, one below the other.
struct BarChart {
  struct Bar {
    std::string colour, label;
    double value;
  };
  struct Group {
    std::string name;
    std::vector<Bar> bars;
  };
  std::string title;
  std::vector<Group> groups;
  std::vector<double> rules;  ///< values at which a line is drawn
};

/// A number with a prefix: "1.5k", "64M".
std::string short_number(double value);
std::string svg_of(const Plot& plot);
std::string svg_of(const BarChart& chart);

}  // namespace halftone::bench

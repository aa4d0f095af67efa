#pragma once

#include <string>
#include <utility>
#include <vector>

/// A picture as an SVG file that follows the reader's light or dark mode. Colours are names of `kStyle` in
/// svg.cpp: "ink", "faint", and "one" to "four" for series. Coordinates are pixels from the upper left
/// corner.
class Svg {
 public:
  using Point = std::pair<double, double>;
  enum class Anchor { kStart, kMiddle, kEnd };

  /// `title` is what a screen reader says.
  Svg(int width, int height, const std::string& title);

  void line(Point from, Point to, const char* colour, double width = 1, bool dashed = false);
  /// A line with a head at its end; through `bend` where that is given.
  void arrow(Point from, Point to, const char* colour);
  void arrow(Point from, Point bend, Point to, const char* colour);
  void path(const std::vector<Point>& points, const char* colour, double width = 2, bool dashed = false);
  void dot(Point centre, double radius, const char* colour);
  void bar(Point corner, double width, double height, const char* colour);
  /// A rectangle with a rim and no filling.
  void frame(Point corner, double width, double height, const char* colour);
  void text(Point at, const std::string& words, Anchor anchor = Anchor::kStart, const char* colour = "ink");

  std::string str() const { return body_ + "</svg>\n"; }

 private:
  std::string body_;
};

/// Axes over a part of a picture.
class Plot {
 public:
  struct Range {
    double low, high;
  };

  Plot(Svg& svg, Range x, Range y, Svg::Point corner, double width, double height);

  /// Where a point of the plot is in the picture; values outside are moved to the rim.
  Svg::Point at(double x, double y) const;
  void x_tick(double x, const std::string& words);
  void y_tick(double y, const std::string& words);
  void x_title(const std::string& words);
  void y_title(const std::string& words);
  void curve(const std::vector<Svg::Point>& points, const char* colour, double width = 2,
             bool dashed = false);
  /// A bar from the lower rim to `y`.
  void bar(double x_from, double x_to, double y, const char* colour);
  void vertical(double x, const char* colour, const std::string& words);

 private:
  Svg& svg_;
  Range x_, y_;
  Svg::Point corner_;
  double width_, height_;
};

#include "halftone/examples/support/svg.h"

#include <algorithm>
#include <cstdio>

namespace {

const char* const kStyle = R"(<style>
text { font: 13px sans-serif; fill: #1c1e21 }
.paper { fill: #ffffff }
.ink { stroke: #1c1e21; fill: #1c1e21 } text.ink { stroke: none }
.faint { stroke: #c9ccd1; fill: #c9ccd1 } text.faint { stroke: none; fill: #6a6f76 }
.one { stroke: #1f6fb4; fill: #1f6fb4 } .two { stroke: #c65d00; fill: #c65d00 }
.three { stroke: #1a7f37; fill: #1a7f37 } .four { stroke: #8a3ab9; fill: #8a3ab9 }
text.one, text.two, text.three, text.four { stroke: none }
.hollow { fill: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e6ea }
  .paper { fill: #15181c }
  .ink { stroke: #e4e6ea; fill: #e4e6ea }
  .faint { stroke: #3d4248; fill: #3d4248 } text.faint { fill: #9aa0a8 }
  .one { stroke: #6cb4f0; fill: #6cb4f0 } .two { stroke: #ff9d4d; fill: #ff9d4d }
  .three { stroke: #5fd07a; fill: #5fd07a } .four { stroke: #cf9cf0; fill: #cf9cf0 }
  .hollow { fill: none }
}
</style>
)";

/// To a tenth of a pixel, so that the last bits of a number do not show.
std::string number(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", x == 0 ? 0.0 : x);
  return text;
}

std::string escaped(const std::string& words) {
  std::string text;
  for (char c : words) {
    if (c == '<')
      text += "&lt;";
    else if (c == '&')
      text += "&amp;";
    else
      text += c;
  }
  return text;
}

std::string points_text(const std::vector<Svg::Point>& points) {
  std::string text;
  for (const auto& [x, y] : points) text += (text.empty() ? "" : " ") + number(x) + "," + number(y);
  return text;
}

std::string stroke(const char* colour, double width, bool dashed) {
  return "class=\"hollow " + std::string(colour) + "\" stroke-width=\"" + number(width) + "\"" +
         (dashed ? " stroke-dasharray=\"5 4\"" : "");
}

}  // namespace

Svg::Svg(int width, int height, const std::string& title) {
  const std::string w = std::to_string(width), h = std::to_string(height);
  body_ =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + w + "\" height=\"" + h + "\" viewBox=\"0 0 " +
      w + " " + h + "\" role=\"img\">\n<title>" + escaped(title) + "</title>\n" + kStyle +
      "<defs><marker id=\"head\" markerWidth=\"9\" markerHeight=\"9\" refX=\"8\" refY=\"4\" orient=\"auto\">"
      "<path d=\"M0,0 L8,4 L0,8 z\" class=\"ink\" stroke=\"none\"/></marker></defs>\n"
      "<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";
}

void Svg::line(Point from, Point to, const char* colour, double width, bool dashed) {
  path({from, to}, colour, width, dashed);
}

void Svg::arrow(Point from, Point to, const char* colour) { arrow(from, from, to, colour); }

void Svg::arrow(Point from, Point bend, Point to, const char* colour) {
  body_ += "<path d=\"M" + points_text({from}) + " Q" + points_text({bend, to}) + "\" " +
           stroke(colour, 1.5, false) + " marker-end=\"url(#head)\"/>\n";
}

void Svg::path(const std::vector<Point>& points, const char* colour, double width, bool dashed) {
  body_ += "<polyline points=\"" + points_text(points) + "\" " + stroke(colour, width, dashed) + "/>\n";
}

void Svg::dot(Point centre, double radius, const char* colour) {
  body_ += "<circle cx=\"" + number(centre.first) + "\" cy=\"" + number(centre.second) + "\" r=\"" +
           number(radius) + "\" class=\"" + colour + "\"/>\n";
}

void Svg::bar(Point corner, double width, double height, const char* colour) {
  body_ += "<rect x=\"" + number(corner.first) + "\" y=\"" + number(corner.second) + "\" width=\"" +
           number(width) + "\" height=\"" + number(height) + "\" stroke=\"none\" class=\"" + colour +
           "\"/>\n";
}

void Svg::frame(Point corner, double width, double height, const char* colour) {
  body_ += "<rect x=\"" + number(corner.first) + "\" y=\"" + number(corner.second) + "\" width=\"" +
           number(width) + "\" height=\"" + number(height) + "\" rx=\"4\" " + stroke(colour, 1.5, false) +
           "/>\n";
}

void Svg::text(Point at, const std::string& words, Anchor anchor, const char* colour) {
  const char* const anchors[] = {"start", "middle", "end"};
  body_ += "<text x=\"" + number(at.first) + "\" y=\"" + number(at.second) + "\" text-anchor=\"" +
           anchors[static_cast<int>(anchor)] + "\" class=\"" + colour + "\">" + escaped(words) + "</text>\n";
}

Plot::Plot(Svg& svg, Range x, Range y, Svg::Point corner, double width, double height)
    : svg_(svg), x_(x), y_(y), corner_(corner), width_(width), height_(height) {
  svg_.line({corner.first, corner.second}, {corner.first, corner.second + height}, "ink");
  svg_.line({corner.first, corner.second + height}, {corner.first + width, corner.second + height}, "ink");
}

Svg::Point Plot::at(double x, double y) const {
  const auto share = [](double value, Range range) {
    return std::clamp((value - range.low) / (range.high - range.low), 0.0, 1.0);
  };
  return {corner_.first + share(x, x_) * width_, corner_.second + (1 - share(y, y_)) * height_};
}

void Plot::x_tick(double x, const std::string& words) {
  const auto [px, py] = at(x, y_.low);
  svg_.line({px, py}, {px, py + 5}, "ink");
  svg_.text({px, py + 19}, words, Svg::Anchor::kMiddle);
}

void Plot::y_tick(double y, const std::string& words) {
  const auto [px, py] = at(x_.low, y);
  svg_.line({px, py}, {px + width_, py}, "faint", 0.5);
  svg_.text({px - 7, py + 4}, words, Svg::Anchor::kEnd);
}

void Plot::x_title(const std::string& words) {
  svg_.text({corner_.first + width_ / 2, corner_.second + height_ + 38}, words, Svg::Anchor::kMiddle);
}

void Plot::y_title(const std::string& words) { svg_.text({corner_.first - 40, corner_.second - 12}, words); }

void Plot::curve(const std::vector<Svg::Point>& points, const char* colour, double width, bool dashed) {
  std::vector<Svg::Point> places;
  for (const auto& [x, y] : points) places.push_back(at(x, y));
  svg_.path(places, colour, width, dashed);
}

void Plot::bar(double x_from, double x_to, double y, const char* colour) {
  const Svg::Point left = at(x_from, y), right = at(x_to, y_.low);
  svg_.bar(left, right.first - left.first, right.second - left.second, colour);
}

void Plot::vertical(double x, const char* colour, const std::string& words) {
  svg_.line(at(x, y_.low), at(x, y_.high), colour, 1.5, true);
  svg_.text({at(x, y_.high).first + 4, at(x, y_.high).second + 12}, words, Svg::Anchor::kStart, colour);
}

# program.awk CHAPTER.md : the chapter's code as one program.
#
#   ```cpp            the body of a function; the functions run in order
#   ```cpp global     stands outside of functions, for all blocks that follow
#   ```cpp PATH       an excerpt of a file of the tree: not compiled here, see scripts/check-pages
#
# After each function the program prints a line with a form feed, which output.awk looks for.

BEGIN {
  split("algorithm bit cmath cstdio limits memory string utility vector", headers, " ")
  for (i = 1; i in headers; ++i) print "#include <" headers[i] ">"
  print "#include <halftone/halftone.h>"
  print "using namespace halftone;"
}
inside && /^```$/ { if (kind == "body") print "}"; inside = 0; next }
inside { if (kind != "") print; next }
/^```/ {
  inside = 1
  kind = $0 == "```cpp" ? "body" : $0 == "```cpp global" ? "global" : ""
  if (kind == "body") printf "static void block%d() {\n", ++blocks
  if (kind != "") printf "#line %d \"%s\"\n", FNR + 1, FILENAME
}
END {
  if (inside) { print "program.awk: " FILENAME ": a block is not closed" > "/dev/stderr"; exit 1 }
  print "int main() {"
  for (i = 1; i <= blocks; ++i) printf "  block%d();\n  std::puts(\"\\f\");\n", i
  print "}"
}

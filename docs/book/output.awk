# output.awk OUTPUT CHAPTER.md : the chapter with what its program (program.awk) printed in the ```text block after
# each ```cpp block.

function print_output() {
  if (blocks in printed) printf "\n```text\n%s```\n", printed[blocks]
}

FNR == NR {  # the program's output
  if ($0 == "\f") ++ended
  else printed[ended + 1] = printed[ended + 1] $0 "\n"
  next
}
old_output { if ($0 == "```") old_output = 0; next }
after_code && $0 == "" { ++held; next }
after_code {
  after_code = 0
  print_output()
  if ($0 == "```text") { old_output = 1; held = 0; next }
  for (; held > 0; --held) print ""
}
{ print }
inside && $0 == "```" { inside = 0; after_code = is_body; next }
!inside && /^```/ {
  inside = 1
  is_body = $0 == "```cpp"
  blocks += is_body
}
END {
  if (after_code) print_output()
  if (ended != blocks) { print "output.awk: the program ended early" > "/dev/stderr"; exit 1 }
}

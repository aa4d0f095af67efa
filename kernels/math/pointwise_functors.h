// The list of pointwise functors: filled in by the headers of this folder.

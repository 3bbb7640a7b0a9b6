// Package overview is the first page of a program with several blocks: what is there, whether
// it is well, and what happened last. Each fact leads to its page.
package overview

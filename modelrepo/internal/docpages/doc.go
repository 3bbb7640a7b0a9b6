// Package docpages renders the documentation of a model version: source files
// in Markdown become HTML pages.
//
// [Files] receives source files, also out of tar archives. A [Book] renders them.
// [Pages] stores the result. The source is not trusted: HTML in it is left out, the
// HTML that goldmark generates is sanitised by bluemonday, and sizes and rendering times
// are bounded.
package docpages

// Package uplot holds uPlot 1.6.32, which draws the charts of our pages; its licence is
// beside it.
package uplot

import "embed"

// Files are "uPlot.iife.min.js", "uPlot.min.css" and "LICENSE".
//
//go:embed uPlot.iife.min.js uPlot.min.css LICENSE
var Files embed.FS

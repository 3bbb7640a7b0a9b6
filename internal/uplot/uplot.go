// Package uplot holds uPlot 1.6.32, which draws the charts of our pages; its licence is
// beside it. live.js belongs to this module: it draws charts of live data for pages that
// have loaded uPlot.
package uplot

import "embed"

// Files are "uPlot.iife.min.js", "uPlot.min.css", "LICENSE" and "live.js".
//
//go:embed uPlot.iife.min.js uPlot.min.css LICENSE live.js
var Files embed.FS

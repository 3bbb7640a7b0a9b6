// Package uplot holds uPlot 1.6.32, which draws the charts of our pages; its licence is
// beside it. live.js and history.js belong to this module: they draw charts of what happens
// now and of what was recorded, for pages that have loaded uPlot.
package uplot

import "embed"

// Files are "uPlot.iife.min.js", "uPlot.min.css", "LICENSE", "live.js" and "history.js".
//
//go:embed uPlot.iife.min.js uPlot.min.css LICENSE live.js history.js
var Files embed.FS

// Package graph holds Cytoscape.js 3.34.4, which draws graphs on the web pages; its licence
// is beside it.
package graph

import "embed"

// Files are "cytoscape.esm.min.js" and "LICENSE".
//
//go:embed cytoscape.esm.min.js LICENSE
var Files embed.FS

// Package editor holds the editor of the web pages: CodeMirror 6 in one file, with the
// languages of messages and mappings. The folder source has what it is made of; to make it
// anew, run there
//
//	npm ci && npm run bundle
//
// LICENSES has the licences of the packages in the bundle.
package editor

import "embed"

// Files are "editor.js", a module that exports createEditor, and "LICENSES".
//
//go:embed editor.js LICENSES
var Files embed.FS

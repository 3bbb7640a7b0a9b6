package docpages

import (
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
)

// FileNameFault returns what is wrong with the path of a source file, or "" for a valid path.
func FileNameFault(name string) string {
	switch {
	case len(name) > maxFileName:
		return "it is too long"
	case !fs.ValidPath(name) || name == ".":
		return "it is not the path of a file in the documentation"
	case strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }):
		return "it has characters that are not for names"
	case slices.Contains([]string{".html", ".htm", ".xhtml"}, fileExtension(name)):
		return "pages are written in Markdown, not in HTML"
	}
	return ""
}

func fileExtension(name string) string { return strings.ToLower(path.Ext(name)) }

func isMarkdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown"}, fileExtension(name))
}

// htmlName returns the path of the page that a Markdown file becomes.
func htmlName(name string) string { return strings.TrimSuffix(name, path.Ext(name)) + ".html" }

// PageType returns the media type of a page or file. Browsers show text as it is
// and save files of unknown types.
func PageType(name string) string {
	switch fileExtension(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	case ".svg":
		return "image/svg+xml"
	case ".txt", ".csv", ".json", ".jsonld", ".ttl", ".nt", ".xml", ".yaml", ".yml", ".css", ".js", ".py", ".go", ".rst":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// EscapePath returns a path as a relative reference whose first segment does not
// look like a scheme.
func EscapePath(name string) string { return (&url.URL{Path: name}).String() }

package modelrepo

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"
)

// The bounds of documentation.
const (
	maxFiles    = 50
	maxSource   = 4 << 20 // bytes, of all files together
	maxFileName = 200     // bytes
	maxRendered = 32 << 20
)

// book is documentation as files that become pages.
type book struct {
	op     string
	at     Path
	plugin string
	files  map[string][]byte
}

//go:embed page.html
var pageHTML string

// chapter is what a page's template is filled with.
type chapter struct {
	Title, Version, Style, Root string
	Pages                       []pageLink
	Body                        template.HTML
}

// pageLink is an entry of the list of pages.
type pageLink struct {
	Href, Text string
	Current    bool
}

// render returns pages and other files by their paths.
func (b *book) render(ctx context.Context) (map[string][]byte, error) {
	if b.plugin != Markdown && b.plugin != GFM {
		return nil, refuse(b.op, b.at, ErrInvalid, "The 'plugin' parameter must be 'markdown' or 'gfm'.")
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	pages, chapters := map[string][]byte{}, map[string]chapter{}
	r := newRenderer(b.plugin)
	size := 0
	for _, name := range slices.Sorted(maps.Keys(b.files)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !isMarkdown(name) {
			pages[name] = b.files[name]
			continue
		}
		title, body, err := r.render(b.files[name])
		if err != nil {
			return nil, refuse(b.op, b.at, ErrInvalid, "The file '%s' cannot be rendered: %v.", name, err)
		}
		to := htmlName(name)
		if _, twice := chapters[to]; twice {
			return nil, refuse(b.op, b.at, ErrInvalid, "Two files would become the page '%s'.", to)
		}
		if title == "" {
			title = strings.TrimSuffix(path.Base(to), ".html")
		}
		if size += len(body); size > maxRendered {
			return nil, refuse(b.op, b.at, ErrTooLarge, "The pages would be larger than %d MiB.", maxRendered>>20)
		}
		chapters[to] = chapter{Title: title, Body: template.HTML(body)}
	}
	list := slices.Sorted(maps.Keys(chapters))
	if _, has := chapters["index.html"]; !has {
		first := chapter{Title: "Documentation"}
		if i := slices.IndexFunc(list, func(name string) bool { return strings.EqualFold(name, "readme.html") }); i >= 0 {
			first = chapters[list[i]]
		}
		chapters["index.html"] = first
	}
	page := template.Must(template.New("page").Parse(pageHTML))
	for name, c := range chapters {
		b.place(&c, name, list, chapters)
		var text bytes.Buffer
		if err := page.Execute(&text, c); err != nil {
			return nil, err
		}
		pages[name] = text.Bytes()
	}
	return pages, nil
}

// place fills in what is around the text of a page.
func (b *book) place(c *chapter, name string, list []string, chapters map[string]chapter) {
	c.Version = b.at.String()
	c.Root = strings.Repeat("../", strings.Count(name, "/"))
	c.Style = c.Root + "../../../../page.css" // behind doc, version, model, namespace
	for _, other := range list {
		c.Pages = append(c.Pages, pageLink{Href: c.Root + escapePath(other), Text: chapters[other].Title, Current: other == name})
	}
}

// check refuses files that cannot be documentation.
func (b *book) check() error {
	size := 0
	if len(b.files) == 0 {
		return refuse(b.op, b.at, ErrInvalid, "The form field 'content' is missing.")
	}
	if len(b.files) > maxFiles {
		return tooManyFiles(b.op, b.at)
	}
	for name, data := range b.files {
		if fault := fileNameFault(name); fault != "" {
			return refuse(b.op, b.at, ErrInvalid, "The file name %.250q is not allowed: %s.", name, fault)
		}
		if size += len(data); size > maxSource {
			return sourceTooLarge(b.op, b.at)
		}
	}
	return nil
}

func tooManyFiles(op string, at Path) error {
	return refuse(op, at, ErrTooLarge, "Documentation can have at most %d files.", maxFiles)
}

func sourceTooLarge(op string, at Path) error {
	return refuse(op, at, ErrTooLarge, "The files of documentation can have at most %d MiB together.", maxSource>>20)
}

// fileNameFault says what is wrong with the path of a file; empty if nothing.
func fileNameFault(name string) string {
	switch {
	case len(name) > maxFileName:
		return "it is too long"
	case !fs.ValidPath(name) || name == ".":
		return "it is not the path of a file in the documentation"
	case strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }):
		return "it has characters that are not for names"
	case slices.Contains([]string{".html", ".htm", ".xhtml"}, fileExtension(name)):
		return "pages are made of Markdown, not of HTML"
	}
	return ""
}

func fileExtension(name string) string { return strings.ToLower(path.Ext(name)) }

func isMarkdown(name string) bool {
	return slices.Contains([]string{".md", ".markdown"}, fileExtension(name))
}

// htmlName is the path of the page that a Markdown file becomes.
func htmlName(name string) string { return strings.TrimSuffix(name, path.Ext(name)) + ".html" }

// pageType is the media type of a page or file. Text is shown as it is, and
// what is not known is for saving.
func pageType(name string) string {
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

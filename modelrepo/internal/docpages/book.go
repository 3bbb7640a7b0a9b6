package docpages

import (
	"bytes"
	"context"
	_ "embed"
	"html/template"
	"maps"
	"path"
	"slices"
	"strings"
)

// The bounds of documentation.
const (
	// MaxSource is the size of all source files together, in bytes.
	MaxSource = 4 << 20
	// MaxRendered is the size of all pages together, in bytes.
	MaxRendered = 32 << 20
	maxFiles    = 50
	maxFileName = 200 // bytes
)

// The dialects of Markdown.
const (
	// Markdown is CommonMark.
	Markdown = "markdown"
	// GFM is CommonMark with the additions of GitHub: tables, task lists,
	// struck text and bare links.
	GFM = "gfm"
)

// Book is documentation as source files, from which pages are rendered.
type Book struct {
	// Dialect is Markdown or GFM.
	Dialect string
	// Version names the model version in the title of each page.
	Version string
	// Files are the source files by their paths.
	Files map[string][]byte
}

//go:embed page.html
var pageHTML string

// chapter is the data of the page template.
type chapter struct {
	Title, Version, Style, Root string
	Pages                       []pageLink
	Body                        template.HTML
}

// pageLink is an entry in the list of pages.
type pageLink struct {
	Href, Text string
	Current    bool
}

// Render returns the pages, and the files that are not Markdown, by their paths.
// The error is an [*Error] if the files cannot become documentation.
func (b *Book) Render(ctx context.Context) (map[string][]byte, error) {
	if b.Dialect != Markdown && b.Dialect != GFM {
		return nil, invalid("The 'plugin' parameter must be 'markdown' or 'gfm'.")
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	pages, chapters := map[string][]byte{}, map[string]chapter{}
	r := newRenderer(b.Dialect)
	size := 0
	for _, name := range slices.Sorted(maps.Keys(b.Files)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if !isMarkdown(name) {
			pages[name] = b.Files[name]
			continue
		}
		title, body, err := r.render(b.Files[name])
		if err != nil {
			return nil, invalid("The file '%s' cannot be rendered: %v.", name, err)
		}
		to := htmlName(name)
		if _, twice := chapters[to]; twice {
			return nil, invalid("Two files would become the page '%s'.", to)
		}
		if title == "" {
			title = strings.TrimSuffix(path.Base(to), ".html")
		}
		if size += len(body); size > MaxRendered {
			return nil, tooLarge("The pages would be larger than %d MiB.", MaxRendered>>20)
		}
		chapters[to] = chapter{Title: title, Body: template.HTML(body)}
	}
	list := slices.Sorted(maps.Keys(chapters))
	if _, has := chapters["index.html"]; !has {
		first := chapter{Title: "Documentation"}
		isReadme := func(name string) bool { return strings.EqualFold(name, "readme.html") }
		if i := slices.IndexFunc(list, isReadme); i >= 0 {
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

// place sets what surrounds the text of a page.
func (b *Book) place(c *chapter, name string, list []string, chapters map[string]chapter) {
	c.Version = b.Version
	c.Root = strings.Repeat("../", strings.Count(name, "/"))
	c.Style = c.Root + "../../../../page.css" // above doc, version, model and namespace
	for _, other := range list {
		c.Pages = append(c.Pages,
			pageLink{Href: c.Root + EscapePath(other), Text: chapters[other].Title, Current: other == name})
	}
}

// check refuses files that cannot become documentation.
func (b *Book) check() error {
	size := 0
	if len(b.Files) == 0 {
		return invalid("The form field 'content' is missing.")
	}
	if len(b.Files) > maxFiles {
		return tooManyFiles()
	}
	for name, data := range b.Files {
		if fault := FileNameFault(name); fault != "" {
			return invalid("The file name %.250q is not allowed: %s.", name, fault)
		}
		if size += len(data); size > MaxSource {
			return TooLarge()
		}
	}
	return nil
}

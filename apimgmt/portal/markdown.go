package portal

import (
	"bytes"
	"html/template"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
)

// renderer renders the Markdown in definitions (CommonMark, as OpenAPI says).
type renderer struct {
	markdown goldmark.Markdown
	policy   *bluemonday.Policy
}

func newRenderer() *renderer {
	// No images: their servers would see the readers of a description.
	policy := bluemonday.NewPolicy()
	policy.AllowStandardURLs()
	policy.AllowAttrs("href").OnElements("a")
	policy.AllowElements("p", "br", "hr", "strong", "em", "code", "pre", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6")
	policy.AllowLists()
	policy.AllowTables()
	policy.RequireNoReferrerOnLinks(true)
	return &renderer{goldmark.New(goldmark.WithExtensions(
		extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)))), policy}
}

// render returns sanitised HTML. The text is short: the publisher cuts it.
func (r *renderer) render(text string) template.HTML {
	var raw bytes.Buffer
	if err := r.markdown.Convert([]byte(text), &raw); err != nil {
		return template.HTML(template.HTMLEscapeString(text))
	}
	return template.HTML(r.policy.SanitizeBytes(raw.Bytes()))
}

package docpages

import (
	"bytes"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

var (
	errTooIntricate = errors.New("it has too many marks in one paragraph, or is nested too deep")
	errExpands      = errors.New("its links would make it too long")
)

var languageClass = regexp.MustCompile(`^language-[\w+#-]+$`)

// renderer renders Markdown as HTML.
type renderer struct {
	markdown goldmark.Markdown
	policy   *bluemonday.Policy
}

func newRenderer(dialect string) *renderer {
	options := []goldmark.Option{goldmark.WithParserOptions(parser.WithAutoHeadingID())}
	if dialect == GFM {
		options = append(options, goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute)),
			extension.Strikethrough, extension.Linkify, extension.TaskList))
	}
	// goldmark leaves HTML and dangerous links out. The policy is a second line of
	// defence.
	policy := bluemonday.UGCPolicy()
	policy.AllowAttrs("class").Matching(languageClass).OnElements("code")
	policy.AllowAttrs("type").Matching(regexp.MustCompile(`^checkbox$`)).OnElements("input")
	policy.AllowAttrs("checked", "disabled").OnElements("input")
	return &renderer{goldmark.New(options...), policy}
}

// render returns the title, which is the first heading of level one, and the HTML of a
// file.
func (r *renderer) render(source []byte) (title string, html []byte, err error) {
	if effort(source) > maxEffort {
		return "", nil, errTooIntricate
	}
	document := r.markdown.Parser().Parse(text.NewReader(source))
	destinations := 0
	err = ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if n.Level == 1 && title == "" {
				title = plain(n, source)
			}
		case *ast.Link:
			destinations += len(n.Destination) + len(n.Title)
			n.Destination = linkToPage(n.Destination)
		case *ast.Image:
			destinations += len(n.Destination) + len(n.Title)
		}
		// A document can use the definition of a link any number of times.
		if destinations > 2*MaxSource {
			return ast.WalkStop, errExpands
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", nil, err
	}
	var raw bytes.Buffer
	if err := r.markdown.Renderer().Render(&raw, source, document); err != nil {
		return "", nil, err
	}
	return title, r.policy.SanitizeBytes(raw.Bytes()), nil
}

// plain returns the text of a heading.
func plain(heading ast.Node, source []byte) string {
	var words strings.Builder
	_ = ast.Walk(heading, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // never fails
		if leaf, is := n.(*ast.Text); is && entering {
			words.Write(leaf.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return words.String()
}

// linkToPage replaces a relative link to a Markdown file by one to its page.
func linkToPage(destination []byte) []byte {
	target, err := url.Parse(string(destination))
	if err != nil || target.IsAbs() || target.Host != "" ||
		strings.HasPrefix(target.Path, "/") || !isMarkdown(target.Path) {
		return destination
	}
	target.Path, target.RawPath = htmlName(target.Path), ""
	return []byte(target.String())
}

// maxEffort is the most effort for one file, a few seconds of rendering.
const maxEffort = 50_000_000

// effort estimates the time of rendering. In the worst case goldmark needs time in
// proportion to the square of the marks in one paragraph, to the square of a line's
// nesting, and to the cells of a table, and it cannot be stopped.
func effort(source []byte) int {
	total, marks, lines, widest := 0, 0, 0, 0
	paragraph := func() {
		total += marks*marks + 10*lines*widest
		marks, lines, widest = 0, 0, 0
	}
	for line := range bytes.Lines(source) {
		if total > maxEffort {
			return total
		}
		trimmed := bytes.TrimLeft(line, " \t>-+*0123456789.)")
		nested := len(line) - len(trimmed)
		total += nested * nested
		if len(bytes.TrimSpace(line)) == 0 {
			paragraph()
			continue
		}
		for _, c := range line {
			if strings.IndexByte("[]!*_`~<>@:&\\", c) >= 0 {
				marks++
			}
		}
		lines++
		widest = max(widest, bytes.Count(line, []byte("|")))
	}
	paragraph()
	return total
}

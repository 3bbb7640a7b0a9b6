package archtest

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"iter"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// constructs reports whether a function of that name creates a value for the
// user.
func constructs(name string) bool {
	for _, verb := range []string{"New", "Open", "Load", "Parse", "Compile"} {
		if rest, ok := strings.CutPrefix(name, verb); ok {
			next, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(next)
		}
	}
	return false
}

func checkExamples(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		if p.main() || suite(p) || matchesAny(private(), p.dir) || strings.Contains(p.dir+"/", "/internal/") {
			continue
		}
		shown := shownByExamples(p)
		for _, f := range p.code() {
			for _, decl := range f.syntax.Decls {
				function, ok := decl.(*ast.FuncDecl)
				if ok && function.Recv == nil && constructs(function.Name.Name) && !shown[function.Name.Name] {
					found = append(found, finding{t.at(function.Pos()), "no Example with an Output shows " + function.Name.Name})
				}
			}
		}
	}
	return found
}

// shownByExamples returns the names of the functions that an Example which is
// run is named after or calls.
func shownByExamples(p *pkg) map[string]bool {
	shown := map[string]bool{}
	var tests []*ast.File
	for _, f := range p.files {
		if f.test {
			tests = append(tests, f.syntax)
		}
	}
	for _, example := range doc.Examples(tests...) {
		if example.Output == "" && !example.EmptyOutput {
			continue // compiled and never run
		}
		name, _, _ := strings.Cut(example.Name, "_")
		shown[name] = true
		for node := range ast.Preorder(example.Code) {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				continue
			}
			switch function := call.Fun.(type) {
			case *ast.Ident:
				shown[function.Name] = true
			case *ast.SelectorExpr:
				if of, ok := function.X.(*ast.Ident); ok && of.Name == p.name {
					shown[function.Sel.Name] = true
				}
			}
		}
	}
	return shown
}

// checkReadme looks for the Go code of README.md in the Examples.
func checkReadme(t *tree) []finding {
	var examples []string
	for _, p := range t.packages {
		for _, f := range p.files {
			if f.test && strings.Contains(f.text, "// Output:") {
				examples = append(examples, squeeze(f.text))
			}
		}
	}
	var found []finding
	for line, code := range goBlocks(t.readme) {
		code = squeeze(code)
		if !slices.ContainsFunc(examples, func(text string) bool { return strings.Contains(text, code) }) {
			found = append(found, finding{fmt.Sprintf("README.md:%d", line), "the code is not a part of an Example"})
		}
	}
	return found
}

// checkEntries compares the first lines of code in the package comment of each building block with the
// Example of the package.
func checkEntries(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		if p.dir != "storage" && !slices.Contains(features(), p.dir) {
			continue
		}
		for _, f := range p.code() {
			if f.syntax.Doc == nil {
				continue
			}
			shown, at := squeeze(firstCode(f.syntax.Doc.Text())), t.at(f.syntax.Doc.Pos())
			switch run := squeeze(packageExample(t, p)); {
			case run == "\n":
				found = append(found, finding{at, "the package has no func Example() with an Output"})
			case shown != run:
				found = append(found, finding{at, "the first code of the package comment is not that of func Example()"})
			}
		}
	}
	return found
}

// firstCode returns the first block of code of a doc comment.
func firstCode(text string) string {
	var parser comment.Parser
	for _, block := range parser.Parse(text).Content {
		if code, ok := block.(*comment.Code); ok {
			return code.Text
		}
	}
	return ""
}

// packageExample returns the lines of the function Example of a package, without its Output.
func packageExample(t *tree, p *pkg) string {
	for _, f := range p.files {
		for _, decl := range f.syntax.Decls {
			function, ok := decl.(*ast.FuncDecl)
			if !ok || !f.test || function.Name.Name != "Example" {
				continue
			}
			start, end := t.fset.Position(function.Body.Lbrace).Offset+1, t.fset.Position(function.Body.Rbrace).Offset
			if code, _, ok := strings.Cut(f.text[start:end], "// Output:"); ok {
				return code
			}
		}
	}
	return ""
}

// goBlocks yields the fenced blocks of Go code of a Markdown text and the
// lines of the text that they begin at.
func goBlocks(markdown string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		var block strings.Builder
		number, start := 0, 0
		for line := range strings.Lines(markdown) {
			number++
			switch fence := strings.TrimSpace(line); {
			case start == 0 && fence == "```go":
				start = number
			case start > 0 && fence == "```":
				if !yield(start, block.String()) {
					return
				}
				block.Reset()
				start = 0
			case start > 0:
				block.WriteString(line)
			}
		}
	}
}

// squeeze leaves the lines of a text without the white space around them, each
// between line feeds.
func squeeze(text string) string {
	var lines strings.Builder
	lines.WriteByte('\n')
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines.WriteString(line + "\n")
		}
	}
	return lines.String()
}

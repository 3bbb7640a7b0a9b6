package archtest

import (
	"fmt"
	"go/doc"
	"strings"
)

// packagesFile is the list of packages that is printed from their comments.
const packagesFile = "docs/packages.md"

// printPackages prints the first sentence of the comment of every package, by the folder that it is in.
func printPackages(t *tree) string {
	var text strings.Builder
	text.WriteString("# Packages\n\nPrinted from the package comments by `go test ./internal/archtest -write`. " +
		"[ARCHITECTURE.md](../ARCHITECTURE.md) says how they belong together.\n")
	room := ""
	for _, p := range t.packages {
		of, _, _ := strings.Cut(p.dir, "/")
		if len(p.code()) == 0 || of == "." {
			continue
		}
		if of != room {
			room = of
			fmt.Fprintf(&text, "\n## %s\n\n| package | |\n|---|---|\n", room)
		}
		fmt.Fprintf(&text, "| `%s` | %s |\n", p.dir, p.synopsis())
	}
	return text.String()
}

// synopsis is the first sentence of the comment of a package, without its name.
func (p *pkg) synopsis() string {
	for _, f := range p.code() {
		if f.syntax.Doc == nil {
			continue
		}
		sentence := new(doc.Package).Synopsis(f.syntax.Doc.Text())
		for _, name := range []string{"Package " + p.name + " ", "Command " + p.dir[strings.LastIndex(p.dir, "/")+1:] + " "} {
			sentence = strings.TrimPrefix(sentence, name)
		}
		return strings.ReplaceAll(strings.TrimSuffix(sentence, "."), "|", "\\|")
	}
	return ""
}

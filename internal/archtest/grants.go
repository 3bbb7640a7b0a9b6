package archtest

import (
	"fmt"
	"strings"
)

// unusedGrants returns the rows of the import table without a package, and the imports
// that the other rows allow and no code uses.
func unusedGrants(t *tree) []finding {
	var found []finding
	for _, row := range importTable() {
		var imports []string
		packages := 0
		for _, p := range t.packages {
			if holds, ok := roomOf(p.dir); !ok || holds.dir != row.dir {
				continue
			}
			packages++
			for _, f := range p.code() {
				for importPath := range f.imports {
					imports = append(imports, importPath)
				}
			}
		}
		if packages == 0 {
			found = append(found, finding{row.dir, "no package has this row"})
			continue
		}
		for _, pattern := range row.imports {
			if !anyOf(imports, func(importPath string) bool {
				dir, own := t.own(importPath)
				return own && matches(pattern, dir)
			}) {
				found = append(found, finding{row.dir, fmt.Sprintf("nothing imports %s", pattern)})
			}
		}
		for _, module := range row.modules {
			if !anyOf(imports, func(importPath string) bool { return under([]string{module}, importPath) }) {
				found = append(found, finding{row.dir, fmt.Sprintf("nothing imports %s", module)})
			}
		}
	}
	return found
}

func anyOf(imports []string, holds func(string) bool) bool {
	for _, importPath := range imports {
		if holds(importPath) {
			return true
		}
	}
	return false
}

// The lines of ARCHITECTURE.md between which the import table is printed.
const (
	tableBegin = "<!-- import table: go test ./internal/archtest -write -->"
	tableEnd   = "<!-- end of the import table -->"
)

// printTable prints the import table as one of Markdown.
func printTable() string {
	var text strings.Builder
	text.WriteString("| package | of ours | third party |\n|---|---|---|\n")
	for _, row := range importTable() {
		fmt.Fprintf(&text, "| `%s` | %s | %s |\n", row.dir, quoted(row.imports), quoted(row.modules))
	}
	return text.String()
}

// quoted is a list of names as code, without the host that most modules share.
func quoted(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	var text []string
	for _, name := range names {
		text = append(text, "`"+strings.TrimPrefix(name, "github.com/")+"`")
	}
	return strings.Join(text, ", ")
}

// withTable returns the text of ARCHITECTURE.md with the import table as it is now.
func withTable(architecture string) (string, error) {
	before, rest, begun := strings.Cut(architecture, tableBegin+"\n")
	_, after, ended := strings.Cut(rest, tableEnd)
	if !begun || !ended {
		return "", fmt.Errorf("ARCHITECTURE.md has no lines %q and %q", tableBegin, tableEnd)
	}
	return before + tableBegin + "\n" + printTable() + tableEnd + after, nil
}

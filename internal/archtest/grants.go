package archtest

import (
	"fmt"
)

// unusedGrants returns the rows of the import table without a package, and the imports
// that the other rows allow and no code uses.
func unusedGrants(t *tree) []finding {
	var found []finding
	for _, row := range importTable() {
		var imports []string
		packages := 0
		for _, p := range t.packages {
			if holds, ok := findRoom(p.dir); !ok || holds.dir != row.dir {
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
			if !holdsAny(imports, func(importPath string) bool {
				dir, own := t.own(importPath)
				return own && matches(pattern, dir)
			}) {
				found = append(found, finding{row.dir, fmt.Sprintf("nothing imports %s", pattern)})
			}
		}
		for _, module := range row.modules {
			if !holdsAny(imports, func(importPath string) bool { return under([]string{module}, importPath) }) {
				found = append(found, finding{row.dir, fmt.Sprintf("nothing imports %s", module)})
			}
		}
	}
	return found
}

func holdsAny(imports []string, holds func(string) bool) bool {
	for _, importPath := range imports {
		if holds(importPath) {
			return true
		}
	}
	return false
}

package archtest

import (
	"fmt"
	"strings"
)

// findRoom returns the row of the import table that holds for a folder.
func findRoom(dir string) (room, bool) {
	var best room
	found := false
	for _, row := range importTable() {
		if matches(row.dir, dir) && (!found || len(row.dir) > len(best.dir)) {
			best, found = row, true
		}
	}
	return best, found
}

// standard reports whether an import path is in the standard library, whose
// first element alone has no dot.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// under reports whether an import path is one of the prefixes or below it.
func under(prefixes []string, importPath string) bool {
	for _, prefix := range prefixes {
		if importPath == prefix || strings.HasPrefix(importPath, prefix+"/") {
			return true
		}
	}
	return false
}

func checkImports(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		row, ok := findRoom(p.dir)
		if !ok {
			found = append(found, finding{p.dir, "the package has no row in the import table"})
			continue
		}
		for _, f := range p.code() {
			for importPath, pos := range f.imports {
				dir, own := t.own(importPath)
				switch {
				case own && !matchesAny(row.imports, dir):
					found = append(found, finding{t.at(pos), fmt.Sprintf("%s must not import %s", p.dir, dir)})
				case !own && !standard(importPath) && !under(row.modules, importPath):
					found = append(found, finding{t.at(pos), fmt.Sprintf("%s must not import %s", p.dir, importPath)})
				}
			}
		}
	}
	return found
}

// featureName returns the building block that a folder belongs to.
func featureName(dir string) string {
	for _, feature := range features() {
		if matches(feature+"/...", dir) {
			return feature
		}
	}
	return ""
}

func checkFeatures(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		home := featureName(p.dir)
		if home == "" {
			continue
		}
		for _, f := range p.files {
			for importPath, pos := range f.imports {
				dir, own := t.own(importPath)
				if other := featureName(dir); own && other != "" && other != home {
					found = append(found, finding{t.at(pos), fmt.Sprintf("%s imports %s of another building block", p.dir, dir)})
				}
			}
		}
	}
	return found
}

func checkTestImports(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		row, _ := findRoom(p.dir)
		allowed := append(testModules(), row.modules...)
		for _, f := range p.files {
			for importPath, pos := range f.imports {
				_, own := t.own(importPath)
				switch {
				case own || (standard(importPath) && importPath != "testing"):
				case f.test && importPath != "testing" && !under(allowed, importPath):
					found = append(found, finding{t.at(pos), "a test must not import " + importPath})
				case !f.test && (importPath == "testing" || under([]string{testify}, importPath)) && !suite(p):
					found = append(found, finding{t.at(pos), "code outside of tests must not import " + importPath})
				}
			}
		}
	}
	return found
}

// suite reports whether the package is a conformance suite or a part of the
// tests that are packages of their own.
func suite(p *pkg) bool {
	return strings.HasSuffix(p.name, "test") || matchesAny(testCode(), p.dir)
}

func checkHTTP(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		if matchesAny(httpHomes(), p.dir) {
			continue
		}
		for _, f := range p.code() {
			for importPath, pos := range f.imports {
				if under([]string{"net/http"}, importPath) {
					found = append(found, finding{t.at(pos), fmt.Sprintf("%s imports %s", p.dir, importPath)})
				}
			}
		}
	}
	return found
}

// checkLeaves looks for packages of internal, tests included, that import a package of
// ours outside of internal.
func checkLeaves(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		if !matches("internal/...", p.dir) {
			continue
		}
		for _, f := range p.files {
			for importPath, pos := range f.imports {
				if dir, own := t.own(importPath); own && !matches("internal/...", dir) {
					found = append(found, finding{t.at(pos), fmt.Sprintf("%s imports %s", p.dir, dir)})
				}
			}
		}
	}
	return found
}

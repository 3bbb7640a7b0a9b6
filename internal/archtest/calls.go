package archtest

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

// loud lists what a library does not use: a whole package, or "package.Name".
func loud() []string {
	return []string{
		"os/signal", "log", "flag", "expvar",
		"os.Exit", "os.Stdout", "os.Stderr", "os.Stdin", "os.Args",
		"fmt.Print", "fmt.Printf", "fmt.Println", "fmt.Scan", "fmt.Scanf", "fmt.Scanln",
		"log/slog.Default", "log/slog.SetDefault", "log/slog.Debug", "log/slog.Info", "log/slog.Warn", "log/slog.Error",
		"net/http.Handle", "net/http.HandleFunc", "net/http.DefaultServeMux", "net/http.ListenAndServe",
		"net/http.ListenAndServeTLS", "net/http.DefaultClient", "net/http.Get", "net/http.Post", "net/http.PostForm", "net/http.Head",
		prometheus + "/prometheus.MustRegister", prometheus + "/prometheus.Register",
		prometheus + "/prometheus.DefaultRegisterer", prometheus + "/prometheus.DefaultGatherer",
		"runtime.GOMAXPROCS", "runtime/debug.SetGCPercent", "runtime/debug.SetMemoryLimit",
	}
}

func checkCalls(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		if matchesAny(programs(), p.dir) {
			continue
		}
		for _, f := range p.code() {
			for importPath, pos := range f.imports {
				if slices.Contains(loud(), importPath) {
					found = append(found, finding{t.at(pos), "a library must not import " + importPath})
				}
			}
			for node := range ast.Preorder(f.syntax) {
				switch node := node.(type) {
				case *ast.SelectorExpr:
					name := importedPackage(p, node.X) + "." + node.Sel.Name
					if slices.Contains(loud(), name) {
						found = append(found, finding{t.at(node.Pos()), "a library must not use " + name})
					}
				case *ast.CallExpr:
					function, ok := node.Fun.(*ast.Ident)
					if ok && strings.HasPrefix(function.Name, "print") && p.info.Uses[function] == types.Universe.Lookup(function.Name) {
						found = append(found, finding{t.at(node.Pos()), "a library must not call " + function.Name})
					}
				}
			}
		}
	}
	return found
}

func checkSleeps(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		for _, f := range p.files {
			if !f.test || bubbles(f) {
				continue
			}
			clock := importName(f, "time")
			for node := range ast.Preorder(f.syntax) {
				selector, ok := node.(*ast.SelectorExpr)
				if !ok || selector.Sel.Name != "Sleep" {
					continue
				}
				if of, ok := selector.X.(*ast.Ident); ok && of.Name == clock {
					found = append(found, finding{t.at(node.Pos()), "a test sleeps"})
				}
			}
		}
	}
	return found
}

// bubbles reports whether the file runs tests on a fake clock.
func bubbles(f *file) bool { return importName(f, "testing/synctest") != "" }

// importName returns the name of an import in a file; empty if the file does not import
// it.
func importName(f *file, importPath string) string {
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value != `"`+importPath+`"` {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return importPath[strings.LastIndex(importPath, "/")+1:]
	}
	return ""
}

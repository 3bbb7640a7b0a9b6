package archtest

import (
	"fmt"
	"go/ast"
	"slices"
)

// These are questions, not limits: a folder or a type above them stands in the table of
// table.go with the reason that a reader accepts.
const (
	manyFiles   = 35
	manyMethods = 35
)

func checkFolders(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		files := slices.DeleteFunc(p.code(), func(f *file) bool { return f.generated })
		if len(files) > manyFiles && largeFolders()[p.dir] == "" {
			found = append(found, finding{p.dir, fmt.Sprintf("%d Go files besides tests; more than %d need a reason", len(files), manyFiles)})
		}
	}
	return found
}

func checkTypes(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		methods := map[string]int{}
		first := map[string]string{}
		for _, f := range p.code() {
			if f.generated {
				continue
			}
			for _, decl := range f.syntax.Decls {
				function, ok := decl.(*ast.FuncDecl)
				if !ok || function.Recv == nil {
					continue
				}
				receiver := receiverName(function)
				if methods[receiver]++; first[receiver] == "" {
					first[receiver] = t.at(function.Pos())
				}
			}
		}
		for name, count := range methods {
			if count > manyMethods && largeTypes()[p.dir+"."+name] == "" {
				what := fmt.Sprintf("%s has %d methods; more than %d need a reason", name, count, manyMethods)
				found = append(found, finding{first[name], what})
			}
		}
	}
	return found
}

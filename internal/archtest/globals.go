package archtest

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

func checkInit(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		for _, f := range p.files {
			for _, decl := range f.syntax.Decls {
				function, ok := decl.(*ast.FuncDecl)
				if ok && function.Recv == nil && function.Name.Name == "init" && !f.generated {
					found = append(found, finding{t.at(function.Pos()), "package " + p.name + " has an init function"})
				}
			}
		}
	}
	return found
}

func checkGlobals(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		written := writtenGlobals(p)
		for _, f := range p.code() {
			if f.generated {
				continue
			}
			for _, decl := range f.syntax.Decls {
				group, ok := decl.(*ast.GenDecl)
				if !ok || group.Tok != token.VAR {
					continue
				}
				for _, spec := range group.Specs {
					found = append(found, mutableGlobals(t, p, group, spec.(*ast.ValueSpec), written)...)
				}
			}
		}
	}
	return found
}

// mutableGlobals reports the variables of one declaration that are not in
// effect constants.
func mutableGlobals(t *tree, p *pkg, group *ast.GenDecl, spec *ast.ValueSpec, written map[types.Object]token.Pos) []finding {
	if embeds(group.Doc) || embeds(spec.Doc) {
		return nil
	}
	var found []finding
	for i, name := range spec.Names {
		if name.Name == "_" {
			continue // an interface guard
		}
		why := ""
		pos, isWritten := written[p.info.Defs[name]]
		switch {
		case isWritten:
			why = "is written to at " + t.at(pos)
		case slices.Contains(linkerVariables(), p.dir+"."+name.Name):
		case i >= len(spec.Values):
			why = "has no value of its own"
		case sentinel(p, name, spec.Values[i]):
		case name.IsExported():
			why = "can be written to by any importer"
		case !table(p, spec.Values[i]):
			why = "is neither a table nor a compiled constant"
		}
		if why != "" {
			found = append(found, finding{t.at(name.Pos()), "variable " + name.Name + " " + why})
		}
	}
	return found
}

// embeds reports whether a declaration is filled in by the compiler.
func embeds(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return strings.HasPrefix(c.Text, "//go:embed ")
	})
}

// sentinel reports whether a variable is an error that others are compared with.
func sentinel(p *pkg, name *ast.Ident, value ast.Expr) bool {
	if !strings.HasPrefix(name.Name, "Err") && !strings.HasPrefix(name.Name, "err") {
		return false
	}
	switch value := value.(type) {
	case *ast.CallExpr:
		return slices.Contains([]string{"errors.New", "fmt.Errorf"}, called(p, value))
	case *ast.UnaryExpr: // &SomeError{...}
		_, literal := value.X.(*ast.CompositeLit)
		return literal
	case *ast.CompositeLit:
		return true
	case *ast.SelectorExpr: // an error of an internal package, published under its name
		return strings.HasPrefix(value.Sel.Name, "Err")
	}
	return false
}

// table reports whether the value of an unexported variable is a table: a
// composite literal, or the result of a call that computes or compiles one.
func table(p *pkg, value ast.Expr) bool {
	switch value := value.(type) {
	case *ast.CompositeLit:
		selector, ok := value.Type.(*ast.SelectorExpr)
		return !ok || !slices.Contains([]string{"sync", "sync/atomic"}, importedPackage(p, selector.X))
	case *ast.CallExpr:
		switch function := value.Fun.(type) {
		case *ast.ArrayType, *ast.FuncLit, *ast.MapType:
			return true // a conversion, or a table computed in place
		case *ast.Ident:
			// make([]T, n) without contents waits to be filled; new(T) is state.
			return function.Name != "make" && function.Name != "new"
		}
		return slices.Contains(pureFunctions(), called(p, value)) || slices.Contains([]string{
			"encoding/base32.NewEncoding", "encoding/base64.NewEncoding", "regexp.MustCompile", "strings.NewReplacer",
			"text/template.Must", "html/template.Must",
			"net/netip.MustParseAddr", "net/netip.MustParsePrefix", "math.Inf", "math.NaN", "math/big.NewInt",
			"hash/crc32.MakeTable", "hash/crc64.MakeTable", "hash/maphash.MakeSeed", "reflect.TypeFor", "reflect.TypeOf",
			"sync.OnceValue", "sync.OnceValues", "time.Date",
		}, called(p, value))
	}
	return false
}

// called returns "import/path.Function" of a call of another package's
// function, and is empty for other calls. Of a chain of methods it is the
// function that the chain begins with.
func called(p *pkg, call *ast.CallExpr) string {
	function := call.Fun
	if index, ok := function.(*ast.IndexExpr); ok { // a type argument
		function = index.X
	}
	selector, ok := function.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if from := importedPackage(p, selector.X); from != "" {
		return from + "." + selector.Sel.Name
	}
	if before, ok := selector.X.(*ast.CallExpr); ok {
		return called(p, before)
	}
	return ""
}

// importedPackage returns the import path that an expression names; empty if it does
// not name a package.
func importedPackage(p *pkg, expr ast.Expr) string {
	ident, ok := expr.(*ast.Ident)
	if !ok {
		return ""
	}
	if name, ok := p.info.Uses[ident].(*types.PkgName); ok {
		return name.Imported().Path()
	}
	return ""
}

// writtenGlobals returns the variables of the package that its files, tests
// included, assign to, increment, take the address of, clear or delete from,
// and one place of each.
func writtenGlobals(p *pkg) map[types.Object]token.Pos {
	written := map[types.Object]token.Pos{}
	write := func(target ast.Expr) {
		ident := root(target)
		if ident == nil {
			return
		}
		object := p.info.Uses[ident]
		if object != nil && p.types != nil && object.Parent() == p.types.Scope() {
			if _, ok := object.(*types.Var); ok {
				written[object] = ident.Pos()
			}
		}
	}
	for _, f := range p.files {
		for node := range ast.Preorder(f.syntax) {
			switch node := node.(type) {
			case *ast.AssignStmt:
				for _, target := range node.Lhs {
					write(target)
				}
			case *ast.IncDecStmt:
				write(node.X)
			case *ast.RangeStmt:
				if node.Tok == token.ASSIGN {
					write(node.Key)
					write(node.Value)
				}
			case *ast.UnaryExpr:
				if node.Op == token.AND {
					write(node.X)
				}
			case *ast.CallExpr:
				if function, ok := node.Fun.(*ast.Ident); ok && len(node.Args) > 0 &&
					slices.Contains([]string{"delete", "clear", "copy"}, function.Name) {
					write(node.Args[0])
				}
			}
		}
	}
	return written
}

// root returns the identifier that an expression selects from or indexes.
func root(expr ast.Expr) *ast.Ident {
	for {
		switch typed := expr.(type) {
		case *ast.Ident:
			return typed
		case *ast.ParenExpr:
			expr = typed.X
		case *ast.SelectorExpr:
			expr = typed.X
		case *ast.IndexExpr:
			expr = typed.X
		case *ast.SliceExpr:
			expr = typed.X
		case *ast.StarExpr:
			expr = typed.X
		default:
			return nil
		}
	}
}

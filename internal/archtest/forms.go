package archtest

import (
	"fmt"
	"go/ast"
	"iter"
	"slices"
	"strings"
)

// functions yields the exported functions and methods of exported types that users of a
// package call. Commands and suites have none.
func functions(p *pkg) iter.Seq[*ast.FuncDecl] {
	return func(yield func(*ast.FuncDecl) bool) {
		if p.main() || suite(p) {
			return
		}
		for _, f := range p.code() {
			if f.generated {
				continue
			}
			for _, decl := range f.syntax.Decls {
				function, ok := decl.(*ast.FuncDecl)
				if !ok || !function.Name.IsExported() {
					continue
				}
				if receiver := receiverName(function); receiver != "" && !ast.IsExported(receiver) {
					continue
				}
				if !yield(function) {
					return
				}
			}
		}
	}
}

// parameter is one parameter of a function.
type parameter struct {
	name string
	kind string // the type as written, such as "*Options" or "...Option"
}

func listParameters(function *ast.FuncDecl) []parameter {
	var list []parameter
	for _, field := range function.Type.Params.List {
		names := field.Names
		if len(names) == 0 {
			names = []*ast.Ident{ast.NewIdent("_")}
		}
		for _, name := range names {
			list = append(list, parameter{name.Name, written(field.Type)})
		}
	}
	return list
}

// written returns the name of a type as a reader sees it, without what is in brackets.
func written(expr ast.Expr) string {
	switch typed := expr.(type) {
	case *ast.Ident:
		return typed.Name
	case *ast.SelectorExpr:
		return written(typed.X) + "." + typed.Sel.Name
	case *ast.StarExpr:
		return "*" + written(typed.X)
	case *ast.Ellipsis:
		return "..." + written(typed.Elt)
	case *ast.ArrayType:
		return "[]" + written(typed.Elt)
	case *ast.FuncType:
		return "func"
	case *ast.ChanType:
		if typed.Dir == ast.RECV {
			return "<-chan " + written(typed.Value)
		}
		return "chan"
	case *ast.IndexExpr:
		return written(typed.X)
	case *ast.StructType:
		return "struct{}"
	}
	return ""
}

// base returns the last name of a written type: "Options" of "*node.Options".
func base(kind string) string {
	kind = strings.TrimLeft(kind, "*.[]")
	return kind[strings.LastIndex(kind, ".")+1:]
}

func checkConstructors(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		for function := range functions(p) {
			name := function.Name.Name
			if function.Recv != nil || !constructs(name) {
				continue
			}
			report := func(format string, args ...any) {
				found = append(found, finding{t.at(function.Pos()), name + fmt.Sprintf(format, args...)})
			}
			list := listParameters(function)
			for _, one := range list {
				switch {
				case strings.HasPrefix(one.kind, "...") && (strings.HasSuffix(one.kind, "Option") || one.kind == "...func"):
					report(" takes functional options")
				case strings.HasPrefix(one.kind, "*") && strings.HasSuffix(base(one.kind), "Config"):
					report(" takes a pointer to %s", base(one.kind))
				case !strings.HasPrefix(one.kind, "*") && strings.HasSuffix(base(one.kind), "Options"):
					report(" takes %s by value", base(one.kind))
				}
			}
			context := len(list) > 0 && list[0].kind == "context.Context"
			switch {
			case strings.HasPrefix(name, "New") && context:
				report(" takes a context, as what does input and output")
			case strings.HasPrefix(name, "Open") && !context:
				report(" takes no context")
			}
		}
	}
	return found
}

func checkHandlers(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		for function := range functions(p) {
			results := function.Type.Results
			if results == nil || len(results.List) == 0 || written(results.List[0].Type) != "http.Handler" {
				continue
			}
			name, list := function.Name.Name, listParameters(function)
			last := ""
			if len(list) > 0 {
				last = list[len(list)-1].kind
			}
			if slices.ContainsFunc(list, func(one parameter) bool { return one.kind == "http.Handler" }) {
				continue // it wraps a handler
			}
			named := name == "Handler" || name == "Page"
			method := function.Recv != nil && named && (len(list) == 0 || (len(list) == 1 && last == "*HandlerOptions"))
			constructed := name == "NewHandler" || name == "NewPage"
			constructor := function.Recv == nil && constructed && (last == "*HandlerOptions" || last == "*rest.HandlerOptions" || last == "*Options")
			alone := len(results.List) == 1 || (constructor && len(results.List) == 2 && written(results.List[1].Type) == "error")
			if !(method || constructor) || !alone {
				found = append(found, finding{t.at(function.Pos()), name + " returns an http.Handler in a form of its own"})
			}
		}
	}
	return found
}

func checkReadiness(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		if p.main() || suite(p) {
			continue
		}
		for function := range functions(p) {
			for _, one := range listParameters(function) {
				if strings.EqualFold(strings.TrimPrefix(strings.ToLower(one.name), "on"), "ready") && one.kind == "func" {
					found = append(found, finding{t.at(function.Pos()), function.Name.Name + " calls a function when it is ready"})
				}
			}
		}
		for _, f := range p.code() {
			for node := range ast.Preorder(f.syntax) {
				spec, ok := node.(*ast.TypeSpec)
				if !ok || !spec.Name.IsExported() {
					continue
				}
				shape, ok := spec.Type.(*ast.StructType)
				if !ok {
					continue
				}
				for _, field := range shape.Fields.List {
					for _, name := range field.Names {
						callback := strings.TrimPrefix(name.Name, "On") == "Ready" && written(field.Type) == "func" && returnsNothing(field.Type)
						if callback {
							found = append(found, finding{t.at(name.Pos()), spec.Name.Name + "." + name.Name + " is called when something is ready"})
						}
					}
				}
			}
		}
	}
	return found
}

func returnsNothing(expr ast.Expr) bool {
	function, ok := expr.(*ast.FuncType)
	return ok && function.Results == nil
}

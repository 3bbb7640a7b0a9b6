package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

func checkPackageDocs(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		code := p.code()
		if len(code) == 0 {
			continue // tests only
		}
		var documented []*file
		for _, f := range code {
			if f.syntax.Doc != nil {
				documented = append(documented, f)
			}
		}
		switch {
		case len(documented) == 0:
			found = append(found, finding{p.dir, fmt.Sprintf("package %s has no doc comment", p.name)})
		case len(documented) > 1:
			for _, f := range documented[1:] {
				found = append(found, finding{t.at(f.syntax.Doc.Pos()),
					fmt.Sprintf("package %s has another doc comment at %s", p.name, t.at(documented[0].syntax.Doc.Pos()))})
			}
		case !p.main() && !strings.HasPrefix(documented[0].syntax.Doc.Text(), "Package "+p.name+" "):
			found = append(found, finding{t.at(documented[0].syntax.Doc.Pos()),
				fmt.Sprintf(`the doc comment does not begin with "Package %s "`, p.name)})
		}
	}
	return found
}

func checkSymbolDocs(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		if p.main() {
			continue
		}
		for _, f := range p.code() {
			if f.generated {
				continue
			}
			for _, decl := range f.syntax.Decls {
				switch decl := decl.(type) {
				case *ast.FuncDecl:
					found = append(found, undocumentedFunc(t, decl)...)
				case *ast.GenDecl:
					found = append(found, undocumentedGroup(t, decl)...)
				}
			}
		}
	}
	return found
}

func undocumentedFunc(t *tree, decl *ast.FuncDecl) []finding {
	name := decl.Name.Name
	if receiver := receiverName(decl); receiver != "" {
		if !ast.IsExported(receiver) {
			return nil
		}
		name = receiver + "." + name
	}
	if !decl.Name.IsExported() {
		return nil
	}
	return undocumented(t, decl.Pos(), name, decl.Name.Name, decl.Doc)
}

// undocumentedGroup looks at the types, constants and variables of one
// declaration. The comment of a group stands for each of its values.
func undocumentedGroup(t *tree, decl *ast.GenDecl) []finding {
	var found []finding
	for _, spec := range decl.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if !spec.Name.IsExported() {
				continue
			}
			doc := spec.Doc
			if doc == nil && len(decl.Specs) == 1 {
				doc = decl.Doc
			}
			found = append(found, undocumented(t, spec.Pos(), spec.Name.Name, spec.Name.Name, doc)...)
			found = append(found, undocumentedMembers(t, spec)...)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				if name.IsExported() && decl.Doc.Text() == "" && spec.Doc.Text() == "" && spec.Comment.Text() == "" {
					found = append(found, finding{t.at(name.Pos()), name.Name + " has no doc comment"})
				}
			}
		}
	}
	return found
}

// undocumentedMembers looks at the methods of an interface, and at the fields
// of a struct that users fill in.
func undocumentedMembers(t *tree, spec *ast.TypeSpec) []finding {
	var members *ast.FieldList
	switch shape := spec.Type.(type) {
	case *ast.InterfaceType:
		members = shape.Methods
	case *ast.StructType:
		if !strings.HasSuffix(spec.Name.Name, "Config") && !strings.HasSuffix(spec.Name.Name, "Options") {
			return nil
		}
		members = shape.Fields
	default:
		return nil
	}
	var found []finding
	words := map[string]bool{} // of the last comment, which may be on several members
	for _, member := range members.List {
		own := member.Doc.Text() + member.Comment.Text()
		if own != "" {
			words = map[string]bool{}
			for _, word := range strings.Fields(own) {
				words[strings.TrimRight(word, ",.:;")] = true
			}
		}
		kind, _ := member.Type.(*ast.Ident)
		for _, name := range member.Names {
			if kind != nil && kind.Name == name.Name {
				continue // a field that is named after its type says no more than the type's comment
			}
			if name.IsExported() && own == "" && !words[name.Name] {
				found = append(found, finding{t.at(name.Pos()), spec.Name.Name + "." + name.Name + " has no doc comment"})
			}
		}
	}
	return found
}

// undocumented reports a symbol whose comment is missing or does not begin
// with its name, an article before it aside.
func undocumented(t *tree, pos token.Pos, symbol, name string, doc *ast.CommentGroup) []finding {
	text := doc.Text()
	if text == "" {
		return []finding{{t.at(pos), symbol + " has no doc comment"}}
	}
	words := strings.Fields(text)
	if slices.Contains([]string{"A", "An", "The"}, words[0]) && len(words) > 1 {
		words = words[1:]
	}
	first := strings.TrimRight(words[0], ",.:;")
	if first != name && !strings.HasPrefix(first, name+"'") {
		return []finding{{t.at(pos), fmt.Sprintf("the doc comment of %s begins with %q, not with the name", symbol, words[0])}}
	}
	return nil
}

// receiverName returns the name of the type that a method belongs to; empty
// for a function.
func receiverName(decl *ast.FuncDecl) string {
	if decl.Recv == nil || len(decl.Recv.List) == 0 {
		return ""
	}
	expr := decl.Recv.List[0].Type
	for {
		switch typed := expr.(type) {
		case *ast.StarExpr:
			expr = typed.X
		case *ast.IndexExpr:
			expr = typed.X
		case *ast.IndexListExpr:
			expr = typed.X
		case *ast.Ident:
			return typed.Name
		default:
			return ""
		}
	}
}

func checkInterfaces(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		for _, f := range p.code() {
			if f.generated {
				continue
			}
			for node := range ast.Preorder(f.syntax) {
				spec, ok := node.(*ast.TypeSpec)
				if !ok || !spec.Name.IsExported() || largeInterfaces()[p.dir+"."+spec.Name.Name] != "" {
					continue
				}
				if shape, ok := spec.Type.(*ast.InterfaceType); ok && shape.Methods.NumFields() > 5 {
					found = append(found, finding{t.at(spec.Pos()),
						fmt.Sprintf("%s has %d methods", spec.Name.Name, shape.Methods.NumFields())})
				}
			}
		}
	}
	return found
}

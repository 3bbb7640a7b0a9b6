package archtest

import (
	"fmt"
	"go/ast"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkTestNames looks for the symbol that a test is named after:
// Test<Symbol>[_<Method>][_<outcome>]. In place of the method there may be a situation, in
// lower camel case. In programs and in tests that are packages of their
// own the first word is free.
func checkTestNames(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		free := p.main() || matchesAny(freeTestNames(), p.dir)
		symbols := declared(p)
		for _, f := range p.files {
			if !f.test {
				continue
			}
			for _, decl := range f.syntax.Decls {
				function, ok := decl.(*ast.FuncDecl)
				if !ok || function.Recv != nil || function.Name.Name == "TestMain" {
					continue
				}
				name, isTest := strings.CutPrefix(function.Name.Name, "Test")
				if !isTest {
					continue
				}
				if fault := testNameFault(name, symbols, free); fault != "" {
					found = append(found, finding{t.at(function.Pos()), function.Name.Name + ": " + fault})
				}
			}
		}
	}
	return found
}

// symbol is what a package declares under a name: a type has methods and fields.
type symbol struct {
	members  map[string]bool // in lower case
	embedded bool            // members of other types, which are not looked up
}

// declared returns the symbols of the code of a package, by their names in lower case: the
// name of a test cannot tell exported names from others.
func declared(p *pkg) map[string]*symbol {
	symbols := map[string]*symbol{}
	at := func(name string) *symbol {
		name = strings.ToLower(name)
		if symbols[name] == nil {
			symbols[name] = &symbol{members: map[string]bool{}}
		}
		return symbols[name]
	}
	for _, f := range p.code() {
		for _, decl := range f.syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if receiver := receiverName(decl); receiver != "" {
					at(receiver).members[strings.ToLower(decl.Name.Name)] = true
				} else {
					at(decl.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					switch spec := spec.(type) {
					case *ast.TypeSpec:
						at(spec.Name.Name).declare(spec.Type)
					case *ast.ValueSpec:
						for _, name := range spec.Names {
							at(name.Name)
						}
					}
				}
			}
		}
	}
	return symbols
}

// declare adds the members of a type's declaration.
func (s *symbol) declare(shape ast.Expr) {
	var fields *ast.FieldList
	switch shape := shape.(type) {
	case *ast.StructType:
		fields = shape.Fields
	case *ast.InterfaceType:
		fields = shape.Methods
	default:
		s.embedded = s.embedded || base(written(shape)) != written(shape) // the methods of another package's type
		return
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			s.members[strings.ToLower(name.Name)] = true
		}
		s.embedded = s.embedded || len(field.Names) == 0
	}
}

// testNameFault says what is wrong with the name of a test, behind "Test".
func testNameFault(name string, symbols map[string]*symbol, free bool) string {
	words := strings.Split(name, "_")
	of := symbols[strings.ToLower(words[0])]
	switch {
	case of == nil && free:
		of = &symbol{embedded: true}
	case of == nil:
		return fmt.Sprintf("the package declares no %s", words[0])
	}
	for i, word := range words[1:] {
		if i == 0 && of.members[strings.ToLower(word)] {
			continue // a method or field, exported or not
		}
		first, _ := utf8.DecodeRuneInString(word)
		switch {
		case word == "":
			return "an underscore too many"
		case unicode.IsUpper(first) && i > 0:
			return fmt.Sprintf("%s is where the outcome stands, in lower camel case", word)
		case unicode.IsUpper(first) && !of.embedded:
			return fmt.Sprintf("%s has no %s", words[0], word)
		case i > 1:
			return "more than a symbol, a method and an outcome"
		}
	}
	return ""
}

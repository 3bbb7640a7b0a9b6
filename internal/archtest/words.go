package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// idioms are words and phrases that the project's language does without: they personify,
// compress, or mean something else elsewhere. See docs/glossary.md and CONTRIBUTING.md.
var idioms = regexp.MustCompile(`(?i)\b(?:h(?:e|is|im|imself)|(?:some|no|any|every)body|someone|who(?:m)?ever` +
	`|(?:is|are|was|were|be|been|being|gets?) told(?: of)?|tells? (?:him|them|it) (?:of|that)|what (?:is|was) told` +
	`|last wish(?:es)?|hungry|hungrier|hungriest|bury|buries|buried|cast of|strangers?|believes?|believed)\b`)

// names are words that declared names do without, in any part of a name.
func idiomaticNames() []string {
	return []string{"told", "bury", "buried", "hungry", "hungriest", "wish", "believe",
		"believed", "stranger", "newcomer"}
}

func checkWords(t *tree) []finding {
	var found []finding
	for _, p := range t.packages {
		for _, f := range p.files {
			if f.generated || p.dir == "internal/archtest" { // where the words are listed
				continue
			}
			for _, group := range f.syntax.Comments {
				for _, comment := range group.List {
					found = append(found, spoken(t, comment.Pos(), comment.Text)...)
				}
			}
			for node := range ast.Preorder(f.syntax) {
				if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING && !f.test {
					found = append(found, spoken(t, literal.Pos(), literal.Value)...)
				}
			}
		}
		for name, object := range p.info.Defs {
			if object == nil || p.dir == "internal/archtest" {
				continue
			}
			for _, word := range camelWords(name.Name) {
				for _, idiom := range idiomaticNames() {
					if word == idiom {
						found = append(found, finding{t.at(name.Pos()), fmt.Sprintf("the name %s", name.Name)})
					}
				}
			}
		}
	}
	return found
}

// spoken reports the idioms of a text that begins at a position.
func spoken(t *tree, pos token.Pos, text string) []finding {
	var found []finding
	for _, at := range findIdioms(text) {
		found = append(found, finding{t.at(pos + token.Pos(at[0])), fmt.Sprintf("the words %q", text[at[0]:at[1]])})
	}
	return found
}

// findIdioms returns where a text has idioms.
func findIdioms(text string) [][]int {
	return slices.DeleteFunc(idioms.FindAllStringIndex(text, -1), func(at []int) bool {
		word := text[at[0]:at[1]]
		inPath := at[0] > 0 && text[at[0]-1] == '/' && strings.HasPrefix(text[at[1]:], "/") // such as "/he/"
		return inPath || word == "HE" || word == "HIM"                                      // homomorphic encryption
	})
}

// camelWords returns the words of a name, in lower case.
func camelWords(name string) []string {
	var words []string
	start := 0
	runes := []rune(name)
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || (unicode.IsUpper(runes[i]) && !unicode.IsUpper(runes[i-1])) || runes[i] == '_' {
			words = append(words, strings.ToLower(strings.Trim(string(runes[start:i]), "_")))
			start = i
		}
	}
	return words
}

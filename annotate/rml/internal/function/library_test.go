package function_test

import (
	"fmt"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/iotenablers/enablers/annotate/rml/internal/function"
)

// documentedGroups returns the items of the first list of the documentation of package rml.
func documentedGroups(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	var items []string
	for _, block := range new(comment.Parser).Parse(file.Doc.Text()).Content {
		list, isList := block.(*comment.List)
		if !isList {
			continue
		}
		for _, item := range list.Items {
			text := (&comment.Printer{TextWidth: -1}).Text(&comment.Doc{Content: item.Content})
			items = append(items, strings.TrimSpace(string(text)))
		}
		return items
	}
	return items
}

func TestGroups_areThoseOfTheDocumentation(t *testing.T) {
	documented := documentedGroups(t)
	require.Len(t, documented, len(function.Groups()), "the groups in annotate/rml/doc.go")
	for i, group := range function.Groups() {
		var names []string
		for _, f := range group.Functions {
			name := f.Name
			if len(f.Aliases) > 0 {
				name = fmt.Sprintf("%s (%s)", name, strings.Join(f.Aliases, ", "))
			}
			names = append(names, name)
		}
		slices.Sort(names)
		require.Equal(t, group.Name+": "+strings.Join(names, ", "), documented[i], "the list in annotate/rml/doc.go")
	}
}

func TestGroups_haveEachNameOnce(t *testing.T) {
	seen := make(map[string]bool)
	for _, group := range function.Groups() {
		for _, f := range group.Functions {
			for _, name := range append([]string{f.Name}, f.Aliases...) {
				require.False(t, seen[f.Namespace+name], f.Namespace+name)
				seen[f.Namespace+name] = true
			}
		}
	}

}

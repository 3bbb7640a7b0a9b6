package jsondoc_test

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml/internal/input"
	"github.com/iotenablers/enablers/annotate/rml/internal/jsondoc"
)

func ExampleNew() {
	compiler := jsondoc.New(input.Limits{MaxDepth: 32})
	rooms, err := compiler.CompileIterator("$.rooms[*]")
	if err != nil {
		fmt.Println(err)
		return
	}
	name, err := compiler.CompileReference("name")
	if err != nil {
		fmt.Println(err)
		return
	}
	doc := compiler.NewDocument()
	if err := doc.Load([]byte(`{"rooms": [{"name": "hall"}, {"name": "caf\u00e9"}]}`)); err != nil {
		fmt.Println(err)
		return
	}
	records, err := doc.Records(nil, rooms)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, record := range records {
		values, err := doc.Values(nil, record, name)
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, v := range values {
			fmt.Printf("%s %s\n", doc.Place(v.Node), v.Text)
		}
	}
	// Output:
	// /rooms/0/name hall
	// /rooms/1/name café
}

func ExampleParse() {
	_, err := jsondoc.Parse("$.students[*]]")
	fmt.Println(err)
	// Output:
	// JSONPath "$.students[*]]" at byte 13: unexpected ']', expected '.', '[' or the end of the path
}

func ExampleParseReference() {
	path, err := jsondoc.ParseReference("Country Code")
	fmt.Println(path, path.Singular(), err)
	// Output:
	// Country Code true <nil>
}

package yarrrml_test

import (
	"fmt"

	"github.com/iotenablers/enablers/annotate/rml"
	"github.com/iotenablers/enablers/annotate/rml/yarrrml"
)

func ExampleLoad() {
	mapping, err := yarrrml.Load([]byte(`
prefixes:
  ex: http://example.com/
mappings:
  station:
    sources:
      - ['~jsonpath', '$']
    s: ex:$(id)
    po:
      - [a, ex:Station]
      - [ex:temperature, $(t), xsd:decimal]
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := rml.Compile(mapping, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := plan.NewMapper().Append(nil, []byte(`{"id": "EWR", "t": 3.9}`))
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// <http://example.com/EWR> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://example.com/Station> .
	// <http://example.com/EWR> <http://example.com/temperature> "3.9"^^<http://www.w3.org/2001/XMLSchema#decimal> .
	// <nil>
}

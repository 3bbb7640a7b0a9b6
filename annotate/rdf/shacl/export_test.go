package shacl

import "github.com/iotenablers/enablers/annotate/rdf"

// PathText returns the text of the path that is the value of a predicate in a Turtle document.
func PathText(turtle []byte, base string, node rdf.Term) (string, error) {
	doc, err := readDocument(turtle, &Options{Base: base})
	if err != nil {
		return "", err
	}
	c := &compiler{doc: doc, out: &Shapes{constants: map[rdf.Term]id{}}}
	_, text, err := c.compilePath(node, node, 0)
	return text, err
}

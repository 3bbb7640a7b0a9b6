package csvdoc

import "github.com/iotenablers/enablers/annotate/rml/internal/input"

// Held returns the bytes that the buffers of a document hold.
func Held(doc input.Document) int {
	d := doc.(*Document)
	return cap(d.cells)*8 + cap(d.starts)*4 + cap(d.scratch)
}

// Cells returns the text of every cell of a document, row by row.
func Cells(d *Document) [][]string {
	out := [][]string{}
	for n := range d.starts {
		row := []string{}
		for _, c := range d.row(input.Node(n)) {
			row = append(row, string(d.text(c)))
		}
		out = append(out, row)
	}
	return out
}

// Sample has the documents of a compiler detect delimiters in fewer bytes.
func Sample(c *Compiler, bytes int) { c.sample = bytes }

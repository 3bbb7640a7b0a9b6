package rdf

// lineWriter writes documents in N-Triples and N-Quads.
type lineWriter struct{}

func newLineWriter(*EncoderOptions) writer { return lineWriter{} }

func (lineWriter) append(dst, s, p, o, g []byte) ([]byte, error) {
	dst = append(dst, s...)
	dst = append(dst, ' ')
	dst = append(dst, p...)
	dst = append(dst, ' ')
	dst = append(dst, o...)
	if len(g) > 0 {
		dst = append(dst, ' ')
		dst = append(dst, g...)
	}
	return append(dst, " .\n"...), nil
}

func (lineWriter) appendEnd(dst []byte) []byte { return dst }

func (lineWriter) reset() {}

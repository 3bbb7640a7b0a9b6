package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/iotenablers/enablers/apimgmt/position"
)

// syntaxError marks text that is not JSON at all.
type syntaxError struct{ err error }

func (e syntaxError) Error() string { return e.err.Error() }
func (e syntaxError) Unwrap() error { return e.err }

func isSyntax(err error) bool {
	var s syntaxError
	return errors.As(err, &s)
}

// jsonReader creates a tree of the tokens of a decoder.
type jsonReader struct {
	data   []byte
	tokens *json.Decoder
	budget budget

	offset, line, lineStart int // how far the lines are counted
}

func parseJSON(data []byte, limits Limits) (*Node, error) {
	r := &jsonReader{data: data, tokens: json.NewDecoder(bytes.NewReader(data)), budget: budget{limits: limits}, line: 1}
	r.tokens.UseNumber()
	token, err := r.next()
	if err != nil {
		return nil, err
	}
	root := &Node{}
	if err := r.value(root, token, 1); err != nil {
		return nil, err
	}
	if _, err := r.tokens.Token(); err != io.EOF {
		r.locate(root, int(r.tokens.InputOffset()))
		trailing := syntaxError{errors.New("there is text after the end of the document")}
		return nil, &position.Error{Line: root.Line, Column: root.Column, Err: trailing}
	}
	return root, nil
}

// next reads a token, and says where the text is wrong.
func (r *jsonReader) next() (json.Token, error) {
	token, err := r.tokens.Token()
	if err == nil {
		return token, nil
	}
	at := &Node{}
	offset := int(r.tokens.InputOffset())
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		offset = max(offset, int(syntax.Offset)-1)
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		offset, err = len(r.data), errors.New("the document ends too early")
	}
	r.locate(at, offset)
	return nil, &position.Error{Line: at.Line, Column: at.Column, Err: syntaxError{err}}
}

// locate sets the line and column of the first mark at or after an offset.
// Offsets come in ascending order.
func (r *jsonReader) locate(n *Node, offset int) {
	offset = min(offset, len(r.data))
	for offset < len(r.data) {
		switch r.data[offset] {
		case ' ', '\t', '\r', '\n', ',', ':':
			offset++
			continue
		}
		break
	}
	for ; r.offset < offset; r.offset++ {
		if r.data[r.offset] == '\n' {
			r.line++
			r.lineStart = r.offset + 1
		}
	}
	n.Line, n.Column = r.line, offset-r.lineStart+1
}

// value fills a node with the value that a token begins. The token has been read,
// so that its end is known; the place is where it began.
func (r *jsonReader) value(n *Node, token json.Token, depth int) error {
	if n.Line == 0 {
		r.locate(n, 0)
	}
	if err := r.budget.take(depth); err != nil {
		return &position.Error{Line: n.Line, Column: n.Column, Pointer: n.Pointer(), Err: err}
	}
	switch t := token.(type) {
	case json.Delim:
		if t == '{' {
			return r.object(n, depth)
		}
		return r.array(n, depth)
	case string:
		n.Kind, n.Text = String, t
	case json.Number:
		n.Kind, n.Text = Number, t.String()
	case bool:
		n.Kind, n.Text = Bool, strconv.FormatBool(t)
	case nil:
		n.Kind = Null
	default:
		return n.Errorf("unexpected token %T", token)
	}
	return nil
}

func (r *jsonReader) object(n *Node, depth int) error {
	n.Kind = Object
	seen := map[string]int{}
	for r.tokens.More() {
		value := &Node{}
		r.locate(value, int(r.tokens.InputOffset()))
		token, err := r.next()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return &position.Error{Line: value.Line, Column: value.Column, Err: syntaxError{fmt.Errorf("a key is a %T", token)}}
		}
		if line, twice := seen[key]; twice {
			return value.under(n, key).Errorf("the key stands here a second time, after line %d", line)
		}
		seen[key] = value.Line
		n.Put(key, value)
		if token, err = r.next(); err != nil {
			return err
		}
		if err := r.value(value, token, depth+1); err != nil {
			return err
		}
	}
	_, err := r.next()
	return err
}

func (r *jsonReader) array(n *Node, depth int) error {
	n.Kind = Array
	for r.tokens.More() {
		item := &Node{}
		r.locate(item, int(r.tokens.InputOffset()))
		token, err := r.next()
		if err != nil {
			return err
		}
		n.Append(item)
		if err := r.value(item, token, depth+1); err != nil {
			return err
		}
	}
	_, err := r.next()
	return err
}

// under gives a node its place without putting it there.
func (n *Node) under(parent *Node, step string) *Node {
	n.parent, n.step = parent, step
	return n
}

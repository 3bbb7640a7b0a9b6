package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/iotenablers/enablers/flcollect/flower"
	"github.com/iotenablers/enablers/flcollect/internal/wire"
)

// Types of objects, as their content begins.
const (
	kindMessage = "Message"
	kindDict    = "RecordDict"
	kindArrays  = "ArrayRecord"
	kindMetrics = "MetricRecord"
	kindConfig  = "ConfigRecord"
	kindArray   = "Array"
	kindChunk   = "ArrayChunk"
)

// IDLength is the length of the ID of an object, in hexadecimal digits.
const IDLength = 2 * sha256.Size

// Object is a content-addressed object.
type Object struct {
	// ID is the SHA-256 of the content in lower-case hexadecimal digits.
	ID string
	// Content is "TYPE CHILD,CHILD LENGTH\x00BODY". It must not be changed.
	Content flower.Blob
}

// Tree names an object and the objects below it. An object may occur more than once.
type Tree struct {
	// ID is that of the object.
	ID string
	// Children are the objects that the object's content names.
	Children []Tree
}

// IDs yields the ID of every object once, children before their parents.
func (t Tree) IDs() iter.Seq[string] {
	return func(yield func(string) bool) { t.each(map[string]bool{}, yield) }
}

func (t Tree) each(seen map[string]bool, yield func(string) bool) bool {
	if seen[t.ID] {
		return true
	}
	seen[t.ID] = true
	for _, child := range t.Children {
		if !child.each(seen, yield) {
			return false
		}
	}
	return yield(t.ID)
}

// ID returns the name of an object with the content.
func ID(content flower.Blob) string {
	digest := sha256.New()
	for _, chunk := range content {
		digest.Write(chunk)
	}
	return hex.EncodeToString(digest.Sum(nil))
}

// IsID reports whether the text has the form of the ID of an object.
func IsID(text string) bool {
	return len(text) == IDLength && strings.Trim(text, "0123456789abcdef") == ""
}

// Head is what the content of an object says before its body.
type Head struct {
	// Type is the type of the object, such as "ArrayChunk".
	Type string
	// Children are the IDs of the objects below it, each once.
	Children []string
	// Body is the rest of the content: views of it.
	Body flower.Blob
}

// longestHead bounds the head of an object in bytes: that of an object with [maxChildren] children.
const longestHead = maxChildren*(IDLength+1) + 64

// maxChildren bounds the children of one object.
const maxChildren = 1 << 16

// ParseHead reads the head of an object and checks it: the type, the form of the children's IDs, and
// the length of the body. It does not check that the content has its ID. Errors match [ErrFormat].
func ParseHead(content flower.Blob) (Head, error) {
	head, body, err := splitHead(content)
	if err != nil {
		return Head{}, fmt.Errorf("%w: head of an object: %w", ErrFormat, err)
	}
	return Head{head.Type, head.Children, body}, nil
}

func splitHead(content flower.Blob) (head Head, body flower.Blob, err error) {
	var text []byte
	found := false
	for i, chunk := range content {
		at := bytes.IndexByte(chunk[:min(len(chunk), longestHead)], 0)
		if at >= 0 {
			text, found = append(text, chunk[:at]...), true
			body = append(body, chunk[at+1:])
			body = append(body, content[i+1:]...)
			break
		}
		if len(text)+len(chunk) > longestHead {
			return Head{}, nil, fmt.Errorf("it has more than %d bytes", longestHead)
		}
		text = append(text, chunk...)
	}
	if !found {
		return Head{}, nil, wire.ErrCut
	}
	parts := strings.Split(string(text), " ")
	if len(parts) != 3 {
		return Head{}, nil, fmt.Errorf("it has %d parts, expected type, children and length", len(parts))
	}
	switch head.Type = parts[0]; head.Type {
	case kindMessage, kindDict, kindArrays, kindMetrics, kindConfig, kindArray, kindChunk:
	default:
		return Head{}, nil, fmt.Errorf("objects of type %.40q are not supported", head.Type)
	}
	if parts[1] != "" {
		head.Children = strings.Split(parts[1], ",")
	}
	seen := make(map[string]bool, len(head.Children))
	for _, id := range head.Children {
		if !IsID(id) || seen[id] {
			return Head{}, nil, fmt.Errorf("child %.70q is not an ID of an object, or occurs twice", id)
		}
		seen[id] = true
	}
	if length, err := strconv.ParseUint(parts[2], 10, 63); err != nil || length != uint64(body.Len()) {
		return Head{}, nil, fmt.Errorf("it says that the body has %.20q bytes, and %d follow", parts[2], body.Len())
	}
	return head, body, nil
}

// newObject returns an object. The children must be unique.
func newObject(kind string, children []string, body flower.Blob) Object {
	head := kind + " " + strings.Join(children, ",") + " " + strconv.Itoa(body.Len()) + "\x00"
	content := make(flower.Blob, 0, 1+len(body))
	content = append(content, []byte(head))
	for _, piece := range body {
		if len(piece) > 0 {
			content = append(content, piece)
		}
	}
	return Object{ID(content), content}
}
